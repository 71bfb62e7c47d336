//! The days of a month on which a schedule fires, as a bit mask made for each month anew.

use super::civil::Month;

/// How the two day fields are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// A day must be in both.
    Both,
    /// A day in one of them is enough.
    Either,
}

/// What the two day fields say. Bit `n` of a mask is day, distance or weekday `n` (0 for Sunday).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) of_month: OfMonth,
    pub(super) of_week: OfWeek,
    pub(super) join: Join,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OfMonth {
    pub(super) days: u32,
    /// `L-n`; bit 0 is `L`.
    pub(super) before_last: u32,
    /// `nW`.
    pub(super) near: u32,
    /// `L-nW`; bit 0 is `LW`.
    pub(super) near_before_last: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OfWeek {
    pub(super) weekdays: u8,
    /// `nL`.
    pub(super) last: u8,
    /// `n#k`: weekdays by `k - 1`.
    pub(super) nth: [u8; 5],
}

const EVERY_DAY: u32 = u32::MAX << 1;

impl Days {
    /// Whether a month of so many days can have one: a leap day is looked for in many years.
    pub(super) const fn fit_in(&self, days: u32) -> bool {
        let OfMonth { days: plain, before_last, near, near_before_last } = self.of_month;
        let special = before_last | near | near_before_last != 0;
        special || matches!(self.join, Join::Either) || plain & in_month(days) != 0
    }

    /// Bit `d` is set when the schedule fires on day `d`.
    pub(super) fn mask(&self, month: Month) -> u32 {
        let (of_month, of_week) = (self.of_month.mask(month), self.of_week.mask(month));
        let joined = match self.join {
            Join::Both => of_month & of_week,
            Join::Either => of_month | of_week,
        };
        joined & in_month(month.days)
    }
}

const fn in_month(days: u32) -> u32 {
    EVERY_DAY & (u32::MAX >> (31 - days))
}

impl OfMonth {
    pub(super) const ALL: OfMonth = OfMonth { days: EVERY_DAY, before_last: 0, near: 0, near_before_last: 0 };

    fn mask(&self, month: Month) -> u32 {
        let mut mask = self.days;
        if self.before_last | self.near | self.near_before_last != 0 {
            // Days that the month does not have are skipped, before they are moved to a working day.
            for back in bits(self.before_last).filter(|back| *back < month.days) {
                mask |= 1 << (month.days - back);
            }
            for day in bits(self.near).filter(|day| *day <= month.days) {
                mask |= 1 << nearest_working_day(month, day);
            }
            for back in bits(self.near_before_last).filter(|back| *back < month.days) {
                mask |= 1 << nearest_working_day(month, month.days - back);
            }
        }
        mask
    }
}

impl OfWeek {
    pub(super) const ALL: OfWeek = OfWeek { weekdays: 0x7f, last: 0, nth: [0; 5] };

    fn mask(&self, month: Month) -> u32 {
        if self.weekdays == 0x7f {
            return EVERY_DAY;
        }
        let mut mask = by_weekday(month, self.weekdays);
        if self.last != 0 {
            mask |= by_weekday(month, self.last) & (0x7f << (month.days - 6));
        }
        for (week, weekdays) in self.nth.iter().enumerate() {
            if *weekdays != 0 {
                mask |= by_weekday(month, *weekdays) & (0x7f << (1 + 7 * week as u32));
            }
        }
        mask
    }
}

/// All days of the month that fall on one of the weekdays.
fn by_weekday(month: Month, weekdays: u8) -> u32 {
    // Five weeks beginning on a Sunday, then moved so that day 1 has the right weekday.
    let weeks = u64::from(weekdays) * 0x8_1020_4081;
    ((weeks >> month.first_weekday) << 1) as u32 & EVERY_DAY
}

/// The nearest day from Monday to Friday that is still in the month.
fn nearest_working_day(month: Month, day: u32) -> u32 {
    match (month.first_weekday + day - 1) % 7 {
        6 if day > 1 => day - 1,
        6 => day + 2,
        0 if day < month.days => day + 1,
        0 => day - 2,
        _ => day,
    }
}

/// The numbers of the bits that are set, from low to high.
pub(super) fn bits(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let bit = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(bit)
    })
}
