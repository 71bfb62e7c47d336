//! What a handler may answer.

use std::time::Duration;

use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The work is done. The result is kept; lists show its first 500 characters.
    Done { result: Option<String> },
    /// It failed and may be tried again, not before the given time if there is one.
    Retry { error: String, not_before: Option<Wait> },
    /// It failed and trying again is useless.
    Fail { error: String },
    /// It cannot go on until a person has looked.
    NeedsPerson { reason: String },
    /// Not yet: run it again later. Spends neither retries nor losses.
    Snooze { wait: Wait, reason: String },
    /// It saw its cancellation and stopped.
    Cancelled,
}

/// Until an instant or for a length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Until(Timestamp),
    For(Duration),
}

impl Wait {
    pub fn end(self, now: Timestamp) -> Timestamp {
        match self {
            Wait::Until(instant) => instant.max(now),
            Wait::For(length) => now.plus(length),
        }
    }
}

impl Verdict {
    pub fn done() -> Verdict {
        Verdict::Done { result: None }
    }

    pub fn done_with(result: impl Into<String>) -> Verdict {
        Verdict::Done { result: Some(result.into()) }
    }

    pub fn retry(error: impl Into<String>) -> Verdict {
        Verdict::Retry { error: error.into(), not_before: None }
    }

    pub fn fail(error: impl Into<String>) -> Verdict {
        Verdict::Fail { error: error.into() }
    }
}
