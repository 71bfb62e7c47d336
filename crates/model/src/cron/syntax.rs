//! An expression as it was written, field by field. Printing it gives the canonical text.

use std::fmt;

use super::Dialect;
use super::error::Field;

/// What a text says, before it is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Syntax {
    pub(super) dialect: Dialect,
    /// The name of the macro that stands for the fields.
    pub(super) by_macro: Option<&'static str>,
    /// In the order of the text.
    pub(super) fields: Vec<(Field, Vec<Item>)>,
}

/// One item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// `?`
    Question,
    /// `*`, `*/k`
    Star { step: Option<u32> },
    /// `n`
    One(Value),
    /// `n/k`: from `n` to the end of the field
    From { first: Value, step: u32 },
    /// `a-b`, `a-b/k`
    Range { first: Value, last: Value, step: Option<u32> },
    /// `L`, `L-n`
    BeforeLast(u32),
    /// `LW`, `L-nW`
    NearBeforeLast(u32),
    /// `nW`
    Near(u32),
    /// `L` in the day-of-week field of Quartz
    Saturday,
    /// `nL`
    LastWeekday(Value),
    /// `n#k`
    Nth(Value, u32),
}

/// A number of a field, and whether it was written as a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) number: u32,
    pub(super) name: Option<&'static str>,
}

/// The numbers of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) min: u32,
    /// The largest that `*` and `n/k` reach.
    pub(super) max: u32,
    /// The largest that may be written.
    pub(super) written_max: u32,
    pub(super) step_max: u32,
    pub(super) names: &'static [&'static str],
    /// The number of the first name.
    pub(super) first_name: u32,
}

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
pub(super) const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const fn plain(min: u32, max: u32, step_max: u32) -> Numbers {
    Numbers { min, max, written_max: max, step_max, names: &[], first_name: 0 }
}

impl Numbers {
    pub(super) const fn of(field: Field, dialect: Dialect) -> Numbers {
        match (field, dialect) {
            (Field::Second | Field::Minute, _) => plain(0, 59, 59),
            (Field::Hour, _) => plain(0, 23, 23),
            (Field::DayOfMonth, _) => plain(1, 31, 31),
            (Field::Month, _) => Numbers { names: MONTHS, first_name: 1, ..plain(1, 12, 12) },
            // 7 is Sunday again, and ends a range, but `*` counts every day once.
            (Field::DayOfWeek, Dialect::Crontab) => Numbers { names: WEEKDAYS, written_max: 7, ..plain(0, 6, 7) },
            (Field::DayOfWeek, Dialect::Quartz) => Numbers { names: WEEKDAYS, first_name: 1, ..plain(1, 7, 7) },
            (Field::Year, _) => plain(1970, 2099, 129),
        }
    }
}

impl Syntax {
    pub(super) fn items(&self, wanted: Field) -> Option<&[Item]> {
        self.fields.iter().find(|(field, _)| *field == wanted).map(|(_, items)| items.as_slice())
    }
}

impl Item {
    /// Whether it counts through a field: `*`, or anything with a step.
    pub(super) const fn repeats(self) -> bool {
        matches!(self, Item::Star { .. } | Item::From { .. } | Item::Range { step: Some(_), .. })
    }

    /// Whether its meaning depends on how weekdays are numbered.
    pub(super) fn numbers_weekdays(self) -> bool {
        let number = |value: Value| value.name.is_none();
        match self {
            Item::One(value) | Item::From { first: value, .. } => number(value),
            Item::Range { first, last, .. } => number(first) || number(last),
            Item::LastWeekday(value) | Item::Nth(value, _) => number(value),
            _ => false,
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.by_macro {
            return f.write_str(name);
        }
        for (at, (_, items)) in self.fields.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    f.write_str(",")?;
                }
                item.fmt(f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Question => f.write_str("?"),
            Item::Star { step: None } => f.write_str("*"),
            Item::Star { step: Some(step) } => write!(f, "*/{step}"),
            Item::One(value) => value.fmt(f),
            Item::From { first, step } => write!(f, "{first}/{step}"),
            Item::Range { first, last, step: None } => write!(f, "{first}-{last}"),
            Item::Range { first, last, step: Some(step) } => write!(f, "{first}-{last}/{step}"),
            Item::BeforeLast(0) | Item::Saturday => f.write_str("L"),
            Item::BeforeLast(back) => write!(f, "L-{back}"),
            Item::NearBeforeLast(0) => f.write_str("LW"),
            Item::NearBeforeLast(back) => write!(f, "L-{back}W"),
            Item::Near(day) => write!(f, "{day}W"),
            Item::LastWeekday(value) => write!(f, "{value}L"),
            Item::Nth(value, nth) => write!(f, "{value}#{nth}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.number),
        }
    }
}
