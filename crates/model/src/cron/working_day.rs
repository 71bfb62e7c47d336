//! What a calendar of make-up working days asks of an expression, and of a zone.

use jiff::civil::{Date, Weekday};

use super::civil::{DAY_S, Month, days_of};
use super::compile::{Compiled, Years};
use super::days::{Days, Join, OfMonth, OfWeek};
use super::{Cron, Zone};
use crate::time::Timestamp;

/// No zone is further east than this, and no change of the clocks moves a day's beginning further.
const EAST_SECONDS_MAX: i64 = 2 * DAY_S;

impl Cron {
    /// Would it fire on this day, were it a `weekday`? Its own weekday asks whether it does.
    pub fn fires_on(&self, day: Date, weekday: Weekday) -> bool {
        let compiled = &self.compiled;
        let (year, month, of_month) = (i64::from(day.year()), day.month() as u32, day.day() as u32);
        let shift = (i64::from(weekday.to_sunday_zero_offset()) - i64::from(of_month) + 1).rem_euclid(7);
        let shown = Month { first_weekday: shift as u32, ..Month::of(year, month) };
        let in_its_time = compiled.months >> month & 1 == 1 && compiled.years.has(year);
        in_its_time && compiled.days.mask(shown) >> of_month & 1 == 1
    }

    /// The first of its times of day after an instant, on whatever day.
    pub fn next_on_any_day(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        let any_day = Compiled {
            months: u16::MAX,
            years: Years::ALL,
            days: Days { of_month: OfMonth::ALL, of_week: OfWeek::ALL, join: Join::Both },
            ..self.compiled.clone()
        };
        let second = any_day.next(zone.table(), after.as_ms().div_euclid(1_000))?;
        Some(Timestamp::from_ms(second * 1_000))
    }
}

impl Zone {
    /// The first instant of a day.
    pub fn start_of(&self, day: Date) -> Timestamp {
        let table = self.table();
        let local = days_of(day.year().into(), day.month() as u32, day.day() as u32) * DAY_S;
        let mut segment = table.segment(local - EAST_SECONDS_MAX);
        loop {
            let begin = segment.checked_sub(1).map_or(i64::MIN, |before| table.changes[before]);
            // Midnight may be jumped over: then the day begins with the jump.
            let second = (local - i64::from(table.offsets[segment])).max(begin);
            match table.changes.get(segment) {
                Some(change) if second >= *change => segment += 1,
                _ => return Timestamp::from_ms(second.saturating_mul(1_000)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_where_its_zone_lets_it() {
        let check = |zone: &str, day: &str, expect: &str| {
            let zone = Zone::parse(zone).expect("a zone");
            assert_eq!(zone.show(zone.start_of(day.parse().expect("a day"))), expect);
        };
        check("UTC", "2026-12-01", "2026-12-01T00:00:00+00:00");
        check("Asia/Shanghai", "2026-12-01", "2026-12-01T00:00:00+08:00");
        check("America/New_York", "2026-03-08", "2026-03-08T00:00:00-05:00");
        check("America/New_York", "2026-03-09", "2026-03-09T00:00:00-04:00");
        // Midnight did not exist: the clocks went from 24:00 to 1:00.
        check("America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00");
        // A day that did not exist at all begins with the next one.
        check("Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00");
    }

    #[test]
    fn a_day_can_be_judged_as_another_weekday() {
        let saturday: Date = "2026-10-10".parse().expect("a day");
        let check = |expression: &str, weekday, expect| {
            let cron = Cron::parse(expression).expect("it can be read");
            assert_eq!(cron.fires_on(saturday, weekday), expect, "{expression} {weekday:?}");
        };
        check("0 9 * * MON-FRI", Weekday::Saturday, false);
        check("0 9 * * MON-FRI", Weekday::Wednesday, true);
        check("0 9 * * MON", Weekday::Tuesday, false);
        check("0 9 10 * *", Weekday::Saturday, true);
        check("0 9 11 * *", Weekday::Monday, false);
        check("0 9 * 11 MON-FRI", Weekday::Monday, false);
    }
}
