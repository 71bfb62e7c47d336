//! A task: the definition that jobs are made from.

use serde::{Deserialize, Serialize};

use crate::ids::{CalendarName, HandlerName, PoolName, TaskCode};
use crate::job::{Lane, OnLive};
use crate::limits;
use crate::names::words;
use crate::rate::RateLimit;
use crate::refused::{Code, Complaints, Refused};
use crate::schedule::{Every, Rhythm};
use crate::time::{Span, Timestamp};

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
        for label in &self.node_labels {
            at_most("nodeLabels", label, limits::TASK_CODE_CHARS_MAX);
        }
        if self.name.trim().is_empty() {
            complaints.add("name", "REQUIRED", "name is empty");
        }
        if self.tags.len() > limits::TAGS_MAX {
            complaints.add("tags", "TOO_MANY", format!("at most {} tags are kept", limits::TAGS_MAX));
        }
        if self.node_labels.len() > limits::TAGS_MAX {
            complaints.add("nodeLabels", "TOO_MANY", format!("at most {} labels are kept", limits::TAGS_MAX));
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
        let grace = self.misfire_grace_seconds;
        in_range("misfireGraceSeconds", grace.into(), 1, limits::MISFIRE_GRACE_SECONDS_MAX.into());
        in_range("maxCatchup", self.max_catchup.into(), 1, limits::MAX_CATCHUP_MAX.into());
        in_range("maxRunning", self.max_running.unwrap_or(1).into(), 1, limits::MAX_RUNNING_MAX.into());
        let deadline = self.start_deadline_seconds.unwrap_or(1);
        in_range("startDeadlineSeconds", deadline.into(), 1, limits::START_DEADLINE_SECONDS_MAX.into());
        if let Some(param) = &self.param {
            complaints.keep("param", crate::payload::check(param));
        }
        if self.concurrency_key.as_deref().is_some_and(|pointer| !pointer.starts_with('/')) {
            let detail = "concurrencyKey is a JSON pointer into the payload, such as /tenant";
            complaints.add("concurrencyKey", "NOT_A_POINTER", detail);
        }
        if self.concurrency_key.is_some() && self.max_running.is_none() && self.rate_limit.is_none() {
            let detail = "concurrencyKey says by what maxRunning and rateLimit count, and neither is set";
            complaints.add("concurrencyKey", "WITHOUT_LIMIT", detail);
        }
        if self.kind == TaskKind::Workflow {
            complaints.add(
                "type",
                "NOT_YET",
                "workflows are not run by this version: use cron, async, delay or manual",
            );
        }
        self.check_schedule(&mut complaints);
        complaints.into_result()
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
