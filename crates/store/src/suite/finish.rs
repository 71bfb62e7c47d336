//! Start and settle: outcomes, budgets, fences, late results.

use mainspring_model::decide::Budget;
use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::task::TaskSwitch;
use mainspring_model::{AttemptId, AttemptStatus, Fence, JobId, JobStatus, limits};

use super::World;
use super::world::{NODE, TASK, again, at, done, failed, held, new_job, settlement, started, task};
use crate::{Claim, Held, JobEnd, OutputChunk, Settled, Settlement, Stream};

pub async fn a_started_job_is_executing(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    assert!(world.start(&claim, at(5)).await);
    let job = world.job(1).await;
    assert_eq!((job.status, job.start_time, job.attempts), (JobStatus::Executing, Some(at(5)), 1));
    assert_eq!(world.queue_state(1).await, Some(QueueState::Started));
    let attempt = world.attempt(held(&claim)).await.expect("it is written");
    assert_eq!(
        (attempt.status, attempt.number, attempt.node, attempt.finish_time),
        (AttemptStatus::Running, 1, 1, None)
    );
}

pub async fn a_start_needs_the_fence(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let stale = Claim { fence: Fence(9), ..claim.clone() };
    let missing = Claim { id: JobId(99), ..claim.clone() };
    let starts = [&stale, &claim, &missing].map(|claim| started(claim, at(5)));
    assert_eq!(world.store.mark_started(starts.to_vec()).await.expect("starts"), [false, true, false]);
}

pub async fn a_repeated_start_changes_nothing(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.start(&claim, at(5)).await;
    let (job, attempt) = (world.job(1).await, world.attempt(held(&claim)).await);
    assert!(world.start(&claim, at(5)).await);
    assert_eq!((world.job(1).await, world.attempt(held(&claim)).await), (job, attempt));
}

pub async fn a_success_ends_the_job(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.start(&claim, at(10)).await;
    assert_eq!(world.settle(settlement(&claim, done(Some("42")))).await, Settled::Applied);
    let job = world.job(1).await;
    assert_eq!((job.status, job.queue, job.finish_time, job.attempts), (JobStatus::Success, None, Some(at(30)), 1));
    assert_eq!((job.result_summary.as_deref(), job.fence), (Some("42"), Fence(1)));
    let end = JobEnd { status: JobStatus::Success, result: Some("42".to_owned()), error: None };
    assert_eq!(world.store.job_end(JobId(1)).await.expect("reads"), Some(end));
    let attempt = world.attempt(held(&claim)).await.expect("it is written");
    assert_eq!(
        (attempt.status, attempt.cost_ms, attempt.result.as_deref()),
        (AttemptStatus::Success, Some(20), Some("42"))
    );
}

pub async fn a_short_job_never_shows_executing(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    assert_eq!(world.job(1).await.status, JobStatus::Pending);
    assert_eq!(world.store.job_end(JobId(1)).await.expect("reads"), None);
    world.settle(settlement(&claim, done(None))).await;
    let attempts = world.store.attempts_of_job(JobId(1), 10, None).await.expect("reads").items;
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].status, attempts[0].execute_time), (AttemptStatus::Success, at(10)));
}

pub async fn a_failure_waits_for_its_next_try(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let outcome = again(AttemptStatus::Failed, at(5_000), Budget::Failure);
    assert_eq!(world.settle(settlement(&claim, outcome)).await, Settled::Applied);
    let job = world.job(1).await;
    assert_eq!((job.status, job.retry_count, job.lost_count), (JobStatus::Pending, 1, 0));
    assert_eq!((job.next_retry_time, job.finish_time), (Some(at(5_000)), None));
    assert_eq!(world.claim(1, at(4_999)).await.jobs, []);
    let next = world.claim(1, at(5_000)).await.jobs.remove(0);
    assert_eq!((next.retry_count, next.attempts, next.fence), (1, 1, Fence(2)));
}

pub async fn a_snooze_spends_nothing(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.settle(settlement(&claim, again(AttemptStatus::Skipped, at(100), Budget::Nothing))).await;
    let job = world.job(1).await;
    assert_eq!((job.retry_count, job.lost_count, job.attempts), (0, 0, 1));
}

pub async fn a_loss_is_counted_apart(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.settle(settlement(&claim, again(AttemptStatus::Lost, at(100), Budget::Loss))).await;
    let job = world.job(1).await;
    assert_eq!((job.retry_count, job.lost_count), (0, 1));
}

pub async fn a_repeated_settlement_is_known(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let retry = settlement(&claim, again(AttemptStatus::Failed, at(40), Budget::Failure));
    assert_eq!(world.settle(retry.clone()).await, Settled::Applied);
    assert_eq!(world.settle(retry.clone()).await, Settled::AlreadyApplied);
    let next = world.claim(1, at(40)).await.jobs.remove(0);
    let end = settlement(&next, done(None));
    assert_eq!(world.settle(end.clone()).await, Settled::Applied);
    let before = world.job(1).await;
    assert_eq!(world.settle(end).await, Settled::AlreadyApplied);
    assert_eq!(world.settle(retry).await, Settled::AlreadyApplied);
    assert_eq!(world.job(1).await, before);
}

pub async fn a_late_result_is_discarded(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.store.give_back(vec![held(&claim)], crate::GiveBack::Release, at(1)).await.expect("gives back");
    let newer = world.claim(1, at(1)).await.jobs.remove(0);
    let late = settlement(&claim, done(Some("late")));
    assert_eq!(world.settle(late.clone()).await, Settled::Lost);
    assert_eq!(world.settle(late).await, Settled::Lost);
    let attempt = world.attempt(held(&claim)).await.expect("it is kept");
    assert_eq!((attempt.status, attempt.result.as_deref()), (AttemptStatus::Discarded, Some("late")));
    let job = world.job(1).await;
    assert_eq!((job.status, job.result_summary, job.fence), (JobStatus::Pending, None, newer.fence));
    assert_eq!(world.settle(settlement(&newer, done(Some("right")))).await, Settled::Applied);
    let unknown =
        Settlement { held: Held { id: JobId(99), fence: Fence(1), owner: NODE }, ..settlement(&newer, done(None)) };
    assert_eq!(world.settle(unknown).await, Settled::Lost);
}

pub async fn a_late_result_of_an_ended_attempt_changes_nothing(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.start(&claim, at(10)).await;
    world.operate(1, mainspring_model::operations::JobOperation::Cancel, at(20)).await;
    let (job, attempt) = (world.job(1).await, world.attempt(held(&claim)).await);
    assert_eq!(world.settle(settlement(&claim, done(Some("late")))).await, Settled::Lost);
    assert_eq!((world.job(1).await, world.attempt(held(&claim)).await), (job, attempt));
}

pub async fn an_end_by_a_person_is_not_taken_for_the_bodys_own(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.start(&claim, at(10)).await;
    let late = settlement(&claim, failed(false));
    // In the same millisecond, and failed as well.
    world.operate(1, mainspring_model::operations::JobOperation::Fail, late.finish_time).await;
    assert_eq!(world.settle(late).await, Settled::Lost);
}

pub async fn a_failed_job_is_dead_and_people_are_told(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.settle(settlement(&claim, failed(false))).await;
    let job = world.job(1).await;
    assert_eq!((job.status, job.error_msg.as_deref()), (JobStatus::Failed, Some("no such host")));
    let dead = world.store.dead_jobs(None, 10, None).await.expect("reads").items;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].id, dead[0].cause, dead[0].time), (JobId(1), DeadCause::RetriesSpent, at(30)));
}

pub async fn a_failure_may_stop_the_task(world: &World) {
    let first = world.claimed(new_job(1)).await;
    let second = world.claimed(new_job(2)).await;
    let before = world.store.task(&task(TASK)).await.expect("reads").expect("is there");
    world.settle(settlement(&first, failed(true))).await;
    world.settle(settlement(&second, failed(true))).await;
    let after = world.store.task(&task(TASK)).await.expect("reads").expect("is there");
    assert_eq!((after.switch, after.version), (TaskSwitch::Disabled, before.version + 1));
}

pub async fn a_long_result_is_cut_on_a_character_and_kept_whole(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let result = "任务很多".repeat(1_000);
    world.settle(settlement(&claim, done(Some(&result)))).await;
    let summary = world.job(1).await.result_summary.expect("is kept");
    assert_eq!(summary.chars().count(), limits::RESULT_SUMMARY_CHARS_MAX);
    assert!(summary.ends_with('…') && result.starts_with(summary.trim_end_matches('…')));
    let end = world.store.job_end(JobId(1)).await.expect("reads").expect("is final");
    assert_eq!(end.result, Some(result));
    let exact = "x".repeat(limits::RESULT_SUMMARY_CHARS_MAX);
    let claim = world.claimed(new_job(2)).await;
    world.settle(settlement(&claim, done(Some(&exact)))).await;
    assert_eq!(world.job(2).await.result_summary, Some(exact));
}

pub async fn a_batch_settles_each_for_itself(world: &World) {
    world.stored((1..=4).map(new_job).collect()).await;
    let claims = world.claim(4, at(0)).await.jobs;
    let stale = Claim { fence: Fence(7), ..claims[1].clone() };
    let batch = vec![
        settlement(&claims[0], done(None)),
        settlement(&stale, done(None)),
        settlement(&claims[2], failed(false)),
        settlement(&claims[0], done(None)),
        settlement(&claims[3], again(AttemptStatus::Failed, at(99), Budget::Failure)),
    ];
    let answers = world.store.settle(batch, at(40)).await.expect("settles");
    use Settled::{AlreadyApplied, Applied, Lost};
    assert_eq!(answers, [Applied, Lost, Applied, AlreadyApplied, Applied]);
    // A fence that nobody was given leaves no attempt.
    assert_eq!(world.attempt(held(&stale)).await, None);
}

pub async fn output_comes_back_in_order_and_once(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let id = AttemptId { job: claim.id, fence: claim.fence };
    let chunk = |seq, text: &str, stream| OutputChunk { attempt: id, seq, time: at(5), stream, text: text.to_owned() };
    let chunks =
        vec![chunk(2, "two", Stream::Stderr), chunk(1, "one", Stream::Log), chunk(3, "50 %", Stream::Progress)];
    world.store.append_output(chunks.clone()).await.expect("appends");
    world.store.append_output(chunks.clone()).await.expect("appends");
    let all = world.store.output(id, None, 10).await.expect("reads");
    assert_eq!(all, [chunks[1].clone(), chunks[0].clone(), chunks[2].clone()]);
    assert_eq!(world.store.output(id, Some(1), 1).await.expect("reads"), [chunks[0].clone()]);
    assert_eq!(world.store.output(id, Some(3), 10).await.expect("reads"), []);
}
