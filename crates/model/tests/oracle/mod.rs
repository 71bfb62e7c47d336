//! A second reading of the rules, slow and made of other parts: schedules are built together with the sets that they
//! mean, and fires are found by walking through real instants and looking at a clock on the wall.

pub(crate) mod compare;
pub(crate) mod day_fields;
pub(crate) mod fields;
pub(crate) mod walk;

use std::collections::BTreeSet;

use fastrand::Rng;
use jiff::civil::Date;

use self::day_fields::DayTest;
use self::fields::{Shape, Written, written};

/// A schedule with its meaning.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) text: String,
    pub(crate) seconds: BTreeSet<i32>,
    pub(crate) minutes: BTreeSet<i32>,
    pub(crate) hours: BTreeSet<i32>,
    pub(crate) months: BTreeSet<i32>,
    pub(crate) years: Option<BTreeSet<i32>>,
    pub(crate) of_month: DayTest,
    pub(crate) of_week: DayTest,
    /// A day in one of the day fields is enough.
    pub(crate) either: bool,
    /// Fires every so often, not at certain times of the day.
    pub(crate) interval: bool,
}

impl Schedule {
    pub(crate) fn fits_date(&self, date: Date) -> bool {
        let (of_month, of_week) = (self.of_month.fits(date), self.of_week.fits(date));
        let day = if self.either { of_month || of_week } else { of_month && of_week };
        let year = self.years.as_ref().is_none_or(|years| years.contains(&i32::from(date.year())));
        day && year && self.months.contains(&i32::from(date.month())) && date.year() <= 2199
    }

    pub(crate) fn fits_time(&self, second_of_day: i64) -> bool {
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        self.hours.contains(&(hour as i32))
            && self.minutes.contains(&(minute as i32))
            && self.seconds.contains(&(second as i32))
    }
}

/// A schedule of one of the forms of 5, 6 and 7 fields. `near` is the date and hour that its fields are drawn to.
pub(crate) fn schedule(rng: &mut Rng, near: Date, near_hour: i32) -> Schedule {
    let quartz = rng.bool();
    let minute = time_field(rng, Shape::of_60(quartz), 30);
    let hour = time_field(rng, Shape::of_24(quartz), near_hour);
    let month = if rng.u8(..4) > 0 {
        Written::star(1, 12)
    } else {
        written(rng, &Shape::months(quartz), Some(near.month().into()))
    };
    let second = if quartz && rng.bool() { time_field(rng, Shape::of_60(quartz), 30) } else { Written::one(0) };
    let days = day_fields::day_fields(rng, quartz, near);
    let years = (quartz && rng.u8(..4) == 0).then(|| years(rng, near.year().into()));
    let mut text = format!("{} {} {} {} {}", minute.text, hour.text, days.of_month_text, month.text, days.of_week_text);
    if quartz {
        text = format!("{} {text}", second.text);
    }
    if let Some(years) = &years {
        text = format!("{text} {}", years.text);
    }
    let interval = minute.counts || minute.set.len() == 60 || hour.set.len() == 24;
    Schedule {
        text: odd_blanks(rng, text),
        seconds: second.set,
        minutes: minute.set,
        hours: hour.set,
        months: month.set,
        years: years.filter(|years| years.text != "*").map(|years| years.set),
        of_month: days.of_month,
        of_week: days.of_week,
        either: days.either,
        interval,
    }
}

/// A third each: anything at all, numbers around `near`, every number.
fn time_field(rng: &mut Rng, shape: Shape, near: i32) -> Written {
    match rng.u8(..6) {
        0 | 1 => written(rng, &shape, Some(near)),
        2 | 3 => {
            let mut around = || (near + rng.i32(-2..=2)).rem_euclid(shape.max + 1);
            let (one, other) = (around(), around());
            Written { text: format!("{one},{other}"), set: [one, other].into(), counts: false }
        }
        4 => Written::one(0),
        _ => Written::star(shape.min, shape.max),
    }
}

fn years(rng: &mut Rng, near: i32) -> Written {
    if rng.u8(..4) == 0 {
        return Written::star(1970, 2199);
    }
    written(rng, &Shape::years(), Some(near.clamp(1970, 2099)))
}

fn odd_blanks(rng: &mut Rng, text: String) -> String {
    match rng.u8(..8) {
        0 => format!(" {}\t", text.replace(' ', "  ")),
        1 => text.to_ascii_lowercase(),
        _ => text,
    }
}
