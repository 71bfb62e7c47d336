//! A task: the definition that jobs are made from.

mod check;

use serde::{Deserialize, Serialize};

use crate::ids::{CalendarName, HandlerName, PoolName, TaskCode};
use crate::job::{Lane, OnLive};
use crate::limits;
use crate::names::words;
use crate::rate::RateLimit;
use crate::refused::{Code, Refused};
use crate::schedule::{Every, Rhythm};
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
    /// A fire or trigger while a job of the task is live. All but ALLOW also mean that bodies of the task never run side
    /// by side: jobs that are submitted wait for each other.
    Overlap {
        /// The fire is skipped, the trigger refused.
        Forbid = 0 "FORBID",
        /// One more job waits behind the live one.
        QueueOne = 1 "QUEUE_ONE",
        Allow = 2 "ALLOW",
        /// The live ones are cancelled.
        Replace = 3 "REPLACE",
    }
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

impl Overlap {
    /// What it means for a job that a person triggers.
    pub const fn on_live(self) -> OnLive {
        match self {
            Overlap::Forbid => OnLive::JoinBelow(1),
            Overlap::QueueOne => OnLive::JoinBelow(2),
            Overlap::Allow => OnLive::Join,
            Overlap::Replace => OnLive::Replace,
        }
    }
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
    /// Why the system disabled it, until a person switches it.
    pub disabled_reason: Option<String>,
    /// Counts the changes by people; a writer shows the version that it read.
    pub version: i64,
    pub create_time: Timestamp,
    pub update_time: Timestamp,
}

/// What a person or a program decides about a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskDefinition {
    pub name: String,
    pub kind: TaskKind,
    pub handler: HandlerName,
    pub cron_expression: Option<String>,
    pub time_zone: Option<String>,
    /// Beside `cron_expression`, the other way to say when.
    pub every: Option<Every>,
    /// No fire before.
    pub start_at: Option<Timestamp>,
    /// No fire after.
    pub end_at: Option<Timestamp>,
    /// Days on which the schedule rests, and days on which it does not.
    pub calendar: Option<CalendarName>,
    /// JSON: the payload of jobs that bring none.
    pub param: Option<String>,
    pub timeout_seconds: u32,
    pub fail_strategy: FailStrategy,
    pub retry: RetryRule,
    pub pool: PoolName,
    pub priority: Priority,
    pub overlap: Overlap,
    /// Bodies at one time, in all nodes together; with a concurrency key: of one key.
    pub max_running: Option<u32>,
    /// Where in the payload the key stands (a JSON pointer, `/tenant`) by which `max_running` and `rate_limit` count.
    pub concurrency_key: Option<String>,
    pub rate_limit: Option<RateLimit>,
    pub misfire: Misfire,
    pub misfire_grace_seconds: u32,
    pub max_catchup: u32,
    /// A fired job that has not begun by then is skipped.
    pub start_deadline_seconds: Option<u32>,
    /// Only nodes that carry all of these run its jobs. Empty: any node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_labels: Vec<String>,
    /// Each job becomes one for every live node that can run it, and ends when all of them have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
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
            every: None,
            start_at: None,
            end_at: None,
            calendar: None,
            param: None,
            timeout_seconds: limits::TIMEOUT_SECONDS_DEFAULT,
            fail_strategy: FailStrategy::Retry,
            retry: RetryRule::default(),
            pool: PoolName::default_pool(),
            priority: Priority::Normal,
            overlap: Overlap::Allow,
            max_running: None,
            concurrency_key: None,
            rate_limit: None,
            misfire: Misfire::FireOnce,
            misfire_grace_seconds: limits::MISFIRE_GRACE_SECONDS_DEFAULT,
            max_catchup: limits::MAX_CATCHUP_DEFAULT,
            start_deadline_seconds: None,
            node_labels: Vec::new(),
            broadcast: false,
            on_lost: OnLost::Rerun,
            owner: None,
            tags: Vec::new(),
            description: None,
        }
    }

    /// The defaults of a task that fires by a cron expression: its jobs never overlap.
    pub fn cron(name: impl Into<String>, handler: HandlerName, expression: impl Into<String>) -> TaskDefinition {
        TaskDefinition {
            kind: TaskKind::Cron,
            cron_expression: Some(expression.into()),
            overlap: TaskDefinition::default_overlap(TaskKind::Cron),
            ..TaskDefinition::new(name, handler)
        }
    }

    /// What a definition that does not say it means.
    pub const fn default_overlap(kind: TaskKind) -> Overlap {
        match kind {
            TaskKind::Cron => Overlap::Forbid,
            TaskKind::Delay | TaskKind::Async | TaskKind::Manual | TaskKind::Workflow => Overlap::Allow,
        }
    }

    /// Equal for equal definitions, also between versions of the program.
    pub fn fingerprint(&self) -> String {
        let fields = serde_json::to_value(self).unwrap_or_default();
        // What is not set is left out: a field that a later version adds changes no fingerprint.
        let set = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let text: String = set.map(|(name, value)| format!("{name}={value}\n")).collect();
        let hash = text.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        format!("{hash:016x}")
    }

    /// Do both fire at the same times?
    pub fn same_schedule(&self, other: &TaskDefinition) -> bool {
        let of = |one: &TaskDefinition| {
            (one.kind, one.every, one.start_at, one.end_at, one.cron_expression.clone(), one.time_zone.clone())
        };
        of(self) == of(other) && self.calendar == other.calendar
    }

    /// Bodies of one lane (the task, or one key of it) at one time.
    pub const fn running_max(&self) -> Option<u32> {
        match self.overlap {
            Overlap::Allow => self.max_running,
            Overlap::Forbid | Overlap::QueueOne | Overlap::Replace => Some(1),
        }
    }

    /// What a fire on its time does while jobs of the task are live. FIRE_ALL runs every fire time, one after another, as
    /// far as it may lie behind: there FORBID and QUEUE_ONE make it wait.
    pub fn on_live(&self) -> OnLive {
        match (self.overlap.on_live(), self.misfire) {
            (OnLive::JoinBelow(jobs), Misfire::FireAll) => OnLive::JoinBelow(jobs.max(self.max_catchup)),
            (on_live, _) => on_live,
        }
    }

    /// Are its live jobs counted? The jobs of all others never pay for the count.
    pub fn is_guarded(&self) -> bool {
        let has_limit = self.running_max().is_some() || self.rate_limit.is_some();
        has_limit || self.rests_after_end() || self.start_deadline_seconds.is_some()
    }

    /// The next fire follows from the end of the job of the last one.
    pub fn rests_after_end(&self) -> bool {
        self.every.is_some_and(|every| every.rhythm == Rhythm::FixedDelay)
    }

    /// The key by which limits count, taken from a payload. A payload without one is its own key.
    pub fn key_of(&self, payload: Option<&str>) -> Option<String> {
        let pointer = self.concurrency_key.as_deref()?;
        let json: serde_json::Value = serde_json::from_str(payload?).ok()?;
        let key = match json.pointer(pointer)? {
            serde_json::Value::Null => return None,
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(crate::text::excerpt(&key, limits::BIZ_ID_CHARS_MAX))
    }

    /// The lane of a job with this payload.
    pub fn lane_of(&self, payload: Option<&str>) -> Option<Lane> {
        self.is_guarded().then(|| Lane { key: self.key_of(payload).map(Into::into), serial: false })
    }
}

/// The 64-bit FNV-1a hash: not for safety, only to tell declarations of one task apart.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x100_0000_01b3;

/// The schedule has no fire time any more, or never had one.
pub fn never_fires(code: &TaskCode) -> Refused {
    let detail = format!("the schedule of task `{code}` has no fire time from now on");
    Refused::new(Code::CronNeverFires, detail).hint(
        "see the dates of the expression, startAt, endAt and the calendar; `mainspring cron preview` shows the fires",
    )
}
