//! English.

use super::super::Dialect;
use super::super::compile::weekday;
use super::super::syntax::Item;
use super::{Days, Part, Plan, Time, plain_step, time_of_day, weekday_parts};

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WHICH: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// Where a field stands in the sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The smallest unit: how often.
    First,
    /// A larger unit: within what.
    Behind,
}

pub(super) fn sentence(plan: &Plan<'_>) -> String {
    let mut parts = vec![time(&plan.time)];
    parts.extend(days(plan));
    if !plan.months.is_empty() && !matches!(plan.days, Days::OfMonth(_)) {
        parts.push(format!("in {}", months(plan)));
    }
    if !plan.years.is_empty() {
        parts.push(format!("in {}", numbers(&plan.years, |year| year.to_string())));
    }
    parts.join(", ")
}

fn months(plan: &Plan<'_>) -> String {
    numbers(&plan.months, |month| MONTHS[(month as usize + 11) % 12].to_owned())
}

fn time(time: &Time<'_>) -> String {
    let (seconds, minutes, hours) = match time {
        Time::Clock(times) => return format!("at {}", and(times.iter().map(|time| time_of_day(*time)).collect())),
        Time::Fields { seconds, minutes, hours } => (*seconds, *minutes, *hours),
    };
    let star = |items: &[Item]| items == [Item::Star { step: None }];
    let at = |items: &[Item]| items.iter().all(|item| matches!(item, Item::One(_)));
    let mut parts = Vec::new();
    for (items, unit) in [(seconds, "second"), (minutes, "minute"), (hours, "hour")] {
        if unit == "second" && items == super::AT_ZERO {
            continue;
        }
        match (parts.last(), star(items)) {
            (None, _) => parts.push((counted(items, unit, Place::First), items)),
            // Every second is every second, whatever the minute; the second 30 is of every minute.
            (Some((_, smaller)), true) if !at(smaller) => {}
            (Some(_), _) => parts.push((counted(items, unit, Place::Behind), items)),
        }
    }
    parts.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" of ")
}

/// Items of a field that counts, such as `every 5 minutes` or `at minutes 5 and 35`.
fn counted(items: &[Item], unit: &str, place: Place) -> String {
    let ones: Option<Vec<String>> = items
        .iter()
        .map(|item| if let Item::One(value) = item { Some(value.number.to_string()) } else { None })
        .collect();
    if let Some(ones) = ones {
        let at = if place == Place::First { "at " } else { "" };
        let plural = if ones.len() == 1 { "" } else { "s" };
        return format!("{at}{unit}{plural} {}", and(ones));
    }
    let every = |step: u32| match place {
        Place::First => every(step, unit),
        Place::Behind => nth(step, unit),
    };
    let texts = items.iter().map(|item| match (plain_step(*item), item) {
        (Some(step), _) => every(step),
        (None, Item::From { first, step }) => format!("{} from {unit} {first} on", every(*step)),
        (None, Item::Range { first, last, step }) => format!("{} from {first} to {last}", every(step.unwrap_or(1))),
        (None, other) => format!("{unit} {other}"),
    });
    and(texts.collect())
}

fn every(step: u32, unit: &str) -> String {
    if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") }
}

/// `every 2nd hour`.
fn nth(step: u32, unit: &str) -> String {
    let end = match (step % 100, step % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    if step == 1 { format!("every {unit}") } else { format!("every {step}{end} {unit}") }
}

fn days(plan: &Plan<'_>) -> Option<String> {
    let month = "the month";
    let of_week = |items| days_of_week(items, plan.dialect);
    Some(match plan.days {
        Days::All if matches!(plan.time, Time::Clock(_)) && plan.months.is_empty() => "every day".to_owned(),
        Days::All => return None,
        Days::OfMonth(items) if plan.months.is_empty() => format!("on {}", days_of_month(items, month)),
        Days::OfMonth(items) => format!("on {}", days_of_month(items, &months(plan))),
        Days::OfWeek([item @ Item::Range { step: None, .. }]) => format!("from {}", of_week(&[*item])),
        Days::OfWeek(items) => format!("on {}", of_week(items)),
        Days::Both(days, weekdays) => {
            format!("on {}, if it is also {}", days_of_month(days, month), of_week(weekdays))
        }
        Days::Either(days, weekdays) => format!("on {} or on {}", days_of_month(days, month), of_week(weekdays)),
    })
}

fn days_of_month(items: &[Item], month: &str) -> String {
    let ones: Vec<String> = items
        .iter()
        .filter_map(|item| if let Item::One(value) = item { Some(value.number.to_string()) } else { None })
        .collect();
    let mut days = Vec::new();
    if !ones.is_empty() {
        let plural = if ones.len() == 1 { "" } else { "s" };
        days.push(format!("day{plural} {}", and(ones)));
    }
    days.extend(items.iter().filter_map(|item| {
        Some(match item {
            Item::One(_) => return None,
            Item::Star { step } => nth(step.unwrap_or(1), "day"),
            Item::From { first, step } => format!("{} from day {first} on", nth(*step, "day")),
            Item::Range { first, last, step: None } => format!("days {first} to {last}"),
            Item::Range { first, last, step: Some(step) } => {
                format!("{} from day {first} to {last}", nth(*step, "day"))
            }
            Item::BeforeLast(0) => "the last day".to_owned(),
            Item::BeforeLast(back) => format!("the day {} the last", before(*back)),
            Item::NearBeforeLast(0) => "the last working day".to_owned(),
            Item::NearBeforeLast(back) => format!("the working day nearest to the day {} the last", before(*back)),
            Item::Near(day) => format!("the working day nearest to day {day}"),
            other => other.to_string(),
        })
    }));
    format!("{} of {month}", and(days))
}

fn before(days: u32) -> String {
    if days == 1 { "before".to_owned() } else { format!("{days} days before") }
}

fn days_of_week(items: &[Item], dialect: Dialect) -> String {
    let name = |day: u32| WEEKDAYS[day as usize % 7].to_owned();
    let mut days = Vec::new();
    for item in items {
        match item {
            Item::Star { step: None } => days.push("any day of the week".to_owned()),
            Item::LastWeekday(value) => {
                days.push(format!("the last {} of the month", name(weekday(*value, dialect))));
            }
            Item::Nth(value, nth) => {
                let which = WHICH[*nth as usize - 1];
                days.push(format!("the {which} {} of the month", name(weekday(*value, dialect))));
            }
            item => days.extend(weekday_parts(&[*item], dialect).into_iter().map(|part| one(part, name))),
        }
    }
    and(days)
}

fn numbers(parts: &[Part], name: impl Fn(u32) -> String + Copy) -> String {
    and(parts.iter().map(|part| one(*part, name)).collect())
}

fn one(part: Part, name: impl Fn(u32) -> String) -> String {
    match part {
        Part::One(number) => name(number),
        Part::Run(first, last) => format!("{} to {}", name(first), name(last)),
        Part::Every { step, first } => format!("{} from {} on", nth(step, "year"), name(first)),
    }
}

fn and(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) }
}
