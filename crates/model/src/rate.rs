//! A rate: at most so many starts in any period of that length.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::refused::Refused;
use crate::time::Span;

/// Written `100/1m`: never more than 100 starts within any minute, wherever that minute begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub count: u32,
    pub period: Span,
}

impl FromStr for RateLimit {
    type Err = Refused;
    fn from_str(text: &str) -> Result<RateLimit, Refused> {
        let shown = crate::text::excerpt(text, 40);
        let bad = || {
            let detail = format!("`{shown}` is not a rate such as 10/s, 100/1m or 5000/1h");
            Refused::field("rateLimit", "NOT_A_RATE", detail)
        };
        let (count, period) = text.trim().split_once('/').ok_or_else(bad)?;
        let count: u32 = count.trim().parse().map_err(|_| bad())?;
        let period = period.trim();
        // `10/s` is how people say it.
        let one_of = if period.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "1" };
        let period: Span = format!("{one_of}{period}").parse().map_err(|_| bad())?;
        let longest = Span::from_ms(limits::RATE_PERIOD_MS_MAX);
        if !(1..=limits::RATE_COUNT_MAX).contains(&count) || period.as_ms() < 1 || period > longest {
            let max = limits::RATE_COUNT_MAX;
            let detail = format!("a rate is 1 to {max} starts in 1ms to {longest}, not `{shown}`");
            return Err(Refused::field("rateLimit", "OUT_OF_RANGE", detail));
        }
        Ok(RateLimit { count, period })
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.period)
    }
}

impl Serialize for RateLimit {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RateLimit {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<RateLimit, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_and_print_the_same() {
        let check = |text: &str, printed: &str| {
            assert_eq!(text.parse::<RateLimit>().expect(text).to_string(), printed, "{text}");
        };
        check("10/s", "10/1s");
        check("100/1m", "100/1m");
        check("5/10s", "5/10s");
        check(" 1 / 1h30m ", "1/1h30m");
        for bad in ["", "10", "/s", "0/s", "-1/s", "1/0s", "1/8d", "1/x", "1.5/s", "99999/s", "1/s/s"] {
            assert!(bad.parse::<RateLimit>().is_err(), "{bad} was accepted");
        }
    }
}
