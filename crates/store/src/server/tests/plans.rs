//! Each hot statement uses an index, whatever values it is given, and the index that its file names.

use mainspring_test_servers::{Kind, shared};

use super::{on_each, open, session};
use crate::server::row::Row;
use crate::server::session::{Dialect, Session};
use crate::server::sql;
use crate::server::statement::Statement;

/// Statements that run rarely, or look at small tables only, and say so in their second line.
const SCANS: &[&str] = &["lane_enter", "live_jobs", "task_live", "task_live_ids"];

/// Tables that grow.
const BIG: &[&str] = &[
    "async_task",
    "attachment",
    "attempt_output",
    "audit_log",
    "dead_job",
    "job_key",
    "job_queue",
    "rate_ring",
    "rate_start",
    "request",
    "task_execution_log",
];

/// A history of ended jobs, a queue, and what belongs to them. `{n}` is the name of a table of numbers from 1.
const FILL: &str = "
    INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, biz_id, max_retry,
        fence, execute_time, create_time, update_time)
    SELECT n, concat('task', n % 50), CASE WHEN n > 19000 THEN 0 WHEN n % 20 = 0 THEN 3 ELSE 2 END,
        concat('pool', n % 3), 0, n % 4, 0, CASE WHEN n % 5 = 0 THEN concat('key', n) END, 3, 1, n, n, n
    FROM ({numbers}) numbers;
    INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state, lane, concurrency_key)
    SELECT n, concat('task', n % 50), concat('pool', n % 3), n % 4, n, 1, CASE WHEN n % 10 = 0 THEN 5 END,
        CASE WHEN n % 10 = 0 THEN 1 + n % 20 / 10 WHEN n % 10 < 3 THEN 3 + n % 10 ELSE 0 END,
        CASE WHEN n % 50 < 5 THEN 1 ELSE 0 END, CASE WHEN n % 50 < 5 THEN '' END
    FROM ({numbers}) numbers WHERE n > 19000;
    INSERT INTO job_key (biz_id, task_code, job_id, while_live)
    SELECT biz_id, task_code, id, 1 FROM async_task WHERE biz_id IS NOT NULL;
    INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, execute_status, create_time)
    SELECT id, 1, task_code, 1, 1, id, 2, id FROM async_task WHERE task_status > 0;
    INSERT INTO attempt_output (job_id, fence, seq, time, stream, text)
    SELECT id, 1, 1, 1, 0, 'x' FROM async_task WHERE id < 5000;
    INSERT INTO dead_job (job_id, task_code, cause, time, closed_at)
    SELECT id, task_code, 0, id, CASE WHEN id % 40 = 0 THEN 1 END FROM async_task WHERE task_status = 3;
    INSERT INTO request (request_id, operation, time) SELECT concat('r', n), 'x', n FROM ({numbers}) numbers;
    INSERT INTO rate_ring (scope, rate_key, next) SELECT concat('task:task', n), '', 0 FROM ({numbers}) numbers WHERE n < 3000;
    INSERT INTO rate_start (scope, rate_key, slot, time)
    SELECT concat('task:task', n % 50), '', n, n FROM ({numbers}) numbers WHERE n < 5000;
    INSERT INTO attachment (kind, bytes) SELECT 'payload', 'x' FROM ({numbers}) numbers WHERE n < 3000;
    INSERT INTO audit_log (time, who, what, object, detail)
    SELECT n, 'ann', 'edit', concat('job:', n), '' FROM ({numbers}) numbers WHERE n < 5000;
    INSERT INTO node (incarnation, number, kind, host, pid, version, state, heartbeat_at, expires_at)
    VALUES (5, 1, 'ENGINE', 'here', 7, '1', 'ACTIVE', 0, 0);";

async fn filled(url: &str) -> Session {
    drop(open(url).await);
    let mut session = session(url).await;
    let (numbers, analyze) = match session.dialect() {
        Dialect::Postgres => ("SELECT n::bigint FROM generate_series(1, 20000) n", "ANALYZE".to_owned()),
        Dialect::MySql => ("SELECT seq AS n FROM seq_1_to_20000", format!("ANALYZE TABLE {}", BIG.join(", "))),
    };
    session.command(&FILL.replace("{numbers}", numbers)).await.expect("fills");
    session.command(&analyze).await.expect("looks at it");
    session
}

/// One line per step.
async fn plan(session: &mut Session, statement: &'static Statement) -> Vec<String> {
    match session.dialect() {
        Dialect::Postgres => plan_of_postgres(session, statement, None).await,
        Dialect::MySql => plan_of_mysql(session, statement, None).await,
    }
}

/// Its name. Where the server cannot tell by itself of what type the values are (our driver says so), all are numbers.
pub(super) async fn prepare_on_postgres(session: &mut Session, statement: &Statement) -> String {
    let (name, text) = (format!("trial_{}", statement.name), statement.postgres);
    if session.command(&format!("PREPARE {name} AS {text}")).await.is_err() {
        let numbers = vec!["bigint"; values_of(text)].join(", ");
        session.command(&format!("PREPARE {name} ({numbers}) AS {text}")).await.expect(statement.name);
    }
    name
}

fn values_of(text: &str) -> usize {
    (1..100).rfind(|number| text.contains(&format!("${number}"))).unwrap_or(0)
}

/// For whatever values, as the hot verbs are planned: once. Or for these, as lists are.
async fn plan_of_postgres(session: &mut Session, statement: &Statement, values: Option<&str>) -> Vec<String> {
    let text = statement.postgres;
    let name = prepare_on_postgres(session, statement).await;
    let words = session.dialect().begin_words();
    let begin = if values.is_some() { words.snapshot } else { words.write };
    session.command(begin).await.expect("begins");
    if values.is_none() {
        session.command("SET LOCAL plan_cache_mode = force_generic_plan").await.expect("sets");
    }
    let nulls = vec!["NULL"; values_of(text)].join(", ");
    let nulls = if nulls.is_empty() { nulls } else { format!("({nulls})") };
    let values = values.map_or(nulls, |values| format!("({values})"));
    let explain = leaked(statement.name, format!("EXPLAIN EXECUTE {name}{values}"));
    let rows = session.rows(explain, &[]).await.expect(statement.name);
    session.command("ROLLBACK").await.expect("ends");
    rows.iter().map(|row| row.text(0).expect("text").expect("a line").to_owned()).collect()
}

/// For these values; without them for texts that are numbers, which fit both kinds of columns.
async fn plan_of_mysql(session: &mut Session, statement: &'static Statement, values: Option<&str>) -> Vec<String> {
    let rewritten = statement.mysql();
    let values: Vec<&str> = values.map(|values| values.split(", ").collect()).unwrap_or_default();
    let mut parts = rewritten.text.split('?');
    let mut text = format!("EXPLAIN {}", parts.next().unwrap_or_default());
    for (part, place) in parts.zip(&rewritten.order) {
        let any = if text.ends_with("LIMIT ") { "7" } else { "'7'" };
        text.push_str(values.get(*place).copied().unwrap_or(any));
        text.push_str(part);
    }
    let rows = session.rows(leaked(statement.name, text), &[]).await.expect(statement.name);
    let column = |row: &Row, at| row.text(at).expect("text").unwrap_or("-").to_owned();
    // Table, how it is read, by which index, and what else.
    rows.iter().map(|row| [2, 3, 5, 9].map(|at| column(row, at)).join(" ")).collect()
}

pub(super) fn leaked(name: &'static str, text: String) -> &'static Statement {
    let text: &'static str = Box::leak(text.into_boxed_str());
    Box::leak(Box::new(Statement::new(name, text, text)))
}

fn is_explained(statement: &'static Statement, dialect: Dialect) -> bool {
    let name = statement.name;
    let text = if dialect == Dialect::Postgres { statement.postgres } else { &statement.mysql().text };
    let first = text.lines().find(|line| !line.starts_with("--")).unwrap_or_default();
    let is_query = ["SELECT", "UPDATE", "DELETE", "INSERT"].iter().any(|word| first.starts_with(word));
    // Rows that are simply put into a table look like a scan of it.
    let only_puts = first.starts_with("INSERT") && text.contains("VALUES (");
    is_query && !only_puts && !name.starts_with("verify_") && !name.starts_with("migration")
}

#[tokio::test]
async fn no_hot_statement_scans_a_table_that_grows() {
    on_each(async |url| {
        let mut session = filled(url).await;
        let mut bad = Vec::new();
        let dialect = session.dialect();
        for statement in
            sql::ALL.iter().filter(|statement| statement.is_for(dialect) && is_explained(statement, dialect))
        {
            let plan = plan(&mut session, statement).await;
            let scans = |table: &&str| {
                let in_postgres = format!("Seq Scan on {table}");
                plan.iter()
                    .any(|line| line.contains(&in_postgres) || (line.contains(" ALL ") && line.starts_with(*table)))
            };
            if BIG.iter().any(scans) && !SCANS.contains(&statement.name) {
                bad.push(format!("{}:\n{}", statement.name, plan.join("\n")));
            }
        }
        assert!(bad.is_empty(), "{}", bad.join("\n"));
    })
    .await;
}

/// The index by its name in each: PostgreSQL names those of partitions by their columns.
const NAMED: &[(&Statement, &str, &str)] = &[
    (&sql::JOBS_READ, "async_task_default_pkey", "PRIMARY"),
    (&sql::OUTPUT_READ, "attempt_output_pkey", "PRIMARY"),
    (&sql::LANE_REQUEUE, "job_queue_lane", "job_queue_lane"),
    (&sql::LANE_LEAVE, "job_queue_lane", "job_queue_lane"),
    (&sql::REQUESTS_FORGET, "request_by_time", "request_by_time"),
    (&sql::RINGS_DELETE, "rate_ring_pkey", "PRIMARY"),
    (&sql::RINGS_DELETE_STARTS, "rate_start_pkey", "PRIMARY"),
];

/// Besides, the values of a list that begins at the newest, or of one row, as PostgreSQL reads them.
const LISTS: &[(&Statement, &str, &str, &str)] = &[
    (&sql::JOB_READ, "7", "async_task_default_pkey", "PRIMARY"),
    (&sql::ATTEMPT, "7, 1", "task_execution_log_default_pkey", "PRIMARY"),
    (&sql::JOBS_ALL, "0, 9223372036854775807, 256", "async_task_default_pkey", "PRIMARY"),
    (
        &sql::JOBS_BY_TASK,
        "0, 9223372036854775807, 256, 'task7'",
        "async_task_default_task_code_id_idx",
        "async_task_by_task",
    ),
    (&sql::JOBS_BY_KEY, "0, 9223372036854775807, 256, 'key5'", "async_task_default_biz_id_id_idx", "async_task_by_key"),
    (
        &sql::JOBS_BY_STATUS,
        "0, 9223372036854775807, 256, 5",
        "async_task_default_closed_status_id_idx",
        "async_task_by_status",
    ),
    (
        &sql::JOBS_BY_STATUS_TASK,
        "0, 9223372036854775807, 256, 3, 'task10'",
        "closed_status_task_code_id_idx",
        "async_task_by_status_task",
    ),
    (&sql::JOBS_EXECUTING, "0, 9223372036854775807, 256", "job_queue_state", "job_queue_due"),
    (&sql::JOBS_LIVE, "0, 9223372036854775807, 256", "job_queue_pkey", "PRIMARY"),
    (&sql::ATTEMPTS_OF_JOB, "7, 9223372036854775807, 51", "task_execution_log_default_pkey", "PRIMARY"),
    (
        &sql::ATTEMPTS_OF_TASK,
        "'task7', 9223372036854775807, 9223372036854775807, 9223372036854775807, 51",
        "task_execution_log_default_task_code",
        "task_execution_log_by_task",
    ),
    (&sql::QUEUE_NEXT_POOL, "''", "job_queue_due", "job_queue_due"),
    (&sql::QUEUE_OLDEST_DUE, "'pool1'", "job_queue_due", "job_queue_due"),
    (&sql::DEAD_JOBS, "9223372036854775807, 9223372036854775807, 51", "dead_job_open", "dead_job_open"),
    (
        &sql::DEAD_JOBS_OF_TASK,
        "9223372036854775807, 9223372036854775807, 51, 'task7'",
        "dead_job_open_by_task",
        "dead_job_open_by_task",
    ),
];

fn check(dialect: Dialect, plan: &[String], statement: &Statement, indexes: (&str, &str)) {
    let index = if dialect == Dialect::Postgres { indexes.0 } else { indexes.1 };
    let plan = plan.join("\n");
    // A row that MySQL looks up by its key while it plans, and does not find.
    let is_by_key = index == "PRIMARY" && plan.contains("const tables");
    assert!(plan.contains(index) || is_by_key, "{} without {index}:\n{plan}", statement.name);
}

#[tokio::test]
async fn hot_statements_use_the_index_they_name() {
    on_each(async |url| {
        let mut session = filled(url).await;
        for (statement, in_postgres, in_mysql) in NAMED {
            let plan = plan(&mut session, statement).await;
            check(session.dialect(), &plan, statement, (in_postgres, in_mysql));
        }
    })
    .await;
}

#[tokio::test]
async fn lists_use_the_index_they_name() {
    on_each(async |url| {
        let mut session = filled(url).await;
        for (statement, values, in_postgres, in_mysql) in LISTS {
            let plan = match session.dialect() {
                Dialect::Postgres => plan_of_postgres(&mut session, statement, Some(values)).await,
                Dialect::MySql => plan_of_mysql(&mut session, statement, Some(values)).await,
            };
            check(session.dialect(), &plan, statement, (in_postgres, in_mysql));
        }
    })
    .await;
}

/// Statements that take a batch, and change or read the rows of its jobs.
const BATCHES: &[&Statement] = &[
    &sql::SETTLE_ALL,
    &sql::QUEUE_CLAIM_ALL,
    &sql::QUEUE_START_ALL,
    &sql::QUEUE_PUT_BACK,
    &sql::QUEUE_HELD_LOCK,
    &sql::QUEUE_HELD_LOCK_FREE,
    &sql::QUEUE_HELD_TASKS,
    &sql::JOB_START_ALL,
    &sql::JOBS_DUPLICATE,
    &sql::JOBS_MADE,
    &sql::CLAIM_READ,
    &sql::JOBS_READ,
    &sql::KEYS_TAKEN,
];

/// Nothing is in the tables yet: such plans stay when they have filled.
#[tokio::test]
async fn batches_look_their_rows_up_one_by_one() {
    let url = shared(Kind::Postgres).expect("a database");
    drop(open(&url).await);
    let mut session = session(&url).await;
    session.command("ANALYZE").await.expect("looks at empty tables");
    for statement in BATCHES {
        let plan = plan(&mut session, statement).await.join("\n");
        let compares_each_with_each = plan.contains("Join Filter") || plan.contains("job_queue_owner");
        assert!(!compares_each_with_each, "{}:\n{plan}", statement.name);
        // All of an index by task would be looked through for each.
        assert!(!plan.contains("_task_code_"), "{}:\n{plan}", statement.name);
    }
}
