//! Lanes: who is held of a task, or of one key of it, and who waits for a place.

use std::sync::Arc;

use mainspring_model::decide::Budget;
use mainspring_model::job::{Lane, OnLive, QueueState};
use mainspring_model::operations::JobOperation;
use mainspring_model::task::Overlap;
use mainspring_model::{AttemptStatus, Code, Fence, Incarnation, Priority, TaskDefinition, Unique};

use super::World;
use super::scheduled::{at_most, fire_all, of_key, of_task, replaced_ids};
use super::world::{
    T0, TASK, again, at, claim_request, definition, done, failed, held, keyed, settlement, stored, task,
};
use crate::{Claim, GiveBack, NewJob, Submitted};

fn ids(claims: &[Claim]) -> Vec<i64> {
    claims.iter().map(|claim| claim.id.0).collect()
}

pub async fn no_more_of_a_task_are_held_than_it_allows(world: &World) {
    world.create("two", at_most(2)).await;
    world.stored((1..=5).map(|id| of_task(id, "two")).collect()).await;
    let mut running = world.claim_all(T0).await;
    assert_eq!(ids(&running), [1, 2]);
    assert_eq!(running[0].lane, Some(Lane { key: None, serial: false }));
    assert_eq!(world.queue_state(5).await, Some(QueueState::Limited));
    for id in 3..=5 {
        world.settle(settlement(&running.remove(0), done(None))).await;
        let next = world.claim_all(T0).await;
        assert_eq!(ids(&next), [id]);
        running.extend(next);
    }
}

pub async fn each_key_has_its_own_places(world: &World) {
    world.create("one", at_most(1)).await;
    let jobs =
        vec![of_key(1, "one", "a"), of_key(2, "one", "a"), of_key(3, "one", "b"), of_task(4, "one"), of_task(5, "one")];
    world.stored(jobs).await;
    let claims = world.claim_all(T0).await;
    assert_eq!(ids(&claims), [1, 3, 4]);
    assert_eq!(claims[0].lane, Some(Lane { key: Some(Arc::from("a")), serial: false }));
    assert_eq!(world.job(1).await.concurrency_key.as_deref(), Some("a"));
    world.settle(settlement(&claims[1], done(None))).await;
    assert_eq!(ids(&world.claim_all(T0).await), [0_i64; 0], "the place of one key is of no use to another");
    world.settle(settlement(&claims[0], done(None))).await;
    assert_eq!(ids(&world.claim_all(T0).await), [2]);
}

pub async fn a_saturated_key_blocks_no_other_key_and_no_other_task(world: &World) {
    world.create("one", at_most(1)).await;
    world.stored((1..=2_000).map(|id| of_key(id, "one", "busy")).collect()).await;
    world.stored(vec![of_key(3_001, "one", "calm"), of_task(3_002, TASK)]).await;
    let (mut seen, mut turns) = (Vec::new(), 0);
    while seen.len() < 3 {
        // A small room, and all of the saturated key are in front.
        let claimed = world.claim(10, T0).await;
        let may_ask_again = claimed.next_due[0].1.is_some_and(|due| due <= T0);
        seen.extend(ids(&claimed.jobs));
        turns += 1;
        assert!(seen.len() >= 3 || (may_ask_again && turns < 300), "{turns} claims found {seen:?}");
    }
    assert_eq!(seen, [1, 3_001, 3_002]);
    // Those that wait for a place are looked at no more.
    world.stored(vec![of_key(3_003, "one", "late")]).await;
    assert_eq!(ids(&world.claim(10, T0).await.jobs), [3_003]);
}

/// How a held job gives its place up.
#[derive(Debug, Clone, Copy)]
enum WayOut {
    Success,
    Failure,
    Again,
    GivenBack,
    Parked,
    ByPerson(JobOperation),
    NodeDied,
    NodeDiedWhileItRan,
    NodeLeft,
    NodeLeftWhileItRan,
}

async fn take(world: &World, way: WayOut, claim: &Claim) {
    let now = at(50);
    match way {
        WayOut::Success => {
            world.settle(settlement(claim, done(None))).await;
        }
        WayOut::Failure => {
            world.settle(settlement(claim, failed(false))).await;
        }
        WayOut::Again => {
            let later = again(AttemptStatus::Failed, at(9_000), Budget::Failure);
            world.settle(settlement(claim, later)).await;
        }
        WayOut::GivenBack => world.store.give_back(vec![held(claim)], GiveBack::Release, now).await.expect("releases"),
        WayOut::Parked => world.store.give_back(vec![held(claim)], GiveBack::Park, now).await.expect("parks"),
        WayOut::ByPerson(operation) => drop(world.operate(claim.id.0, operation, now).await),
        WayOut::NodeDied => {
            world.join(Incarnation(77), now).await;
        }
        WayOut::NodeDiedWhileItRan => {
            world.start(claim, at(5)).await;
            world.join(Incarnation(78), now).await;
        }
        WayOut::NodeLeft => world.store.leave(Incarnation(78), now).await.expect("leaves"),
        WayOut::NodeLeftWhileItRan => {
            world.start(claim, at(5)).await;
            world.store.leave(Incarnation(79), now).await.expect("leaves");
        }
    }
}

pub async fn every_way_out_of_a_place_lets_the_next_one_in(world: &World) {
    let ways = [
        (WayOut::Success, 11),
        (WayOut::Failure, 11),
        (WayOut::Again, 11),
        (WayOut::GivenBack, 11),
        (WayOut::Parked, 11),
        (WayOut::ByPerson(JobOperation::Cancel), 11),
        (WayOut::ByPerson(JobOperation::Fail), 11),
        (WayOut::ByPerson(JobOperation::Release), 11),
        (WayOut::NodeDied, 11),
        (WayOut::NodeDiedWhileItRan, 77),
        (WayOut::NodeLeft, 78),
        (WayOut::NodeLeftWhileItRan, 79),
    ];
    for (row, (way, owner)) in ways.into_iter().enumerate() {
        let (code, first) = (format!("one-{row}"), 10 * row as i64 + 1);
        world.create(&code, at_most(1)).await;
        world.stored(vec![of_task(first, &code), of_task(first + 1, &code)]).await;
        if owner == 79 {
            world.join(Incarnation(79), at(40)).await;
        }
        let claimed = world.claim_by(claim_request(Incarnation(owner), 100, T0, T0)).await.jobs;
        let claim = claimed.iter().find(|claim| claim.id.0 == first).expect("it is the first of its lane");
        assert_eq!(world.queue_state(first + 1).await, Some(QueueState::Limited), "{way:?}");
        take(world, way, claim).await;
        assert_eq!(world.queue_state(first + 1).await, Some(QueueState::Queued), "{way:?}");
        let violations = world.store.verify().await.expect("verify answers");
        assert!(violations.is_empty(), "{way:?}: {violations:?}");
        // The lane goes on with both, one after another.
        world.operate(first, JobOperation::Cancel, at(60)).await;
        world.operate(first + 1, JobOperation::Cancel, at(60)).await;
    }
}

pub async fn a_turn_that_is_not_used_goes_to_the_next(world: &World) {
    world.create("one", at_most(1)).await;
    world.stored((1..=4).map(|id| of_task(id, "one")).collect()).await;
    let claim = world.claim_all(T0).await.remove(0);
    world.settle(settlement(&claim, done(None))).await;
    // It is 2's turn, and a person ends it.
    world.operate(2, JobOperation::Cancel, at(40)).await;
    assert_eq!(world.queue_state(3).await, Some(QueueState::Queued));
    // One that waits behind is ended: nobody's turn comes earlier or later.
    world.operate(4, JobOperation::Cancel, at(40)).await;
    assert_eq!(ids(&world.claim_all(T0).await), [3]);
}

pub async fn the_next_in_turn_is_the_most_urgent_then_the_oldest(world: &World) {
    world.create("one", at_most(1)).await;
    world.stored(vec![of_task(1, "one")]).await;
    let mut claim = world.claim_all(at(100)).await.remove(0);
    let low = NewJob { priority: Priority::Low, execute_time: at(-500), ..of_task(2, "one") };
    let late = NewJob { execute_time: at(20), ..of_task(3, "one") };
    let high = NewJob { priority: Priority::High, execute_time: at(50), ..of_task(5, "one") };
    world.stored(vec![low, late, of_task(4, "one"), high]).await;
    assert!(world.claim_all(at(100)).await.is_empty());
    for expect in [5, 4, 3, 2] {
        world.settle(settlement(&claim, done(None))).await;
        let mut next = world.claim_all(at(100)).await;
        assert_eq!(ids(&next), [expect]);
        claim = next.remove(0);
    }
}

pub async fn an_edit_has_waiting_jobs_judged_anew(world: &World) {
    world.create("few", at_most(1)).await;
    world.stored((1..=5).map(|id| of_task(id, "few")).collect()).await;
    assert_eq!(ids(&world.claim_all(T0).await), [1]);
    world.edit("few", at_most(3)).await;
    assert_eq!(ids(&world.claim_all(T0).await), [2, 3]);
    world.edit("few", definition()).await;
    let claims = world.claim_all(T0).await;
    assert_eq!((ids(&claims), &claims[0].lane), (vec![4, 5], &None));
}

pub async fn a_limit_that_comes_while_jobs_run_counts_them(world: &World) {
    world.stored((1..=3).map(|id| of_task(id, TASK)).collect()).await;
    let mut claims = world.claim(2, T0).await.jobs;
    assert_eq!(claims[0].lane, None);
    world.edit(TASK, at_most(2)).await;
    assert_eq!(world.claim_all(T0).await, []);
    // The node knows of no lane: its end lets the next one in all the same.
    world.settle(settlement(&claims.remove(0), done(None))).await;
    let next = world.claim_all(T0).await;
    assert_eq!(ids(&next), [3]);
    world.edit(TASK, definition()).await;
    world.settle(settlement(&next[0], done(None))).await;
    world.settle(settlement(&claims[0], done(None))).await;
}

pub async fn a_job_in_a_lane_is_claimed_by_its_insert_only_when_it_is_alone(world: &World) {
    world.create("two", at_most(2)).await;
    let claiming = |id| NewJob { claim: true, ..of_task(id, "two") };
    let answers = world.submit(vec![claiming(1), claiming(2)]).await;
    assert_eq!(answers, [Submitted::Stored { claimed: true, replaced: Vec::new() }, stored()]);
    assert_eq!(world.job(1).await.fence, Fence(1));
    assert_eq!(ids(&world.claim_all(T0).await), [2]);
    world.stored(vec![claiming(3)]).await;
    assert_eq!(ids(&world.claim_all(T0).await), [0_i64; 0], "the claim by insert is counted");
}

pub async fn a_job_that_is_taken_up_again_is_in_its_lane(world: &World) {
    world.create("one", at_most(1)).await;
    world.stored(vec![of_key(1, "one", "a")]).await;
    let claim = world.claim_all(T0).await.remove(0);
    world.settle(settlement(&claim, failed(false))).await;
    world.operate(1, JobOperation::Retry, at(50)).await;
    world.stored(vec![of_key(2, "one", "a")]).await;
    let claims = world.claim_all(at(50)).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].lane, Some(Lane { key: Some(Arc::from("a")), serial: false }));
}

pub async fn a_job_that_outlives_its_task_is_in_the_lane_of_the_next_one(world: &World) {
    world.create("old", definition()).await;
    world.stored(vec![of_key(1, "old", "a")]).await;
    let claim = world.claim_all(T0).await.remove(0);
    world.settle(settlement(&claim, failed(false))).await;
    world.store.delete_task(task("old"), None, "ann".to_owned(), at(40)).await.expect("deletes");
    world.operate(1, JobOperation::Retry, at(50)).await;
    world.create("old", at_most(1)).await;
    world.stored(vec![of_key(2, "old", "a")]).await;
    let claims = world.claim_all(at(50)).await;
    assert_eq!(claims.len(), 1, "it is counted");
    world.settle(settlement(&claims[0], done(None))).await;
    assert_eq!(world.claim_all(at(50)).await.len(), 1);
}

pub async fn jobs_in_turn_keep_no_others_from_a_free_place(world: &World) {
    let two = TaskDefinition { max_running: Some(2), ..fire_all(Overlap::Allow) };
    world.create("two", two).await;
    let serial = |id| NewJob { serial: true, ..of_task(id, "two") };
    world.stored(vec![serial(1), of_task(2, "two"), serial(3), of_task(4, "two")]).await;
    let claims = world.claim_all(T0).await;
    assert_eq!(ids(&claims), [1, 2]);
    world.settle(settlement(&claims[1], done(None))).await;
    // 3 is older, and waits for 1.
    assert_eq!(ids(&world.claim_all(T0).await), [4]);
    world.settle(settlement(&claims[0], done(None))).await;
    assert_eq!(ids(&world.claim_all(T0).await), [3]);
}

pub async fn a_trigger_keeps_away_from_live_jobs(world: &World) {
    world.create("one", TaskDefinition { overlap: Overlap::Forbid, ..definition() }).await;
    let trigger =
        |id, key: &str| NewJob { task: task("one"), on_live: OnLive::JoinBelow(1), ..keyed(id, key, Unique::Always) };
    assert_eq!(world.submit(vec![trigger(1, "a")]).await, [stored()]);
    let answers = world.submit(vec![trigger(2, "b"), trigger(3, "a")]).await;
    let Submitted::Refused(refused) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!((refused.code, refused.hint.is_some()), (Code::TaskRunning, true));
    assert_eq!(refused.detail, "task `one` has a live job and its overlap policy is FORBID");
    assert!(matches!(answers[1], Submitted::Duplicate { id, .. } if id.0 == 1), "a duplicate is one whatever runs");
    assert!(world.is_unknown(2).await);
    // A plain submit joins, and waits.
    world.stored(vec![of_task(4, "one")]).await;
    let claims = world.claim_all(T0).await;
    assert_eq!(ids(&claims), [1]);
    world.settle(settlement(&claims[0], done(None))).await;
    let claims = world.claim_all(T0).await;
    // A parked one is live as well.
    world.store.give_back(vec![held(&claims[0])], GiveBack::Park, T0).await.expect("parks");
    assert!(matches!(world.submit(vec![trigger(5, "b")]).await[0], Submitted::Refused(_)));
    world.operate(4, JobOperation::Cancel, at(50)).await;
    assert_eq!(world.submit(vec![trigger(6, "b")]).await, [stored()], "the refused one kept no key");
}

pub async fn a_trigger_takes_the_place_of_live_jobs(world: &World) {
    world.create("one", TaskDefinition { overlap: Overlap::Replace, ..definition() }).await;
    let live = |id, key: &str| NewJob { task: task("one"), ..keyed(id, key, Unique::Live) };
    world.stored(vec![live(1, "a"), live(2, "b"), of_task(9, TASK)]).await;
    let trigger = NewJob { on_live: OnLive::Replace, claim: true, ..live(3, "c") };
    let answers = world.submit(vec![trigger.clone(), live(4, "a")]).await;
    let Submitted::Stored { claimed: true, replaced } = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(replaced_ids(replaced), [1, 2]);
    assert_eq!(answers[1], stored(), "the keys of those are free");
    // A repetition does not name them again.
    assert_eq!(world.submit(vec![trigger]).await, [Submitted::Stored { claimed: true, replaced: Vec::new() }]);
    assert_eq!(ids(&world.claim_all(T0).await), [9]);
}
