//! What is wrong with an expression: the class for programs, the place for editors, the words for people.

use std::fmt;

use crate::names::words;
use crate::refused::{Code, CronPlace, FieldError, Refused};

words! {
    /// The kind of mistake.
    Class {
        Empty = 1 "EMPTY",
        TooLong = 2 "TOO_LONG",
        Charset = 3 "CHARSET",
        Macro = 4 "MACRO",
        FieldCount = 5 "FIELD_COUNT",
        Syntax = 6 "SYNTAX",
        Name = 7 "NAME",
        Range = 8 "RANGE",
        Order = 9 "ORDER",
        Step = 10 "STEP",
        Question = 11 "QUESTION",
        Special = 12 "SPECIAL",
        Year = 13 "YEAR",
        DomDow = 14 "DOM_DOW",
        Zone = 15 "ZONE",
    }
}

words! {
    /// A field of an expression.
    Field {
        Second = 1 "second",
        Minute = 2 "minute",
        Hour = 3 "hour",
        DayOfMonth = 4 "dayOfMonth",
        Month = 5 "month",
        DayOfWeek = 6 "dayOfWeek",
        Year = 7 "year",
    }
}

impl Field {
    /// For sentences.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
            Field::Year => "year",
        }
    }
}

/// The first mistake of an expression, from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronError {
    pub class: Class,
    pub field: Option<Field>,
    /// The column of the first wrong character, 1 for the first.
    pub position: usize,
    pub detail: String,
    pub hint: Option<String>,
}

impl CronError {
    pub(super) fn new(class: Class, position: usize, detail: impl Into<String>) -> CronError {
        CronError { class, field: None, position, detail: detail.into(), hint: None }
    }

    pub(super) fn of(mut self, field: Field) -> CronError {
        self.field = Some(field);
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> CronError {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for CronError {}

impl From<CronError> for Refused {
    fn from(error: CronError) -> Refused {
        let member = if error.class == Class::Zone { "timeZone" } else { "cronExpression" };
        let place = CronPlace { class: error.class, field: error.field, position: error.position };
        Refused {
            hint: error.hint,
            errors: vec![FieldError {
                field: member.to_owned(),
                code: error.class.as_str(),
                detail: error.detail.clone(),
            }],
            cron: Some(place),
            ..Refused::new(Code::CronInvalid, error.detail)
        }
    }
}
