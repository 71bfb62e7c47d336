//! What may stand in a definition: everything that needs neither a clock nor the handlers of a node.

use super::{Misfire, Overlap, TaskDefinition, TaskKind};
use crate::refused::{Complaints, Refused};
use crate::time::Span;
use crate::{limits, node};

impl TaskDefinition {
    /// All complaints at once.
    pub fn check(&self) -> Result<(), Refused> {
        let mut complaints = Complaints::default();
        let chars = |text: &str| text.chars().count();
        let mut at_most = |field: &str, text: &str, max: usize| {
            if chars(text) > max {
                complaints.add(
                    field,
                    "TOO_LONG",
                    format!("{field} has {} characters, at most {max} are kept", chars(text)),
                );
            } else if text.contains('\0') {
                complaints.add(field, "BAD_CHARACTER", format!("{field} holds a NUL character"));
            }
        };
        at_most("name", &self.name, limits::TASK_NAME_CHARS_MAX);
        at_most("owner", self.owner.as_deref().unwrap_or(""), limits::TASK_NAME_CHARS_MAX);
        at_most("description", self.description.as_deref().unwrap_or(""), limits::DESCRIPTION_CHARS_MAX);
        for tag in &self.tags {
            at_most("tags", tag, limits::TASK_CODE_CHARS_MAX);
        }
        if self.name.trim().is_empty() {
            complaints.add("name", "REQUIRED", "name is empty");
        }
        if self.tags.len() > limits::TAGS_MAX {
            complaints.add("tags", "TOO_MANY", format!("at most {} tags are kept", limits::TAGS_MAX));
        }
        complaints.keep("nodeLabels", node::check_labels(&self.node_labels));
        self.check_numbers(&mut complaints);
        if let Some(param) = &self.param {
            complaints.keep("param", crate::payload::check(param));
        }
        if self.kind == TaskKind::Workflow {
            complaints.add(
                "type",
                "NOT_YET",
                "workflows are not run by this version: use cron, async, delay or manual",
            );
        }
        self.check_schedule(&mut complaints);
        self.check_broadcast(&mut complaints);
        complaints.into_result()
    }

    fn check_numbers(&self, complaints: &mut Complaints) {
        let mut in_range = |field: &str, value: i64, low: i64, high: i64| {
            if !(low..=high).contains(&value) {
                complaints.add(field, "OUT_OF_RANGE", format!("{field} is {value}, allowed are {low} to {high}"));
            }
        };
        in_range("timeoutSeconds", self.timeout_seconds.into(), 1, limits::TIMEOUT_SECONDS_MAX.into());
        in_range("retryCount", self.retry.count.into(), 0, limits::RETRY_COUNT_MAX.into());
        in_range("retryCap", self.retry.cap_ms, 0, limits::RETRY_CAP_MS_MAX);
        in_range("retryBase", self.retry.base_ms, 0, self.retry.cap_ms.max(0));
        let grace = self.misfire_grace_seconds;
        in_range("misfireGraceSeconds", grace.into(), 1, limits::MISFIRE_GRACE_SECONDS_MAX.into());
        in_range("maxCatchup", self.max_catchup.into(), 1, limits::MAX_CATCHUP_MAX.into());
        in_range("maxRunning", self.max_running.unwrap_or(1).into(), 1, limits::MAX_RUNNING_MAX.into());
        let deadline = self.start_deadline_seconds.unwrap_or(1);
        in_range("startDeadlineSeconds", deadline.into(), 1, limits::START_DEADLINE_SECONDS_MAX.into());
        if self.concurrency_key.as_deref().is_some_and(|pointer| !pointer.starts_with('/')) {
            let detail = "concurrencyKey is a JSON pointer into the payload, such as /tenant";
            complaints.add("concurrencyKey", "NOT_A_POINTER", detail);
        }
        if self.concurrency_key.is_some() && self.max_running.is_none() && self.rate_limit.is_none() {
            let detail = "concurrencyKey says by what maxRunning and rateLimit count, and neither is set";
            complaints.add("concurrencyKey", "WITHOUT_LIMIT", detail);
        }
    }

    /// What needs no clock and no calendar; `Schedule::of` and its first fire come after.
    fn check_schedule(&self, complaints: &mut Complaints) {
        let says_when = self.cron_expression.is_some() || self.every.is_some();
        match self.kind {
            TaskKind::Cron if !says_when => {
                complaints.add("cronExpression", "REQUIRED", "a cron task needs cronExpression or every");
            }
            TaskKind::Cron if self.cron_expression.is_some() && self.every.is_some() => {
                complaints.add("every", "TWO_SCHEDULES", "cronExpression and every exclude each other");
            }
            TaskKind::Cron => {}
            kind => {
                let given = [
                    ("cronExpression", self.cron_expression.is_some()),
                    ("every", self.every.is_some()),
                    ("startAt", self.start_at.is_some()),
                    ("endAt", self.end_at.is_some()),
                    ("calendar", self.calendar.is_some()),
                ];
                for (field, _) in given.into_iter().filter(|(_, given)| *given) {
                    complaints.add(field, "NOT_A_CRON_TASK", format!("{field} is for tasks of type cron, not {kind}"));
                }
            }
        }
        if let Some(every) = self.every {
            let (low, high) = (Span::from_ms(limits::EVERY_MS_MIN), Span::from_ms(limits::EVERY_MS_MAX));
            if every.span < low || every.span > high {
                let detail = format!("every is {}, allowed are {low} to {high}", every.span);
                complaints.add("every", "OUT_OF_RANGE", detail);
            }
        }
        if let (Some(start), Some(end)) = (self.start_at, self.end_at)
            && start > end
        {
            complaints.add("endAt", "OUT_OF_RANGE", "endAt lies before startAt");
        }
    }

    /// A broadcast is for the nodes that live when it is made, and runs on all of them at once. What lets it wait, or counts
    /// its parts against each other, says nothing clear of it and is refused.
    fn check_broadcast(&self, complaints: &mut Complaints) {
        if !self.broadcast {
            return;
        }
        let unclear = [
            (
                self.overlap == Overlap::QueueOne,
                "overlap",
                "QUEUE_ONE would let it wait for nodes that may be gone by then",
            ),
            (
                self.misfire == Misfire::FireAll,
                "misfire",
                "FIRE_ALL would let it wait for nodes that may be gone by then",
            ),
            (self.max_running.is_some(), "maxRunning", "all nodes run their parts at once"),
            (self.rate_limit.is_some(), "rateLimit", "all nodes run their parts at once"),
            (self.rests_after_end(), "everyRhythm", "each part ends by itself: use FIXED_RATE, or a cron expression"),
            (
                self.start_deadline_seconds.is_some(),
                "startDeadlineSeconds",
                "some parts could be skipped and others run",
            ),
        ];
        for (_, field, why) in unclear.into_iter().filter(|(is_there, ..)| *is_there) {
            complaints.add(field, "NOT_WITH_BROADCAST", format!("{field} cannot be used with broadcast: {why}"));
        }
    }

    /// A cron task's definition is refused with the error of its expression alone: it carries the position.
    pub fn check_expression(&self) -> Result<(), Refused> {
        if let Some(zone) = &self.time_zone {
            crate::cron::Zone::parse(zone)?;
        }
        if let Some(expression) = &self.cron_expression {
            crate::cron::Cron::parse(expression)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ids::HandlerName;
    use crate::schedule::{Every, Rhythm};

    type Change = fn(&mut TaskDefinition);

    fn every(definition: &mut TaskDefinition, rhythm: Rhythm) {
        definition.kind = TaskKind::Cron;
        definition.every = Some(Every { span: Span(Duration::from_secs(60)), rhythm });
    }

    /// What is complained of when a task with this change is a broadcast, and that it is none of its own.
    fn check(change: Change, expect: &[&str]) {
        let mut definition = TaskDefinition::new("t", HandlerName::stored("h"));
        change(&mut definition);
        assert_eq!(definition.check(), Ok(()), "without broadcast, beside {expect:?}");
        definition.broadcast = true;
        let errors = definition.check().err().map(|refused| refused.errors).unwrap_or_default();
        let seen: Vec<(&str, &str)> = errors.iter().map(|error| (error.field.as_str(), error.code)).collect();
        let expect: Vec<(&str, &str)> = expect.iter().map(|field| (*field, "NOT_WITH_BROADCAST")).collect();
        assert_eq!(seen, expect);
    }

    #[test]
    fn a_broadcast_refuses_what_would_let_its_parts_wait_or_count_against_each_other() {
        check(|_| {}, &[]);
        check(|task| task.overlap = Overlap::Forbid, &[]);
        check(|task| task.overlap = Overlap::Replace, &[]);
        check(|task| task.overlap = Overlap::QueueOne, &["overlap"]);
        check(|task| task.misfire = Misfire::Skip, &[]);
        check(|task| task.misfire = Misfire::FireAll, &["misfire"]);
        check(|task| task.max_running = Some(1), &["maxRunning"]);
        check(|task| task.rate_limit = "1/s".parse().ok(), &["rateLimit"]);
        check(|task| task.start_deadline_seconds = Some(1), &["startDeadlineSeconds"]);
        check(|task| every(task, Rhythm::FixedRate), &[]);
        check(|task| every(task, Rhythm::FixedDelay), &["everyRhythm"]);
        check(|task| task.node_labels = vec!["gpu".to_owned()], &[]);
        check(|task| task.retry.count = 9, &[]);
        let all: Change = |task| {
            (task.overlap, task.misfire) = (Overlap::QueueOne, Misfire::FireAll);
            (task.max_running, task.start_deadline_seconds) = (Some(2), Some(2));
        };
        check(all, &["overlap", "misfire", "maxRunning", "startDeadlineSeconds"]);
    }
}
