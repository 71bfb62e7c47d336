//! What people and the planner change around schedules: next fire times, the switch, calendars, request ids.

use mainspring_model::calendar::day;
use mainspring_model::task::{Overlap, TaskSwitch};
use mainspring_model::{Calendar, CalendarName, HandlerName, TaskDefinition, Timestamp, limits};

use super::World;
use super::scheduled::{CRON, cron, of_task};
use super::world::{T0, TASK, at, done, failed, settlement, task};
use crate::{CalendarDeletion, NextFireChange, Press, Pressed, Replan, TaskChange};

pub async fn a_new_task_has_its_first_fire_time(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let row = world.task_row(CRON).await;
    assert_eq!((row.next_fire_time, row.prev_fire_time, row.disabled_reason), (Some(T0), None, None));
}

pub async fn an_edit_keeps_the_next_fire_time_or_sets_it(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let edit = async |version, change| {
        let by = "ann".to_owned();
        let answer = world.store.update_task(task(CRON), version, cron(Overlap::Allow), change, by, at(9)).await;
        let TaskChange::Written(task) = answer.expect("edits") else { panic!("it was current") };
        assert_eq!(world.task_row(CRON).await, task);
        task.next_fire_time
    };
    assert_eq!(edit(1, NextFireChange::Keep).await, Some(T0));
    assert_eq!(edit(2, NextFireChange::Set(Some(at(7)))).await, Some(at(7)));
    assert_eq!(edit(3, NextFireChange::Set(None)).await, None);
    world.switch(CRON, TaskSwitch::Disabled, None, at(9)).await;
    assert_eq!(edit(5, NextFireChange::Set(Some(at(7)))).await, None, "a disabled task has none");
    assert_eq!(edit(6, NextFireChange::Keep).await, None);
}

pub async fn a_switch_writes_the_next_fire_time_once(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    let on = world.switch(CRON, TaskSwitch::Enabled, Some(at(7)), at(9)).await;
    assert_eq!((on.next_fire_time, on.version, on.update_time), (Some(T0), 1, T0), "it was on");
    let off = world.switch(CRON, TaskSwitch::Disabled, Some(at(7)), at(9)).await;
    assert_eq!((off.next_fire_time, off.version, off.switch), (None, 2, TaskSwitch::Disabled));
    assert_eq!(world.switch(CRON, TaskSwitch::Disabled, None, at(10)).await, off);
    let on = world.switch(CRON, TaskSwitch::Enabled, Some(at(8)), at(11)).await;
    assert_eq!((on.next_fire_time, on.version, on.update_time), (Some(at(8)), 3, at(11)));
}

pub async fn a_task_that_was_stopped_says_why_until_a_person_switches_it(world: &World) {
    world.with_cron(cron(Overlap::Allow)).await;
    world.stored((1..=2).map(|id| of_task(id, CRON)).collect()).await;
    let claims = world.claim(2, T0).await.jobs;
    world.settle(settlement(&claims[0], failed(true))).await;
    let stopped = world.task_row(CRON).await;
    assert_eq!((stopped.switch, stopped.next_fire_time), (TaskSwitch::Disabled, None));
    assert_eq!(stopped.disabled_reason.as_deref(), Some("task `report` was stopped: its job 1 ended FAILED"));
    // The first reason stays, also when a person "stops" it again.
    world.settle(settlement(&claims[1], failed(true))).await;
    let still = world.switch(CRON, TaskSwitch::Disabled, None, at(50)).await;
    assert_eq!(still, stopped);
    let on = world.switch(CRON, TaskSwitch::Enabled, Some(at(99)), at(60)).await;
    assert_eq!((on.disabled_reason, on.next_fire_time), (None, Some(at(99))));
    let off = world.switch(CRON, TaskSwitch::Disabled, None, at(60)).await;
    assert_eq!(off.disabled_reason, None, "a person did it");
}

pub async fn a_plan_is_changed_only_as_it_was_read(world: &World) {
    world.with_cron(cron(Overlap::Forbid)).await;
    world.create_firing("off", cron(Overlap::Forbid), Some(T0)).await;
    world.switch("off", TaskSwitch::Disabled, None, T0).await;
    let replan = |code, version, from: Option<Timestamp>, to| Replan { task: task(code), version, from, to };
    let to = Some(at(500));
    let tries = vec![
        replan(CRON, 2, Some(T0), to),
        replan(CRON, 1, Some(at(1)), to),
        replan(CRON, 1, None, to),
        replan("off", 2, None, to),
        replan("nobody", 1, None, to),
        replan(CRON, 1, Some(T0), to),
    ];
    let answers = world.store.replan(tries, at(9)).await.expect("answers");
    assert_eq!(answers, [false, false, false, false, false, true]);
    let row = world.task_row(CRON).await;
    assert_eq!((row.next_fire_time, row.prev_fire_time, row.version, row.update_time), (to, None, 1, T0));
    assert_eq!(world.task_row("off").await.next_fire_time, None);
    let repeated = world.store.replan(vec![replan(CRON, 1, Some(T0), to)], at(10)).await;
    assert_eq!(repeated.expect("answers"), [true]);
    // It may end, and come back.
    let ended = world.store.replan(vec![replan(CRON, 1, to, None), replan(CRON, 1, None, to)], at(11)).await;
    assert_eq!((ended.expect("answers"), world.task_row(CRON).await.next_fire_time), (vec![true, true], to));
}

fn calendar(name: &str, excluded: &[&str], working: &[&str]) -> Calendar {
    let days = |days: &[&str]| days.iter().map(|text| day(text).expect("a day")).collect();
    Calendar {
        name: CalendarName::stored(name),
        description: (!excluded.is_empty()).then(|| "假日 \"x\"".to_owned()),
        excluded: days(excluded),
        working: days(working),
    }
}

pub async fn calendars_are_kept_replaced_and_deleted(world: &World) {
    let put = |calendar| world.store.put_calendar(calendar, "ann".to_owned(), T0);
    let first = calendar("cn", &["2026-10-01", "2026-10-02"], &["2026-10-10"]);
    let (other, second) = (calendar("at", &[], &[]), calendar("cn", &["2026-02-17"], &[]));
    put(first.clone()).await.expect("writes");
    put(other.clone()).await.expect("writes");
    assert_eq!(world.store.calendars().await.expect("reads"), [other.clone(), first]);
    put(second.clone()).await.expect("writes");
    assert_eq!(world.store.calendars().await.expect("reads"), [other.clone(), second]);
    let delete = || world.store.delete_calendar(CalendarName::stored("cn"), "ann".to_owned(), T0);
    assert_eq!(delete().await.expect("answers"), CalendarDeletion::Deleted);
    assert_eq!(delete().await.expect("answers"), CalendarDeletion::Missing);
    assert_eq!(world.store.calendars().await.expect("reads"), [other]);
}

pub async fn a_calendar_that_a_task_names_stays(world: &World) {
    let named = calendar("cn", &["2026-10-01"], &[]);
    world.store.put_calendar(named.clone(), "ann".to_owned(), T0).await.expect("writes");
    for code in ["b", "a"] {
        let definition =
            TaskDefinition { calendar: Some(named.name.clone()), ..TaskDefinition::new("t", HandlerName::stored("h")) };
        let switch = TaskSwitch::Disabled;
        world.store.create_task(task(code), definition, switch, None, "ann".to_owned(), T0).await.expect("writes");
    }
    let delete = || world.store.delete_calendar(named.name.clone(), "ann".to_owned(), T0);
    assert_eq!(delete().await.expect("answers"), CalendarDeletion::NamedBy { first: task("a"), tasks: 2 });
    assert_eq!(world.store.calendars().await.expect("reads"), std::slice::from_ref(&named));
    for code in ["a", "b"] {
        world.store.delete_task(task(code), None, "ann".to_owned(), T0).await.expect("writes");
    }
    assert_eq!(delete().await.expect("answers"), CalendarDeletion::Deleted);
}

fn press(id: &str, operation: &str, ms: i64) -> Press {
    Press { request_id: id.to_owned(), operation: operation.to_owned(), now: at(ms) }
}

pub async fn a_request_id_is_carried_out_once(world: &World) {
    let press = async |id, operation, ms| world.store.press(press(id, operation, ms)).await.expect("answers");
    let answer = async |id: &str, text: Option<&str>| {
        world.store.answer_press(id.to_owned(), text.map(str::to_owned)).await.expect("writes");
    };
    assert_eq!(press("r", "POST a", 0).await, Pressed::First);
    assert_eq!(press("r", "POST a", 1).await, Pressed::UnderWay);
    answer("r", Some("{\"done\":1}")).await;
    assert_eq!(press("r", "POST a", 2).await, Pressed::Again { answer: "{\"done\":1}".to_owned() });
    assert_eq!(press("r", "POST b", 3).await, Pressed::OtherOperation { operation: "POST a".to_owned() });
    assert_eq!(press("s", "POST b", 4).await, Pressed::First, "another id");
    // Nothing came of it: it may be tried again.
    answer("s", None).await;
    assert_eq!(press("s", "POST c", 5).await, Pressed::First);
    answer("nobody's", Some("x")).await;
    assert_eq!(press("nobody's", "POST a", 6).await, Pressed::First);
}

pub async fn a_request_id_is_forgotten_in_time(world: &World) {
    let kept = limits::REQUEST_ID_KEPT_MS;
    let press = async |id, ms| world.store.press(press(id, "POST a", ms)).await.expect("answers");
    assert_eq!((press("r", 0).await, press("s", 9).await), (Pressed::First, Pressed::First));
    world.store.answer_press("r".to_owned(), Some("x".to_owned())).await.expect("writes");
    assert_eq!(press("r", kept - 1).await, Pressed::Again { answer: "x".to_owned() });
    assert_eq!(press("r", kept + 1).await, Pressed::First);
    assert_eq!(press("s", kept + 1).await, Pressed::UnderWay, "each has its own time");
    assert_eq!(press("s", kept + 10).await, Pressed::First);
}

pub async fn a_task_without_a_schedule_is_as_before(world: &World) {
    world.stored(vec![of_task(1, TASK)]).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    assert_eq!((&claim.lane, claim.fire_time), (&None, None));
    world.settle(settlement(&claim, done(None))).await;
    let job = world.job(1).await;
    assert_eq!((job.fires, job.skip_reason, job.concurrency_key), (None, None, None));
}
