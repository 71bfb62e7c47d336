//! Partitions of days on PostgreSQL: there before their jobs come, whoever makes them and whatever is in the way.

use mainspring_model::{Clock as _, JobId, Timestamp};
use mainspring_test_servers::{Kind, shared, sql as ask};

use super::{open, session};
use crate::clock::SystemClock;
use crate::postgres::partitions::{Turn, attached};
use crate::server::ServerStore;
use crate::server::days::Day;
use crate::suite::world::{NODE, T0, done, new_job, settlement};
use crate::suite::{Subject, World};
use crate::transfer::{Start, transfer};
use crate::{SqliteStore, Store as _};

const DAY_MS: i64 = 86_400_000;

fn fresh() -> String {
    shared(Kind::Postgres).expect("a database")
}

fn tell(url: &str, statement: &str) {
    ask(url, statement).expect(statement);
}

fn count(url: &str, of: &str) -> i64 {
    ask(url, &format!("SELECT count(*) FROM {of}")).expect(of).parse().expect("a number")
}

/// The day that is so many days from today.
async fn day(store: &ServerStore, from_today: i64) -> Day {
    Day::at(store.now().await.expect("tells")).plus(from_today)
}

/// What a node does from time to time, so many days from now.
async fn duty(store: &ServerStore, days_from_now: i64) {
    let now = store.now().await.expect("tells").plus_ms(days_from_now * DAY_MS);
    store.take_over(now).await.expect("takes over");
}

/// Of the days from `first` to before `end`, seen from today: which have partitions?
async fn there(store: &ServerStore, url: &str, days: std::ops::Range<i64>) -> Vec<i64> {
    let attached = attached(&mut session(url).await).await.expect("reads");
    let mut there = Vec::new();
    for from_today in days {
        if attached.contains(&day(store, from_today).await) {
            there.push(from_today);
        }
    }
    there
}

/// A job of the day that has ended.
async fn ended(world: &World, day: Day, number: i64) -> JobId {
    let id = JobId(day.first_id().0 + number);
    let claim = world.claimed(new_job(id.0)).await;
    assert!(world.start(&claim, T0).await);
    world.settle(settlement(&claim, done(Some("ok")))).await;
    id
}

#[tokio::test]
async fn the_first_job_of_a_fresh_database_has_its_day() {
    let url = fresh();
    let store = open(&url).await;
    assert_eq!(there(&store, &url, -3..20).await, (0..14).collect::<Vec<_>>());
    let today = day(&store, 0).await;
    let world = World::new(&Subject { store, keep: None }).await;
    ended(&world, today, 1).await;
    for table in ["async_task", "task_execution_log"] {
        assert_eq!(count(&url, &format!("{table}_default")), 0, "{table}");
        assert_eq!(count(&url, &format!("{table}_{}", today.word())), 1, "{table}");
    }
    let options = "SELECT count(DISTINCT reloptions) FROM pg_class WHERE relname LIKE 'async_task_%' AND relkind = 'r'";
    assert_eq!(ask(&url, options).expect("reads"), "1");
}

#[tokio::test]
async fn a_node_makes_the_next_days_when_a_week_is_left() {
    let url = fresh();
    let store = open(&url).await;
    duty(&store, 7).await;
    assert_eq!(there(&store, &url, 12..30).await, [12, 13]);
    duty(&store, 8).await;
    assert_eq!(there(&store, &url, 12..30).await, (12..22).collect::<Vec<_>>());
}

#[tokio::test]
async fn nodes_that_make_them_at_one_time_do_not_hinder_each_other() {
    let url = fresh();
    let (one, other) = (open(&url).await, open(&url).await);
    tokio::join!(duty(&one, 30), duty(&other, 30));
    // Whoever was not first has left it to the other one, and was not told to do it again.
    assert_eq!(there(&one, &url, 14..50).await, (30..44).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_an_interrupted_making_left_is_completed() {
    let url = fresh();
    let store = open(&url).await;
    let (loose, half) = (day(&store, 30).await, day(&store, 31).await);
    let ids = (half.first_id(), half.plus(1).first_id());
    for table in ["async_task", "task_execution_log"] {
        tell(&url, &format!("CREATE TABLE {table}_{} (LIKE {table} INCLUDING ALL)", loose.word()));
    }
    let word = half.word();
    tell(
        &url,
        &format!("CREATE TABLE async_task_{word} PARTITION OF async_task FOR VALUES FROM ({}) TO ({})", ids.0, ids.1),
    );
    assert_eq!(there(&store, &url, 30..32).await, [0; 0]);
    duty(&store, 30).await;
    assert_eq!(there(&store, &url, 30..44).await, (30..44).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_day_that_began_in_the_default_partition_stays_there() {
    let url = fresh();
    let store = open(&url).await;
    let early = day(&store, 32).await;
    let world = World::new(&Subject { store: store.clone(), keep: None }).await;
    let id = ended(&world, early, 1).await;
    duty(&store, 30).await;
    assert_eq!(there(&store, &url, 30..35).await, [30, 31, 33, 34]);
    // As before, also for those that come later.
    assert_eq!(world.job(id.0).await.id, id);
    ended(&world, early, 2).await;
    assert_eq!((count(&url, "async_task_default"), count(&url, "task_execution_log_default")), (2, 2));
    assert_eq!(store.verify().await.expect("verifies"), []);
}

#[tokio::test]
async fn whoever_is_in_the_way_delays_it_and_is_not_delayed() {
    let url = fresh();
    let store = open(&url).await;
    let world = World::new(&Subject { store: store.clone(), keep: None }).await;
    let mut other = session(&url).await;
    other.command("BEGIN; LOCK TABLE async_task_default IN ROW EXCLUSIVE MODE").await.expect("locks");
    // A failure is no failure of the duty.
    duty(&store, 30).await;
    assert_eq!(there(&store, &url, 30..44).await, [0; 0]);
    ended(&world, day(&store, 0).await, 1).await;
    other.command("COMMIT").await.expect("commits");
    let now = store.now().await.expect("tells").plus_ms(30 * DAY_MS + 61_000);
    store.take_over(now).await.expect("takes over");
    assert_eq!(there(&store, &url, 30..44).await, (30..44).collect::<Vec<_>>());
}

#[tokio::test]
async fn history_that_is_moved_has_its_days() {
    let url = fresh();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    let past = Day::at(SystemClock::new().now()).plus(-40);
    let file = SqliteStore::open(&path, SystemClock::new()).expect("opens");
    let world = World::new(&Subject::new(file)).await;
    ended(&world, past, 1).await;
    ended(&world, past.plus(3), 1).await;
    ended(&world, Day::at(Timestamp::from_ms(1_710_000_000_000)), 1).await;
    drop(world);
    let from = format!("sqlite://{}", path.display());
    transfer(&from, &url, Start::Fresh, &*SystemClock::new(), &mut |_| {}).await.expect("moves");
    let store = open(&url).await;
    assert_eq!(there(&store, &url, -50..1).await, [-40, -37, 0]);
    // The third is too old for a day of its own.
    assert_eq!((count(&url, "async_task_default"), count(&url, "task_execution_log_default")), (1, 1));
}

/// A statement for one partition is understood when the partition was dropped by another node.
#[tokio::test]
async fn a_day_that_another_node_dropped_is_missed_by_nobody() {
    let url = fresh();
    let (one, other) = (open(&url).await, open(&url).await);
    let past = day(&one, -20).await;
    one.make_partitions(past.start(), Turn::Wait).await.expect("makes");
    other.make_partitions(past.start(), Turn::Wait).await.expect("learns");
    let world = World::new(&Subject { store: one.clone(), keep: None }).await;
    let id = past.first_id().0 + 1;
    let claim = world.claimed(new_job(id)).await;
    world.settle(settlement(&claim, done(Some("ok")))).await;
    one.drop_history(past.plus(1).start()).await.expect("drops");
    let late = other.settle(vec![settlement(&claim, done(Some("ok")))], T0).await.expect("answers");
    assert_eq!(late, [crate::Settled::Lost]);
    // An id of that day comes once more: it is kept where what has no day is kept.
    other.submit(NODE, vec![new_job(id)]).await.expect("submits");
    assert_eq!(count(&url, "async_task_default"), 1);
}
