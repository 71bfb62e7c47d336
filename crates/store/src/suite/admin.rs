//! What people change: tasks, pools, jobs.

use std::collections::BTreeSet;

use mainspring_model::decide::{Budget, Decision, Next};
use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::operations::{JobOperation, on_job};
use mainspring_model::schedule::{Every, Rhythm};
use mainspring_model::task::{FailStrategy, Misfire, OnLost, Overlap, TaskKind, TaskSwitch};
use mainspring_model::{
    AttemptStatus, CalendarName, Fence, JobId, JobStatus, PoolName, Priority, RetryRule, Span, Task, TaskDefinition,
    Unique,
};

use super::World;
use super::world::{
    NODE, T0, TASK, again, at, definition, done, failed, held, keyed, new_job, operate, settlement, task,
};
use crate::{Claim, GiveBack, NewJob, NextFireChange, Operated, PoolSettings, Settled, TaskChange, WhenFull};

fn full_definition() -> TaskDefinition {
    TaskDefinition {
        kind: TaskKind::Manual,
        cron_expression: Some("0 8 * * *".to_owned()),
        time_zone: Some("Asia/Shanghai".to_owned()),
        param: Some("{\"a\":1}".to_owned()),
        timeout_seconds: 7,
        fail_strategy: FailStrategy::Stop,
        retry: RetryRule { count: 9, base_ms: 8, cap_ms: 80 },
        pool: PoolName::stored("mail"),
        priority: Priority::Critical,
        overlap: Overlap::QueueOne,
        every: Some(Every { span: Span::from_ms(5_000), rhythm: Rhythm::FixedDelay }),
        start_at: Some(at(1)),
        end_at: Some(at(2)),
        calendar: Some(CalendarName::stored("cn")),
        max_running: Some(4),
        concurrency_key: Some("/tenant".to_owned()),
        rate_limit: Some("100/1m".parse().expect("a rate")),
        start_deadline_seconds: Some(60),
        misfire: Misfire::Skip,
        misfire_grace_seconds: 61,
        max_catchup: 11,
        on_lost: OnLost::Fail,
        owner: Some("运维".to_owned()),
        tags: vec!["a".to_owned(), "b \"c\"".to_owned()],
        description: Some("x".to_owned()),
        ..definition()
    }
}

async fn stored_task(world: &World, code: &str) -> Task {
    world.store.task(&task(code)).await.expect("reads").expect("is there")
}

async fn edit(world: &World, version: i64, definition: TaskDefinition) -> TaskChange {
    let (by, keep) = ("bob".to_owned(), NextFireChange::Keep);
    world.store.update_task(task(TASK), version, definition, keep, by, at(9)).await.expect("answers")
}

async fn switch(world: &World, to: TaskSwitch) -> TaskChange {
    world.store.switch_task(task(TASK), to, None, "bob".to_owned(), at(9)).await.expect("answers")
}

pub async fn a_task_is_kept_as_it_was_defined(world: &World) {
    world.create("full", full_definition()).await;
    let stored = stored_task(world, "full").await;
    assert_eq!((&stored.definition, stored.switch, stored.version), (&full_definition(), TaskSwitch::Enabled, 1));
    assert_eq!((stored.create_time, stored.update_time, stored.next_fire_time), (T0, T0, None));
    let codes: Vec<_> = world.store.tasks().await.expect("reads").into_iter().map(|task| task.code).collect();
    assert_eq!(codes, [task("full"), task(TASK)]);
}

pub async fn a_taken_code_is_in_the_way(world: &World) {
    let create = |definition, now| {
        world.store.create_task(task(TASK), definition, TaskSwitch::Enabled, None, "bob".to_owned(), now)
    };
    let stored = stored_task(world, TASK).await;
    assert_eq!(create(full_definition(), T0).await.expect("answers"), TaskChange::InTheWay(stored.clone()));
    assert_eq!(create(definition(), at(1)).await.expect("answers"), TaskChange::InTheWay(stored.clone()));
    assert_eq!(create(definition(), T0).await.expect("answers"), TaskChange::InTheWay(stored));
}

pub async fn an_edit_needs_the_version_that_was_read(world: &World) {
    let TaskChange::Written(changed) = edit(world, 1, full_definition()).await else { panic!("it was current") };
    assert_eq!((changed.version, changed.update_time, &changed.definition), (2, at(9), &full_definition()));
    assert_eq!(edit(world, 1, definition()).await, TaskChange::Conflict(changed.clone()));
    assert_eq!(stored_task(world, TASK).await, changed);
    let keep = NextFireChange::Keep;
    let missing = world.store.update_task(task("none"), 1, definition(), keep, "bob".to_owned(), T0).await;
    assert_eq!(missing.expect("answers"), TaskChange::Missing);
}

pub async fn a_repeated_edit_is_known(world: &World) {
    let first = edit(world, 1, full_definition()).await;
    assert_eq!(edit(world, 1, full_definition()).await, first);
}

pub async fn a_switch_wins_over_edits_and_is_idempotent(world: &World) {
    edit(world, 1, full_definition()).await;
    let off = switch(world, TaskSwitch::Disabled).await;
    let TaskChange::Written(task_off) = &off else { panic!("{off:?}") };
    assert_eq!(
        (task_off.switch, task_off.version, &task_off.definition),
        (TaskSwitch::Disabled, 3, &full_definition())
    );
    assert_eq!(switch(world, TaskSwitch::Disabled).await, off);
    let TaskChange::Written(on) = switch(world, TaskSwitch::Enabled).await else { panic!("it is there") };
    assert_eq!((on.switch, on.version), (TaskSwitch::Enabled, 4));
    let missing = world.store.switch_task(task("none"), TaskSwitch::Enabled, None, "bob".to_owned(), T0).await;
    assert_eq!(missing.expect("answers"), TaskChange::Missing);
}

pub async fn a_task_with_live_jobs_is_not_deleted(world: &World) {
    let delete = |version| world.store.delete_task(task(TASK), version, "bob".to_owned(), at(9));
    let stored = stored_task(world, TASK).await;
    let claim = world.claimed(new_job(1)).await;
    assert_eq!(delete(Some(1)).await.expect("answers"), TaskChange::InTheWay(stored.clone()));
    assert_eq!(delete(Some(7)).await.expect("answers"), TaskChange::Conflict(stored.clone()));
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(delete(None).await.expect("answers"), TaskChange::Written(stored));
    assert_eq!(delete(None).await.expect("answers"), TaskChange::Missing);
    assert_eq!(world.job(1).await.status, JobStatus::Success, "the record of its jobs stays");
}

pub async fn a_task_gets_no_id_of_a_deleted_one(world: &World) {
    let mut last = stored_task(world, TASK).await.id;
    for turn in 1..=3 {
        let deleted = world.store.delete_task(task(TASK), None, "bob".to_owned(), at(turn)).await.expect("answers");
        assert!(matches!(deleted, TaskChange::Written(_)), "{deleted:?}");
        world.create(TASK, definition()).await;
        let id = stored_task(world, TASK).await.id;
        assert!(id > last, "{id} after {last}");
        last = id;
    }
}

pub async fn pools_are_kept(world: &World) {
    let pool = |name: &str, concurrency, when_full| PoolSettings {
        name: PoolName::stored(name),
        concurrency,
        queue_capacity: 10,
        paused: concurrency == 2,
        when_full,
        rate_limit: (concurrency == 3).then(|| "10/1s".parse().expect("a rate")),
        cluster_concurrency: None,
    };
    for settings in [pool("b", 1, WhenFull::Reject), pool("a", 2, WhenFull::CallerRuns), pool("b", 3, WhenFull::Wait)] {
        world.store.put_pool(settings, "ann".to_owned(), T0).await.expect("writes");
    }
    let expect = [pool("a", 2, WhenFull::CallerRuns), pool("b", 3, WhenFull::Wait)];
    assert_eq!(world.store.pools().await.expect("reads"), expect);
}

/// One job in every state that a job can be in, their ids after `base`.
async fn one_job_of_every_state(world: &World, base: i64) -> std::ops::Range<i64> {
    let jobs = (base + 1..base + 11).map(|id| keyed(id, &format!("k{id}"), Unique::Live));
    world.stored(jobs.chain([NewJob { execute_time: at(60_000), ..new_job(base + 11) }]).collect()).await;
    let claims: Vec<Claim> = world.claim(100, T0).await.jobs.into_iter().filter(|claim| claim.id.0 > base).collect();
    let timeout = Decision {
        attempt: AttemptStatus::Timeout,
        next: Next::Final { status: JobStatus::Timeout, dead: Some(DeadCause::TimedOut), stop_task: false },
        ..failed(false)
    };
    let give_back = |at: usize, how| world.store.give_back(vec![held(&claims[at])], how, T0);
    world.start(&claims[1], at(5)).await;
    world.settle(settlement(&claims[2], done(None))).await;
    world.settle(settlement(&claims[3], failed(false))).await;
    world.settle(settlement(&claims[4], timeout)).await;
    world.operate(base + 6, JobOperation::Cancel, at(40)).await;
    world.settle(settlement(&claims[6], again(AttemptStatus::Failed, at(9_000), Budget::Failure))).await;
    give_back(7, GiveBack::Park).await.expect("parks");
    give_back(8, GiveBack::Release).await.expect("releases");
    base + 1..base + 12
}

pub async fn operations_agree_with_the_rules_in_every_state(world: &World) {
    let now = at(50);
    let mut tried = BTreeSet::new();
    for operation in JobOperation::ALL.iter().copied() {
        for id in one_job_of_every_state(world, operation.code() * 100).await {
            let job = world.job(id).await;
            let allowed = on_job(&job, now).allows(operation);
            let answer = world.store.operate(operate(&job, operation, now)).await.expect("answers");
            let state = job.queue.map(|entry| entry.state);
            assert_eq!(matches!(answer, Operated::Done(_)), allowed, "{operation} of {job:?}: {answer:?}");
            if !allowed {
                assert_eq!(world.job(id).await, job, "a refused {operation} changed something");
            }
            tried.insert((operation, job.status, state));
        }
    }
    // 8 = queued, claimed, started and parked ones, and the four ends that a handler or a person leads to.
    assert_eq!(tried.len(), JobOperation::ALL.len() * 8, "{tried:?}");
}

pub async fn an_operation_needs_what_the_person_saw(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let seen = world.job(1).await;
    world.settle(settlement(&claim, again(AttemptStatus::Failed, at(40), Budget::Failure))).await;
    world.claim(1, at(40)).await;
    let answer = world.store.operate(operate(&seen, JobOperation::Cancel, at(50))).await.expect("answers");
    assert_eq!(answer, Operated::Moved);
    let mut missing = operate(&seen, JobOperation::Cancel, at(50));
    missing.id = JobId(99);
    assert_eq!(world.store.operate(missing).await.expect("answers"), Operated::Missing);
}

pub async fn a_retry_opens_a_new_generation(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.settle(settlement(&claim, again(AttemptStatus::Failed, at(40), Budget::Failure))).await;
    let claim = world.claim(1, at(40)).await.jobs.remove(0);
    world.settle(settlement(&claim, failed(false))).await;
    let Operated::Done(job) = world.operate(1, JobOperation::Retry, at(50)).await else { panic!("it is allowed") };
    assert_eq!((job.status, job.retry_count, job.lost_count, job.attempts), (JobStatus::Pending, 0, 0, 2));
    assert_eq!((job.finish_time, job.fence, job.queue.map(|entry| entry.due)), (None, Fence(3), Some(at(50))));
    assert_eq!(world.store.dead_jobs(None, 10, None).await.expect("reads").items, []);
    let next = world.claim(1, at(50)).await.jobs.remove(0);
    assert_eq!((next.fence, next.attempts), (Fence(4), 2));
    assert_eq!(world.settle(settlement(&next, failed(false))).await, Settled::Applied);
    assert_eq!(world.store.dead_jobs(None, 10, None).await.expect("reads").items.len(), 1);
}

pub async fn a_retry_takes_its_live_key_again_or_says_who_has_it(world: &World) {
    for id in [1, 2] {
        let claim = world.claimed(keyed(id, "k", Unique::Live)).await;
        world.settle(settlement(&claim, failed(false))).await;
    }
    assert!(matches!(world.operate(2, JobOperation::Retry, at(50)).await, Operated::Done(_)));
    assert_eq!(world.operate(1, JobOperation::Retry, at(50)).await, Operated::KeyTaken(JobId(2)));
    assert_eq!(world.job(1).await.status, JobStatus::Failed);
}

pub async fn retry_now_makes_a_waiting_job_due(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.settle(settlement(&claim, again(AttemptStatus::Failed, at(9_000), Budget::Failure))).await;
    let Operated::Done(job) = world.operate(1, JobOperation::Retry, at(50)).await else { panic!("it waits") };
    assert_eq!((job.retry_count, job.next_retry_time), (1, Some(at(50))));
    assert_eq!(world.claim(1, at(50)).await.jobs[0].due, at(50));
}

pub async fn a_cancel_takes_a_running_job_from_its_node(world: &World) {
    let claim = world.claimed(keyed(1, "k", Unique::Live)).await;
    world.start(&claim, at(5)).await;
    let Operated::Done(job) = world.operate(1, JobOperation::Cancel, at(50)).await else { panic!("it runs") };
    assert_eq!((job.status, job.fence, job.finish_time), (JobStatus::Cancelled, Fence(2), Some(at(50))));
    assert_eq!(job.error_msg.as_deref(), Some("cancelled by ann"));
    let attempt = world.attempt(held(&claim)).await.expect("is kept");
    assert_eq!((attempt.status, attempt.cost_ms), (AttemptStatus::Cancelled, Some(45)));
    assert!(!world.start(&claim, at(60)).await, "the fence is gone");
    world.stored(vec![keyed(2, "k", Unique::Live)]).await;
}

pub async fn a_job_marked_failed_is_dead(world: &World) {
    world.stored(vec![new_job(1)]).await;
    assert!(matches!(world.operate(1, JobOperation::Fail, at(50)).await, Operated::Done(_)));
    let dead = world.store.dead_jobs(None, 10, None).await.expect("reads").items;
    assert_eq!((dead[0].cause, world.job(1).await.status), (DeadCause::MarkedFailed, JobStatus::Failed));
}

pub async fn a_release_gives_a_held_job_to_others(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.start(&claim, at(5)).await;
    let Operated::Done(job) = world.operate(1, JobOperation::Release, at(50)).await else { panic!("it is held") };
    assert_eq!((job.status, job.fence), (JobStatus::Pending, Fence(2)));
    assert_eq!(job.queue.map(|entry| (entry.state, entry.owner)), Some((QueueState::Queued, None)));
    let attempt = world.attempt(held(&claim)).await.expect("is kept");
    assert_eq!((attempt.status, attempt.error_message.as_deref()), (AttemptStatus::Lost, Some("released by ann")));
    assert_eq!(world.settle(settlement(&claim, done(None))).await, Settled::Lost);
    assert_eq!(world.claim_as(NODE, 1, at(50)).await.jobs[0].fence, Fence(3));
}

pub async fn the_store_says_what_it_is(world: &World) {
    let info = world.store.info();
    assert!(!info.kind.is_empty() && !info.place.is_empty());
    world.store.check_writable().await.expect("is writable");
    world.store.now().await.expect("has a clock");
}

pub async fn a_repeated_operation_is_known(world: &World) {
    world.stored((1..=2).map(new_job).collect()).await;
    for (id, operation) in [(1, JobOperation::Cancel), (2, JobOperation::Fail), (1, JobOperation::Retry)] {
        let request = operate(&world.job(id).await, operation, at(50 + operation.code()));
        let first = world.store.operate(request.clone()).await.expect("answers");
        assert!(matches!(first, Operated::Done(_)), "{first:?}");
        assert_eq!(world.store.operate(request.clone()).await.expect("answers"), first);
        let other = crate::Operate { by: "bob".to_owned(), ..request };
        assert_eq!(world.store.operate(other).await.expect("answers"), Operated::Moved);
    }
}
