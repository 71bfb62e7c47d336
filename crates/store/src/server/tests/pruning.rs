//! With a partition for each of many days, statements look at those that they need.

use mainspring_test_servers::{Kind, shared};

use super::plans::{leaked, prepare_on_postgres};
use super::{open, session};
use crate::JobFilter;
use crate::postgres::partitions::{Turn, make};
use crate::server::days::{Day, Part};
use crate::server::session::{Begin, Session};
use crate::server::sql;
use crate::server::statement::Statement;
use crate::suite::{Subject, World};

const DAYS: i64 = 120;

/// A connection to a database with so many days, and the last of them.
async fn with_days() -> (Session, String, Day) {
    let url = shared(Kind::Postgres).expect("a database");
    let store = open(&url).await;
    let last = Day::at(crate::Store::now(&*store).await.expect("tells"));
    let mut session = session(&url).await;
    for days in 1..DAYS {
        session.begin(Begin::Write).await.expect("begins");
        make(&mut session, last.plus(-days), Turn::Wait).await.expect("makes");
        session.command("COMMIT").await.expect("commits");
    }
    // As somebody does who looks at all tables nightly: those of coming days are known to be empty.
    session.command("ANALYZE").await.expect("looks");
    (session, url, last)
}

/// As the server carries it out when it has done so often, with its own choice between a plan for all values and one for
/// these.
async fn plan_of_often(session: &mut Session, statement: &Statement, values: &str) -> Vec<String> {
    let name = prepare_on_postgres(session, statement).await;
    let explain = leaked(statement.name, format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE {name}({values})"));
    for _ in 0..8 {
        session.rows(explain, &[]).await.expect(statement.name);
    }
    let rows = session.rows(explain, &[]).await.expect(statement.name);
    rows.iter().map(|row| row.text(0).expect("text").expect("a line").to_owned()).collect()
}

fn looked_at(plan: &[String]) -> usize {
    let is_table = |line: &&String| {
        line.contains("Scan") && (line.contains("on async_task") || line.contains("on task_execution_log"))
    };
    plan.iter().filter(is_table).filter(|line| !line.contains("never executed")).count()
}

#[tokio::test]
async fn a_job_is_looked_for_in_its_day() {
    let (mut session, _url, last) = with_days().await;
    let id = last.plus(-3).first_id();
    let one = format!("{id}");
    let claim = format!("'{{{id}}}'");
    let check: [(&Statement, String); 9] = [
        (&sql::JOB_READ, one.clone()),
        (&sql::JOB_END_READ, one.clone()),
        (&sql::JOB_LOCK, one.clone()),
        (&sql::JOB_FENCE, one.clone()),
        (&sql::ATTEMPT, format!("{id}, 1")),
        (&sql::ATTEMPTS_OF_JOB, format!("{id}, 5, 50")),
        (&sql::JOBS_READ, claim.clone()),
        (&sql::CLAIM_READ, claim.clone()),
        (&sql::JOBS_MADE, claim),
    ];
    for (statement, values) in check {
        let plan = plan_of_often(&mut session, statement, &values).await;
        assert_eq!(looked_at(&plan), 1, "{}:\n{}", statement.name, plan.join("\n"));
    }
}

/// Nothing but the partition is even locked, whatever else there is.
#[tokio::test]
async fn a_batch_of_one_day_touches_no_other() {
    let (mut session, _url, last) = with_days().await;
    let part = Part::Day(last);
    for statement in [&sql::CLAIM_READ, &sql::SETTLE_ALL, &sql::JOB_START_ALL, &sql::JOBS_INSERT] {
        let text = part.in_text(statement.postgres);
        session.command("BEGIN; SET LOCAL plan_cache_mode = force_generic_plan").await.expect("begins");
        let of_day: &'static Statement = leaked(statement.name, text);
        let name = prepare_on_postgres(&mut session, of_day).await;
        let nulls =
            vec!["NULL"; (1..100).rfind(|n| of_day.postgres.contains(&format!("${n}"))).unwrap_or(0)].join(", ");
        let explain = leaked(statement.name, format!("EXPLAIN EXECUTE {name}({nulls})"));
        let plan = session.rows(explain, &[]).await.expect(statement.name);
        let plan: Vec<_> = plan.iter().map(|row| row.text(0).expect("text").unwrap_or("").to_owned()).collect();
        let locked = leaked(
            "locked",
            "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
             WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND c.relname ~ '_[0-9]{8}$'"
                .to_owned(),
        );
        let locked = session.number(locked, &[]).await.expect("counts").unwrap_or(0);
        session.command("ROLLBACK").await.expect("ends");
        let plan = plan.join("\n");
        assert!(locked <= 2, "{}: {locked} partitions are locked:\n{plan}", statement.name);
        // An index by task would be looked through as a whole, and such a plan is kept when the day has filled.
        assert!(!plan.contains("_task_code_") && !plan.contains("Join Filter"), "{}:\n{plan}", statement.name);
    }
}

/// The default partition may hold any id, so the days are merged: one look into the index of each.
#[tokio::test]
async fn lists_look_once_into_each_day_and_sort_nothing_long() {
    let (mut session, _url, last) = with_days().await;
    let fill = format!(
        "INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry, fence,
             execute_time, create_time, update_time)
         SELECT {} - d * {} + n, 'task', 2, 'p', 0, 1, 0, 3, 1, 0, 0, 0
         FROM generate_series(0, {}) d, generate_series(1, 300) n; ANALYZE async_task",
        last.first_id(),
        86_400_000_i64 << 22,
        DAYS - 1
    );
    session.command(&fill).await.expect("fills");
    session.begin(Begin::Snapshot).await.expect("begins");
    for (statement, values) in
        [(&sql::JOBS_ALL, "0, 9223372036854775807, 256"), (&sql::JOBS_BY_TASK, "0, 9223372036854775807, 256, 'task'")]
    {
        let plan = plan_of_often(&mut session, statement, values).await;
        let text = plan.join("\n");
        assert!(text.contains("Append") && !text.contains("Seq Scan on async_task_2"), "{text}");
        assert!(!text.contains("Sort Method"), "{text}");
    }
    session.command("COMMIT").await.expect("ends");
}

/// A list looks back over some days at a time: it finds all, in order, however far apart they are.
#[tokio::test]
async fn a_list_goes_on_where_its_look_ended() {
    let (mut session, url, last) = with_days().await;
    let ids: Vec<i64> = [40, 0, -1, -3, -16, -17, -50, -119, -200]
        .iter()
        .flat_map(|days| (1..=3).rev().map(|n| last.plus(*days).first_id().0 + n))
        .collect();
    let values = ids.iter().map(|id| format!("({id})")).collect::<Vec<_>>().join(", ");
    let fill = format!(
        "INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry, fence,
             execute_time, create_time, update_time, attempts)
         SELECT id, 'mail', CASE WHEN id % 2 = 0 THEN 3 ELSE 2 END, 'default', 0, 2, 0, 3, 1, 0, 0, 0, 1
         FROM (VALUES {values}) AS jobs (id)"
    );
    session.command(&fill).await.expect("fills");
    // It has learned of all the days.
    let world = World::of(&Subject { store: open(&url).await, keep: None });
    assert_eq!(world.listed_ids().await, ids);
    let failed = JobFilter { status: vec![mainspring_model::JobStatus::Failed], ..JobFilter::default() };
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = world.store().jobs(failed.clone(), 2, cursor).await.expect("lists");
        found.extend(page.items.iter().map(|job| job.id.0));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expect: Vec<i64> = ids.iter().copied().filter(|id| id % 2 == 0).collect();
    assert_eq!(found, expect);
}
