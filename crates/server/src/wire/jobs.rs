//! Jobs and attempts.

use std::collections::BTreeMap;

use mainspring_model::job::{DeadCause, SkipReason};
use mainspring_model::wait_reason::WaitReason;
use mainspring_model::{
    AttemptId, AttemptStatus, BizId, JobId, JobStatus, PoolName, Priority, Span, TaskCode, Timestamp, Trigger, Unique,
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One job to be.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobRequest {
    #[schema(value_type = String, example = "report.daily")]
    pub task: TaskCode,
    /// The caller's own key: with the task it is unique.
    #[schema(value_type = Option<String>, example = "order-42")]
    pub biz_id: Option<BizId>,
    /// ALWAYS: one job per key as long as its record is kept. LIVE: the key is free again when the job is final.
    #[schema(value_type = Option<String>, example = "ALWAYS")]
    pub unique: Option<Unique>,
    /// Any JSON; the task's `param` when absent. At most 1 MiB, 64 levels deep.
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    /// A time in the past means now. Not together with `delay`.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub execute_time: Option<Timestamp>,
    #[schema(value_type = Option<String>, example = "1h30m")]
    pub delay: Option<Span>,
    /// critical, high, normal or low; the task's when absent.
    #[schema(value_type = Option<String>, example = "normal")]
    pub priority: Option<Priority>,
    pub max_retry: Option<u32>,
    pub timeout_seconds: Option<u32>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JobBatch {
    /// At most 10,000.
    pub jobs: Vec<JobRequest>,
}

/// The job is stored.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    #[schema(value_type = String)]
    pub id: JobId,
    #[schema(value_type = String)]
    pub task: TaskCode,
    #[schema(value_type = Option<String>)]
    pub biz_id: Option<BizId>,
    #[schema(value_type = String, example = "PENDING")]
    pub status: JobStatus,
    /// The key was taken: `id` is the first job, and nothing new was stored.
    pub duplicate: bool,
    /// The first job has another payload.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub payload_differs: bool,
    #[schema(value_type = String, format = DateTime)]
    pub execute_time: Timestamp,
    /// `full`: survives a power loss. `relaxed`: survives the end of the process at most.
    #[schema(example = "full")]
    pub durability: &'static str,
}

/// One answer per item, in order.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchAnswer {
    pub items: Vec<BatchItem>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BatchItem {
    #[serde(rename_all = "camelCase")]
    Stored {
        #[schema(value_type = String)]
        id: JobId,
        duplicate: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schema(required = false)]
        payload_differs: bool,
    },
    Refused {
        #[schema(value_type = super::Problem)]
        error: crate::problem::Problem,
    },
}

/// The record of a job. Lists leave the payload out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    #[schema(value_type = String)]
    pub id: JobId,
    #[schema(value_type = String)]
    pub task: TaskCode,
    /// Null when the task was deleted.
    pub task_name: Option<String>,
    #[schema(value_type = Option<String>)]
    pub biz_id: Option<BizId>,
    #[schema(value_type = String, example = "PENDING")]
    pub status: JobStatus,
    /// Failures so far.
    pub retry_count: u32,
    pub max_retry: u32,
    /// Losses so far: the node went away while the body ran.
    pub lost_count: u32,
    /// Bodies so far.
    pub attempts: u32,
    /// Submits that came with its key and were answered with this job. A repetition after an unknown outcome may count
    /// twice.
    pub duplicates: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_duplicate: Option<Timestamp>,
    /// Grows with every claim.
    pub fence: i64,
    #[schema(value_type = String, format = DateTime)]
    pub execute_time: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_retry_time: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub start_time: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finish_time: Option<Timestamp>,
    /// Its own time-out; the task's when null.
    pub timeout_seconds: Option<i64>,
    #[schema(value_type = String)]
    pub pool: PoolName,
    #[schema(value_type = String, example = "normal")]
    pub priority: Priority,
    #[schema(value_type = String, example = "SUBMIT")]
    pub trigger: Trigger,
    /// The fire time that a schedule made it for; the latest when it stands for several.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub fire_time: Option<Timestamp>,
    /// There when it stands for more than one fire time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fires: Option<Fires>,
    /// Why its fire time has a record and no body: SKIPPED_MISFIRE, SKIPPED_OVERLAP or EXPIRED.
    #[schema(value_type = Option<String>, example = "SKIPPED_OVERLAP")]
    pub skip_reason: Option<SkipReason>,
    /// By what the limits of its task count it.
    pub concurrency_key: Option<String>,
    /// The node that holds it: `host#number`.
    pub node: Option<String>,
    /// There when it is a part of a broadcast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    pub result_summary: Option<String>,
    pub error_msg: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub create_time: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub update_time: Timestamp,
    /// What it waits for: NOT_DUE, RETRY_WAIT, NO_HANDLER, NO_NODE, POOL_PAUSED, POOL_FULL, STARTING, ALONE, MAX_RUNNING
    /// (its task, or its concurrency key, runs as often as it may), RATE_LIMIT (the same for its rate) or PREDECESSORS. Null
    /// when it runs or is final.
    #[schema(value_type = Option<String>, example = "NOT_DUE")]
    pub wait_reason: Option<WaitReason>,
    pub allowed_operations: Vec<&'static str>,
    /// Operation → reason.
    pub denied_operations: BTreeMap<&'static str, &'static str>,
    /// With an operation: this request id was carried out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

/// Which part of a broadcast it is.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    pub total: u32,
}

impl From<mainspring_model::Shard> for Shard {
    fn from(shard: mainspring_model::Shard) -> Shard {
        Shard { index: shard.index, total: shard.total }
    }
}

/// The fire times that one job stands for: those that were missed.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Fires {
    #[schema(value_type = String, format = DateTime)]
    pub first: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub last: Timestamp,
    /// At 1000 it means "at least".
    pub count: u32,
}

/// One try at a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    #[schema(value_type = String)]
    pub id: AttemptId,
    #[schema(value_type = String)]
    pub job_id: JobId,
    #[schema(value_type = String)]
    pub task: TaskCode,
    /// 1 for the first body.
    pub attempt: u32,
    pub fence: i64,
    /// `host#number`, or `#number` where several hosts have had that number.
    pub node: String,
    /// There when its job is a part of a broadcast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    #[schema(value_type = String, example = "RUNNING")]
    pub status: AttemptStatus,
    #[schema(value_type = String, format = DateTime)]
    pub execute_time: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finish_time: Option<Timestamp>,
    pub cost_ms: Option<i64>,
    /// Its first 500 characters.
    pub result: Option<String>,
    pub error_message: Option<String>,
}

/// A piece of an attempt's output.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OutputChunk {
    pub seq: u32,
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// log, stdout, stderr or progress (JSON: percent, message).
    pub stream: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub items: Vec<OutputChunk>,
    /// Pass it as `cursor` for what follows; null when there is no more now.
    pub next_cursor: Option<String>,
    /// The attempt's: while it is RUNNING, more may come.
    #[schema(value_type = String, example = "RUNNING")]
    pub status: AttemptStatus,
}

/// A job that ended badly and waits for a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DeadJob {
    #[schema(value_type = String)]
    pub id: JobId,
    #[schema(value_type = String)]
    pub task: TaskCode,
    #[schema(value_type = String, example = "RETRIES_SPENT")]
    pub cause: DeadCause,
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
}
