//! What people ask of schedules, and tasks that are declared together.

use mainspring_model::lifecycle::TaskState;
use mainspring_model::{JobId, TaskCode, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextFires {
    #[schema(value_type = String)]
    pub task: TaskCode,
    /// In which its schedule is read.
    #[schema(example = "Europe/Berlin")]
    pub time_zone: String,
    /// Of a DISABLED task the fires are told that it would have if it were enabled now.
    #[schema(value_type = String, example = "ENABLED")]
    pub status: TaskState,
    /// RFC 3339 with the zone's offset. Fewer than asked for when fewer remain, or when they follow from the end of a job
    /// that has not run; none for a task without a schedule.
    #[schema(example = json!(["2026-12-01T08:30:00+01:00"]))]
    pub next_fires: Vec<String>,
}

/// Fire times of the past that are to run after the fact, both ends included.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillRequest {
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
    /// Only tell what would run.
    pub dry_run: Option<bool>,
    /// A repeat with the same id answers the first result. The header Idempotency-Key says the same.
    pub request_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backfilled {
    /// Oldest first.
    pub fires: Vec<BackfilledFire>,
    /// Fire times of the range that have run already; they do not run again.
    #[schema(value_type = Vec<String>)]
    pub ran_before: Vec<Timestamp>,
    /// This request id was carried out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfilledFire {
    #[schema(value_type = String, format = DateTime)]
    pub fire_time: Timestamp,
    /// Null when it was only asked for.
    #[schema(value_type = Option<String>)]
    pub job: Option<JobId>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CopyRequest {
    /// Of the new task.
    #[schema(value_type = String, example = "report.daily-2")]
    pub code: TaskCode,
    /// A repeat with the same id answers the first result. The header Idempotency-Key says the same.
    pub request_id: Option<String>,
}

/// Tasks as they are to be.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyRequest {
    /// At most 1,000. What an entry does not say goes to its default; `enabled` counts only where the task is created.
    pub tasks: Vec<super::NewTask>,
    /// Only tell what would change.
    pub dry_run: Option<bool>,
    /// A repeat with the same id answers the first result. The header Idempotency-Key says the same.
    pub request_id: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    pub dry_run: bool,
    /// How many entries have an `error`.
    pub failed: usize,
    /// One answer per entry, in order.
    pub results: Vec<AppliedTask>,
    /// This request id was carried out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AppliedTask {
    /// As the entry says it; null when it says none.
    pub code: Option<String>,
    /// CREATED, UPDATED or UNCHANGED; absent with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "UPDATED")]
    pub change: Option<&'static str>,
    pub differences: Vec<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Problem>)]
    pub error: Option<crate::problem::Problem>,
}

/// One field that changes. Of a task that is created, those that are not the default.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Difference {
    #[schema(example = "cronExpression")]
    pub field: &'static str,
    pub from: serde_json::Value,
    pub to: serde_json::Value,
}
