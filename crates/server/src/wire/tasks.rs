//! Tasks: definitions that jobs are made from.

use std::collections::BTreeMap;

use mainspring_model::lifecycle::TaskState;
use mainspring_model::schedule::Rhythm;
use mainspring_model::task::{FailStrategy, Misfire, OnLost, Overlap, TaskKind};
use mainspring_model::{CalendarName, HandlerName, JobId, PoolName, Priority, RateLimit, Span, TaskCode, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    #[schema(value_type = String, example = "report.daily")]
    pub code: TaskCode,
    pub name: String,
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "async")]
    pub kind: TaskKind,
    #[schema(value_type = String)]
    pub handler: HandlerName,
    /// 5 fields or a macro as in crontab, 6 or 7 fields as in Quartz.
    #[schema(example = "30 2 * * *")]
    pub cron_expression: Option<String>,
    /// A name of the IANA database; UTC when null.
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// Instead of an expression: the time between two fires.
    #[schema(value_type = Option<String>, example = "10s")]
    pub every: Option<Span>,
    /// FIXED_RATE: from fire to fire. FIXED_DELAY: from the end of a job to the next fire. Null without `every`.
    #[schema(value_type = Option<String>, example = "FIXED_RATE")]
    pub every_rhythm: Option<Rhythm>,
    /// No fire before.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub start_at: Option<Timestamp>,
    /// No fire after.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub end_at: Option<Timestamp>,
    /// Days on which the schedule rests.
    #[schema(value_type = Option<String>, example = "cn")]
    pub calendar: Option<CalendarName>,
    /// ENABLED, DISABLED, RUNNING (enabled with live jobs) or COMPLETED (enabled, and its schedule has no fire left).
    #[schema(value_type = String, example = "ENABLED")]
    pub status: TaskState,
    /// Why the system disabled it; null when a person did.
    pub disabled_reason: Option<String>,
    /// Live jobs, counted up to a bound.
    pub running: u64,
    /// The bound was reached, or, in a list, that of its one look at the queue: there may be more.
    pub running_capped: bool,
    /// The payload of jobs that bring none.
    #[schema(value_type = Option<serde_json::Value>)]
    pub param: Option<Box<RawValue>>,
    pub timeout_seconds: u32,
    #[schema(value_type = String, example = "RETRY")]
    pub fail_strategy: FailStrategy,
    pub retry_count: u32,
    #[schema(value_type = String, example = "1s")]
    pub retry_base: Span,
    #[schema(value_type = String, example = "1h")]
    pub retry_cap: Span,
    #[schema(value_type = String)]
    pub pool: PoolName,
    #[schema(value_type = String, example = "normal")]
    pub priority: Priority,
    #[schema(value_type = String, example = "ALLOW")]
    pub overlap: Overlap,
    /// Bodies at one time, in all nodes together; with a concurrency key: of one key.
    pub max_running: Option<u32>,
    /// Where in the payload the key stands (a JSON pointer) by which `maxRunning` and `rateLimit` count.
    #[schema(example = "/tenant")]
    pub concurrency_key: Option<String>,
    /// At most so many starts in any period of that length; with a concurrency key: of one key.
    #[schema(value_type = Option<String>, example = "100/1m")]
    pub rate_limit: Option<RateLimit>,
    #[schema(value_type = String, example = "FIRE_ONCE")]
    pub misfire: Misfire,
    pub misfire_grace_seconds: u32,
    pub max_catchup: u32,
    /// A fired job that has not begun by then is skipped.
    pub start_deadline_seconds: Option<u32>,
    /// Only nodes that carry all of these run its jobs; empty: any node.
    pub node_labels: Vec<String>,
    /// Each job becomes one for every node that can run it, and ends when all of them have.
    pub broadcast: bool,
    #[schema(value_type = String, example = "RERUN")]
    pub on_lost: OnLost,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_fire_time: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub prev_fire_time: Option<Timestamp>,
    /// The newest one.
    #[schema(value_type = Option<String>)]
    pub last_job: Option<JobId>,
    pub owner: Option<String>,
    pub tags: Vec<String>,
    pub description: Option<String>,
    /// A writer shows the version that it read.
    pub version: i64,
    #[schema(value_type = String, format = DateTime)]
    pub create_time: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub update_time: Timestamp,
    pub allowed_operations: Vec<&'static str>,
    /// Operation → reason.
    pub denied_operations: BTreeMap<&'static str, &'static str>,
    /// With an operation: this request id was carried out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

/// What a person or a program decides about a task. Null and absent mean the default.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskFields {
    /// cron, async, delay or manual. In a whole definition: cron when absent and it says `cronExpression` or `every`, else
    /// async.
    #[schema(value_type = Option<String>, example = "async")]
    #[serde(rename = "type")]
    pub kind: Option<TaskKind>,
    /// 5 fields or a macro as in crontab, 6 or 7 fields as in Quartz. A cron task has it or `every`.
    #[schema(example = "30 2 * * *")]
    pub cron_expression: Option<String>,
    /// A name of the IANA database; UTC when absent.
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// The time between two fires, 1s to 366d.
    #[schema(value_type = Option<String>, example = "10s")]
    pub every: Option<Span>,
    /// FIXED_RATE: from fire to fire. FIXED_DELAY: from the end of a job to the next fire. Only with `every`.
    #[schema(value_type = Option<String>, example = "FIXED_RATE")]
    pub every_rhythm: Option<Rhythm>,
    /// No fire before.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub start_at: Option<Timestamp>,
    /// No fire after.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub end_at: Option<Timestamp>,
    /// Days on which the schedule rests, and make-up working days.
    #[schema(value_type = Option<String>, example = "cn")]
    pub calendar: Option<CalendarName>,
    #[schema(value_type = Option<serde_json::Value>)]
    pub param: Option<Box<RawValue>>,
    pub timeout_seconds: Option<u32>,
    /// RETRY, ALERT or STOP.
    #[schema(value_type = Option<String>, example = "RETRY")]
    pub fail_strategy: Option<FailStrategy>,
    pub retry_count: Option<u32>,
    #[schema(value_type = Option<String>, example = "1s")]
    pub retry_base: Option<Span>,
    #[schema(value_type = Option<String>, example = "1h")]
    pub retry_cap: Option<Span>,
    #[schema(value_type = Option<String>, example = "default")]
    pub pool: Option<PoolName>,
    #[schema(value_type = Option<String>, example = "normal")]
    pub priority: Option<Priority>,
    /// FORBID (the default of cron), QUEUE_ONE, ALLOW (the default of all others) or REPLACE: what a fire or a trigger
    /// does while a job of the task is live. All but ALLOW also mean that no two bodies of it run side by side.
    #[schema(value_type = Option<String>, example = "ALLOW")]
    pub overlap: Option<Overlap>,
    /// Bodies at one time, in all nodes together; with a concurrency key: of one key.
    pub max_running: Option<u32>,
    /// Where in the payload the key stands (a JSON pointer) by which `maxRunning` and `rateLimit` count.
    #[schema(example = "/tenant")]
    pub concurrency_key: Option<String>,
    /// At most so many starts in any period of that length; with a concurrency key: of one key.
    #[schema(value_type = Option<String>, example = "100/1m")]
    pub rate_limit: Option<RateLimit>,
    /// FIRE_ONCE, SKIP or FIRE_ALL: what becomes of fire times that passed while nobody could fire them.
    #[schema(value_type = Option<String>, example = "FIRE_ONCE")]
    pub misfire: Option<Misfire>,
    pub misfire_grace_seconds: Option<u32>,
    pub max_catchup: Option<u32>,
    /// A fired job that has not begun by then is skipped.
    pub start_deadline_seconds: Option<u32>,
    /// Only nodes that carry all of these run its jobs; empty: any node.
    #[schema(example = json!(["gpu"]))]
    pub node_labels: Option<Vec<String>>,
    /// Each job becomes one for every node that can run it, and ends when all of them have. Not together with
    /// `maxRunning`, `rateLimit`, `startDeadlineSeconds`, QUEUE_ONE, FIRE_ALL or FIXED_DELAY.
    pub broadcast: Option<bool>,
    /// RERUN or FAIL.
    #[schema(value_type = Option<String>, example = "RERUN")]
    pub on_lost: Option<OnLost>,
    pub owner: Option<String>,
    pub tags: Option<Vec<String>>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NewTask {
    #[schema(value_type = String, example = "report.daily")]
    pub code: TaskCode,
    /// The code when absent.
    pub name: Option<String>,
    #[schema(value_type = String, example = "probe.ok")]
    pub handler: HandlerName,
    /// Default true. A task that begins disabled takes no jobs and does not fire until it is enabled.
    pub enabled: Option<bool>,
    #[serde(flatten)]
    pub fields: TaskFields,
}

/// The whole definition: what is absent goes back to its default.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WholeTask {
    /// The version that was read.
    pub version: i64,
    /// The code when absent.
    pub name: Option<String>,
    #[schema(value_type = String, example = "probe.ok")]
    pub handler: HandlerName,
    #[serde(flatten)]
    pub fields: TaskFields,
}

/// What changes: what is absent stays, null goes back to the default.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TaskPatch {
    /// The version that was read.
    pub version: i64,
    pub name: Option<String>,
    #[schema(value_type = Option<String>, example = "probe.ok")]
    pub handler: Option<HandlerName>,
    #[serde(flatten)]
    pub fields: TaskFields,
}

/// Run it now.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerRequest {
    /// A repeat with the same id answers the first job. The header Idempotency-Key says the same.
    pub request_id: Option<String>,
    /// The payload of this job; the task's `param` when absent.
    #[schema(value_type = Option<serde_json::Value>)]
    pub param: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Triggered {
    pub job: super::Job,
    /// The request id was used before: `job` is the first one, as it was then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TaskPage {
    pub items: Vec<Task>,
    /// 1 for the first.
    pub page: u32,
    pub size: u32,
    /// All that match.
    pub total: usize,
}
