//! Where a search for fires begins.

use std::str::FromStr;

use crate::refused::Refused;
use crate::text::excerpt;
use crate::time::Timestamp;

/// A whole second; fires come after it. Unlike a [`Timestamp`] it may lie before 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Start(i64);

impl Start {
    /// Seconds since 1970-01-01 UTC.
    pub const fn second(self) -> i64 {
        self.0
    }
}

impl From<Timestamp> for Start {
    fn from(instant: Timestamp) -> Start {
        Start(instant.as_ms().div_euclid(1_000))
    }
}

impl FromStr for Start {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Start, Refused> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| {
            let shown = excerpt(text, 40);
            let detail = format!("`{shown}` is not an RFC 3339 instant such as 2026-12-01T08:30:00Z");
            Refused::field("from", "NOT_A_TIME", detail)
        })?;
        Ok(Start(instant.as_nanosecond().div_euclid(1_000_000_000) as i64))
    }
}
