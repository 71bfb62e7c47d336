//! Verbs that meet each other on one database: whoever is first, limits hold, each key has one owner, and nobody hears of
//! the transactions that had to be done again.

use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::join_all;
use mainspring_model::job::{OnLive, QueueState};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::Overlap;
use mainspring_model::{BizId, Incarnation, JobId, Timestamp, Unique};

use super::{on_each, open};
use crate::suite::scheduled::{at_most, cron, entry, of_task};
use crate::suite::world::{NODE, T0, TASK, at, claim_request, definition, done, new_node, settlement, task};
use crate::suite::{Subject, World};
use crate::{Fire, FireEnd, Fired, NewJob, Replaces, Submitted};

const OTHER: Incarnation = Incarnation(12);

/// One test on both servers, with two nodes.
async fn among_two(test: impl AsyncFn(&World)) {
    on_each(async |url| {
        let world = World::new(&Subject { store: open(url).await, keep: None }).await;
        world.store().join(new_node(OTHER, Replaces::Nobody), T0).await.expect("joins");
        test(&world).await;
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

#[tokio::test]
async fn a_key_that_two_ask_for_at_once_is_one_jobs() {
    among_two(async |world| {
        for round in 0..15_i64 {
            let keyed = |id: i64, key: i64| NewJob {
                biz_id: Some(BizId::stored(&format!("{round}-{key}"))),
                unique: Unique::Live,
                ..of_task(1_000 * round + id, TASK)
            };
            let forwards = (0..20).map(|key| keyed(key + 1, key)).collect();
            let backwards = (0..20).rev().map(|key| keyed(key + 101, key)).collect();
            let (first, second) = tokio::join!(world.submit(forwards), world.submit(backwards));
            for (key, (one, other)) in first.iter().zip(second.iter().rev()).enumerate() {
                let ids = [1_000 * round + key as i64 + 1, 1_000 * round + key as i64 + 101];
                match (one, other) {
                    (Submitted::Stored { .. }, Submitted::Duplicate { id, .. }) => assert_eq!(id.0, ids[0]),
                    (Submitted::Duplicate { id, .. }, Submitted::Stored { .. }) => assert_eq!(id.0, ids[1]),
                    both => panic!("round {round}, key {key}: {both:?}"),
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_fire_and_a_trigger_that_meet_leave_one_live_job() {
    among_two(async |world| {
        for round in 0..15 {
            let code = format!("report{round}");
            world.create_firing(&code, cron(Overlap::Forbid), Some(T0)).await;
            let on_live = Overlap::Forbid.on_live();
            let trigger = NewJob { on_live, claim: true, ..of_task(1_000 + round, &code) };
            let fire = fire(&code, 2_000 + round, on_live);
            let (fired, triggered) = tokio::join!(world.fire_all(vec![fire], T0), world.submit(vec![trigger]));
            let Fired::Done(ends) = &fired[0] else { panic!("nobody else fires it") };
            let stored = [matches!(ends[0], FireEnd::Stored { .. }), matches!(triggered[0], Submitted::Stored { .. })];
            assert_eq!(stored.iter().filter(|stored| **stored).count(), 1, "{ends:?} {triggered:?}");
        }
    })
    .await;
}

fn fire(code: &str, id: i64, on_live: OnLive) -> Fire {
    let entries = vec![entry(id, code, 0, on_live)];
    Fire { task: task(code), version: 1, due: T0, next: NextFire::At(at(1_000)), entries }
}

#[tokio::test]
async fn tasks_that_two_nodes_fire_at_once_fire_once() {
    among_two(async |world| {
        let codes: Vec<String> = (10..40).map(|number| format!("report{number}")).collect();
        for code in &codes {
            world.create_firing(code, cron(Overlap::Forbid), Some(T0)).await;
        }
        let on_live = Overlap::Forbid.on_live();
        let fires =
            |first: i64| -> Vec<Fire> { codes.iter().zip(first..).map(|(code, id)| fire(code, id, on_live)).collect() };
        let backwards: Vec<Fire> = fires(2_000).into_iter().rev().collect();
        let (one, other) =
            tokio::join!(world.store().fire(NODE, fires(1_000), T0), world.store().fire(OTHER, backwards, T0));
        for (one, other) in one.expect("answers").iter().zip(other.expect("answers").iter().rev()) {
            let is_done = |fired: &Fired| *fired == Fired::Done(vec![crate::suite::scheduled::stored_end()]);
            assert!(is_done(one) != is_done(other), "{one:?} {other:?}");
            assert!([one, other].contains(&&Fired::Moved), "{one:?} {other:?}");
        }
        assert_eq!(world.listed_ids().await.len(), codes.len());
    })
    .await;
}

#[tokio::test]
async fn no_more_are_held_than_a_task_allows_whoever_claims_and_ends_them() {
    among_two(async |world| {
        world.create("narrow", at_most(2)).await;
        world.stored((1..=40).map(|id| of_task(id, "narrow")).collect()).await;
        let (held, ended) = (AtomicI64::new(0), AtomicI64::new(0));
        let node = async |owner: Incarnation| {
            while ended.load(Ordering::SeqCst) < 40 {
                let claims = world.claim_by(claim_request(owner, 3, T0, T0)).await.jobs;
                let jobs = claims.len() as i64;
                let now = held.fetch_add(jobs, Ordering::SeqCst) + jobs;
                assert!(now <= 2, "{now} are held at one time");
                for claim in &claims {
                    tokio::task::yield_now().await;
                    held.fetch_sub(1, Ordering::SeqCst);
                    world.settle(settlement(claim, done(None))).await;
                    ended.fetch_add(1, Ordering::SeqCst);
                }
            }
        };
        join_all([NODE, OTHER, NODE, OTHER].map(node)).await;
        assert_eq!(ended.into_inner(), 40);
    })
    .await;
}

#[tokio::test]
async fn jobs_that_are_added_while_their_task_gets_a_limit_are_in_its_lanes() {
    among_two(async |world| {
        for round in 0..10 {
            let code = format!("narrow{round}");
            world.create(&code, definition()).await;
            let add = async |first: i64| {
                for id in first..first + 5 {
                    world.stored(vec![of_task(1_000 * round + id, &code)]).await;
                }
            };
            tokio::join!(add(1), add(101), world.edit(&code, at_most(1)), add(201));
            let claims = world.claim(100, T0).await.jobs;
            assert_eq!(claims.len(), 1, "of a task that allows one");
            world.edit(&code, definition()).await;
            world.claim(100, T0).await;
        }
    })
    .await;
}

#[tokio::test]
async fn triggers_that_replace_each_other_in_any_order_are_all_answered() {
    among_two(async |world| {
        let codes = ["a", "b", "c"];
        for code in codes {
            world.create(code, at_most(1)).await;
        }
        let replacing = |id: i64, code: &str| NewJob { on_live: OnLive::Replace, ..of_task(id, code) };
        let submit = async |first: i64, order: [usize; 3]| {
            for round in 0..10 {
                let jobs = (0..3).map(|at| replacing(first + 10 * round + at as i64, codes[order[at]])).collect();
                world.stored(jobs).await;
            }
        };
        tokio::join!(submit(1_000, [0, 1, 2]), submit(2_000, [2, 1, 0]), submit(3_000, [1, 2, 0]));
        let live: Vec<_> = world.all_jobs().await.into_iter().filter(|job| job.queue.is_some()).collect();
        assert_eq!(live.len(), codes.len(), "each task has its newest job");
    })
    .await;
}

#[tokio::test]
async fn a_job_that_is_ended_while_it_is_claimed_is_one_or_the_other() {
    among_two(async |world| {
        for id in 1..=20 {
            world.stored(vec![of_task(id, TASK)]).await;
            let job = world.job(id).await;
            let cancel = crate::suite::world::operate(&job, mainspring_model::operations::JobOperation::Cancel, T0);
            let (operated, claimed) = tokio::join!(world.store().operate(cancel), world.claim(1, T0));
            let is_cancelled = matches!(operated.expect("answers"), crate::Operated::Done(_));
            let now = world.job(JobId(id).0).await.queue.map(|entry| entry.state);
            match (is_cancelled, claimed.jobs.len()) {
                // Cancelled first, or right after the claim, whose fence is void then.
                (true, _) => assert_eq!(now, None),
                (false, 1) => assert_eq!(now, Some(QueueState::Claimed)),
                both => panic!("neither was done: {both:?}"),
            }
            world.give_all_back().await;
        }
    })
    .await;
}

impl World {
    /// What is held so that the next round finds the queue empty.
    async fn give_all_back(&self) {
        let now: Timestamp = T0;
        for held in self.store().held(NODE).await.expect("answers") {
            let job = self.job(held.id.0).await;
            let cancel = crate::suite::world::operate(&job, mainspring_model::operations::JobOperation::Cancel, now);
            self.store().operate(cancel).await.expect("answers");
        }
    }
}
