//! Chinese: from the largest unit to the smallest.

use super::super::Dialect;
use super::super::compile::weekday;
use super::super::syntax::Item;
use super::{Days, Part, Plan, Time, plain_step, time_of_day, weekday_parts};

const WEEKDAYS: [&str; 7] = ["周日", "周一", "周二", "周三", "周四", "周五", "周六"];
const ALL: [Item; 1] = [Item::Star { step: None }];

pub(super) fn sentence(plan: &Plan<'_>) -> String {
    let mut parts = Vec::new();
    if !plan.years.is_empty() {
        parts.push(list(plan.years.iter().map(|part| one(*part, |year| format!("{year}年"))).collect()));
    }
    let months = list(plan.months.iter().map(|part| one(*part, |month| format!("{month}月"))).collect());
    match (&plan.days, plan.months.as_slice()) {
        (Days::OfMonth(_), _) | (_, []) => {}
        _ => parts.push(format!("每年{months}")),
    }
    let of_week = |items| days_of_week(items, plan.dialect);
    let clock = matches!(plan.time, Time::Clock(_));
    parts.extend(match (&plan.days, plan.months.as_slice()) {
        (Days::All, _) => clock.then(|| "每天".to_owned()),
        (Days::OfMonth(items), []) => Some(format!("每月{}", days_of_month(items))),
        (Days::OfMonth(items), [Part::One(_)]) => Some(format!("每年{months}{}", days_of_month(items))),
        (Days::OfMonth(items), _) => Some(format!("每年{months}的{}", days_of_month(items))),
        (Days::OfWeek(items), _) => Some(recurring(&of_week(items))),
        (Days::Both(days, weekdays), _) => Some(format!("每月{}，且必须是{}", days_of_month(days), of_week(weekdays))),
        (Days::Either(days, weekdays), _) => {
            Some(format!("每月{}或{}", days_of_month(days), recurring(&of_week(weekdays))))
        }
    });
    parts.push(time(&plan.time));
    spaced(&parts.join("，"))
}

fn time(time: &Time<'_>) -> String {
    let (seconds, minutes, hours) = match time {
        Time::Clock(times) => return list(times.iter().map(|time| time_of_day(*time)).collect()),
        Time::Fields { seconds, minutes, hours } => (*seconds, *minutes, *hours),
    };
    let at = |items: &[Item]| items.iter().all(|item| matches!(item, Item::One(_)));
    let mut text = String::new();
    let mut add = |part: &str| {
        // A point or a beginning belongs to what is said before it, and so does anything behind a length.
        let belongs = part.starts_with(['第', '从']) || text.ends_with("小时") || text.ends_with("分钟");
        if !text.is_empty() && belongs {
            text.push('的');
        }
        text.push_str(part);
    };
    if hours != ALL {
        add(&counted(hours, "小时", "点", Place::Around));
    } else if at(minutes) {
        add("每小时");
    }
    if seconds == super::AT_ZERO {
        add(&counted(minutes, "分钟", "分", Place::Inside));
        return text;
    }
    if minutes != ALL {
        add(&counted(minutes, "分钟", "分", Place::Around));
    } else if at(seconds) {
        add("每分钟");
    }
    add(&counted(seconds, "秒", "秒", Place::Inside));
    text
}

/// Whether smaller units are told behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Around,
    Inside,
}

/// `every` is the unit of a length, `at` that of a point.
fn counted(items: &[Item], every: &str, at: &str, place: Place) -> String {
    let named = |number: u32| if at == "点" { format!("{number}点") } else { format!("第{number}{at}") };
    let texts = items.iter().map(|item| match (plain_step(*item), item) {
        (Some(step), _) => each(step, every),
        (None, Item::From { first, step }) => format!("从{}起{}", named(first.number), each(*step, every)),
        (None, Item::Range { first, last, step: None }) if place == Place::Around => {
            format!("{}至{}", named(first.number), named(last.number))
        }
        (None, Item::Range { first, last, step }) => {
            format!("{}至{}{}", named(first.number), named(last.number), each(step.unwrap_or(1), every))
        }
        (None, Item::One(value)) => named(value.number),
        (None, other) => format!("{other}{at}"),
    });
    list(texts.collect())
}

fn each(step: u32, unit: &str) -> String {
    if step == 1 { format!("每{unit}") } else { format!("每{step}{unit}") }
}

fn days_of_month(items: &[Item]) -> String {
    let days = items.iter().map(|item| match item {
        Item::Star { step: None } => "任意一天".to_owned(),
        Item::Star { step: Some(step) } => format!("从1日起每{step}天"),
        Item::From { first, step } => format!("从{first}日起每{step}天"),
        Item::Range { first, last, step: None } => format!("{first}日至{last}日"),
        Item::Range { first, last, step: Some(step) } => format!("{first}日至{last}日每{step}天"),
        Item::BeforeLast(0) => "最后一天".to_owned(),
        Item::BeforeLast(back) => format!("倒数第{}天", back + 1),
        Item::NearBeforeLast(0) => "最后一个工作日".to_owned(),
        Item::NearBeforeLast(back) => format!("离倒数第{}天最近的工作日", back + 1),
        Item::Near(day) => format!("离{day}日最近的工作日"),
        other => format!("{other}日"),
    });
    list(days.collect())
}

fn days_of_week(items: &[Item], dialect: Dialect) -> String {
    let name = |day: u32| WEEKDAYS[day as usize % 7].to_owned();
    let mut days = Vec::new();
    for item in items {
        match item {
            Item::Star { step: None } => days.push("任意一天".to_owned()),
            Item::LastWeekday(value) => days.push(format!("当月最后一个{}", name(weekday(*value, dialect)))),
            Item::Nth(value, nth) => days.push(format!("当月第{nth}个{}", name(weekday(*value, dialect)))),
            item => days.extend(weekday_parts(&[*item], dialect).into_iter().map(|part| one(part, name))),
        }
    }
    list(days)
}

/// `每周一`, but `每月最后一个周五`.
fn recurring(days: &str) -> String {
    if days.starts_with('周') { format!("每{days}") } else { days.replace("当月", "每月") }
}

fn one(part: Part, name: impl Fn(u32) -> String) -> String {
    match part {
        Part::One(number) => name(number),
        Part::Run(first, last) => format!("{}至{}", name(first), name(last)),
        Part::Every { step, first } => format!("从{}起每{step}年", name(first)),
    }
}

fn list(words: Vec<String>) -> String {
    words.join("、")
}

/// A blank between Chinese characters and numbers, but not beside punctuation.
fn spaced(text: &str) -> String {
    let wide = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let mut spaced = String::with_capacity(text.len() + 16);
    let mut last = '，';
    for c in text.chars() {
        if (wide(last) && c.is_ascii_alphanumeric()) || (last.is_ascii_alphanumeric() && wide(c)) {
            spaced.push(' ');
        }
        spaced.push(c);
        last = c;
    }
    spaced
}
