//! Chinese: from the largest unit to the smallest.

use super::super::Dialect;
use super::super::compile::weekday;
use super::super::syntax::Item;
use super::{Days, Part, Plan, Time, time_of_day, weekday_parts};

const WEEKDAYS: [&str; 7] = ["周日", "周一", "周二", "周三", "周四", "周五", "周六"];
const ALL: [Item; 1] = [Item::Star { step: None }];

pub(super) fn sentence(plan: &Plan<'_>) -> String {
    let mut text = String::new();
    if !plan.years.is_empty() {
        text.push_str(&numbers(&plan.years, |year| format!("{year} 年")));
        text.push('，');
    }
    if !plan.months.is_empty() {
        text.push_str(&numbers(&plan.months, |month| format!("{month} 月")));
        text.push('，');
    }
    if let Some(days) = days(plan) {
        text.push_str(&days);
        text.push(if matches!(plan.days, Days::All) { ' ' } else { '，' });
    }
    text.push_str(&time(&plan.time));
    text
}

fn time(time: &Time<'_>) -> String {
    let (seconds, minutes, hours) = match time {
        Time::Clock(times) => return list(times.iter().map(|time| time_of_day(*time)).collect()),
        Time::Fields { seconds, minutes, hours } => (*seconds, *minutes, *hours),
    };
    let mut text = String::new();
    let at = |items: &[Item]| items.iter().all(|item| matches!(item, Item::One(_)));
    if hours != ALL {
        text.push_str(&counted(hours, "小时", "点"));
        text.push('的');
    } else if at(minutes) {
        text.push_str("每小时的");
    }
    if minutes != ALL || seconds == super::AT_ZERO {
        text.push_str(&counted(minutes, "分钟", "分"));
    } else if at(seconds) {
        text.push_str("每分钟");
    }
    if seconds != super::AT_ZERO {
        if !text.is_empty() && !text.ends_with('的') {
            text.push('的');
        }
        text.push_str(&counted(seconds, "秒", "秒"));
    }
    text
}

/// `every` is the unit of a length, `at` that of a point.
fn counted(items: &[Item], every: &str, at: &str) -> String {
    let named = |number: u32| if at == "点" { format!("{number} 点") } else { format!("第 {number} {at}") };
    list(
        items
            .iter()
            .map(|item| match item {
                Item::Star { step } => each(step.unwrap_or(1), every),
                Item::From { first, step } => format!("从{}起{}", named(first.number), each(*step, every)),
                Item::Range { first, last, step } => {
                    format!("{}至{}{}", named(first.number), named(last.number), each(step.unwrap_or(1), every))
                }
                Item::One(value) => named(value.number),
                other => format!("{other} {at}"),
            })
            .collect(),
    )
}

fn each(step: u32, unit: &str) -> String {
    if step == 1 { format!("每{unit}") } else { format!("每 {step} {unit}") }
}

fn days(plan: &Plan<'_>) -> Option<String> {
    Some(match plan.days {
        Days::All if matches!(plan.time, Time::Clock(_)) => "每天".to_owned(),
        Days::All => return None,
        Days::OfMonth(items) => format!("每月{}", days_of_month(items)),
        Days::OfWeek(items) => days_of_week(items, plan.dialect),
        Days::Both(of_month, of_week) => {
            format!("每月{}且必须是{}", days_of_month(of_month), days_of_week(of_week, plan.dialect))
        }
        Days::Either(of_month, of_week) => {
            format!("每月{}或{}", days_of_month(of_month), days_of_week(of_week, plan.dialect))
        }
    })
}

fn days_of_month(items: &[Item]) -> String {
    let days = items.iter().map(|item| match item {
        Item::Star { step: None } => "每天".to_owned(),
        Item::Star { step: Some(step) } => format!("从 1 日起每 {step} 天"),
        Item::From { first, step } => format!("从 {first} 日起每 {step} 天"),
        Item::Range { first, last, step: None } => format!("{first} 日至 {last} 日"),
        Item::Range { first, last, step: Some(step) } => format!("{first} 日至 {last} 日每 {step} 天"),
        Item::BeforeLast(0) => "最后一天".to_owned(),
        Item::BeforeLast(back) => format!("倒数第 {} 天", back + 1),
        Item::NearBeforeLast(0) => "最后一个工作日".to_owned(),
        Item::NearBeforeLast(back) => format!("离倒数第 {} 天最近的工作日", back + 1),
        Item::Near(day) => format!("离 {day} 日最近的工作日"),
        other => format!("{other} 日"),
    });
    list(days.collect())
}

fn days_of_week(items: &[Item], dialect: Dialect) -> String {
    let name = |day: u32| WEEKDAYS[day as usize % 7].to_owned();
    let mut days = Vec::new();
    for item in items {
        match item {
            Item::Star { step: None } => days.push("一周中的每天".to_owned()),
            Item::LastWeekday(value) => {
                days.push(format!("每月最后一个{}", name(weekday(*value, dialect))));
            }
            Item::Nth(value, nth) => days.push(format!("每月第 {nth} 个{}", name(weekday(*value, dialect)))),
            item => {
                days.extend(weekday_parts(&[*item], dialect).into_iter().map(|part| format!("每{}", one(part, name))))
            }
        }
    }
    list(days)
}

fn numbers(parts: &[Part], name: impl Fn(u32) -> String + Copy) -> String {
    list(parts.iter().map(|part| one(*part, name)).collect())
}

fn one(part: Part, name: impl Fn(u32) -> String) -> String {
    match part {
        Part::One(number) => name(number),
        Part::Run(first, last) => format!("{}至{}", name(first), name(last)),
        Part::Every { step, first } => format!("从 {} 起每 {step} 年", name(first)),
    }
}

fn list(words: Vec<String>) -> String {
    words.join("、")
}
