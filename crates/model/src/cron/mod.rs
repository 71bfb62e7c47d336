//! Cron expressions and the time zones they are read in.
//!
//! 5 fields and macros follow crontab (Vixie, cronie), 6 and 7 fields follow Quartz; the number of fields alone
//! decides. Sets are bit masks, the days of a month are worked out when the search comes there. A text is read by
//! `parse` and `item` into `syntax`, which prints canonically; `compile` makes masks of it; `next` searches them.
//!
//! **Invariants:** `next` is strictly increasing, never allocates and always ends; printing and reading again gives the
//! same; the time-zone database is compiled in.
//!
//! Not here: what happens when a fire is missed, and who stores when the next one is.

mod civil;
mod compile;
mod days;
mod describe;
mod error;
mod item;
mod next;
mod parse;
mod preview;
mod start;
mod syntax;
mod warnings;
mod working_day;
mod zone;

use std::fmt;
use std::str::FromStr;

pub use describe::Description;
pub use error::{Class, CronError, Field};
pub use preview::{Preview, preview};
pub use start::Start;
pub use warnings::{Warning, WarningCode};
pub use zone::{Zone, tzdb_version};

use crate::limits::CRON_CHARS_MAX;
use crate::names::words;
use crate::time::Timestamp;

words! {
    /// Whose rules an expression follows.
    Dialect {
        Crontab = 1 "crontab",
        Quartz = 2 "quartz",
    }
}

/// An expression that was read. Two are equal when they are written alike, but for case, blanks and leading zeros.
#[derive(Clone)]
pub struct Cron {
    text: Box<str>,
    dialect: Dialect,
    compiled: compile::Compiled,
}

impl Cron {
    pub fn parse(text: &str) -> Result<Cron, CronError> {
        let syntax = parse::read(text)?;
        let canonical = syntax.to_string();
        if canonical.len() > CRON_CHARS_MAX {
            let detail = format!("written out, the expression has more than {CRON_CHARS_MAX} characters");
            return Err(CronError::new(Class::TooLong, 1, detail).hint("remove what is there twice"));
        }
        Ok(Cron { text: canonical.into(), dialect: syntax.dialect, compiled: compile::compile(&syntax) })
    }

    /// Macros are crontab's.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The first fire after an instant, parts of a second cut off. `None` when there is none up to the end of 2199.
    pub fn next(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        self.next_after(zone, after.into())
    }

    /// As `next`, from an instant that may lie before 1970.
    pub fn next_after(&self, zone: &Zone, start: Start) -> Option<Timestamp> {
        self.compiled.next(zone.table(), start.second()).map(|second| Timestamp::from_ms(second * 1_000))
    }

    /// All fires after an instant, in order.
    pub fn fires<'a>(&'a self, zone: &'a Zone, after: impl Into<Start>) -> impl Iterator<Item = Timestamp> + 'a {
        let mut start = Some(after.into());
        std::iter::from_fn(move || {
            let fire = self.next_after(zone, start.take()?)?;
            start = Some(fire.into());
            Some(fire)
        })
    }

    /// In plain words.
    pub fn describe(&self) -> Description {
        describe::describe(&self.syntax())
    }

    /// What its author may not have meant.
    pub fn warnings(&self, zone: &Zone, from: impl Into<Start>) -> Vec<Warning> {
        warnings::warnings(self, &self.syntax(), zone, from.into())
    }

    fn syntax(&self) -> syntax::Syntax {
        parse::read(&self.text).expect("the canonical text of an expression can be read")
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Cron) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

/// The canonical text.
impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cron").field(&self.text).finish()
    }
}

impl FromStr for Cron {
    type Err = CronError;
    fn from_str(text: &str) -> Result<Cron, CronError> {
        Cron::parse(text)
    }
}
