//! Instants and lengths of time. The product counts in milliseconds, UTC.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::refused::Refused;

/// Milliseconds since 1970-01-01 UTC, between then and the end of the calendar: a day before the year 10000, so that
/// every zone can show it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const MAX: Timestamp = Timestamp(253_402_207_200_000);

    /// Out of range is moved to the nearest end: sums of time never overflow.
    pub const fn from_ms(ms: i64) -> Timestamp {
        if ms < 0 {
            Timestamp(0)
        } else if ms > Timestamp::MAX.0 {
            Timestamp::MAX
        } else {
            Timestamp(ms)
        }
    }

    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// `self + ms`, kept in range.
    pub const fn plus_ms(self, ms: i64) -> Timestamp {
        Timestamp::from_ms(self.0.saturating_add(ms))
    }

    pub fn plus(self, length: Duration) -> Timestamp {
        self.plus_ms(i64::try_from(length.as_millis()).unwrap_or(i64::MAX))
    }

    /// Milliseconds from `earlier` to `self`; negative when `self` is the earlier one.
    pub const fn ms_since(self, earlier: Timestamp) -> i64 {
        self.0 - earlier.0
    }

    /// How long until `self`, zero when it has passed.
    pub fn until(self, now: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - now.0).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Timestamp, Refused> {
        let bad = |why: String| Refused::field("time", "NOT_A_TIME", why);
        let instant: jiff::Timestamp = text.parse().map_err(|_| {
            let shown = crate::text::excerpt(text, 40);
            bad(format!("`{shown}` is not an RFC 3339 instant such as 2026-12-01T08:30:00.000Z"))
        })?;
        let nanoseconds = instant.as_nanosecond();
        // Rounded up, so that nothing starts before the instant that was asked for.
        let ms = i64::try_from(nanoseconds.div_euclid(1_000_000) + i128::from(nanoseconds.rem_euclid(1_000_000) > 0))
            .unwrap_or(i64::MAX);
        if (0..=Timestamp::MAX.0).contains(&ms) {
            Ok(Timestamp(ms))
        } else {
            Err(bad(format!("`{text}` lies outside the years 1970 to 9999")))
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A length of time as people write it: `500ms`, `30s`, `1h30m`, `7d`. Units go from large to small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub Duration);

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Span {
    pub const fn from_ms(ms: u64) -> Span {
        Span(Duration::from_millis(ms))
    }

    pub fn as_ms(self) -> i64 {
        i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX)
    }
}

impl FromStr for Span {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Span, Refused> {
        let bad = || {
            let shown = crate::text::excerpt(text, 40);
            Refused::field(
                "duration",
                "NOT_A_DURATION",
                format!("`{shown}` is not a duration such as 500ms, 30s or 1h30m"),
            )
        };
        let (mut rest, mut total_ms, mut units_left) = (text.trim(), 0_u64, &UNITS[..]);
        if rest.is_empty() {
            return Err(bad());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
            let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
            rest = &rest[digits..];
            let unit_len = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let place = units_left.iter().position(|(unit, _)| *unit == &rest[..unit_len]).ok_or_else(bad)?;
            let part_ms = number.checked_mul(units_left[place].1).ok_or_else(bad)?;
            total_ms = total_ms.checked_add(part_ms).filter(|ms| i64::try_from(*ms).is_ok()).ok_or_else(bad)?;
            units_left = &units_left[place + 1..];
            rest = &rest[unit_len..];
        }
        Ok(Span(Duration::from_millis(total_ms)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest_ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest_ms == 0 {
            return f.write_str("0s");
        }
        for (unit, unit_ms) in UNITS {
            if rest_ms >= unit_ms {
                write!(f, "{}{unit}", rest_ms / unit_ms)?;
                rest_ms %= unit_ms;
            }
        }
        Ok(())
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The only source of time. One of the four seams: the system's clock, a clock that a test moves by hand, and the
/// simulation's.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Wall time: may step in both directions.
    fn now(&self) -> Timestamp;
    /// For durations: never steps.
    fn monotonic(&self) -> Duration;
    fn sleep(&self, length: Duration) -> Sleep;

    /// Until the wall clock shows `instant`, if it does not step meanwhile. A clock that knows parts of a millisecond
    /// wakes closer to it than `sleep` can.
    fn sleep_until(&self, instant: Timestamp) -> Sleep {
        self.sleep(instant.until(self.now()))
    }
}

pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print_the_same() {
        let check = |text: &str, ms: u64, printed: &str| {
            let span: Span = text.parse().expect(text);
            assert_eq!((span.0.as_millis() as u64, span.to_string().as_str()), (ms, printed), "{text}");
        };
        check("500ms", 500, "500ms");
        check("30s", 30_000, "30s");
        check("1h30m", 5_400_000, "1h30m");
        check("90m", 5_400_000, "1h30m");
        check("7d", 604_800_000, "7d");
        check("0s", 0, "0s");
        for bad in ["", "5", "s", "1m1h", "-5s", "1.5s", "5 s", "99999999999999999999s", "9999999999999d", "1s1s"] {
            assert!(bad.parse::<Span>().is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn instants_read_and_print_the_same() {
        let check = |text: &str, printed: &str| {
            assert_eq!(text.parse::<Timestamp>().expect(text).to_string(), printed, "{text}");
        };
        check("2026-12-01T08:30:00Z", "2026-12-01T08:30:00.000Z");
        check("2026-12-01T10:30:00.123+02:00", "2026-12-01T08:30:00.123Z");
        check("2026-12-01T08:30:00.0000001Z", "2026-12-01T08:30:00.001Z");
        check("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z");
        check("9999-12-30T00:00:00Z", "9999-12-30T00:00:00.000Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T22:00:00.000Z");
        assert_eq!(Timestamp::MAX.to_string().parse::<Timestamp>().expect("in range"), Timestamp::MAX);
        for bad in ["", "now", "2026-12-01", "2026-12-01T08:30:00", "1969-12-31T23:59:59Z", "2026-13-01T00:00:00Z"] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad} was accepted");
        }
        assert_eq!(Timestamp::MAX.plus_ms(i64::MAX), Timestamp::MAX);
    }
}
