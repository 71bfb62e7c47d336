//! Calendars: days on which schedules rest, and make-up working days.

use mainspring_model::{CalendarName, TaskCode};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Calendar {
    #[schema(value_type = String, example = "cn")]
    pub name: CalendarName,
    pub description: Option<String>,
    /// Schedules rest on these days. Days are civil ones: a task reads them in its own time zone.
    #[schema(example = json!(["2026-10-01"]))]
    pub excluded: Vec<String>,
    /// Make-up working days: what fires on every day from Monday to Friday fires on these too. They win over `excluded`.
    #[schema(example = json!(["2026-10-10"]))]
    pub working: Vec<String>,
    /// The tasks that name it.
    #[schema(value_type = Vec<String>)]
    pub tasks: Vec<TaskCode>,
    /// After a change: those of them that had a fire time left, and have none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub ended: Option<Vec<TaskCode>>,
}

/// The whole calendar: what is absent is empty.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NewCalendar {
    pub description: Option<String>,
    /// Days, or ranges with both their ends.
    #[schema(example = json!(["2026-01-01", "2026-10-01/2026-10-07"]))]
    pub excluded: Option<Vec<String>>,
    #[schema(example = json!(["2026-10-10"]))]
    pub working: Option<Vec<String>>,
}
