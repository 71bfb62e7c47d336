//! After a fail-over that lost commits: a new history, whatever the length of the queue.

use std::sync::Arc;

use mainspring_model::Incarnation;

use super::sessions::cut_all_others;
use super::{number, on_each, open, session};
use crate::server::ServerStore;
use crate::suite::world::{NODE, T0, at, claim_request, done, settlement, started};
use crate::suite::{Subject, World};
use crate::{Claim, Settled, Store as _, StoreError, Trouble};

/// Three parts, the last of them short.
const JOBS: i64 = 4_500;

/// A long queue whose first jobs are held: of each ten one has begun.
async fn long_queue(url: &str) -> (World, Arc<ServerStore>, Vec<Claim>) {
    let store = open(url).await;
    let world = World::new(&Subject { store: Arc::<ServerStore>::clone(&store), keep: None }).await;
    world.submit_plain(1..=JOBS).await;
    let claims = store.claim(claim_request(NODE, 100, T0, T0)).await.expect("claims").jobs;
    assert_eq!(claims.len(), 100);
    let begun: Vec<_> = claims.iter().step_by(10).map(|claim| started(claim, at(5))).collect();
    store.mark_started(begun).await.expect("starts");
    (world, store, claims)
}

async fn go_back(url: &str, store: &ServerStore) {
    for _ in 0..3 {
        store.heartbeat(NODE, 60_000).await.expect("beats");
    }
    session(url).await.command("UPDATE cluster SET beats = 0").await.expect("goes back");
    cut_all_others(url).await;
}

async fn until_it_answers(store: &ServerStore) {
    let search = async { while store.news().await.is_err() {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), search).await.expect("it answers in time");
}

#[tokio::test]
async fn the_fences_of_a_long_queue_are_raised_part_by_part() {
    on_each(async |url| {
        let (world, store, claims) = long_queue(url).await;
        go_back(url, &store).await;
        until_it_answers(&store).await;
        let floor = number(url, "SELECT fence_floor FROM cluster").await;
        assert!(floor > 1_700_000_000_000, "{floor}");
        let raised = "SELECT count(*) FROM job_queue q JOIN cluster c ON q.fence = c.fence_floor
                      WHERE q.owner IS NULL AND q.state = 0";
        assert_eq!(number(url, raised).await, JOBS);
        assert_eq!(number(url, "SELECT count(*) FROM job_queue WHERE suspect = 1").await, 100);
        assert_eq!(number(url, "SELECT count(*) FROM task_execution_log WHERE execute_status = 1").await, 0);
        assert_eq!(number(url, "SELECT count(*) FROM task_execution_log WHERE execute_status = 6").await, 10);
        let late = claims.iter().map(|claim| settlement(claim, done(None))).collect();
        let answers = store.settle(late, at(30)).await.expect("settles");
        assert!(answers.iter().all(|settled| *settled == Settled::Lost), "{answers:?}");
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

#[tokio::test]
async fn nobody_waits_for_the_last_fence_and_it_is_raised_all_the_same() {
    on_each(async |url| {
        let (world, store, _) = long_queue(url).await;
        go_back(url, &store).await;
        let mut slow = session(url).await;
        let last = format!("BEGIN; SELECT job_id FROM job_queue WHERE job_id = {JOBS} FOR UPDATE");
        slow.command(&last).await.expect("locks");
        for _ in 0..2 {
            let refused = store.news().await;
            assert!(matches!(refused, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{refused:?}");
        }
        let raised = number(url, "SELECT count(*) FROM job_queue WHERE fence > 1700000000000").await;
        assert_eq!(raised, 4_000, "what comes before is done");
        assert_eq!(number(url, "SELECT fence_floor FROM cluster").await, 0, "nobody is told yet");
        slow.command("ROLLBACK").await.expect("lets go");
        until_it_answers(&store).await;
        assert_eq!(number(url, "SELECT count(*) FROM job_queue WHERE fence > 1700000000000").await, JOBS);
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

#[tokio::test]
async fn of_several_nodes_one_begins_a_new_history() {
    on_each(async |url| {
        let (world, store, _) = long_queue(url).await;
        let others = [open(url).await, open(url).await];
        for other in &others {
            other.heartbeat(Incarnation(77), 60_000).await.expect("sees the count of heartbeats");
        }
        go_back(url, &store).await;
        futures_util::future::join_all([&store, &others[0], &others[1]].map(|store| until_it_answers(store))).await;
        let rows = "SELECT count(*) FROM job_queue q JOIN cluster c ON q.fence = c.fence_floor";
        assert_eq!(number(url, rows).await, JOBS, "raised once, to the floor that is written");
        let history = store.news().await.expect("reads").history;
        for other in &others {
            assert_eq!(other.news().await.expect("reads").history, history);
        }
        assert!(world.store().now().await.expect("answers") > T0);
    })
    .await;
}
