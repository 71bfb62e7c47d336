//! Query parameters, for the document. They are read by `query::Params`; a test compares the names.

use serde::Serialize;
use utoipa::IntoParams;

#[derive(Debug, Clone, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListJobs {
    pub task: Option<String>,
    /// Repeatable: any of them.
    pub status: Option<Vec<String>>,
    /// Jobs that came with this key, also those that have ended and freed it.
    #[serde(rename = "bizId")]
    pub biz_id: Option<String>,
    pub pool: Option<String>,
    /// SUBMIT, CRON, MANUAL, WORKFLOW, MISFIRE or SYSTEM.
    pub trigger: Option<String>,
    /// Created at this instant or later.
    pub from: Option<String>,
    /// Created before this instant.
    pub to: Option<String>,
    /// At most 200.
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CursorParams {
    /// At most 200.
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OutputParams {
    /// `true`: a stream of events that ends when the attempt is over.
    pub follow: Option<bool>,
    /// At most 1000.
    pub limit: Option<u32>,
    /// The `seq` of the last chunk that was seen.
    pub cursor: Option<u32>,
}

#[derive(Debug, Clone, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeadJobParams {
    pub task: Option<String>,
    /// At most 200.
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListTasks {
    /// Fuzzy on code, name, owner and tags.
    pub q: Option<String>,
    /// ENABLED, DISABLED, RUNNING or COMPLETED.
    pub status: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub pool: Option<String>,
    pub tag: Option<String>,
    /// Those that name this calendar.
    pub calendar: Option<String>,
    /// Fields with commas between, `-` for descending: code, name, type, status, pool, priority, owner, nextFireTime,
    /// prevFireTime, createTime, updateTime.
    pub sort: Option<String>,
    /// 1 for the first.
    pub page: Option<u32>,
    /// At most 200.
    pub size: Option<u32>,
}

#[derive(Debug, Clone, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NextFiresParams {
    /// How many fires: 1 to 100, 5 when absent.
    pub count: Option<u32>,
}
