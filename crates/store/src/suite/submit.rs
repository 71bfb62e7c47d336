//! Submit: keys, repetitions, bad rows, payloads.

use std::sync::Arc;

use mainspring_model::job::QueueState;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{BizId, Code, Fence, JobId, JobStatus, Unique};

use super::World;
use super::world::{NODE, T0, TASK, at, definition, done, held, keyed, new_job, settlement, stored, task};
use crate::{Claim, NewJob, Submitted};

pub async fn a_job_is_stored_as_it_was_given(world: &World) {
    let given = NewJob { execute_time: at(60_000), ..keyed(1, "订单 42", Unique::Live) };
    world.stored(vec![given.clone()]).await;
    let job = world.job(1).await;
    assert_eq!((job.task, job.biz_id, job.pool), (given.task, given.biz_id, given.pool));
    assert_eq!((job.status, job.fence, job.attempts), (JobStatus::Pending, Fence(0), 0));
    assert_eq!((job.execute_time, job.create_time, job.update_time), (at(60_000), T0, T0));
    assert_eq!((job.payload, job.timeout_ms, job.max_retry), (given.payload, Some(5_000), 3));
    let entry = job.queue.expect("it is in the queue");
    assert_eq!((entry.state, entry.due, entry.owner), (QueueState::Queued, at(60_000), None));
}

fn duplicate_of(id: i64, status: JobStatus, payload_differs: bool) -> Submitted {
    Submitted::Duplicate { id: JobId(id), status, execute_time: T0, payload_differs }
}

pub async fn a_second_job_with_the_same_key_is_a_duplicate(world: &World) {
    let same = |id, payload: &str| NewJob { payload: Some(Arc::from(payload)), ..keyed(id, "k", Unique::Always) };
    let answers = world.submit(vec![same(1, "1"), same(2, "1"), same(3, "2"), keyed(4, "other", Unique::Always)]).await;
    let expect =
        [stored(), duplicate_of(1, JobStatus::Pending, false), duplicate_of(1, JobStatus::Pending, true), stored()];
    assert_eq!(answers, expect);
    assert_eq!(world.store.job(JobId(2)).await.expect("reads"), None);
    let first = world.job(1).await;
    assert_eq!((first.duplicates, first.last_duplicate.is_some()), (2, true), "an answered submit is seen");
}

pub async fn a_live_key_is_free_once_its_job_is_final(world: &World) {
    let claim = world.claimed(keyed(1, "k", Unique::Live)).await;
    let held_by_first = world.submit(vec![keyed(2, "k", Unique::Live)]).await;
    assert_eq!(held_by_first, [duplicate_of(1, JobStatus::Pending, true)]);
    world.settle(settlement(&claim, done(None))).await;
    world.stored(vec![keyed(3, "k", Unique::Live)]).await;
}

pub async fn an_always_key_stays_taken(world: &World) {
    let claim = world.claimed(keyed(1, "k", Unique::Always)).await;
    world.settle(settlement(&claim, done(None))).await;
    let answers = world.submit(vec![keyed(2, "k", Unique::Live)]).await;
    assert_eq!(answers, [duplicate_of(1, JobStatus::Success, true)]);
}

pub async fn keys_of_different_tasks_do_not_meet(world: &World) {
    world.create("other", definition()).await;
    let other = NewJob { task: task("other"), ..keyed(2, "k", Unique::Always) };
    world.stored(vec![keyed(1, "k", Unique::Always), other]).await;
}

pub async fn a_repeated_submit_answers_stored(world: &World) {
    let jobs = vec![new_job(1), keyed(2, "always", Unique::Always), keyed(3, "live", Unique::Live)];
    world.stored(jobs.clone()).await;
    world.stored(jobs.clone()).await;
    let claims: Vec<Claim> = world.claim(10, T0).await.jobs;
    assert_eq!(claims.len(), 3);
    for claim in &claims {
        world.settle(settlement(claim, done(None))).await;
    }
    // Also when the job has ended since, and has freed its key.
    world.stored(jobs.clone()).await;
    assert_eq!(world.claim(10, T0).await.jobs, []);
    // And when another one has the key now.
    world.stored(vec![keyed(4, "live", Unique::Live)]).await;
    world.stored(jobs).await;
}

pub async fn a_bad_row_stops_no_other(world: &World) {
    world.create("off", definition()).await;
    world.store.switch_task(task("off"), TaskSwitch::Disabled, None, "ann".to_owned(), T0).await.expect("switches");
    let of = |id, code: &str| NewJob { task: task(code), ..new_job(id) };
    let answers = world.submit(vec![of(1, TASK), of(2, "nobody"), of(3, "off"), of(4, TASK)]).await;
    let codes: Vec<Option<Code>> = answers
        .iter()
        .map(|answer| match answer {
            Submitted::Refused(refused) => Some(refused.code),
            _ => None,
        })
        .collect();
    assert_eq!(codes, [None, Some(Code::TaskNotFound), Some(Code::TaskDisabled), None]);
    assert_eq!(world.claim(10, T0).await.jobs.len(), 2);
}

pub async fn a_repeat_after_the_task_was_disabled_is_still_stored(world: &World) {
    world.stored(vec![new_job(1)]).await;
    world.store.switch_task(task(TASK), TaskSwitch::Disabled, None, "ann".to_owned(), T0).await.expect("switches");
    let answers = world.submit(vec![new_job(1), new_job(2)]).await;
    assert_eq!(answers[0], stored());
    assert!(matches!(answers[1], Submitted::Refused(_)), "{answers:?}");
}

pub async fn a_big_payload_comes_back_whole(world: &World) {
    let payload: Arc<str> = format!("\"{}\"", "任务".repeat(20_000)).into();
    let big = |id| NewJob { payload: Some(Arc::clone(&payload)), ..keyed(id, "big", Unique::Always) };
    world.stored(vec![big(1)]).await;
    world.stored(vec![big(1)]).await;
    assert_eq!(world.submit(vec![big(2)]).await, [duplicate_of(1, JobStatus::Pending, false)]);
    assert_eq!(world.job(1).await.payload.as_deref(), Some(&*payload));
    let claims = world.claim(1, T0).await.jobs;
    assert_eq!(claims[0].payload.as_deref(), Some(&*payload));
}

pub async fn a_fresh_job_is_claimed_by_its_own_insert(world: &World) {
    let new = NewJob { claim: true, biz_id: Some(BizId::stored("k")), ..new_job(1) };
    let claimed = Submitted::Stored { claimed: true, replaced: Vec::new() };
    for turn in ["the first", "a repetition"] {
        assert_eq!(world.submit(vec![new.clone()]).await.as_slice(), std::slice::from_ref(&claimed), "{turn}");
    }
    let job = world.job(1).await;
    let entry = job.queue.expect("it is in the queue");
    assert_eq!((entry.state, entry.owner, job.fence), (QueueState::Claimed, Some(NODE), Fence(1)));
    let claimed = world.claim(10, T0).await;
    assert_eq!((claimed.jobs.len(), claimed.next_due[0].1), (0, None));
    let own = crate::Held { id: JobId(1), fence: Fence(1), owner: NODE };
    world.store.give_back(vec![own], crate::GiveBack::Release, T0).await.expect("gives back");
    let claims = world.claim(10, T0).await.jobs;
    assert_eq!(held(&claims[0]).fence, Fence(2));
}

pub async fn a_repetition_hands_out_no_job_that_has_ended(world: &World) {
    let new = NewJob { claim: true, ..new_job(1) };
    // The first try found no room; the node claimed the job and ended it before the repetition came.
    let claim = world.claimed(NewJob { claim: false, ..new.clone() }).await;
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(world.submit(vec![new]).await, [stored()]);
}
