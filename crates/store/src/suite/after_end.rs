//! A fixed delay: the end of the job that fired sets the next fire time.

use mainspring_model::decide::{Budget, Decision, Next};
use mainspring_model::job::{OnLive, SkipReason};
use mainspring_model::operations::JobOperation;
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{OnLost, Overlap, TaskSwitch};
use mainspring_model::{AttemptStatus, Incarnation, JobId, JobStatus, TaskDefinition, Timestamp, Trigger};

use super::World;
use super::scheduled::{CRON, DELAY_MS, cron, entry, fixed_delay, of_task, replaced_ids, stored_end};
use super::world::{T0, again, at, done, failed, held, settlement, task};
use crate::{Claim, Expiry, FireEnd, FireEntry, GiveBack, NewJob, Settled, Settlement};

fn expired() -> Decision {
    Decision {
        attempt: AttemptStatus::Skipped,
        next: Next::Final { status: JobStatus::Skipped, dead: None, stop_task: false },
        result: None,
        error: Some("skipped: its start deadline had passed".to_owned()),
    }
}

async fn fire_and_claim(world: &World, id: i64) -> Claim {
    let due = world.task_row(CRON).await.next_fire_time.expect("it fires");
    let entries = vec![entry(id, CRON, due.ms_since(T0), OnLive::JoinBelow(1))];
    assert_eq!(world.fire(entries, NextFire::AfterEnd, due).await, [stored_end()]);
    assert_eq!(world.task_row(CRON).await.next_fire_time, None);
    world.claim(10, due).await.jobs.remove(0)
}

async fn next_fire(world: &World) -> Option<Timestamp> {
    world.task_row(CRON).await.next_fire_time
}

pub async fn the_end_of_a_fired_job_sets_the_next_fire_time(world: &World) {
    world.with_cron(fixed_delay(Overlap::Forbid)).await;
    let ends = [done(None), failed(false), expired()];
    for (id, end) in (1..).zip(ends) {
        let claim = fire_and_claim(world, id).await;
        let later = again(AttemptStatus::Failed, at(30), Budget::Failure);
        world.settle(settlement(&claim, later)).await;
        assert_eq!(next_fire(world).await, None, "it is to be tried again");
        let claim = world.claim(1, claim.due.max(at(30))).await.jobs.remove(0);
        let finish_time = at(id * 100_000);
        let mut settlement = settlement(&claim, end);
        settlement.finish_time = finish_time;
        world.settle(settlement.clone()).await;
        assert_eq!(next_fire(world).await, Some(finish_time.plus_ms(DELAY_MS)), "{settlement:?}");
        // A repetition, and the end of another one, change nothing any more.
        world.settle(settlement).await;
        world.operate(id, JobOperation::Retry, finish_time).await;
        world.operate(id, JobOperation::Cancel, finish_time.plus_ms(9)).await;
        assert_eq!(next_fire(world).await, Some(finish_time.plus_ms(DELAY_MS)));
    }
}

pub async fn a_person_who_ends_a_fired_job_sets_the_next_fire_time(world: &World) {
    world.with_cron(fixed_delay(Overlap::Forbid)).await;
    for (id, operation) in [(1, JobOperation::Cancel), (2, JobOperation::Fail)] {
        fire_and_claim(world, id).await;
        world.operate(id, JobOperation::Release, at(id * 100_000)).await;
        assert_eq!(next_fire(world).await, None);
        let now = at(id * 100_000 + 1);
        world.operate(id, operation, now).await;
        assert_eq!(next_fire(world).await, Some(now.plus_ms(DELAY_MS)), "{operation}");
    }
}

pub async fn a_clock_that_went_back_while_the_job_ran_keeps_no_fire_back(world: &World) {
    world.with_cron(fixed_delay(Overlap::Forbid)).await;
    let claim = fire_and_claim(world, 1).await;
    // An end is never written before its start, and this start is a day ahead of the clock by now.
    let late = settlement(&claim, done(None));
    let late = Settlement { start_time: at(86_400_000), finish_time: at(86_400_000), ..late };
    world.store.settle(vec![late], at(9)).await.expect("settles");
    assert_eq!(next_fire(world).await, Some(at(9 + DELAY_MS)));
}

pub async fn a_fired_job_that_is_lost_for_good_sets_the_next_fire_time(world: &World) {
    world.with_cron(TaskDefinition { on_lost: OnLost::Fail, ..fixed_delay(Overlap::Forbid) }).await;
    let claim = fire_and_claim(world, 1).await;
    world.start(&claim, at(5)).await;
    world.join(Incarnation(12), at(70)).await;
    assert_eq!(world.job(1).await.status, JobStatus::Failed);
    assert_eq!(next_fire(world).await, Some(at(70 + DELAY_MS)));
}

pub async fn an_expired_job_is_skipped_and_says_why(world: &World) {
    world.with_cron(fixed_delay(Overlap::Forbid)).await;
    let claim = fire_and_claim(world, 1).await;
    world.settle(settlement(&claim, expired())).await;
    let job = world.job(1).await;
    assert_eq!((job.status, job.skip_reason, job.queue), (JobStatus::Skipped, Some(SkipReason::Expired), None));
    assert_eq!(job.error_msg.as_deref(), Some("skipped: its start deadline had passed"));
    assert_eq!(world.store.dead_jobs(None, 5, None).await.expect("reads").items, []);
}

pub async fn the_end_of_a_triggered_job_sets_no_fire_time(world: &World) {
    world.with_cron(fixed_delay(Overlap::Allow)).await;
    fire_and_claim(world, 1).await;
    world.stored(vec![NewJob { trigger: Trigger::Manual, ..of_task(2, CRON) }]).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    assert!(claim.lane.is_some());
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(next_fire(world).await, None, "1 still runs");
}

pub async fn a_disabled_fixed_delay_stays_still(world: &World) {
    world.with_cron(fixed_delay(Overlap::Forbid)).await;
    let claim = fire_and_claim(world, 1).await;
    world.switch(CRON, TaskSwitch::Disabled, None, at(20)).await;
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(next_fire(world).await, None);
    world.switch(CRON, TaskSwitch::Enabled, Some(at(1_000)), at(900)).await;
    let claim = fire_and_claim(world, 2).await;
    world.settle(settlement(&claim, failed(true))).await;
    assert_eq!(next_fire(world).await, None, "its failure has stopped the task");
}

pub async fn a_fixed_delay_ends_with_its_end(world: &World) {
    world.with_cron(TaskDefinition { end_at: Some(at(30 + DELAY_MS)), ..fixed_delay(Overlap::Forbid) }).await;
    let claim = fire_and_claim(world, 1).await;
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(next_fire(world).await, Some(at(30 + DELAY_MS)), "the last one");
    let claim = fire_and_claim(world, 2).await;
    let mut end = settlement(&claim, done(None));
    end.finish_time = at(31 + DELAY_MS);
    world.settle(end).await;
    assert_eq!((next_fire(world).await, world.task_row(CRON).await.switch), (None, TaskSwitch::Enabled));
}

pub async fn a_fixed_delay_whose_fire_is_skipped_goes_on(world: &World) {
    world.with_cron(fixed_delay(Overlap::Forbid)).await;
    world.stored(vec![NewJob { trigger: Trigger::Manual, ..of_task(9, CRON) }]).await;
    let skipped = || vec![entry(1, CRON, 0, OnLive::JoinBelow(1))];
    let ends = world.fire(skipped(), NextFire::AfterEnd, at(3)).await;
    assert_eq!(ends, [FireEnd::Skipped(SkipReason::Overlap)]);
    assert_eq!(next_fire(world).await, Some(at(3 + DELAY_MS)), "no end of its own will come");
    // The same time again: its record is there, and no job of it is live.
    world.switch(CRON, TaskSwitch::Disabled, None, at(4)).await;
    world.switch(CRON, TaskSwitch::Enabled, Some(T0), at(4)).await;
    let again = vec![FireEntry { job: NewJob { id: JobId(2), ..skipped().remove(0).job }, skip: None }];
    assert_eq!(world.fire(again, NextFire::AfterEnd, at(5)).await, [FireEnd::Duplicate]);
    assert_eq!(next_fire(world).await, Some(at(5 + DELAY_MS)));
}

pub async fn a_fixed_delay_that_replaces_waits_for_the_new_job(world: &World) {
    world.with_cron(fixed_delay(Overlap::Replace)).await;
    fire_and_claim(world, 1).await;
    // A person switched it off and on, and did not wait for 1.
    world.switch(CRON, TaskSwitch::Disabled, None, at(40)).await;
    world.switch(CRON, TaskSwitch::Enabled, Some(at(50)), at(40)).await;
    let entries = vec![entry(2, CRON, 50, OnLive::Replace)];
    let FireEnd::Stored { replaced, .. } = world.fire(entries, NextFire::AfterEnd, at(50)).await.remove(0) else {
        panic!("it is stored")
    };
    assert_eq!((replaced_ids(&replaced), next_fire(world).await), (vec![1], None));
    // A trigger that replaces ends the fired job, and its own end sets nothing.
    let trigger =
        NewJob { trigger: Trigger::Manual, on_live: OnLive::Replace, create_time: at(60), ..of_task(3, CRON) };
    world.stored(vec![trigger]).await;
    assert_eq!(next_fire(world).await, Some(at(60 + DELAY_MS)));
}

pub async fn fired_jobs_that_nobody_has_begun_in_time_expire(world: &World) {
    world.with_cron(TaskDefinition { start_deadline_seconds: Some(5), ..cron(Overlap::Allow) }).await;
    for id in 1..=3 {
        world.fire_next(id, OnLive::Join).await;
    }
    world.stored(vec![of_task(9, CRON)]).await;
    let claims = world.claim(2, at(2_000)).await.jobs;
    let park = vec![held(&claims[0])];
    world.store.give_back(park, GiveBack::Park, at(2_000)).await.expect("gives back");
    let expiry = |before| vec![Expiry { task: task(CRON), before }];
    assert_eq!(world.store.expire(expiry(T0), at(9_000)).await.expect("answers"), []);
    let mut expired = world.store.expire(expiry(at(9_000)), at(9_000)).await.expect("answers");
    expired.sort();
    let waited: Vec<JobId> = (1..=3).map(JobId).filter(|id| *id != claims[1].id).collect();
    assert_eq!(expired, waited, "parked and queued ones, not what a node holds, nor what no schedule made");
    for id in expired {
        let job = world.job(id.0).await;
        assert_eq!((job.status, job.skip_reason), (JobStatus::Skipped, Some(SkipReason::Expired)));
        assert_eq!((job.start_time, job.queue), (None, None));
        assert!(job.error_msg.is_some_and(|words| words.starts_with("expired: it waited")));
    }
    assert_eq!(world.settle(settlement(&claims[1], done(None))).await, Settled::Applied);
    assert_eq!(world.store.verify().await.expect("answers"), []);
}
