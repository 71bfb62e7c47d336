//! A schedule in plain words.

mod en;
mod zh;

use super::Dialect;
use super::compile::{each, weekday};
use super::error::Field;
use super::syntax::{Item, Numbers, Syntax};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub en: String,
    pub zh: String,
}

pub(super) fn describe(syntax: &Syntax) -> Description {
    let plan = Plan::of(syntax);
    Description { en: en::sentence(&plan), zh: zh::sentence(&plan) }
}

/// What there is to say, before it is said in a language.
struct Plan<'a> {
    time: Time<'a>,
    days: Days<'a>,
    /// Empty: all.
    months: Vec<Part>,
    years: Vec<Part>,
    dialect: Dialect,
}

enum Time<'a> {
    /// Times of the day, as hour, minute and second.
    Clock(Vec<(u32, u32, u32)>),
    Fields {
        seconds: &'a [Item],
        minutes: &'a [Item],
        hours: &'a [Item],
    },
}

enum Days<'a> {
    All,
    OfMonth(&'a [Item]),
    OfWeek(&'a [Item]),
    Both(&'a [Item], &'a [Item]),
    Either(&'a [Item], &'a [Item]),
}

/// A number or a run of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    One(u32),
    Run(u32, u32),
    Every { step: u32, first: u32 },
}

/// More times than these are told by their fields.
const CLOCK_TIMES_MAX: usize = 6;

const AT_ZERO: &[Item] = &[Item::One(super::syntax::Value { number: 0, name: None })];

impl<'a> Plan<'a> {
    fn of(syntax: &'a Syntax) -> Plan<'a> {
        let items = |field| syntax.items(field).unwrap_or(AT_ZERO);
        let (seconds, minutes, hours) = (items(Field::Second), items(Field::Minute), items(Field::Hour));
        let time = clock(hours, minutes, seconds).map_or(Time::Fields { seconds, minutes, hours }, Time::Clock);
        let months = syntax.items(Field::Month).unwrap_or_default();
        Plan {
            time,
            days: days(syntax),
            months: parts(months, &Numbers::of(Field::Month, syntax.dialect)),
            years: years(syntax.items(Field::Year).unwrap_or_default()),
            dialect: syntax.dialect,
        }
    }
}

/// When minutes and seconds are named and there are few of them.
fn clock(hours: &[Item], minutes: &[Item], seconds: &[Item]) -> Option<Vec<(u32, u32, u32)>> {
    let all = |items: &[Item], field: Field| {
        let mut numbers = Vec::new();
        for item in items {
            each(*item, &Numbers::of(field, Dialect::Quartz), |number| numbers.push(number));
        }
        numbers
    };
    if minutes.iter().chain(seconds).any(|item| !matches!(item, Item::One(_))) {
        return None;
    }
    let hours = all(hours, Field::Hour);
    let (minutes, seconds) = (all(minutes, Field::Minute), all(seconds, Field::Second));
    if hours.len() * minutes.len() * seconds.len() > CLOCK_TIMES_MAX {
        return None;
    }
    let mut times = Vec::new();
    for hour in hours {
        for minute in &minutes {
            times.extend(seconds.iter().map(|second| (hour, *minute, *second)));
        }
    }
    times.sort_unstable();
    times.dedup();
    Some(times)
}

/// Counting from the beginning of the field: a plain step, and `0/n` as well.
fn plain_step(item: Item) -> Option<u32> {
    match item {
        Item::Star { step } => Some(step.unwrap_or(1)),
        Item::From { first, step } if first.number == 0 => Some(step),
        _ => None,
    }
}

fn days(syntax: &Syntax) -> Days<'_> {
    let of_month = syntax.items(Field::DayOfMonth).unwrap_or_default();
    let of_week = syntax.items(Field::DayOfWeek).unwrap_or_default();
    let all = |items: &[Item]| matches!(items, [Item::Star { step: None } | Item::Question] | []);
    let star = |items: &[Item]| matches!(items.first(), Some(Item::Star { .. }));
    match (all(of_month), all(of_week)) {
        (true, true) => Days::All,
        (false, true) => Days::OfMonth(of_month),
        (true, false) => Days::OfWeek(of_week),
        (false, false) if star(of_month) || star(of_week) => Days::Both(of_month, of_week),
        (false, false) => Days::Either(of_month, of_week),
    }
}

/// Runs stay runs, steps are counted out. Empty when all are meant.
fn parts(items: &[Item], numbers: &Numbers) -> Vec<Part> {
    let mut parts = Vec::new();
    for item in items {
        match item {
            Item::Star { step: None } | Item::Question => return Vec::new(),
            Item::Range { first, last, step: None } => parts.push(Part::Run(first.number, last.number)),
            item => each(*item, numbers, |number| parts.push(Part::One(number))),
        }
    }
    parts
}

fn years(items: &[Item]) -> Vec<Part> {
    let mut parts = Vec::new();
    for item in items {
        match item {
            Item::Star { step: Some(step) } => parts.push(Part::Every { step: *step, first: 1970 }),
            Item::From { first, step } => parts.push(Part::Every { step: *step, first: first.number }),
            Item::Range { first, last, step: None } => parts.push(Part::Run(first.number, last.number)),
            Item::Range { .. } | Item::One(_) => {
                each(*item, &Numbers::of(Field::Year, Dialect::Quartz), |year| parts.push(Part::One(year)));
            }
            _ => return Vec::new(),
        }
    }
    parts
}

/// The plain weekdays of a field as runs and single days, 0 for Sunday.
fn weekday_parts(items: &[Item], dialect: Dialect) -> Vec<Part> {
    let mut parts = Vec::new();
    let numbers = Numbers::of(Field::DayOfWeek, dialect);
    let zero_based = |number: u32| if dialect == Dialect::Crontab { number % 7 } else { number - 1 };
    for item in items {
        match item {
            Item::Range { first, last, step: None } => {
                parts.push(Part::Run(weekday(*first, dialect), weekday(*last, dialect)));
            }
            Item::Saturday => parts.push(Part::One(6)),
            item => each(*item, &numbers, |number| parts.push(Part::One(zero_based(number)))),
        }
    }
    parts
}

/// `09:00`, or `09:00:30` when the second counts.
fn time_of_day((hour, minute, second): (u32, u32, u32)) -> String {
    if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") }
}
