//! Schedules through the library face, on every store, with a clock that is moved by hand.

mod stores;
mod world;

use std::time::Duration;

use mainspring::prelude::*;
use mainspring::{
    Act, Builder, Clock, Engine, Every, FailStrategy, Job, JobStatus, Misfire, Overlap, PoolSettings, Rhythm,
    SkipReason, Span, TaskDefinition, TaskSwitch, Timestamp, Trigger,
};
use stores::LIMIT;
use world::{World, at, code};

on_every_store!(
    a_task_fires_on_its_instants_and_once,
    a_missed_time_is_run_or_recorded_by_the_policy,
    nothing_fires_after_a_pause_and_nothing_is_caught_up,
    an_edit_takes_effect_at_once,
    a_live_job_keeps_the_next_fire_away,
    one_job_waits_behind_the_live_one,
    a_live_job_is_replaced,
    a_fixed_delay_begins_at_the_end_of_the_job,
    a_fired_job_that_waits_too_long_expires,
    a_failure_of_a_task_that_stops_disables_it_and_says_why,
    a_clock_that_went_far_back_silences_nobody,
    times_of_the_past_run_on_request_and_once,
    a_restart_goes_on_where_it_ended,
    a_declaration_is_written_once,
    a_declaration_whose_schedule_has_ended_stops_no_restart,
    a_fixed_delay_that_meets_a_job_by_hand_goes_on,
);

fn second(second: u32) -> Timestamp {
    at("2026-12-01T08:00:00Z").plus_ms(i64::from(second) * 1_000)
}

fn every(seconds: u64, handler: &str) -> TaskDefinition {
    let every = Some(Every { span: Span::from_ms(seconds * 1_000), rhythm: Rhythm::FixedRate });
    let handler = handler.parse().expect("a name");
    TaskDefinition { cron_expression: None, every, ..TaskDefinition::cron("test", handler, "") }
}

fn fire_times(jobs: &[Job]) -> Vec<Timestamp> {
    jobs.iter().map(|job| job.fires.expect("a schedule made it").last).collect()
}

use JobStatus::{Cancelled, Executing, Pending, Skipped, Success};

async fn a_task_fires_on_its_instants_and_once(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("tick", every(2, "ok")).await;
    world.pass(7).await;
    let jobs = world.statuses("tick", &[Success, Success, Success]).await;
    assert_eq!(fire_times(&jobs), [second(2), second(4), second(6)]);
    for job in &jobs {
        assert_eq!((job.trigger, job.execute_time), (Trigger::Cron, job.fires.expect("fired").last));
        assert!(job.start_time >= Some(job.execute_time), "never early");
    }
    let task = world.engine().task(&code("tick")).await.expect("known");
    assert_eq!((task.prev_fire_time, task.next_fire_time, task.version), (Some(second(6)), Some(second(8)), 1));
    world.end().await;
}

async fn a_missed_time_is_run_or_recorded_by_the_policy(jobs: Builder) {
    let world = World::on(jobs).await;
    for (name, misfire) in [("once", Misfire::FireOnce), ("skip", Misfire::Skip), ("all", Misfire::FireAll)] {
        world.define(name, TaskDefinition { misfire, max_catchup: 2, ..every(60, "ok") }).await;
    }
    world.clock.step(301_000);
    world.clock.advance(Duration::from_secs(1));
    let once = world.statuses("once", &[Success]).await;
    let fires = once[0].fires.expect("fired");
    assert_eq!((once[0].trigger, fires.first, fires.last, fires.count), (Trigger::Misfire, second(60), second(300), 5));
    let skip = world.statuses("skip", &[Skipped]).await;
    assert_eq!((skip[0].skip_reason, skip[0].fires.expect("fired").count), (Some(SkipReason::Misfire), 5));
    let all = world.statuses("all", &[Skipped, Success, Success]).await;
    assert_eq!(fire_times(&all), [second(180), second(240), second(300)]);
    assert!(all[1].finish_time <= all[2].start_time, "one after another");
    world.end().await;
}

async fn nothing_fires_after_a_pause_and_nothing_is_caught_up(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("tick", every(1, "ok")).await;
    world.pass(3).await;
    let before = world.until("tick", |jobs| jobs.len() >= 3).await.len();
    let paused = world.engine().switch_task(&code("tick"), TaskSwitch::Disabled, "ann").await.expect("paused");
    assert_eq!(paused.next_fire_time, None);
    world.pass(5).await;
    assert_eq!(world.jobs_of("tick").await.len(), before);
    let resumed = world.engine().switch_task(&code("tick"), TaskSwitch::Enabled, "ann").await.expect("resumed");
    assert!(resumed.next_fire_time > Some(world.clock.now()), "nothing is caught up");
    world.pass(1).await;
    world.until("tick", |jobs| jobs.len() == before + 1).await;
    world.end().await;
}

async fn an_edit_takes_effect_at_once(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("tick", every(3_600, "ok")).await;
    let edited = world.engine().update_task(&code("tick"), 1, every(2, "ok"), "ann").await.expect("edited");
    assert_eq!(edited.next_fire_time, Some(second(2)));
    world.pass(3).await;
    world.statuses("tick", &[Success]).await;
    let described = TaskDefinition { description: Some("x".to_owned()), ..every(2, "ok") };
    let next = world.engine().task(&code("tick")).await.expect("known").next_fire_time;
    let edited = world.engine().update_task(&code("tick"), 2, described, "ann").await.expect("edited");
    assert_eq!(edited.next_fire_time, next, "the schedule is the same");
    let impossible = TaskDefinition::cron("never", "ok".parse().expect("a name"), "0 0 30 2 *");
    let refused = world.engine().update_task(&code("tick"), 3, impossible, "ann").await.expect_err("refused");
    assert!(refused.to_string().contains("no fire time"), "{refused}");
    world.end().await;
}

async fn a_live_job_keeps_the_next_fire_away(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("slow", every(2, "gated")).await;
    world.pass(5).await;
    let jobs = world.statuses("slow", &[Executing, Skipped]).await;
    assert_eq!(jobs[1].skip_reason, Some(SkipReason::Overlap));
    let words = jobs[1].error_msg.as_deref().unwrap_or_default();
    assert!(words.contains(&jobs[0].id.to_string()), "{words}");
    let refused = world.engine().trigger_task(&code("slow"), Some("r"), None, "ann").await.expect_err("it runs");
    assert!(refused.to_string().contains("live"), "{refused}");
    world.gate.add_permits(1);
    world.statuses("slow", &[Success, Skipped]).await;
    world.pass(1).await;
    world.statuses("slow", &[Success, Skipped, Executing]).await;
    world.end().await;
}

async fn one_job_waits_behind_the_live_one(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("slow", TaskDefinition { overlap: Overlap::QueueOne, ..every(2, "gated") }).await;
    world.pass(7).await;
    world.statuses("slow", &[Executing, Pending, Skipped]).await;
    world.gate.add_permits(1);
    world.until("slow", |jobs| jobs[0].status == Success).await;
    // Two more fire times: with the second job live only one of them waits.
    world.pass(4).await;
    world.until("slow", |jobs| jobs[1].start_time.is_some() && jobs[3].status == Pending).await;
    world.end().await;
}

async fn a_live_job_is_replaced(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("slow", TaskDefinition { overlap: Overlap::Replace, ..every(2, "gated") }).await;
    world.pass(5).await;
    let jobs = world.statuses("slow", &[Cancelled, Executing]).await;
    assert!(jobs[0].error_msg.as_deref().is_some_and(|words| words.contains("replaced")), "{:?}", jobs[0].error_msg);
    world.end().await;
}

async fn a_fixed_delay_begins_at_the_end_of_the_job(jobs: Builder) {
    let world = World::on(jobs).await;
    let after_end = Some(Every { span: Span::from_ms(2_000), rhythm: Rhythm::FixedDelay });
    world.define("slow", TaskDefinition { every: after_end, ..every(2, "gated") }).await;
    world.pass(8).await;
    world.statuses("slow", &[Executing]).await;
    world.gate.add_permits(1);
    let ended = world.statuses("slow", &[Success]).await;
    world.pass(3).await;
    let jobs = world.until("slow", |jobs| jobs.len() == 2).await;
    let end = ended[0].finish_time.expect("it has ended");
    assert_eq!(fire_times(&jobs)[1], end.plus_ms(2_000));
    world.end().await;
}

async fn a_fired_job_that_waits_too_long_expires(jobs: Builder) {
    let world = World::on(jobs.pool("default", 1).pool("calm", 1)).await;
    world.define("blocker", TaskDefinition::new("blocker", "gated".parse().expect("a name"))).await;
    world.jobs.submit("blocker", &serde_json::Value::Null).await.expect("stored");
    let views = world.engine().pools().await.expect("read");
    let calm = views.into_iter().find(|view| view.settings.name.as_str() == "calm").expect("it was made").settings;
    world.engine().put_pool(PoolSettings { paused: true, ..calm }, "ann").await.expect("paused");
    let start_deadline_seconds = Some(3);
    let in_pool =
        |pool: &str| TaskDefinition { start_deadline_seconds, pool: pool.parse().expect("a name"), ..every(60, "ok") };
    world.define("full", in_pool("default")).await;
    world.define("paused", in_pool("calm")).await;
    world.pass(61).await;
    for task in ["full", "paused"] {
        world.statuses(task, &[Pending]).await;
    }
    world.pass(5).await;
    for task in ["full", "paused"] {
        let jobs = world.statuses(task, &[Skipped]).await;
        assert_eq!((jobs[0].skip_reason, jobs[0].start_time), (Some(SkipReason::Expired), None));
    }
    world.end().await;
}

async fn a_failure_of_a_task_that_stops_disables_it_and_says_why(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("bad", TaskDefinition { fail_strategy: FailStrategy::Stop, ..every(1, "fails") }).await;
    world.pass(1).await;
    let jobs = world.statuses("bad", &[JobStatus::Failed]).await;
    world.pass(3).await;
    assert_eq!(world.jobs_of("bad").await.len(), 1, "it fires no more");
    let task = world.engine().task(&code("bad")).await.expect("known");
    assert_eq!((task.switch, task.next_fire_time), (TaskSwitch::Disabled, None));
    let reason = task.disabled_reason.unwrap_or_default();
    assert!(reason.contains(&jobs[0].id.to_string()), "{reason}");
    world.end().await;
}

async fn a_clock_that_went_far_back_silences_nobody(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("tick", every(60, "ok")).await;
    world.clock.step(600_000);
    world.pass(2).await;
    let ahead = world.until("tick", |jobs| !jobs.is_empty()).await.len();
    world.clock.step(-600_000);
    world.pass(70).await;
    let jobs = world.until("tick", |jobs| jobs.len() > ahead).await;
    assert!(fire_times(&jobs).contains(&second(60)), "{:?}", fire_times(&jobs));
    world.end().await;
}

async fn times_of_the_past_run_on_request_and_once(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("tick", every(2, "ok")).await;
    world.pass(3).await;
    world.statuses("tick", &[Success]).await;
    let (from, to) = (second(0).plus_ms(-5_000), second(3));
    let shown = world.engine().backfill(&code("tick"), from, to, Act::Show, "ann").await.expect("shown");
    assert_eq!((shown.fires.len(), shown.ran_before.as_slice()), (3, &[second(2)][..]));
    let done = world.engine().backfill(&code("tick"), from, to, Act::Do, "ann").await.expect("done");
    assert!(done.fires.iter().all(|(_, job)| job.is_some()));
    let again = world.engine().backfill(&code("tick"), from, to, Act::Do, "ann").await.expect("done");
    assert_eq!((again.fires.len(), again.ran_before.len()), (0, 4));
    world.clock.advance(Duration::from_millis(200));
    world.statuses("tick", &[Success; 4]).await;
    let many = world.engine().backfill(&code("tick"), at("2026-01-01T00:00:00Z"), to, Act::Show, "ann").await;
    assert!(many.is_err(), "bounded");
    world.end().await;
}

async fn a_restart_goes_on_where_it_ended(jobs: Builder) {
    let world = World::on(jobs).await;
    world.define("tick", TaskDefinition { misfire: Misfire::Skip, ..every(60, "ok") }).await;
    world.define("daily", TaskDefinition::cron("daily", "ok".parse().expect("a name"), "0 6 * * *")).await;
    let (store, clock) = (world.engine().store().clone(), world.clock.clone());
    world.end().await;
    clock.step(240_000);
    let world = World::at(Mainspring::on(store), clock).await;
    let jobs = world.statuses("tick", &[Skipped]).await;
    assert_eq!(jobs[0].fires.expect("fired").count, 4);
    assert_eq!(world.engine().task(&code("tick")).await.expect("known").next_fire_time, Some(second(300)));
    assert!(world.jobs_of("daily").await.is_empty());
    world.end().await;
}

async fn a_declaration_is_written_once(jobs: Builder) {
    let world = World::on(jobs).await;
    let (store, clock) = (world.engine().store().clone(), world.clock.clone());
    world.end().await;
    let start = async |seconds: u64| {
        let engine = Engine::builder(store.clone()).clock(clock.clone()).declare(code("expiry"), every(seconds, "ok"));
        engine.start().await.expect("starts")
    };
    let every_of = async |engine: &Engine| engine.task(&code("expiry")).await.expect("declared").definition.every;
    let span = |seconds: u64| Some(Every { span: Span::from_ms(seconds * 1_000), rhythm: Rhythm::FixedRate });
    let first = start(10).await;
    first.switch_task(&code("expiry"), TaskSwitch::Disabled, "ann").await.expect("paused");
    first.stop(LIMIT).await;
    let newer = start(20).await;
    assert_eq!(every_of(&newer).await, span(20), "a new declaration is written");
    let task = newer.task(&code("expiry")).await.expect("declared");
    assert_eq!(task.switch, TaskSwitch::Disabled, "the switch is a person's");
    newer.stop(LIMIT).await;
    let older = start(10).await;
    assert_eq!(every_of(&older).await, span(20), "an older node does not put the old rhythm back");
    // This node does not have the handler; who edits something else need not care.
    let edited = older.update_task(&code("expiry"), task.version, every(30, "ok"), "ann").await.expect("edited");
    assert_eq!(edited.definition.every, span(30));
    older.update_task(&code("expiry"), edited.version, every(30, "other"), "ann").await.expect_err("no such handler");
    older.stop(LIMIT).await;
}

async fn a_declaration_whose_schedule_has_ended_stops_no_restart(jobs: Builder) {
    let world = World::on(jobs).await;
    let (store, clock) = (world.engine().store().clone(), world.clock.clone());
    world.end().await;
    let once = TaskDefinition { end_at: Some(second(10)), ..every(5, "ok") };
    let start =
        async || Engine::builder(store.clone()).clock(clock.clone()).declare(code("once"), once.clone()).start().await;
    start().await.expect("starts").stop(LIMIT).await;
    clock.step(3_600_000);
    start().await.expect("starts again").stop(LIMIT).await;
}

async fn a_fixed_delay_that_meets_a_job_by_hand_goes_on(jobs: Builder) {
    let world = World::on(jobs).await;
    let after_end = Some(Every { span: Span::from_ms(2_000), rhythm: Rhythm::FixedDelay });
    world.define("slow", TaskDefinition { every: after_end, ..every(2, "gated") }).await;
    world.engine().trigger_task(&code("slow"), None, None, "ann").await.expect("triggered");
    world.pass(5).await;
    // Two fire times have met it, and each has its record.
    world.statuses("slow", &[Executing, Skipped, Skipped]).await;
    world.gate.add_permits(1);
    world.end().await;
}
