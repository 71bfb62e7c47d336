//! A calendar: days on which schedules rest, and make-up working days on which they do not.

use std::collections::BTreeSet;

use jiff::ToSpan;
use jiff::civil::Date;

use crate::ids::CalendarName;
use crate::limits;
use crate::refused::{Complaints, Refused};

/// A civil date.
pub use jiff::civil::Date as Day;

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

/// A day, or all days of a range with both its ends: `2026-10-01/2026-10-07`.
pub fn days(text: &str) -> Result<Vec<Date>, Refused> {
    let Some((first, last)) = text.split_once('/') else { return day(text).map(|day| vec![day]) };
    let (first, last) = (day(first.trim())?, day(last.trim())?);
    let shown = crate::text::excerpt(text, 40);
    if first > last {
        return Err(Refused::field("days", "OUT_OF_RANGE", format!("`{shown}` ends before it begins")));
    }
    let all: Vec<Date> =
        first.series(1.day()).take_while(|day| *day <= last).take(limits::CALENDAR_DAYS_MAX + 1).collect();
    if all.len() > limits::CALENDAR_DAYS_MAX {
        let detail = format!("`{shown}` has more than {} days", limits::CALENDAR_DAYS_MAX);
        return Err(Refused::field("days", "TOO_MANY", detail));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_ranges_are_read() {
        let check = |text: &str, expect: Result<usize, &str>| {
            let read = days(text).map(|days| days.len()).map_err(|refused| refused.errors[0].code);
            assert_eq!(read, expect, "{text}");
        };
        check("2026-10-01", Ok(1));
        check("2026-10-01/2026-10-07", Ok(7));
        check("2026-10-01 / 2026-10-01", Ok(1));
        check("2026-02-27/2026-03-01", Ok(3));
        check("2026-10-07/2026-10-01", Err("OUT_OF_RANGE"));
        check("2026-01-01/2999-01-01", Err("TOO_MANY"));
        check("2026-02-30", Err("NOT_A_DAY"));
        check("20261001", Err("NOT_A_DAY"));
        check("2026-10-01T00:00", Err("NOT_A_DAY"));
        check("", Err("NOT_A_DAY"));
        check("/", Err("NOT_A_DAY"));
    }
}
