//! A task: the definition that jobs are made from.

use serde::{Deserialize, Serialize};

use crate::ids::{HandlerName, PoolName, TaskCode};
use crate::limits;
use crate::names::words;
use crate::refused::{Complaints, Refused};
use crate::time::Timestamp;

words! {
    /// What makes jobs of a task.
    TaskKind {
        Cron = 0 "cron",
        Delay = 1 "delay",
        Async = 2 "async",
        Manual = 3 "manual",
        Workflow = 4 "workflow",
    }
}
words! {
    /// What a person switched; RUNNING is derived (`lifecycle::task_state`).
    TaskSwitch { Disabled = 0 "DISABLED", Enabled = 1 "ENABLED", }
}
words! {
    /// What a failure leads to.
    FailStrategy {
        /// Try again with growing delays until the retries are spent.
        Retry = 0 "RETRY",
        /// Tell people at once.
        Alert = 1 "ALERT",
        /// Disable the task and tell people.
        Stop = 2 "STOP",
    }
}
words! {
    /// A fire or trigger while a job of the task is live.
    Overlap { Forbid = 0 "FORBID", QueueOne = 1 "QUEUE_ONE", Allow = 2 "ALLOW", Replace = 3 "REPLACE", }
}
words! {
    /// Fire times that passed while nobody could fire them.
    Misfire { FireOnce = 0 "FIRE_ONCE", Skip = 1 "SKIP", FireAll = 2 "FIRE_ALL", }
}
words! {
    /// A job whose node was lost while it ran.
    OnLost { Rerun = 0 "RERUN", Fail = 1 "FAIL", }
}
words! {
    /// Order among jobs that are due: an early one of a lower priority waits, but is never starved.
    Priority { Critical = 0 "critical", High = 1 "high", Normal = 2 "normal", Low = 3 "low", }
}

/// A task as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: i64,
    pub code: TaskCode,
    pub switch: TaskSwitch,
    pub definition: TaskDefinition,
    pub next_fire_time: Option<Timestamp>,
    pub prev_fire_time: Option<Timestamp>,
    /// Counts the changes by people; a writer shows the version that it read.
    pub version: i64,
    pub create_time: Timestamp,
    pub update_time: Timestamp,
}

/// What a person or a program decides about a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDefinition {
    pub name: String,
    pub kind: TaskKind,
    pub handler: HandlerName,
    pub cron_expression: Option<String>,
    pub time_zone: Option<String>,
    /// JSON: the payload of jobs that bring none.
    pub param: Option<String>,
    pub timeout_seconds: u32,
    pub fail_strategy: FailStrategy,
    pub retry: RetryRule,
    pub pool: PoolName,
    pub priority: Priority,
    pub overlap: Overlap,
    pub max_running: Option<u32>,
    pub misfire: Misfire,
    pub misfire_grace_seconds: u32,
    pub max_catchup: u32,
    pub on_lost: OnLost,
    pub owner: Option<String>,
    pub tags: Vec<String>,
    pub description: Option<String>,
}

/// How often, and how far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRule {
    pub count: u32,
    pub base_ms: i64,
    pub cap_ms: i64,
}

impl Default for RetryRule {
    fn default() -> RetryRule {
        RetryRule {
            count: limits::RETRY_COUNT_DEFAULT,
            base_ms: limits::RETRY_BASE_MS_DEFAULT,
            cap_ms: limits::RETRY_CAP_MS_DEFAULT,
        }
    }
}

impl TaskDefinition {
    /// The defaults of an async task with this handler.
    pub fn new(name: impl Into<String>, handler: HandlerName) -> TaskDefinition {
        TaskDefinition {
            name: name.into(),
            kind: TaskKind::Async,
            handler,
            cron_expression: None,
            time_zone: None,
            param: None,
            timeout_seconds: limits::TIMEOUT_SECONDS_DEFAULT,
            fail_strategy: FailStrategy::Retry,
            retry: RetryRule::default(),
            pool: PoolName::default_pool(),
            priority: Priority::Normal,
            overlap: Overlap::Allow,
            max_running: None,
            misfire: Misfire::FireOnce,
            misfire_grace_seconds: 60,
            max_catchup: 10,
            on_lost: OnLost::Rerun,
            owner: None,
            tags: Vec::new(),
            description: None,
        }
    }

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
        let mut in_range = |field: &str, value: i64, low: i64, high: i64| {
            if !(low..=high).contains(&value) {
                complaints.add(field, "OUT_OF_RANGE", format!("{field} is {value}, allowed are {low} to {high}"));
            }
        };
        in_range("timeoutSeconds", self.timeout_seconds.into(), 1, limits::TIMEOUT_SECONDS_MAX.into());
        in_range("retryCount", self.retry.count.into(), 0, limits::RETRY_COUNT_MAX.into());
        in_range("retryCap", self.retry.cap_ms, 0, limits::RETRY_CAP_MS_MAX);
        in_range("retryBase", self.retry.base_ms, 0, self.retry.cap_ms.max(0));
        if let Some(param) = &self.param {
            complaints.keep("param", crate::payload::check(param));
        }
        if self.kind == TaskKind::Cron || self.cron_expression.is_some() {
            // Firing comes with the schedules; a task that silently never fires would be worse than none.
            complaints.add("type", "NOT_YET", "cron tasks are not fired by this version: use async, delay or manual");
        }
        if self.kind == TaskKind::Workflow {
            complaints.add("type", "NOT_YET", "workflows are not run by this version: use async, delay or manual");
        }
        complaints.into_result()
    }
}
