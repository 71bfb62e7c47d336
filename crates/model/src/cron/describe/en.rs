//! English.

use super::super::Dialect;
use super::super::compile::weekday;
use super::super::syntax::Item;
use super::{Days, Part, Plan, Time, time_of_day, weekday_parts};

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

pub(super) fn sentence(plan: &Plan<'_>) -> String {
    let mut parts = vec![time(&plan.time)];
    parts.extend(days(plan));
    if !plan.months.is_empty() {
        parts.push(format!("in {}", numbers(&plan.months, |month| MONTHS[month as usize - 1].to_owned())));
    }
    if !plan.years.is_empty() {
        parts.push(format!("in {}", numbers(&plan.years, |year| year.to_string())));
    }
    parts.join(", ")
}

fn time(time: &Time<'_>) -> String {
    let (seconds, minutes, hours) = match time {
        Time::Clock(times) => return format!("at {}", and(times.iter().map(|time| time_of_day(*time)).collect())),
        Time::Fields { seconds, minutes, hours } => (*seconds, *minutes, *hours),
    };
    let mut parts = Vec::new();
    if seconds != super::AT_ZERO {
        parts.push(counted(seconds, "second"));
    }
    if parts.is_empty() || minutes != [Item::Star { step: None }] {
        parts.push(counted(minutes, "minute"));
    }
    if hours != [Item::Star { step: None }] {
        parts.push(counted(hours, "hour"));
    } else if parts.last().is_some_and(|part| part.starts_with("at ")) {
        let whole = if minutes == [Item::Star { step: None }] { "minute" } else { "hour" };
        return format!("{} of every {whole}", parts.join(" of "));
    }
    parts.join(" of ").replace("of at ", "of ")
}

/// Items of a field that counts, such as `every 5 minutes` or `at minutes 5 and 35`.
fn counted(items: &[Item], unit: &str) -> String {
    let ones: Option<Vec<String>> = items
        .iter()
        .map(|item| if let Item::One(value) = item { Some(value.number.to_string()) } else { None })
        .collect();
    if let Some(ones) = ones {
        let plural = if ones.len() == 1 { "" } else { "s" };
        return format!("at {unit}{plural} {}", and(ones));
    }
    and(items
        .iter()
        .map(|item| match item {
            Item::Star { step: None } => format!("every {unit}"),
            Item::Star { step: Some(step) } => every(*step, unit),
            Item::From { first, step } => format!("{} from {unit} {first}", every(*step, unit)),
            Item::Range { first, last, step } => {
                format!("{} from {first} to {last}", every(step.unwrap_or(1), unit))
            }
            other => format!("{unit} {other}"),
        })
        .collect())
}

fn every(step: u32, unit: &str) -> String {
    if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") }
}

fn days(plan: &Plan<'_>) -> Option<String> {
    Some(match plan.days {
        Days::All if matches!(plan.time, Time::Clock(_)) && plan.months.is_empty() => "every day".to_owned(),
        Days::All => return None,
        Days::OfMonth(items) => format!("on {}", days_of_month(items)),
        Days::OfWeek(items) => format!("on {}", days_of_week(items, plan.dialect)),
        Days::Both(of_month, of_week) => {
            format!("on {}, if it is also {}", days_of_month(of_month), days_of_week(of_week, plan.dialect))
        }
        Days::Either(of_month, of_week) => {
            format!("on {} or on {}", days_of_month(of_month), days_of_week(of_week, plan.dialect))
        }
    })
}

fn days_of_month(items: &[Item]) -> String {
    let days = items.iter().map(|item| match item {
        Item::Star { step: None } => "every day of the month".to_owned(),
        Item::Star { step: Some(step) } => format!("{} of the month", every(*step, "day")),
        Item::From { first, step } => format!("{} from day {first} of the month", every(*step, "day")),
        Item::Range { first, last, step: None } => format!("days {first} to {last} of the month"),
        Item::Range { first, last, step: Some(step) } => {
            format!("{} from day {first} to {last} of the month", every(*step, "day"))
        }
        Item::BeforeLast(0) => "the last day of the month".to_owned(),
        Item::BeforeLast(1) => "the day before the last of the month".to_owned(),
        Item::BeforeLast(back) => format!("the day {back} days before the last of the month"),
        Item::NearBeforeLast(0) => "the last working day of the month".to_owned(),
        Item::NearBeforeLast(back) => {
            format!("the working day nearest to {back} days before the last of the month")
        }
        Item::Near(day) => format!("the working day nearest to day {day} of the month"),
        other => format!("day {other} of the month"),
    });
    and(days.collect())
}

fn days_of_week(items: &[Item], dialect: Dialect) -> String {
    let name = |day: u32| WEEKDAYS[day as usize % 7].to_owned();
    let mut days = Vec::new();
    for item in items {
        match item {
            Item::Star { step: None } => days.push("every weekday".to_owned()),
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
        Part::Every { step, first } => format!("{} from {} on", every(step, "year"), name(first)),
    }
}

fn and(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) }
}
