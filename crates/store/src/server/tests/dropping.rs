//! History that is dropped by days: what goes, what stays, and what an interruption leaves.

use std::sync::Arc;

use mainspring_model::{AttemptId, Fence, JobId, Timestamp, Unique};
use mainspring_test_servers::{CutProxy, Kind, When, shared, sql as ask};

use super::{open, session};
use crate::postgres::partitions::Turn;
use crate::server::ServerStore;
use crate::server::days::Day;
use crate::suite::world::{T0, at, done, failed, keyed, new_job, settlement, stored};
use crate::suite::{Subject, World};
use crate::{Claim, DroppedHistory, KeptDay, NewJob, OutputChunk, Store as _, StoreError, Stream, Trouble};

/// All that belongs to jobs, and the column that says to which.
const BELONGINGS: [(&str, &str); 6] = [
    ("async_task", "id"),
    ("task_execution_log", "job_id"),
    ("attempt_output", "job_id"),
    ("dead_job", "job_id"),
    ("alert_event", "job_id"),
    ("job_key", "job_id"),
];

/// Jobs of more than one step.
const JOBS: i64 = 1_100;

fn number(url: &str, statement: &str) -> i64 {
    ask(url, statement).expect(statement).parse().expect("a number")
}

/// Rows of the day's jobs, by table.
fn belongings(url: &str, day: Day) -> Vec<i64> {
    let (first, end) = (day.first_id(), day.plus(1).first_id());
    let of = |(table, id): &(&str, &str)| {
        number(url, &format!("SELECT count(*) FROM {table} WHERE {id} >= {first} AND {id} < {end}"))
    };
    BELONGINGS.iter().map(of).collect()
}

fn attachments(url: &str) -> i64 {
    number(url, "SELECT count(*) FROM attachment")
}

fn leftovers(url: &str) -> i64 {
    number(url, "SELECT count(*) FROM pg_class WHERE relname LIKE '%\\_dropped\\_%' AND relkind = 'r'")
}

fn long() -> String {
    format!("\"{}\"", "x".repeat(40_000))
}

/// Of each kind one, and many plain ones: all have ended.
async fn fill(world: &World, day: Day) {
    let id = |number: i64| day.first_id().0 + number;
    let key = format!("key of {day}");
    let large = NewJob { payload: Some(Arc::from(long())), ..new_job(id(1)) };
    let mut jobs = vec![large, keyed(id(2), &key, Unique::Always), new_job(id(3))];
    jobs.extend((4..=JOBS).map(|number| new_job(id(number))));
    for some in jobs.chunks(500) {
        world.stored(some.to_vec()).await;
    }
    let mut claims: Vec<Claim> = Vec::new();
    while claims.len() < jobs.len() {
        claims.extend(world.claim(500, T0).await.jobs);
    }
    let end = |claim: &Claim| match claim.id.0 - day.first_id().0 {
        2 => settlement(claim, done(Some(&long()))),
        3 => settlement(claim, failed(false)),
        _ => settlement(claim, done(Some("ok"))),
    };
    for some in claims.chunks(500) {
        world.store().settle(some.iter().map(end).collect(), at(30)).await.expect("settles");
    }
    let attempt = AttemptId { job: JobId(id(2)), fence: Fence(1) };
    let chunk = |seq| OutputChunk { attempt, seq, time: T0, stream: Stream::Stdout, text: "said".to_owned() };
    world.store().append_output((1..=3).map(chunk).collect()).await.expect("appends");
}

/// Three days of long ago that are full, in a row.
async fn with_history(url: &str) -> (World, Arc<ServerStore>, Day) {
    let store = open(url).await;
    let first = Day::at(store.now().await.expect("tells")).plus(-20);
    store.make_partitions(first.start(), Turn::Wait).await.expect("makes");
    let world = World::new(&Subject { store: store.clone(), keep: None }).await;
    for days in 0..3 {
        fill(&world, first.plus(days)).await;
    }
    (world, store, first)
}

fn dropped(days: &[Day], kept: &[(Day, &str)]) -> DroppedHistory {
    let many = JOBS.unsigned_abs() * days.len() as u64;
    let kept = kept.iter().map(|(day, reason)| KeptDay { day: day.to_string(), reason: (*reason).to_owned() });
    let days = days.iter().map(Day::to_string).collect();
    DroppedHistory { days, jobs: many, attempts: many, kept: kept.collect() }
}

async fn is_right(store: &ServerStore) {
    assert_eq!(store.verify().await.expect("verifies"), []);
}

/// Of the second of the three days, that keeps the last four empty ones of the fortnight out of what is counted.
fn with_empty_days(mut history: DroppedHistory, first: Day, from: i64, before: i64) -> DroppedHistory {
    history.days.extend((from..before).map(|days| first.plus(days).to_string()));
    history
}

#[tokio::test]
async fn whole_days_go_with_all_that_belongs_to_their_jobs() {
    let url = shared(Kind::Postgres).expect("a database");
    let (world, store, first) = with_history(&url).await;
    is_right(&store).await;
    let full = vec![JOBS, JOBS, 3, 1, 1, 1];
    assert_eq!((belongings(&url, first), attachments(&url)), (full.clone(), 6));
    // One more instant, and the third day would be whole.
    let before = Timestamp::from_ms(first.plus(3).start().as_ms() - 1);
    let expect = dropped(&[first, first.plus(1)], &[]);
    assert_eq!(store.droppable_history(before).await.expect("looks"), expect);
    assert_eq!((belongings(&url, first), attachments(&url)), (full.clone(), 6));
    assert_eq!(store.drop_history(before).await.expect("drops"), expect);
    assert_eq!(belongings(&url, first), [0; 6]);
    assert_eq!(belongings(&url, first.plus(1)), [0; 6]);
    assert_eq!((belongings(&url, first.plus(2)), attachments(&url), leftovers(&url)), (full, 2, 0));
    is_right(&store).await;
    assert_eq!(store.drop_history(before).await.expect("drops"), DroppedHistory::default());
    // Its key is free, the others' are not.
    let again = |day: Day| keyed(world_id(&day) + 9_000_000, &format!("key of {day}"), Unique::Always);
    let answers = world.submit(vec![again(first), again(first.plus(2))]).await;
    assert_eq!(answers[0], stored());
    assert!(matches!(answers[1], crate::Submitted::Duplicate { .. }), "{answers:?}");
}

fn world_id(day: &Day) -> i64 {
    day.first_id().0
}

#[tokio::test]
async fn a_day_with_a_job_that_is_not_final_stays_until_that_ends() {
    let url = shared(Kind::Postgres).expect("a database");
    let (world, store, first) = with_history(&url).await;
    let live = first.first_id().0 + 5_000;
    world.stored(vec![new_job(live)]).await;
    let before = first.plus(2).start();
    let reason = format!("job {live} is not final");
    let expect = dropped(&[first.plus(1)], &[(first, &reason)]);
    assert_eq!(store.droppable_history(before).await.expect("looks"), expect);
    assert_eq!(store.drop_history(before).await.expect("drops"), expect);
    assert_eq!(belongings(&url, first), [JOBS + 1, JOBS, 3, 1, 1, 1]);
    is_right(&store).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    world.settle(settlement(&claim, done(None))).await;
    let mut expect = dropped(&[first], &[]);
    (expect.jobs, expect.attempts) = (expect.jobs + 1, expect.attempts + 1);
    assert_eq!(store.drop_history(before).await.expect("drops"), expect);
    assert_eq!(belongings(&url, first), [0; 6]);
    is_right(&store).await;
}

#[tokio::test]
async fn today_and_what_has_no_day_stay() {
    let url = shared(Kind::Postgres).expect("a database");
    let (world, store, first) = with_history(&url).await;
    let today = Day::at(store.now().await.expect("tells"));
    world.stored(vec![new_job(7), new_job(today.first_id().0 + 1)]).await;
    let in_default = "job 7 and perhaps others are in the default partition";
    let origin = Day::of(JobId(7));
    let expect = dropped(&[first, first.plus(1), first.plus(2)], &[(origin, in_default)]);
    // The fortnight that was made for the first of them.
    let expect = with_empty_days(expect, first, 3, 14);
    assert_eq!(store.drop_history(today.plus(5).start()).await.expect("drops"), expect);
    assert_eq!(world.listed_ids().await, [today.first_id().0 + 1, 7]);
    is_right(&store).await;
}

#[tokio::test]
async fn a_table_that_somebody_reads_stays_for_now() {
    let url = shared(Kind::Postgres).expect("a database");
    let (_world, store, first) = with_history(&url).await;
    let mut reader = session(&url).await;
    let read = format!("BEGIN; LOCK TABLE async_task_{} IN ACCESS SHARE MODE", first.word());
    reader.command(&read).await.expect("reads");
    let found = store.drop_history(first.plus(1).start()).await.expect("answers");
    assert!(found.days.is_empty() && found.kept[0].reason.contains("somebody uses the table"), "{found:?}");
    is_right(&store).await;
    reader.command("COMMIT").await.expect("ends");
    let found = store.drop_history(first.plus(1).start()).await.expect("drops");
    assert_eq!(found, dropped(&[first], &[]));
}

#[tokio::test]
async fn a_drop_that_was_cut_leaves_what_is_right_and_is_completed() {
    let database = shared(Kind::Postgres).expect("a database");
    let (_world, direct, first) = with_history(&database).await;
    let port = database.rsplit([':', '/']).nth(1).and_then(|port| port.parse().ok()).expect("a port");
    let proxy = CutProxy::to(Kind::Postgres, port).expect("starts");
    let store = open(&proxy.url_of(&database).expect("a URL")).await;
    // Where it waits for tables it tries again by itself, whatever kept it.
    proxy.cut_at_statement("DETACH", When::After);
    assert_eq!(store.drop_history(first.plus(1).start()).await.expect("drops"), dropped(&[first], &[]));
    let (first, before) = (first.plus(1), first.plus(2).start());
    let steps = [
        "DELETE FROM job_key",
        "DELETE FROM attachment",
        "DELETE FROM dead_job",
        "DELETE FROM alert_event",
        "DELETE FROM attempt_output",
        "DROP TABLE",
    ];
    for step in steps {
        proxy.cut_at_statement(step, When::After);
        let cut = store.drop_history(before).await;
        assert!(matches!(cut, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{step}: {cut:?}");
        is_right(&direct).await;
    }
    for _ in 0..3 {
        store.now().await.expect("connects again, which commits too");
        proxy.cut_at_commit(When::After);
        let cut = store.drop_history(before).await;
        assert!(matches!(cut, Err(StoreError::Unknown { kind: Trouble::Unavailable, .. })), "{cut:?}");
        is_right(&direct).await;
    }
    assert!(leftovers(&database) > 0, "nothing is left to complete");
    assert_eq!(store.drop_history(before).await.expect("drops"), dropped(&[first], &[]));
    assert_eq!((belongings(&database, first), leftovers(&database), attachments(&database)), (vec![0; 6], 0, 2));
    is_right(&direct).await;
}

#[tokio::test]
async fn two_that_drop_at_one_time_do_it_once() {
    let url = shared(Kind::Postgres).expect("a database");
    let (_world, store, first) = with_history(&url).await;
    let other = open(&url).await;
    let before = first.plus(3).start();
    let (one, two) = tokio::join!(store.drop_history(before), other.drop_history(before));
    let (one, two) = (one.expect("drops"), two.expect("drops"));
    assert_eq!((&one.kept, &two.kept), (&Vec::new(), &Vec::new()));
    for days in 0..3 {
        let day = first.plus(days);
        assert!(one.days.contains(&day.to_string()) || two.days.contains(&day.to_string()), "{one:?} {two:?}");
        assert_eq!(belongings(&url, day), [0; 6]);
    }
    assert_eq!((attachments(&url), leftovers(&url)), (0, 0));
    is_right(&store).await;
}

#[tokio::test]
async fn a_database_without_partitions_says_so() {
    let store = open(&shared(Kind::MariaDb).expect("a database")).await;
    let refused = store.drop_history(T0).await;
    assert!(matches!(refused, Err(StoreError::NotApplied { kind: Trouble::Unsupported, .. })), "{refused:?}");
}
