//! `mainspring history …`

use std::str::FromStr;

use clap::{Args, Subcommand};
use mainspring_model::{Refused, Timestamp};

use super::Place;

#[derive(Debug, Subcommand)]
pub(crate) enum History {
    /// Drop whole days of it, with all that belongs to their jobs; PostgreSQL only, beside running nodes
    Drop(DropHistory),
}

#[derive(Debug, Args)]
pub(crate) struct DropHistory {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Jobs that were made on a day before this one, or before this instant: 2026-09-01 or 2026-09-01T00:00:00Z. Days are
    /// those of UTC; one with a job that is not final stays
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Instant,
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// An instant, or the beginning of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant(pub(crate) Timestamp);

impl FromStr for Instant {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Instant, Refused> {
        let is_day = text.len() == "2026-09-01".len();
        let parsed = if is_day { format!("{text}T00:00:00Z").parse() } else { text.parse() };
        parsed.map(Instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        let read = |text: &str| text.parse::<Instant>().map(|instant| instant.0.to_string());
        assert_eq!(read("2026-09-01").expect("a day"), read("2026-09-01T00:00:00Z").expect("an instant"));
        assert!(read("2026-13-01").is_err() && read("yesterday").is_err() && read("").is_err());
    }
}
