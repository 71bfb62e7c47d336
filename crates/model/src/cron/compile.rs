//! From [`Syntax`] to the bit masks that are searched.

use super::Dialect;
use super::days::{Days, Join, OfMonth, OfWeek};
use super::error::Field;
use super::syntax::{Item, Numbers, Syntax, Value};
use crate::limits::CRON_YEAR_MAX;

/// Bit `n` of a mask is number `n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiled {
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u32,
    pub(super) months: u16,
    pub(super) years: Years,
    pub(super) days: Days,
    pub(super) rhythm: Rhythm,
}

/// What a change of the clocks means to a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rhythm {
    /// Every so often: it goes by real time, and a repeated hour repeats it.
    Interval,
    /// At certain times of the day: each of them counts once, also when the clocks jump over it.
    FixedTimes,
}

/// The years from 1969, which some zones still have at the first instant, to the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Years([u64; 4]);

const FIRST_YEAR: i64 = 1969;
const _: () = assert!(CRON_YEAR_MAX - FIRST_YEAR < 256);

impl Years {
    pub(super) const ALL: Years = Years([u64::MAX; 4]);

    fn add(&mut self, year: u32) {
        let bit = i64::from(year) - FIRST_YEAR;
        self.0[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// The next year that is in it, up to the horizon.
    pub(super) fn after(self, year: i64) -> Option<i64> {
        (year + 1..=CRON_YEAR_MAX).find(|year| self.has(*year))
    }

    pub(super) const fn has(self, year: i64) -> bool {
        let bit = year - FIRST_YEAR;
        0 <= bit && year <= CRON_YEAR_MAX && self.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }
}

pub(super) fn compile(syntax: &Syntax) -> Compiled {
    let set = |field: Field| syntax.items(field).map(|items| mask(items, field, syntax.dialect));
    let minutes = set(Field::Minute).unwrap_or(1);
    let hours = set(Field::Hour).unwrap_or(1) as u32;
    let counts = syntax.items(Field::Minute).is_some_and(|items| items.iter().any(|item| item.repeats()));
    let interval = counts || minutes == (1 << 60) - 1 || hours == (1 << 24) - 1;
    Compiled {
        seconds: set(Field::Second).unwrap_or(1),
        minutes,
        hours,
        months: set(Field::Month).unwrap_or(0) as u16,
        years: syntax.items(Field::Year).map_or(Years::ALL, years),
        days: days(syntax),
        rhythm: if interval { Rhythm::Interval } else { Rhythm::FixedTimes },
    }
}

/// The numbers of the items, each as the bit of its number.
fn mask(items: &[Item], field: Field, dialect: Dialect) -> u64 {
    let mut mask = 0;
    for item in items {
        each(*item, &Numbers::of(field, dialect), |number| mask |= 1 << number);
    }
    mask
}

fn years(items: &[Item]) -> Years {
    let mut years = Years([0; 4]);
    let mut numbers = Numbers::of(Field::Year, Dialect::Quartz);
    for item in items {
        match item {
            Item::Star { step: None } => return Years::ALL,
            // A star has no end, only the numbers that are written have one.
            Item::Star { .. } => numbers.max = CRON_YEAR_MAX as u32,
            _ => numbers.max = numbers.written_max,
        }
        each(*item, &numbers, |year| years.add(year));
    }
    years
}

/// Every number of an item that is no special day, as it would be written.
pub(super) fn each(item: Item, numbers: &Numbers, mut found: impl FnMut(u32)) {
    let Numbers { min, max, written_max, .. } = *numbers;
    let size = max - min + 1;
    let (first, last, step) = match item {
        Item::Star { step } => (min, max, step.unwrap_or(1)),
        Item::One(value) => (value.number, value.number, 1),
        // Sunday as 7 is behind the end: it is the 0 that begins the week.
        Item::From { first, step } => (if first.number > max { min } else { first.number }, max, step),
        Item::Range { first, last, step } => {
            let end = if last.number >= first.number {
                last.number
            } else if written_max > max {
                written_max // the Sunday that ends a week
            } else {
                last.number + size
            };
            (first.number, end, step.unwrap_or(1))
        }
        _ => return,
    };
    let limit = max.max(written_max);
    let mut number = first;
    while number <= last {
        found(if number > limit { number - size } else { number });
        number += step;
    }
}

fn days(syntax: &Syntax) -> Days {
    let of_month = syntax.items(Field::DayOfMonth).unwrap_or(&[Item::Question]);
    let of_week = syntax.items(Field::DayOfWeek).unwrap_or(&[Item::Question]);
    // To the letter as Vixie has it: what counts is the first character.
    let star = |items: &[Item]| matches!(items.first(), Some(Item::Star { .. } | Item::Question));
    let either = syntax.dialect == Dialect::Crontab && !star(of_month) && !star(of_week);
    Days {
        of_month: days_of_month(of_month, syntax.dialect),
        of_week: days_of_week(of_week, syntax.dialect),
        join: if either { Join::Either } else { Join::Both },
    }
}

fn days_of_month(items: &[Item], dialect: Dialect) -> OfMonth {
    let mut days = OfMonth { days: mask(items, Field::DayOfMonth, dialect) as u32, ..OfMonth::default() };
    for item in items {
        match item {
            Item::Question => return OfMonth::ALL,
            Item::BeforeLast(back) => days.before_last |= 1 << back,
            Item::NearBeforeLast(back) => days.near_before_last |= 1 << back,
            Item::Near(day) => days.near |= 1 << day,
            _ => {}
        }
    }
    days
}

fn days_of_week(items: &[Item], dialect: Dialect) -> OfWeek {
    let written = mask(items, Field::DayOfWeek, dialect);
    let weekdays = match dialect {
        Dialect::Crontab => (written | written >> 7) & 0x7f,
        Dialect::Quartz => written >> 1 & 0x7f,
    };
    let mut days = OfWeek { weekdays: weekdays as u8, ..OfWeek::default() };
    for item in items {
        match item {
            Item::Question => return OfWeek::ALL,
            Item::Saturday => days.weekdays |= 1 << 6,
            Item::LastWeekday(value) => days.last |= 1 << weekday(*value, dialect),
            Item::Nth(value, nth) => days.nth[*nth as usize - 1] |= 1 << weekday(*value, dialect),
            _ => {}
        }
    }
    days
}

/// 0 for Sunday.
pub(super) const fn weekday(value: Value, dialect: Dialect) -> u32 {
    match dialect {
        Dialect::Crontab => value.number % 7,
        Dialect::Quartz => value.number - 1,
    }
}
