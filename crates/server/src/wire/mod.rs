//! The shapes of the wire: what is answered, and (for clients and for the document) what is asked.
//!
//! Bodies that come in are read by `extract`, which complains of every field at once; the shapes of requests here
//! are their description, and a test holds both against each other.

mod calendars;
mod cron;
mod jobs;
mod queries;
mod schedules;
mod system;
mod tasks;

use std::collections::BTreeMap;

use mainspring_model::operations::Listed;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

pub use calendars::*;
pub use cron::*;
pub use jobs::*;
pub use queries::*;
pub use schedules::*;
pub use system::*;
pub use tasks::*;

/// Why a request was refused.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Where the code is explained, relative to this server.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: &'static str,
    pub status: u16,
    /// What is wrong this time.
    pub detail: String,
    /// Stable: programs branch on it.
    #[schema(example = "VALIDATION")]
    pub code: &'static str,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// With CRON_INVALID: the kind of mistake, such as RANGE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    /// With CRON_INVALID: the field of the expression, such as dayOfWeek.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'static str>,
    /// With CRON_INVALID: the column of the first wrong character, 1 for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// One entry per wrong field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
    /// With VERSION_CONFLICT: the version that is stored now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<i64>,
    /// With VERSION_CONFLICT: the task as it is stored now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Task>)]
    pub current: Option<Box<RawValue>>,
    /// With VERSION_CONFLICT: where what you sent and what is stored differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<Conflicting>>,
    /// With OPERATION_NOT_ALLOWED: what is allowed instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_operations: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_operations: Option<BTreeMap<&'static str, &'static str>>,
    /// With INTERNAL: where to look in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FieldProblem {
    pub field: String,
    #[schema(example = "UNKNOWN_FIELD")]
    pub code: &'static str,
    pub detail: String,
}

/// One field of two versions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Conflicting {
    #[schema(example = "owner")]
    pub field: &'static str,
    pub yours: serde_json::Value,
    pub stored: serde_json::Value,
}

/// A part of a long list.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CursorPage<T> {
    pub items: Vec<T>,
    /// Pass it as `cursor` for the next part; null at the end. A short or empty part can have one.
    pub next_cursor: Option<String>,
}

/// A whole, short list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct List<T> {
    pub items: Vec<T>,
}

/// For operations that need nothing said but may be repeated.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Press {
    /// A repeat with the same id changes nothing and answers `duplicate: true`. The header Idempotency-Key says the
    /// same.
    pub request_id: Option<String>,
}

/// What was done leaves nothing to show, and it was done before.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Repeated {
    #[schema(example = true)]
    pub duplicate: bool,
}

pub(crate) type Allowed = Vec<&'static str>;
pub(crate) type DeniedBy = BTreeMap<&'static str, &'static str>;

pub(crate) fn operations(listed: Listed) -> (Allowed, DeniedBy) {
    (listed.allowed, listed.denied.into_iter().collect())
}
