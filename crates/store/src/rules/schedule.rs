//! What fires and ends mean for the next fire time, and the words that records and alerts show of it.

use mainspring_model::job::{Fires, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Overlap, TaskDefinition, TaskSwitch};
use mainspring_model::{Code, JobId, JobStatus, Refused, Task, TaskCode, Timestamp, Trigger};

/// Why a fire time was not run. `live` is one of those that kept it away.
pub(crate) fn skip_text(reason: SkipReason, fires: &Fires, task: &TaskDefinition, live: Option<JobId>) -> String {
    match (reason, live) {
        (SkipReason::Misfire, _) => {
            let (passed, them) = match fires.count {
                1 => (format!("the fire time {}", fires.last), "it"),
                count => (format!("{count} fire times from {} to {}", fires.first, fires.last), "them"),
            };
            format!("skipped: {passed} passed while nobody could fire {them} (misfire {})", task.misfire)
        }
        (SkipReason::Overlap, Some(live)) if task.overlap == Overlap::QueueOne => {
            format!("skipped: one waits behind job {live} already, and overlap is {}", task.overlap)
        }
        (SkipReason::Overlap, Some(live)) => format!("skipped: job {live} was live and overlap is {}", task.overlap),
        (SkipReason::Overlap, None) => format!("skipped: jobs were live and overlap is {}", task.overlap),
        (SkipReason::Expired, _) => "skipped: its start deadline had passed".to_owned(),
    }
}

pub(crate) fn replaced_text(by: JobId) -> String {
    format!("replaced by job {by}")
}

/// The words of an alert event. (The reference keeps no words.)
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn completed_text(task: &TaskCode) -> String {
    format!("task `{task}` has fired for the last time: its schedule has ended")
}

/// Also the reason that the disabled task shows.
pub(crate) fn stopped_text(task: &TaskCode, job: JobId, ended: JobStatus) -> String {
    format!("task `{task}` was stopped: its job {job} ended {ended}")
}

pub(crate) fn refused_running(task: &Task) -> Refused {
    let (code, overlap) = (&task.code, task.definition.overlap);
    Refused::new(Code::TaskRunning, format!("task `{code}` has a live job and its overlap policy is {overlap}"))
        .hint("wait for its end or cancel it, or let the task overlap")
}

/// What a fire leaves as the next fire time. When it was to follow from the end of the job that fires, and no job was
/// stored, no end would ever come: it follows from now.
pub(crate) fn next_of_fire(
    next: NextFire,
    is_any_stored: AnyStored,
    task: &TaskDefinition,
    now: Timestamp,
) -> NextFire {
    match (next, is_any_stored) {
        (NextFire::AfterEnd, AnyStored::No) => after_end(task, now),
        _ => next,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnyStored {
    Yes,
    No,
}

/// The next fire time that the end of a job sets. `None`: it sets none.
pub(crate) fn next_after_end(task: &Task, trigger: Trigger, finish: Timestamp) -> Option<NextFire> {
    let fired = matches!(trigger, Trigger::Cron | Trigger::Misfire);
    let waits = task.switch == TaskSwitch::Enabled && task.next_fire_time.is_none();
    (fired && waits && task.definition.rests_after_end()).then(|| after_end(&task.definition, finish))
}

fn after_end(task: &TaskDefinition, finish: Timestamp) -> NextFire {
    let next = task.every.map(|every| finish.plus(every.span.0));
    match next.filter(|next| task.end_at.is_none_or(|end| *next <= end)) {
        Some(next) => NextFire::At(next),
        None => NextFire::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_model::HandlerName;
    use mainspring_model::schedule::{Every, Rhythm};
    use mainspring_model::task::{Misfire, TaskKind};
    use mainspring_model::time::Span;

    const NOW: Timestamp = Timestamp::from_ms(1_790_000_000_000);

    fn fixed_delay() -> TaskDefinition {
        TaskDefinition {
            kind: TaskKind::Cron,
            every: Some(Every { span: Span::from_ms(5_000), rhythm: Rhythm::FixedDelay }),
            ..TaskDefinition::new("x", HandlerName::stored("x"))
        }
    }

    #[test]
    fn skipped_fires_say_why() {
        let task = TaskDefinition { misfire: Misfire::Skip, ..TaskDefinition::cron("x", HandlerName::stored("x"), "") };
        let many = Fires { first: NOW, last: NOW.plus_ms(60_000), count: 40 };
        let check = |reason, fires: Fires, live: Option<i64>, expect: &str| {
            assert_eq!(skip_text(reason, &fires, &task, live.map(JobId)), expect);
        };
        let (first, last) = (many.first, many.last);
        let passed = "passed while nobody could fire";
        let words = format!("skipped: 40 fire times from {first} to {last} {passed} them (misfire SKIP)");
        check(SkipReason::Misfire, many, None, &words);
        let words = format!("skipped: the fire time {NOW} {passed} it (misfire SKIP)");
        check(SkipReason::Misfire, Fires::one(NOW), None, &words);
        check(SkipReason::Overlap, many, Some(7), "skipped: job 7 was live and overlap is FORBID");
    }

    #[test]
    fn a_fixed_delay_follows_from_the_end_of_a_fired_job() {
        let task = |definition, next_fire_time, switch| Task {
            id: 1,
            code: TaskCode::stored("x"),
            switch,
            definition,
            next_fire_time,
            prev_fire_time: None,
            disabled_reason: None,
            version: 1,
            create_time: NOW,
            update_time: NOW,
        };
        let check = |task: Task, trigger, expect| assert_eq!(next_after_end(&task, trigger, NOW), expect, "{trigger}");
        let ending = |ms| TaskDefinition { end_at: Some(NOW.plus_ms(ms)), ..fixed_delay() };
        let (on, off) = (TaskSwitch::Enabled, TaskSwitch::Disabled);
        let next = Some(NextFire::At(NOW.plus_ms(5_000)));
        check(task(fixed_delay(), None, on), Trigger::Cron, next);
        check(task(fixed_delay(), None, on), Trigger::Misfire, next);
        check(task(fixed_delay(), None, on), Trigger::Manual, None);
        check(task(fixed_delay(), None, off), Trigger::Cron, None);
        check(task(fixed_delay(), Some(NOW), on), Trigger::Cron, None);
        check(task(ending(5_000), None, on), Trigger::Cron, next);
        check(task(ending(4_999), None, on), Trigger::Cron, Some(NextFire::Never));
        check(task(TaskDefinition::new("x", HandlerName::stored("x")), None, on), Trigger::Cron, None);
    }

    #[test]
    fn a_fire_that_stored_nothing_waits_for_no_end() {
        let check = |next, stored, expect| assert_eq!(next_of_fire(next, stored, &fixed_delay(), NOW), expect);
        check(NextFire::AfterEnd, AnyStored::Yes, NextFire::AfterEnd);
        check(NextFire::AfterEnd, AnyStored::No, NextFire::At(NOW.plus_ms(5_000)));
        check(NextFire::At(NOW), AnyStored::No, NextFire::At(NOW));
        check(NextFire::Never, AnyStored::No, NextFire::Never);
    }
}
