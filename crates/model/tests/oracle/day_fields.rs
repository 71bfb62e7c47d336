//! The two day fields, with their special days, as tests of a date.

use std::collections::BTreeSet;

use fastrand::Rng;
use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use super::fields::{Shape, WEEKDAYS, written};

/// A date is in it when one of its parts says so.
#[derive(Debug, Default)]
pub(crate) struct DayTest(Vec<Part>);

#[derive(Debug)]
enum Part {
    Always,
    Days(BTreeSet<i32>),
    /// The day that lies so many days before the last.
    BeforeLast(i8),
    Near(i8),
    NearBeforeLast(i8),
    /// 0 for Sunday.
    Weekdays(BTreeSet<i32>),
    LastWeekday(i32),
    Nth(i32, i8),
}

impl DayTest {
    pub(crate) fn fits(&self, date: Date) -> bool {
        let weekday = i32::from(date.weekday().to_sunday_zero_offset());
        let last = date.last_of_month();
        self.0.iter().any(|part| match part {
            Part::Always => true,
            Part::Days(days) => days.contains(&i32::from(date.day())),
            Part::BeforeLast(back) => date.day() == last.day() - back,
            Part::Near(day) => working_day_near(date, *day) == Some(date),
            Part::NearBeforeLast(back) => working_day_near(date, last.day() - back) == Some(date),
            Part::Weekdays(days) => days.contains(&weekday),
            Part::LastWeekday(day) => weekday == *day && date.day() + 7 > last.day(),
            Part::Nth(day, nth) => date.nth_weekday_of_month(*nth, named(*day)).is_ok_and(|found| found == date),
        })
    }
}

fn named(weekday: i32) -> Weekday {
    Weekday::from_sunday_zero_offset(weekday as i8).expect("0 to 6")
}

/// The working day of the date's month that is nearest to a day of it.
fn working_day_near(date: Date, day: i8) -> Option<Date> {
    let wanted = Date::new(date.year(), date.month(), day).ok()?;
    let works = |day: &Date| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
    let by_distance = (0..3).flat_map(|distance| [wanted - distance.days(), wanted + distance.days()]);
    by_distance.filter(|day| day.month() == wanted.month()).find(works)
}

pub(crate) struct DayFields {
    pub(crate) of_month_text: String,
    pub(crate) of_month: DayTest,
    pub(crate) of_week_text: String,
    pub(crate) of_week: DayTest,
    pub(crate) either: bool,
}

pub(crate) fn day_fields(rng: &mut Rng, quartz: bool, near: Date) -> DayFields {
    let star = || ("*".to_owned(), DayTest(vec![Part::Always]));
    let question = || ("?".to_owned(), DayTest(vec![Part::Always]));
    let (of_month, of_week) = match (rng.u8(..6), quartz) {
        (0..=2, false) => (star(), star()),
        (3, false) => (days_of_month(rng, quartz, near), star()),
        (4, false) => (star(), days_of_week(rng, quartz, near)),
        (_, false) => (days_of_month(rng, quartz, near), days_of_week(rng, quartz, near)),
        (0, true) => (star(), star()),
        (1, true) => (question(), star()),
        (2, true) => (star(), question()),
        (3, true) => (days_of_month(rng, quartz, near), if rng.bool() { question() } else { star() }),
        (_, true) => (question(), days_of_week(rng, quartz, near)),
    };
    let either = !quartz && !of_month.0.starts_with('*') && !of_week.0.starts_with('*');
    DayFields { of_month_text: of_month.0, of_month: of_month.1, of_week_text: of_week.0, of_week: of_week.1, either }
}

fn days_of_month(rng: &mut Rng, quartz: bool, near: Date) -> (String, DayTest) {
    let back = near.last_of_month().day() - near.day();
    several(rng, |rng| match rng.u8(..8) {
        0 => ("L".to_owned(), Part::BeforeLast(0)),
        1 => {
            let back = if rng.bool() { back.max(1) } else { rng.i8(1..=30) };
            (format!("L-{back}"), Part::BeforeLast(back))
        }
        2 => ("LW".to_owned(), Part::NearBeforeLast(0)),
        3 => {
            let back = rng.i8(1..=30);
            (format!("L-{back}W"), Part::NearBeforeLast(back))
        }
        4 => {
            let day = if rng.bool() { near.day() } else { rng.i8(1..=31) };
            (format!("{day}W"), Part::Near(day))
        }
        _ => {
            let days = written(rng, &Shape::days(quartz), Some(near.day().into()));
            (days.text, Part::Days(days.set))
        }
    })
}

fn days_of_week(rng: &mut Rng, quartz: bool, near: Date) -> (String, DayTest) {
    let shape = Shape::week(quartz);
    let weekday = i32::from(near.weekday().to_sunday_zero_offset());
    let name = |rng: &mut Rng, day: i32| match rng.u8(..3) {
        0 => WEEKDAYS[day as usize].to_owned(),
        1 if !quartz && day == 0 => "7".to_owned(),
        _ => (day + shape.min).to_string(),
    };
    several(rng, |rng| {
        let day = if rng.bool() { weekday } else { rng.i32(0..7) };
        match rng.u8(..8) {
            0 => (format!("{}L", name(rng, day)), Part::LastWeekday(day)),
            1 | 2 => {
                let nth = if rng.bool() { (near.day() - 1) / 7 + 1 } else { rng.i8(1..=5) };
                (format!("{}#{nth}", name(rng, day)), Part::Nth(day, nth))
            }
            3 if quartz => ("L".to_owned(), Part::Weekdays([6].into())),
            3 => {
                // Sunday as the end of a week.
                let first = rng.i32(1..7);
                let end = ["0", "7", "SUN"][rng.usize(..3)];
                (format!("{}-{end}", name(rng, first)), Part::Weekdays((first..7).chain([0]).collect()))
            }
            _ => {
                let days = written(rng, &shape, Some(weekday + shape.min));
                (days.text, Part::Weekdays(days.set.into_iter().map(|day| day - shape.min).collect()))
            }
        }
    })
}

fn several(rng: &mut Rng, mut one: impl FnMut(&mut Rng) -> (String, Part)) -> (String, DayTest) {
    let (mut text, part) = one(rng);
    let mut test = DayTest(vec![part]);
    for _ in 0..[0, 0, 1][rng.usize(..3)] {
        let (more, part) = one(rng);
        text = format!("{text},{more}");
        test.0.push(part);
    }
    (text, test)
}
