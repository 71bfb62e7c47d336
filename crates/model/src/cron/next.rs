//! The search for the next fire.
//!
//! Local times are counted in seconds, as if the zone's calendar were UTC. Between two changes of the clocks the local
//! time and real time run side by side, so the search looks for the first local time that fits and then walks over
//! the changes until it meets it.
//!
//! **Invariants:** never allocates; strictly increasing; always ends, because years and changes do.

use super::civil::{DAY_S, Month, date_of, days_in, days_of};
use super::compile::{Compiled, Rhythm};
use super::zone::Table;
use crate::limits::CRON_GAP_SECONDS_MAX;

/// Repeated local times are looked for in changes not older than this: no clock was ever set back further.
const SET_BACK_SECONDS_MAX: i64 = 2 * DAY_S;

impl Compiled {
    /// The first fire after a second, as a second since 1970.
    pub(super) fn next(&self, table: &Table, after: i64) -> Option<i64> {
        let after = after.max(-1);
        // The segment of `after`, not of the second behind it: a change between them is then met like any other.
        let mut segment = table.segment(after);
        let mut floor = after + i64::from(table.offsets[segment]) + 1;
        if self.rhythm == Rhythm::FixedTimes {
            floor = floor.max(reached(table, segment, after));
        }
        let mut local = self.first_local(floor);
        loop {
            let offset = i64::from(table.offsets[segment]);
            let Some(change) = table.changes.get(segment) else { return local.map(|local| local - offset) };
            let (before, behind) = (change + offset, change + i64::from(table.offsets[segment + 1]));
            match local {
                Some(local) if local < before => return Some(local - offset),
                Some(missing) if missing < behind => {
                    // The local time is jumped over.
                    if self.rhythm == Rhythm::FixedTimes && behind - before <= CRON_GAP_SECONDS_MAX {
                        return Some(*change);
                    }
                    floor = behind;
                    local = self.first_local(floor);
                }
                _ if self.rhythm == Rhythm::Interval && behind < floor => {
                    // Local times that were searched before come again.
                    floor = behind;
                    local = self.first_local(floor);
                }
                Some(_) => {}
                None => return None,
            }
            segment += 1;
        }
    }

    /// Whether a local time in `from..to` fits.
    pub(super) fn fits_between(&self, from: i64, to: i64) -> bool {
        self.first_local(from).is_some_and(|local| local < to)
    }

    /// The first local time that fits, at `floor` or later.
    fn first_local(&self, floor: i64) -> Option<i64> {
        let today = floor.div_euclid(DAY_S);
        let (mut year, mut month, day) = date_of(today);
        let mut days = self.days_in(year, month) >> day;
        if days & 1 == 1
            && let Some(time) = self.first_time(floor.rem_euclid(DAY_S) as u32)
        {
            return Some(today * DAY_S + time);
        }
        days &= !1;
        if days != 0 {
            return Some((today + i64::from(days.trailing_zeros())) * DAY_S + self.first_of_day());
        }
        loop {
            let later = self.months >> month >> 1;
            if later != 0 {
                month += 1 + later.trailing_zeros();
            } else {
                month = self.months.trailing_zeros();
                year = self.years.after(year)?;
            }
            let days = self.days_in(year, month);
            if days != 0 {
                return Some(days_of(year, month, days.trailing_zeros()) * DAY_S + self.first_of_day());
            }
        }
    }

    fn days_in(&self, year: i64, month: u32) -> u32 {
        let possible = self.months >> month & 1 == 1 && self.years.has(year) && self.days.fit_in(days_in(year, month));
        if possible { self.days.mask(Month::of(year, month)) } else { 0 }
    }

    fn first_of_day(&self) -> i64 {
        let (hour, minute) = (self.hours.trailing_zeros(), self.minutes.trailing_zeros());
        i64::from(hour * 3_600 + minute * 60 + self.seconds.trailing_zeros())
    }

    /// The first time of day that fits, at `floor` or later.
    fn first_time(&self, floor: u32) -> Option<i64> {
        let (hour, minute, second) = (floor / 3_600, floor / 60 % 60, floor % 60);
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = at_or_after(self.seconds, second)
            {
                return Some(i64::from(hour * 3_600 + minute * 60 + second));
            }
            if let Some(minute) = at_or_after(self.minutes, minute + 1) {
                return Some(i64::from(hour * 3_600 + minute * 60 + self.seconds.trailing_zeros()));
            }
        }
        let hour = at_or_after(u64::from(self.hours), hour + 1)?;
        Some(i64::from(hour * 3_600 + self.minutes.trailing_zeros() * 60 + self.seconds.trailing_zeros()))
    }
}

/// The local time up to which a clock on the wall has shown everything, when it was set back lately.
fn reached(table: &Table, segment: usize, after: i64) -> i64 {
    let mut reached = i64::MIN;
    for at in (0..segment).rev() {
        if table.changes[at] < after - SET_BACK_SECONDS_MAX {
            break;
        }
        reached = reached.max(table.changes[at] + i64::from(table.offsets[at]));
    }
    reached
}

fn at_or_after(mask: u64, bit: u32) -> Option<u32> {
    let rest = mask >> bit;
    (rest != 0).then(|| bit + rest.trailing_zeros())
}
