//! What an author may not have meant: valid, but worth a second look.

use super::compile::Rhythm;
use super::error::Field;
use super::start::Start;
use super::syntax::{Item, Numbers, Syntax};
use super::zone::Zone;
use super::{Cron, Dialect};
use crate::limits::CRON_GAP_SECONDS_MAX;
use crate::names::words;
use crate::time::Timestamp;

words! {
    /// Stable: programs branch on them.
    WarningCode {
        /// A step that does not divide its field.
        UnevenStep = 1 "UNEVEN_STEP",
        /// Both day fields are restricted, and a day must be in both.
        StarAndDays = 2 "STAR_AND_DAYS",
        /// Weekdays as numbers, which other tools read differently.
        DowNumbers = 3 "DOW_NUMBERS",
        DowLIsSaturday = 4 "DOW_L_IS_SATURDAY",
        /// Days that some months do not have.
        ShortMonths = 5 "SHORT_MONTHS",
        /// Times that a change of the clocks jumps over.
        InDstGap = 6 "IN_DST_GAP",
        /// More than one fire a minute.
        Subminute = 7 "SUBMINUTE",
        /// More than a year between two fires.
        Rare = 8 "RARE",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub code: WarningCode,
    pub detail: String,
}

const YEAR_S: i64 = 366 * 86_400;

pub(super) fn warnings(cron: &Cron, syntax: &Syntax, zone: &Zone, from: Start) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut add = |code, detail: Option<String>| found.extend(detail.map(|detail| Warning { code, detail }));
    for (field, items) in &syntax.fields {
        for item in items {
            add(WarningCode::UnevenStep, uneven(*field, *item, syntax.dialect));
        }
    }
    add(WarningCode::StarAndDays, star_and_days(syntax));
    let of_week = syntax.items(Field::DayOfWeek).unwrap_or_default();
    let quartz = syntax.dialect == Dialect::Quartz;
    add(
        WarningCode::DowNumbers,
        (quartz && of_week.iter().any(|item| item.numbers_weekdays()))
            .then(|| "with 6 or 7 fields 1 is Sunday and 7 is Saturday; names such as MON-FRI are safer".to_owned()),
    );
    add(
        WarningCode::DowLIsSaturday,
        of_week
            .contains(&Item::Saturday)
            .then(|| "L as the day of week is every Saturday; the last Friday of the month is FRIL".to_owned()),
    );
    add(WarningCode::ShortMonths, short_months(cron, syntax));
    add(WarningCode::InDstGap, in_gap(cron, zone, from));
    add(
        WarningCode::Subminute,
        (cron.compiled.seconds.count_ones() > 1).then(|| "it fires more than once a minute".to_owned()),
    );
    add(WarningCode::Rare, rare(cron, zone, from));
    found
}

fn uneven(field: Field, item: Item, dialect: Dialect) -> Option<String> {
    let (Item::Star { step: Some(step) } | Item::From { step, .. }) = item else { return None };
    let numbers = Numbers::of(field, dialect);
    let size = numbers.max - numbers.min + 1;
    if field == Field::Year || step == 1 || size.is_multiple_of(step) {
        return None;
    }
    let whole = match field {
        Field::Second => "minute",
        Field::Minute => "hour",
        Field::Hour => "day",
        Field::DayOfMonth => "month",
        Field::DayOfWeek => "week",
        Field::Month | Field::Year => "year",
    };
    Some(format!(
        "{item} in the {} begins anew with every {whole}: its last step can be shorter than {step}",
        field.words()
    ))
}

fn star_and_days(syntax: &Syntax) -> Option<String> {
    let bare = |items: &[Item]| items == [Item::Star { step: None }];
    let star = |items: &[Item]| matches!(items.first(), Some(Item::Star { .. }));
    let (of_month, of_week) = (syntax.items(Field::DayOfMonth)?, syntax.items(Field::DayOfWeek)?);
    let both = syntax.dialect == Dialect::Crontab && (star(of_month) || star(of_week));
    (both && !bare(of_month) && !bare(of_week)).then(|| {
        "one of the day fields begins with *, so a day must be in both of them; without the * one of them would be enough"
            .to_owned()
    })
}

fn short_months(cron: &Cron, syntax: &Syntax) -> Option<String> {
    // The days that the shortest of the months always has.
    let shortest = (1..=12).filter(|month| cron.compiled.months >> month & 1 == 1).map(|month| match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    });
    let shortest = shortest.min().unwrap_or(31);
    let missing = syntax.items(Field::DayOfMonth)?.iter().find(|item| match item {
        Item::One(day) => day.number > shortest,
        Item::Near(day) => *day > shortest,
        Item::BeforeLast(back) | Item::NearBeforeLast(back) => *back >= shortest,
        _ => false,
    })?;
    Some(format!("{missing} is not in every month: shorter ones are skipped; the last day is L"))
}

/// The first gap within a year that a local time of the schedule falls into.
fn in_gap(cron: &Cron, zone: &Zone, from: Start) -> Option<String> {
    let rhythm = cron.compiled.rhythm;
    if rhythm == Rhythm::Interval && cron.compiled.hours == (1 << 24) - 1 {
        return None; // what is missing for an hour is nothing to think about
    }
    let table = zone.table();
    let first = table.segment(from.second());
    let changes = table.changes.iter().zip(&table.offsets[..]).zip(&table.offsets[1..]).skip(first);
    for ((change, before), behind) in changes.take_while(|((change, _), _)| **change <= from.second() + YEAR_S) {
        let (gap_start, gap_end) = (change + i64::from(*before), change + i64::from(*behind));
        if gap_end <= gap_start || !cron.compiled.fits_between(gap_start, gap_end) {
            continue;
        }
        let end = zone.show(Timestamp::from_ms(change * 1_000));
        let caught_up = rhythm == Rhythm::FixedTimes && gap_end - gap_start <= CRON_GAP_SECONDS_MAX;
        let then = if caught_up { "it fires once at that instant instead" } else { "nothing fires instead" };
        return Some(format!("the clocks jump forward to {end} over a time of this schedule: {then}"));
    }
    None
}

fn rare(cron: &Cron, zone: &Zone, from: Start) -> Option<String> {
    let first = Start::from(cron.next_after(zone, from)?);
    let far = |earlier: Start, later: Start| later.second() - earlier.second() > YEAR_S;
    let second = cron.next_after(zone, first).map(Start::from);
    let years = |earlier: Start, later: Start| (later.second() - earlier.second()) / (365 * 86_400);
    match second {
        Some(second) if far(first, second) => {
            Some(format!("the next two fires are {} years apart", years(first, second).max(1)))
        }
        _ if far(from, first) => Some(format!("the next fire is {} years away", years(from, first).max(1))),
        _ => None,
    }
}
