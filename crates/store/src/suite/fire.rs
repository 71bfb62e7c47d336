//! Fire: each fire time has one record, and the next one is planned with it.

use mainspring_model::job::{Fires, OnLive, QueueState, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Overlap, TaskSwitch};
use mainspring_model::{AttemptStatus, Fence, JobStatus, Priority, Trigger};

use super::World;
use super::scheduled::{CRON, cron, entry, fire_all, fired, in_turn, of_task, replaced_ids, skipped, stored_end};
use super::world::{NODE, T0, at, done, held, settlement, task};
use crate::{Fire, FireEnd, FireEntry, Fired, JobFilter, NewJob, Settled};

const NEXT: NextFire = NextFire::At(at(60_000));

fn fire_of(code: &str, version: i64, ms: i64, entries: Vec<FireEntry>) -> Fire {
    Fire { task: task(code), version, due: at(ms), next: NEXT, entries }
}

pub async fn a_fire_is_stored_once_and_moves_the_next_fire_time(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let before = world.task_row(CRON).await;
    let fires = Fires { first: at(-120_000), last: T0, count: 3 };
    let job = NewJob { trigger: Trigger::Misfire, priority: Priority::High, ..fired(1, CRON, fires) };
    let entries = vec![FireEntry { job, skip: None }];
    assert_eq!(world.fire(entries, NEXT, at(5)).await, [stored_end()]);
    let after = world.task_row(CRON).await;
    assert_eq!((after.next_fire_time, after.prev_fire_time), (NEXT.time(), Some(T0)));
    assert_eq!((after.version, after.update_time), (before.version, before.update_time), "no person changed it");
    let job = world.job(1).await;
    assert_eq!(
        (job.fires, job.trigger, job.biz_id, job.skip_reason),
        (Some(fires), Trigger::Misfire, Some(fires.key()), None)
    );
    let claim = world.claim(1, T0).await.jobs.remove(0);
    assert_eq!((claim.id.0, claim.fire_time, claim.trigger), (1, Some(T0), Trigger::Misfire));
    assert!(claim.lane.is_some());
    let listed = world.store.jobs(JobFilter { task: Some(task(CRON)), ..JobFilter::default() }, 5, None).await;
    assert_eq!(listed.expect("reads").items[0].fires, Some(fires), "lists show it as well");
}

pub async fn a_repeated_fire_answers_as_the_first(world: &World) {
    world.with_cron(cron(Overlap::Allow)).await;
    world.fire_next(1, OnLive::Join).await;
    let many = Fires { first: at(-900), last: at(-100), count: 9 };
    let claimed = entry(4, CRON, 1_000, OnLive::Join);
    let entries = vec![
        skipped(2, CRON, many),
        entry(3, CRON, 0, OnLive::Join),
        FireEntry { job: NewJob { claim: true, ..claimed.job }, ..claimed },
        entry(5, CRON, 1_001, OnLive::JoinBelow(2)),
        entry(6, CRON, 1_002, OnLive::Join),
    ];
    let fire = fire_of(CRON, 1, 1_000, entries);
    let expect = [Fired::Done(vec![
        FireEnd::Skipped(SkipReason::Misfire),
        FireEnd::Duplicate,
        FireEnd::Stored { claimed: true, replaced: Vec::new() },
        FireEnd::Skipped(SkipReason::Overlap),
        stored_end(),
    ])];
    assert_eq!(world.fire_all(vec![fire.clone()], at(1_000)).await, expect);
    let (jobs, row) = (world.all_jobs().await, world.task_row(CRON).await);
    assert_eq!(world.fire_all(vec![fire], at(1_007)).await, expect);
    assert_eq!((world.all_jobs().await, world.task_row(CRON).await), (jobs, row));
    assert_eq!((world.job(1).await.duplicates, world.is_unknown(3).await), (0, true), "a duplicate leaves no trace");
}

pub async fn a_fire_without_jobs_moves_on_and_can_be_repeated(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let fire = fire_of(CRON, 1, 0, Vec::new());
    for now in [at(1), at(2)] {
        assert_eq!(world.fire_all(vec![fire.clone()], now).await, [Fired::Done(Vec::new())]);
    }
    let row = world.task_row(CRON).await;
    assert_eq!((row.next_fire_time, row.prev_fire_time), (NEXT.time(), None));
}

pub async fn a_fire_that_was_overtaken_writes_nothing(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    world.create_firing("off", cron(Overlap::Forbid), Some(T0)).await;
    world.switch("off", TaskSwitch::Disabled, None, T0).await;
    let one = |id, code| vec![entry(id, code, 0, OnLive::Join)];
    let before = world.store.tasks().await.expect("reads");
    let fires = vec![
        fire_of(CRON, 2, 0, one(1, CRON)),
        fire_of(CRON, 1, 1, one(2, CRON)),
        fire_of("off", 2, 0, one(3, "off")),
        fire_of("nobody", 1, 0, one(4, "nobody")),
        fire_of(CRON, 2, 0, Vec::new()),
        fire_of("nobody", 1, 0, Vec::new()),
    ];
    assert_eq!(world.fire_all(fires, T0).await, vec![Fired::Moved; 6]);
    assert_eq!((world.listed_ids().await, world.store.tasks().await.expect("reads")), (Vec::new(), before));
    // And it stops no other of its batch.
    let batch = vec![fire_of(CRON, 7, 0, one(5, CRON)), fire_of(CRON, 1, 0, one(6, CRON))];
    assert_eq!(world.fire_all(batch, T0).await, [Fired::Moved, Fired::Done(vec![stored_end()])]);
}

pub async fn a_skipped_fire_has_its_record_and_no_body(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let fires = Fires { first: at(-39 * 60_000), last: T0, count: 40 };
    let ends = world.fire(vec![skipped(1, CRON, fires)], NEXT, at(5)).await;
    assert_eq!(ends, [FireEnd::Skipped(SkipReason::Misfire)]);
    let job = world.job(1).await;
    assert_eq!((job.status, job.skip_reason, job.queue), (JobStatus::Skipped, Some(SkipReason::Misfire), None));
    assert_eq!((job.finish_time, job.fires, job.fence), (Some(job.create_time), Some(fires), Fence(0)));
    let words = job.error_msg.expect("it says why");
    assert!(words.starts_with("skipped: 40 fire times from "), "{words}");
    assert!(world.claim(1, at(9)).await.jobs.is_empty());
    assert_eq!(world.store.dead_jobs(None, 5, None).await.expect("reads").items, []);
    assert_eq!(world.task_row(CRON).await.prev_fire_time, Some(T0));
}

pub async fn one_fire_time_has_one_record_also_when_it_was_skipped(world: &World) {
    world.with_cron(cron(Overlap::Allow)).await;
    world.fire(vec![skipped(1, CRON, Fires::one(T0))], NEXT, T0).await;
    // The clock goes back: the same time comes again.
    world.switch(CRON, TaskSwitch::Disabled, None, T0).await;
    world.switch(CRON, TaskSwitch::Enabled, Some(T0), T0).await;
    let again = vec![entry(2, CRON, 0, OnLive::Join), skipped(3, CRON, Fires::one(T0))];
    assert_eq!(world.fire(again, NEXT, T0).await, [FireEnd::Duplicate, FireEnd::Duplicate]);
    assert_eq!(world.listed_ids().await, [1]);
}

pub async fn the_time_of_the_last_fire_never_goes_back(world: &World) {
    world.with_cron(cron(Overlap::Allow)).await;
    world.fire_next(1, OnLive::Join).await;
    world.switch(CRON, TaskSwitch::Disabled, None, T0).await;
    world.switch(CRON, TaskSwitch::Enabled, Some(at(-5_000)), T0).await;
    world.fire_next(2, OnLive::Join).await;
    let row = world.task_row(CRON).await;
    assert_eq!((row.prev_fire_time, row.next_fire_time), (Some(T0), Some(at(-4_000))));
}

pub async fn the_last_fire_ends_the_schedule(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    world.fire(vec![entry(1, CRON, 0, OnLive::Join)], NextFire::Never, T0).await;
    let row = world.task_row(CRON).await;
    assert_eq!((row.next_fire_time, row.prev_fire_time, row.switch), (None, Some(T0), TaskSwitch::Enabled));
}

pub async fn forbid_skips_a_fire_while_a_job_is_live(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let forbid = Overlap::Forbid.on_live();
    assert_eq!(world.fire_next(1, forbid).await, stored_end());
    let claim = world.claim(1, T0).await.jobs.remove(0);
    assert_eq!(world.fire_next(2, forbid).await, FireEnd::Skipped(SkipReason::Overlap));
    let job = world.job(2).await;
    assert_eq!((job.status, job.skip_reason, job.queue), (JobStatus::Skipped, Some(SkipReason::Overlap), None));
    assert_eq!(job.error_msg.as_deref(), Some("skipped: job 1 was live and overlap is FORBID"));
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(world.fire_next(3, forbid).await, stored_end());
}

pub async fn queue_one_keeps_one_waiting(world: &World) {
    world.with_cron(cron(Overlap::QueueOne)).await;
    let queue_one = Overlap::QueueOne.on_live();
    assert_eq!(world.fire_next(1, queue_one).await, stored_end());
    let claim = world.claim(1, T0).await.jobs.remove(0);
    assert_eq!(world.fire_next(2, queue_one).await, stored_end());
    assert_eq!(world.fire_next(3, queue_one).await, FireEnd::Skipped(SkipReason::Overlap));
    assert!(world.claim(1, at(2_000)).await.jobs.is_empty(), "bodies of the task never run side by side");
    assert_eq!(world.queue_state(2).await, Some(QueueState::Limited));
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(world.claim(1, at(2_000)).await.jobs[0].id.0, 2);
    assert_eq!(world.fire_next(4, queue_one).await, stored_end());
}

pub async fn replace_cancels_what_is_live(world: &World) {
    world.with_cron(cron(Overlap::Replace)).await;
    let queued = of_task(3, CRON);
    world.fire_next(1, OnLive::Replace).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    world.start(&claim, at(5)).await;
    world.stored(vec![queued]).await;
    let FireEnd::Stored { claimed: false, replaced } = world.fire_next(2, OnLive::Replace).await else {
        panic!("it is stored")
    };
    assert_eq!((replaced_ids(&replaced), replaced[0].fence), (vec![1, 3], Fence(2)));
    assert_eq!((replaced[0].error.as_str(), &replaced[0].pool), ("replaced by job 2", &claim.pool));
    let job = world.job(1).await;
    assert_eq!((job.status, job.fence, job.queue), (JobStatus::Cancelled, Fence(2), None));
    assert_eq!((job.error_msg.as_deref(), job.finish_time), (Some("replaced by job 2"), Some(at(1_000))));
    assert_eq!(world.job(3).await.status, JobStatus::Cancelled);
    let attempt = world.attempt(held(&claim)).await.expect("is kept");
    assert_eq!(
        (attempt.status, attempt.error_message.as_deref()),
        (AttemptStatus::Cancelled, Some("replaced by job 2"))
    );
    assert_eq!(world.settle(settlement(&claim, done(Some("late")))).await, Settled::Lost);
    assert_eq!(world.job(1).await, job);
    assert_eq!(world.claim(5, at(1_000)).await.jobs.iter().map(|claim| claim.id.0).collect::<Vec<_>>(), [2]);
}

pub async fn the_result_of_a_replaced_body_is_discarded(world: &World) {
    world.with_cron(cron(Overlap::Replace)).await;
    world.fire_next(1, OnLive::Replace).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    world.fire_next(2, OnLive::Replace).await;
    assert!(!world.start(&claim, at(5)).await, "a body that has not begun must not");
    assert_eq!(world.settle(settlement(&claim, done(Some("late")))).await, Settled::Lost);
    let attempt = world.attempt(held(&claim)).await.expect("is kept");
    assert_eq!(attempt.status, AttemptStatus::Discarded);
}

pub async fn allow_joins_what_is_live(world: &World) {
    world.with_cron(cron(Overlap::Allow)).await;
    for id in 1..=3 {
        assert_eq!(world.fire_next(id, OnLive::Join).await, stored_end());
    }
    let claims = world.claim_all(at(3_000)).await;
    assert_eq!((claims.len(), &claims[0].lane), (3, &None), "nobody waits, and nobody pays for a lane");
}

pub async fn fires_of_one_plan_see_each_other(world: &World) {
    world.with_cron(cron(Overlap::QueueOne)).await;
    let entries = (1..=3).map(|id| entry(id, CRON, id, OnLive::JoinBelow(2))).collect();
    let ends = world.fire(entries, NEXT, at(9)).await;
    assert_eq!(ends, [stored_end(), stored_end(), FireEnd::Skipped(SkipReason::Overlap)]);
}

pub async fn fires_that_catch_up_run_one_after_another(world: &World) {
    world.with_cron(fire_all(Overlap::Allow)).await;
    let entries = (1..=4).map(|id| in_turn(entry(id, CRON, id, OnLive::Join))).collect();
    assert_eq!(world.fire(entries, NEXT, at(9)).await, vec![stored_end(); 4]);
    for id in 1..=4 {
        let claims = world.claim_all(at(9)).await;
        assert_eq!(claims.iter().map(|claim| claim.id.0).collect::<Vec<_>>(), [id]);
        assert!(claims[0].lane.as_ref().is_some_and(|lane| lane.serial));
        // Others of the task do not wait for them.
        world.stored(vec![of_task(10 + id, CRON)]).await;
        assert_eq!(world.claim_all(at(9)).await.len(), 1);
        world.settle(settlement(&claims[0], done(None))).await;
    }
}

pub async fn a_fired_job_is_claimed_by_its_insert_only_when_it_is_alone(world: &World) {
    world.with_cron(cron(Overlap::QueueOne)).await;
    let claiming = |id, ms| {
        let entry = entry(id, CRON, ms, OnLive::JoinBelow(2));
        FireEntry { job: NewJob { claim: true, ..entry.job }, ..entry }
    };
    let ends = world.fire(vec![claiming(1, 0), claiming(2, 1)], NEXT, at(9)).await;
    assert_eq!(ends, [FireEnd::Stored { claimed: true, replaced: Vec::new() }, stored_end()]);
    let (first, second) = (world.job(1).await, world.job(2).await);
    assert_eq!((first.fence, first.queue.and_then(|entry| entry.owner)), (Fence(1), Some(NODE)));
    assert_eq!((second.fence, second.queue.and_then(|entry| entry.owner)), (Fence(0), None));
}
