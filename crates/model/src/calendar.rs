//! A calendar: days on which schedules rest, and make-up working days on which they do not.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::ids::CalendarName;
use crate::limits;
use crate::refused::{Complaints, Refused};

/// A named list of dates, civil ones: a task reads them in its own time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    pub name: CalendarName,
    pub description: Option<String>,
    /// No fire on these days.
    pub excluded: BTreeSet<Date>,
    /// Make-up working days: what fires on each day from Monday to Friday fires on these too. They win over `excluded`.
    pub working: BTreeSet<Date>,
}

impl Calendar {
    pub fn rests_on(&self, day: Date) -> bool {
        self.excluded.contains(&day) && !self.working.contains(&day)
    }

    pub fn check(&self) -> Result<(), Refused> {
        let mut complaints = Complaints::default();
        for (field, days) in [("excluded", &self.excluded), ("working", &self.working)] {
            if days.len() > limits::CALENDAR_DAYS_MAX {
                let detail = format!("{field} has {} days, at most {} are kept", days.len(), limits::CALENDAR_DAYS_MAX);
                complaints.add(field, "TOO_MANY", detail);
            }
        }
        let description = self.description.as_deref().unwrap_or("");
        if description.chars().count() > limits::DESCRIPTION_CHARS_MAX {
            complaints.add("description", "TOO_LONG", "description is too long");
        }
        complaints.into_result()
    }
}

/// A day as people write it: `2026-10-01`.
pub fn day(text: &str) -> Result<Date, Refused> {
    let bad = || {
        let shown = crate::text::excerpt(text, 40);
        Refused::field("days", "NOT_A_DAY", format!("`{shown}` is not a day such as 2026-10-01"))
    };
    let is_plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_plain { text.parse().map_err(|_| bad()) } else { Err(bad()) }
}
