//! Nodes that come, die and leave, and what becomes of the jobs they held.

use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::task::OnLost;
use mainspring_model::{AttemptStatus, Fence, Incarnation, JobId, JobStatus, NodeState, Unique, limits};

use super::World;
use super::world::{LEASE_MS, NODE, T0, at, definition, done, held, keyed, new_job, settlement, task};
use crate::{Joined, NewJob, Settled, Submitted, TakenOver};

const NEXT: Incarnation = Incarnation(12);

pub async fn a_node_learns_its_number_and_beats(world: &World) {
    let beat = async |node| world.store.heartbeat(node, LEASE_MS).await.expect("beats").state;
    assert_eq!(beat(NODE).await, NodeState::Active);
    assert_eq!(beat(Incarnation(99)).await, NodeState::Gone);
    let joined = world.join(NEXT, at(10)).await;
    assert_eq!(joined, Joined { node_number: 1, newest_job: None, taken_over: TakenOver::default() });
    assert_eq!(beat(NODE).await, NodeState::Gone, "its place was taken");
    let nodes = world.store.nodes().await.expect("reads");
    let mut seen: Vec<_> = nodes.iter().map(|node| (node.incarnation, node.state)).collect();
    seen.sort_unstable();
    assert_eq!(seen, [(NODE, NodeState::Gone), (NEXT, NodeState::Active)]);
    let next = nodes.iter().find(|node| node.incarnation == NEXT).expect("it is listed");
    assert_eq!(next.expires_at.ms_since(next.heartbeat_at), LEASE_MS);
    assert_eq!(
        (&next.labels[..], &next.handlers[..]),
        (&["gpu".to_owned()][..], &["mail".to_owned(), "report".to_owned()][..])
    );
}

pub async fn a_node_learns_of_the_newest_job(world: &World) {
    world.stored(vec![new_job(7), new_job(3)]).await;
    assert_eq!(world.join(NEXT, at(10)).await.newest_job, Some(JobId(7)));
}

pub async fn claimed_jobs_of_a_dead_node_are_released_as_suspects(world: &World) {
    world.claimed(new_job(1)).await;
    let joined = world.join(NEXT, at(10)).await;
    assert_eq!(joined.taken_over, TakenOver { released: 1, lost: 0, dead: 0, ..TakenOver::default() });
    let claim = world.claim_as(NEXT, 1, at(10)).await.jobs.remove(0);
    assert_eq!((claim.suspect, claim.lost_count, claim.attempts, claim.fence), (true, 0, 0, Fence(2)));
    let retry = super::world::again(AttemptStatus::Failed, at(20), mainspring_model::decide::Budget::Failure);
    world.settle(settlement(&claim, retry)).await;
    assert!(!world.claim_as(NEXT, 1, at(20)).await.jobs[0].suspect, "it proved itself");
}

pub async fn started_jobs_of_a_dead_node_are_lost_and_queued(world: &World) {
    let claim = world.claimed(keyed(1, "k", Unique::Live)).await;
    world.start(&claim, at(5)).await;
    let joined = world.join(NEXT, at(10)).await;
    assert_eq!(joined.taken_over, TakenOver { released: 0, lost: 1, dead: 0, ..TakenOver::default() });
    let job = world.job(1).await;
    assert_eq!((job.status, job.lost_count, job.retry_count), (JobStatus::Pending, 1, 0));
    let attempt = world.attempt(held(&claim)).await.expect("is kept");
    assert_eq!((attempt.status, attempt.finish_time, attempt.cost_ms), (AttemptStatus::Lost, Some(at(10)), Some(5)));
    let next = world.claim_as(NEXT, 1, at(10)).await.jobs.remove(0);
    assert_eq!((next.attempts, next.lost_count, next.fence), (1, 1, Fence(2)));
    let answers = world.submit(vec![keyed(2, "k", Unique::Live)]).await;
    assert!(matches!(answers[0], Submitted::Duplicate { .. }), "the key is held while the job lives");
}

pub async fn the_poison_limit_ends_a_job(world: &World) {
    world.stored(vec![keyed(1, "k", Unique::Live)]).await;
    let losses = limits::LOST_COUNT_MAX;
    for round in 0..losses {
        let (owner, now) = (Incarnation(20 + i64::from(round)), at(i64::from(round) * 100));
        let joined = world.join(owner, now).await;
        assert_eq!((joined.taken_over.lost, joined.taken_over.dead), (u64::from(round > 0), 0), "{round}");
        let claim = world.claim_as(owner, 1, now).await.jobs.remove(0);
        assert!(world.start(&claim, now).await);
    }
    let joined = world.join(NEXT, at(1_000)).await;
    assert_eq!(joined.taken_over, TakenOver { released: 0, lost: 0, dead: 1, ..TakenOver::default() });
    let job = world.job(1).await;
    assert_eq!((job.status, job.queue, job.attempts, job.lost_count), (JobStatus::Failed, None, losses, losses));
    let dead = world.store.dead_jobs(Some(task(super::world::TASK)), 10, None).await.expect("reads").items;
    assert_eq!((dead.len(), dead[0].cause), (1, DeadCause::Poisoned));
    world.stored(vec![keyed(2, "k", Unique::Live)]).await;
}

pub async fn a_job_that_must_not_run_twice_is_dead_after_a_loss(world: &World) {
    let mut once = definition();
    once.on_lost = OnLost::Fail;
    world.create("once", once).await;
    let claim = world.claimed(NewJob { task: task("once"), ..new_job(1) }).await;
    world.start(&claim, at(5)).await;
    assert_eq!(world.join(NEXT, at(10)).await.taken_over.dead, 1);
    let dead = world.store.dead_jobs(None, 10, None).await.expect("reads").items;
    assert_eq!(dead[0].cause, DeadCause::Lost);
}

pub async fn joining_again_changes_nothing(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let joined = world.join(NODE, at(10)).await;
    assert_eq!(joined.taken_over, TakenOver::default());
    assert_eq!(world.queue_state(1).await, Some(QueueState::Claimed));
    assert_eq!(world.settle(settlement(&claim, done(None))).await, Settled::Applied);
}

pub async fn a_polite_leave_spends_nothing(world: &World) {
    world.stored((1..=2).map(new_job).collect()).await;
    let claims = world.claim(2, T0).await.jobs;
    world.start(&claims[1], at(5)).await;
    world.store.leave(NODE, at(10)).await.expect("leaves");
    assert_eq!(world.store.nodes().await.expect("reads")[0].state, NodeState::Gone);
    let attempt = world.attempt(held(&claims[1])).await.expect("is kept");
    assert_eq!(attempt.status, AttemptStatus::Cancelled);
    assert_eq!(attempt.error_message.as_deref(), Some("given up at a polite stop of its node"));
    world.join(NEXT, at(20)).await;
    let next = world.claim_as(NEXT, 2, at(20)).await.jobs;
    let seen: Vec<_> =
        next.iter().map(|claim| (claim.id, claim.suspect, claim.lost_count, claim.retry_count)).collect();
    assert_eq!(seen, [(JobId(1), false, 0, 0), (JobId(2), false, 0, 0)]);
}

pub async fn a_result_after_the_take_over_changes_nothing(world: &World) {
    world.stored((1..=2).map(new_job).collect()).await;
    let claims = world.claim(2, T0).await.jobs;
    world.start(&claims[1], at(5)).await;
    world.join(NEXT, at(10)).await;
    let late = claims.iter().map(|claim| settlement(claim, done(None))).collect();
    assert_eq!(world.store.settle(late, at(40)).await.expect("settles"), [Settled::Lost, Settled::Lost]);
    let status = |attempt: Option<mainspring_model::Attempt>| attempt.map(|attempt| attempt.status);
    assert_eq!(status(world.attempt(held(&claims[0])).await), Some(AttemptStatus::Discarded));
    assert_eq!(status(world.attempt(held(&claims[1])).await), Some(AttemptStatus::Lost));
    assert_eq!((world.job(1).await.status, world.job(2).await.status), (JobStatus::Pending, JobStatus::Pending));
}
