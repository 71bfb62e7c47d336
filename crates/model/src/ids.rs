//! Names of things as types, so that a job id is never passed where a fence is meant.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::refused::Refused;
use crate::time::Timestamp;

/// One request to run a task. 63 bits, ordered by time of creation: milliseconds, node number, sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub i64);

/// Grows with every claim of a job and never goes back. Whoever ends an attempt shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

/// One start of one node. Random at every start and unique by the database, so a dead node never comes back by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub i64);

/// One try at a job: the job and the fence of the claim that began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    pub job: JobId,
    pub fence: Fence,
}

const ID_EPOCH_MS: i64 = 1_704_067_200_000; // 2024-01-01; 41 bits of milliseconds last until 2093
const NODE_BITS: u32 = 10;
const SEQUENCE_BITS: u32 = 12;

impl JobId {
    /// The smallest id that a job created at `time` can have: turns a range of time into a range of ids.
    pub fn first_at(time: Timestamp) -> JobId {
        let span_ms = (time.as_ms() - ID_EPOCH_MS).clamp(0, (1 << 41) - 1);
        JobId(span_ms << (NODE_BITS + SEQUENCE_BITS))
    }

    /// When it was made, by the clock of its node.
    pub fn made_at(self) -> Timestamp {
        Timestamp::from_ms((self.0 >> (NODE_BITS + SEQUENCE_BITS)) + ID_EPOCH_MS)
    }
}

/// Makes the job ids of one node. An id is fixed before the insert, so the insert can be repeated when the
/// outcome of a commit is unknown.
#[derive(Debug, Clone)]
pub struct JobIds {
    node: i64,
    /// Milliseconds since the epoch of ids and the sequence within, as one number: `+ 1` carries into the next
    /// millisecond by itself, and a clock that steps back cannot repeat an id.
    last: i64,
}

impl JobIds {
    pub fn new(node_number: u16) -> JobIds {
        debug_assert!(i64::from(node_number) < 1 << NODE_BITS, "node number {node_number} needs more bits");
        JobIds { node: i64::from(node_number) & ((1 << NODE_BITS) - 1), last: 0 }
    }

    /// Goes on after `newest`, which another start of a node made: the wall clock may have stepped back in between.
    #[must_use]
    pub fn after(mut self, newest: JobId) -> JobIds {
        let span_ms = newest.0 >> (NODE_BITS + SEQUENCE_BITS);
        self.last = self.last.max((span_ms << SEQUENCE_BITS) | (newest.0 & ((1 << SEQUENCE_BITS) - 1)));
        self
    }

    /// The same node under another number: what it made as the old one is not made again.
    #[must_use]
    pub fn as_node(self, node_number: u16) -> JobIds {
        JobIds { last: self.last, ..JobIds::new(node_number) }
    }

    pub fn next(&mut self, now: Timestamp) -> JobId {
        let earliest = (now.as_ms() - ID_EPOCH_MS).max(0) << SEQUENCE_BITS;
        self.last = earliest.max(self.last + 1);
        let (span_ms, sequence) = (self.last >> SEQUENCE_BITS, self.last & ((1 << SEQUENCE_BITS) - 1));
        JobId((span_ms << (NODE_BITS + SEQUENCE_BITS)) | (self.node << SEQUENCE_BITS) | sequence)
    }
}

impl Fence {
    pub fn next(self) -> Fence {
        Fence(self.0 + 1)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.job, self.fence)
    }
}

impl FromStr for Incarnation {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Incarnation, Refused> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        i64::from_str_radix(text, 16).ok().filter(|_| digits).map(Incarnation).ok_or_else(|| {
            let shown = crate::text::excerpt(text, 40);
            Refused::field("id", "NOT_AN_ID", format!("`{shown}` is not a node's id: 16 hexadecimal digits"))
        })
    }
}

impl FromStr for JobId {
    type Err = Refused;
    fn from_str(text: &str) -> Result<JobId, Refused> {
        match text.parse::<i64>() {
            Ok(number) if number > 0 => Ok(JobId(number)),
            _ => {
                Err(Refused::field("id", "NOT_AN_ID", format!("`{}` is not a job id", crate::text::excerpt(text, 40))))
            }
        }
    }
}

impl FromStr for AttemptId {
    type Err = Refused;
    fn from_str(text: &str) -> Result<AttemptId, Refused> {
        let bad = || {
            let shown = crate::text::excerpt(text, 40);
            Refused::field("id", "NOT_AN_ID", format!("`{shown}` is not an attempt id (<job id>-<fence>)"))
        };
        let (job, fence) = text.split_once('-').ok_or_else(bad)?;
        let fence = fence.parse().map_err(|_| bad())?;
        Ok(AttemptId { job: job.parse().map_err(|_| bad())?, fence: Fence(fence) })
    }
}

/// Ids are text in JSON: a JavaScript number holds 53 bits, an id needs 63.
macro_rules! serde_as_text {
    ($($id:ty),+) => {$(
        impl Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
serde_as_text!(JobId, AttemptId);

/// Short checked text that is cheap to clone.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $max_chars:expr, $starts_plainly:expr, $allowed:expr, $hint:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: &str) -> Result<$name, Refused> {
                let allowed: fn(char) -> bool = $allowed;
                let chars = text.chars().count();
                if chars == 0 {
                    return Err(Refused::field($field, "REQUIRED", concat!($field, " is empty").to_owned()));
                }
                if chars > $max_chars {
                    let detail = format!(concat!($field, " has {} characters, at most {} are kept"), chars, $max_chars);
                    return Err(Refused::field($field, "TOO_LONG", detail));
                }
                if $starts_plainly && !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                    let detail = concat!($field, " must begin with a letter or a digit");
                    return Err(Refused::field($field, "BAD_CHARACTER", detail));
                }
                match text.chars().find(|c| !allowed(*c)) {
                    Some(c) => {
                        let detail = format!(concat!($field, " holds {:?}; allowed are ", $hint), c);
                        Err(Refused::field($field, "BAD_CHARACTER", detail))
                    }
                    None => Ok($name(text.into())),
                }
            }

            /// From a row that was checked when it was written.
            pub fn stored(text: &str) -> $name {
                $name(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Refused;
            fn from_str(text: &str) -> Result<$name, Refused> {
                $name::new(text)
            }
        }

        serde_as_text!($name);
    };
}

fn is_code_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':')
}

checked_text!(
    /// The name that people and programs use for a task.
    TaskCode, "task", limits::TASK_CODE_CHARS_MAX, true, is_code_char, "letters, digits and . _ - :"
);
checked_text!(
    /// The name of a pool of execution slots.
    PoolName, "pool", limits::POOL_NAME_CHARS_MAX, true, is_code_char, "letters, digits and . _ - :"
);
checked_text!(
    /// The name a handler is registered under.
    HandlerName, "handler", limits::TASK_CODE_CHARS_MAX, true, is_code_char, "letters, digits and . _ - :"
);
checked_text!(
    /// The name of a calendar.
    CalendarName, "calendar", limits::POOL_NAME_CHARS_MAX, true, is_code_char, "letters, digits and . _ - :"
);
checked_text!(
    /// The caller's own key for a job: with the task it is unique.
    BizId, "bizId", limits::BIZ_ID_CHARS_MAX, false, |c| !c.is_control(), "all characters but control characters"
);

impl PoolName {
    pub fn default_pool() -> PoolName {
        PoolName::stored("default")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_also_when_the_clock_steps_back_and_when_a_millisecond_overflows() {
        let mut ids = JobIds::new(3);
        let mut last = JobId(0);
        for step in 0..20_000_i64 {
            let now = Timestamp::from_ms(1_790_000_000_000 - step / 1_000);
            let id = ids.next(now);
            assert!(id > last, "{id} after {last}");
            last = id;
        }
    }

    #[test]
    fn ids_of_a_new_start_go_on_after_those_of_the_old_one() {
        let mut old = JobIds::new(1);
        let now = Timestamp::from_ms(1_790_000_000_000);
        let newest = (0..5_000).map(|_| old.next(now)).last().expect("some were made");
        let earlier = Timestamp::from_ms(1_789_999_990_000);
        let first = JobIds::new(1).after(newest).next(earlier);
        assert!(first > newest, "{first} after {newest}");
    }

    #[test]
    fn a_node_that_gets_another_number_repeats_no_id() {
        let now = Timestamp::from_ms(1_790_000_000_000);
        let mut ids = JobIds::new(7);
        let old = ids.next(now);
        let new = ids.as_node(2).next(now);
        assert_ne!(old.0 & ((1 << SEQUENCE_BITS) - 1), new.0 & ((1 << SEQUENCE_BITS) - 1), "{old} and {new}");
    }

    #[test]
    fn incarnations_read_and_print_the_same() {
        for number in [1, 0x00ab_cdef, i64::MAX] {
            let text = Incarnation(number).to_string();
            assert_eq!(text.parse(), Ok(Incarnation(number)), "{text}");
        }
        for wrong in ["", "1", "g000000000000000", "+00000000000000a", "ffffffffffffffff", "00000000000000010"] {
            assert!(wrong.parse::<Incarnation>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_id_lies_in_the_range_of_its_time() {
        let now = Timestamp::from_ms(1_790_000_000_123);
        let id = JobIds::new(1_000).next(now);
        assert!(JobId::first_at(now) <= id);
        assert!(id < JobId::first_at(Timestamp::from_ms(now.as_ms() + 1)));
    }

    #[test]
    fn text_is_checked() {
        let check = |text: &str, code: &str| match TaskCode::new(text) {
            Ok(_) => assert_eq!(code, "", "{text} was accepted"),
            Err(refused) => assert_eq!(refused.errors[0].code, code, "{text}"),
        };
        check("report.daily", "");
        check("", "REQUIRED");
        check("a b", "BAD_CHARACTER");
        check("nul\0", "BAD_CHARACTER");
        check("..", "BAD_CHARACTER");
        check("-x", "BAD_CHARACTER");
        check(&"x".repeat(500), "TOO_LONG");
        assert!(BizId::new("订单 42").is_ok());
        assert!(BizId::new("a\u{0}").is_err());
    }

    #[test]
    fn attempt_ids_round_trip() {
        let id = AttemptId { job: JobId(77), fence: Fence(3) };
        assert_eq!(id.to_string().parse::<AttemptId>().expect("parses"), id);
        assert!("77".parse::<AttemptId>().is_err());
        assert!("x-1".parse::<AttemptId>().is_err());
    }
}
