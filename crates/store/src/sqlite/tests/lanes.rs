//! What only the tables can show of lanes, rates and fires: rows that cannot be read, rings of another size, limits that
//! came while a job was held.

use std::path::Path;

use mainspring_model::schedule::NextFire;
use mainspring_model::task::Overlap;
use mainspring_model::{Code, JobId, PoolName, QueueState, RateLimit, TaskDefinition, Timestamp};
use rusqlite::Connection;

use super::open;
use crate::rules::Window;
use crate::sqlite::open::open_in_memory;
use crate::sqlite::rates::Ring;
use crate::suite::scheduled::{CRON, at_most, cron, entry, of_task};
use crate::suite::world::{NODE, T0, TASK, at, definition, done, new_job, settlement, task};
use crate::suite::{Subject, World};
use crate::{Fire, Fired, NewJob, Settled, Submitted};
use mainspring_model::job::OnLive;

fn rate(text: &str) -> RateLimit {
    text.parse().expect("a rate")
}

/// Offers a start in every millisecond and says which were taken.
fn starts(ring: &Ring<'_>, times: std::ops::Range<i64>) -> Vec<i64> {
    let free = |ms: &i64| {
        let now = Timestamp::from_ms(*ms);
        ring.opens(Window { now, until: now }).expect("reads").is_none_or(|opens| opens <= now)
    };
    let mut taken = Vec::new();
    for ms in times {
        if free(&ms) {
            ring.start(Timestamp::from_ms(ms)).expect("writes");
            taken.push(ms);
        }
    }
    taken
}

#[test]
fn a_ring_admits_so_many_in_any_period_and_no_fewer() {
    let conn = open_in_memory(T0).expect("opens");
    let ring = Ring::of_task(&conn, &task("x"), "", rate("3/10ms"));
    let taken = starts(&ring, 0..35);
    assert_eq!(taken, [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]);
    let other_key = Ring::of_task(&conn, &task("x"), "k", rate("3/10ms"));
    assert_eq!(starts(&other_key, 33..35), [33, 34], "a key has its own");
}

#[test]
fn a_ring_of_another_size_goes_on() {
    let conn = open_in_memory(T0).expect("opens");
    let of = |text: &str| Ring::of_task(&conn, &task("x"), "", rate(text));
    assert_eq!(starts(&of("5/10ms"), 0..9), [0, 1, 2, 3, 4]);
    // Smaller: from the next period on never more than it says.
    assert_eq!(starts(&of("2/10ms"), 9..30), [10, 11, 20, 21]);
    let again = starts(&of("4/10ms"), 30..60);
    assert!(again.windows(5).all(|five| five[4] - five[0] >= 10), "{again:?}");
    assert!(again.len() >= 11, "{again:?}");
    assert_eq!(starts(&of("1/10ms"), 70..95), [70, 80, 90]);
}

async fn world_at(path: &Path) -> World {
    World::new(&Subject::new(open(path).expect("opens"))).await
}

fn change(path: &Path, statement: &str) {
    Connection::open(path).and_then(|conn| conn.execute_batch(statement)).expect(statement);
}

#[tokio::test]
async fn a_job_that_was_claimed_before_its_task_got_a_limit_lets_others_go_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let world = world_at(&directory.path().join("main.db")).await;
    world.submit_plain(1..=3).await;
    let claims = world.claim(1, T0).await.jobs;
    assert_eq!(claims[0].lane, None);
    world.edit(TASK, at_most(1)).await;
    assert_eq!(world.claim_ids(5).await, [0; 0]);
    assert_eq!(world.queue_state(2).await, Some(QueueState::Limited));
    // Its settlement says what the claim said: no lane.
    assert_eq!(world.settle(settlement(&claims[0], done(None))).await, Settled::AppliedAndFreed);
    assert_eq!(world.claim_ids(5).await, [2]);
    // And without the limit all of them are free again.
    world.edit(TASK, definition()).await;
    assert_eq!(world.claim_ids(5).await, [3]);
    assert_eq!(world.store().verify().await.expect("answers"), []);
}

#[tokio::test]
async fn a_job_of_a_lane_that_cannot_be_read_keeps_nobody_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    world.create("narrow", at_most(1)).await;
    world.stored((1..=3).map(|id| of_task(id, "narrow")).collect()).await;
    let first = world.claim(5, T0).await.jobs;
    change(&path, "UPDATE async_task SET task_status = 42 WHERE id = 2");
    assert_eq!(world.settle(settlement(&first[0], done(None))).await, Settled::AppliedAndFreed);
    assert_eq!(world.claim_ids(5).await, [3], "the second one was let go on, and could not be read");
}

#[tokio::test]
async fn a_task_that_cannot_be_read_stops_no_other_and_loses_no_outcome() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    for code in [CRON, "other"] {
        world.create_firing(code, cron(Overlap::Allow), Some(T0)).await;
    }
    world.create("narrow", at_most(2)).await;
    world.stored(vec![of_task(1, "narrow"), new_job(2)]).await;
    let claims = world.claim(5, T0).await.jobs;
    change(&path, "UPDATE task_info SET overlap = 'NEWER' WHERE task_code IN ('report', 'narrow')");
    let fire = |code: &str, id| Fire {
        task: task(code),
        version: 1,
        due: T0,
        next: NextFire::At(at(1_000)),
        entries: vec![entry(id, code, 0, OnLive::Join)],
    };
    for _ in 0..2 {
        let fired = world.store().fire(NODE, vec![fire(CRON, 10), fire("other", 11)], T0).await.expect("answers");
        assert!(matches!(fired[..], [Fired::Moved, Fired::Done(_)]), "{fired:?}");
    }
    let answers = world.submit(vec![of_task(20, "narrow"), new_job(21)]).await;
    assert!(
        matches!(&answers[..], [Submitted::Refused(refused), Submitted::Stored { .. }] if refused.code == Code::JobUnreadable)
    );
    let ended: Vec<_> = claims.iter().map(|claim| settlement(claim, done(None))).collect();
    assert_eq!(world.store().settle(ended, T0).await.expect("answers"), [Settled::Applied; 2]);
    assert!(world.store().job(JobId(10)).await.expect("reads").is_none());
}

#[tokio::test]
async fn a_repetition_is_not_told_that_a_job_is_claimed_which_the_node_claimed_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    let world = world_at(&directory.path().join("main.db")).await;
    world.create("narrow", at_most(5)).await;
    let claiming = |id| NewJob { claim: true, ..of_task(id, "narrow") };
    let not_claimed = Submitted::Stored { claimed: false, replaced: Vec::new() };
    let claimed = Submitted::Stored { claimed: true, replaced: Vec::new() };
    assert_eq!(world.submit(vec![claiming(1), claiming(2)]).await, [claimed.clone(), not_claimed.clone()]);
    assert_eq!(world.submit(vec![claiming(1), claiming(2)]).await, [claimed.clone(), not_claimed.clone()]);
    assert_eq!(world.claim_ids(5).await, [2]);
    assert_eq!(world.submit(vec![claiming(1), claiming(2)]).await, [claimed, not_claimed]);
}

#[tokio::test]
async fn a_rate_of_a_pool_that_cannot_be_read_and_a_damaged_calendar_stop_nobody() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    change(
        &path,
        "INSERT INTO pool VALUES ('default', 1, 1, 0, 'SPILL', 'often', NULL);
         INSERT INTO calendar VALUES ('bad', NULL, '2026-13-01', ''), ('good', NULL, '2026-10-01,2026-10-02', '')",
    );
    world.submit_plain(1..=2).await;
    assert_eq!(world.claim_ids(5).await, [1, 2]);
    let calendars = world.store().calendars().await.expect("reads");
    let [good] = &calendars[..] else { panic!("{calendars:?}") };
    assert_eq!((good.name.as_str(), good.excluded.len(), good.working.len()), ("good", 2, 0));
}

/// A pool that is set aside by its rate tells when to come again, and a closed pool sets nobody aside.
#[tokio::test]
async fn a_closed_pool_leaves_its_jobs_where_they_are() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    change(&path, "INSERT INTO pool VALUES ('default', 1, 1, 0, 'SPILL', '2/1m', NULL)");
    world.submit_plain(1..=4).await;
    let claimed = world.claim(10, T0).await;
    assert_eq!(claimed.jobs.len(), 2);
    assert_eq!(claimed.next_due, [(PoolName::default_pool(), Some(at(60_000)))]);
    assert_eq!(world.queue_state(3).await, Some(QueueState::Queued));
    let limits = TaskDefinition { max_running: Some(1), ..definition() };
    world.edit(TASK, limits).await;
    assert_eq!(world.claim(10, at(59_999)).await.jobs.len(), 0);
    assert_eq!(world.queue_state(3).await, Some(QueueState::Queued));
}
