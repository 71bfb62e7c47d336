//! After an attempt: what its end means for the job. Pure; `now` and the dice are passed in.

use crate::backoff;
use crate::job::{AttemptStatus, DeadCause, JobStatus};
use crate::limits;
use crate::task::{FailStrategy, OnLost, RetryRule};
use crate::text;
use crate::time::{Span, Timestamp};
use crate::verdict::Verdict;

/// How an attempt came to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    Answered(Verdict),
    Panicked {
        message: String,
    },
    /// The deadline passed. A body that went on past its grace may still be running.
    TimedOut {
        limit_ms: i64,
        body_stopped: bool,
    },
    /// A person cancelled it.
    Cancelled {
        by: String,
    },
    /// The node went away while the body ran.
    Lost,
    /// The node stopped politely and did not wait any longer for the body.
    GivenUp,
    /// It was fired and waited past its task's start deadline: no body began.
    Expired {
        waited_ms: i64,
    },
}

/// What must be known of the job and its task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Failures before this attempt.
    pub retry_count: u32,
    pub max_retry: u32,
    /// Losses before this attempt.
    pub lost_count: u32,
    pub retry: RetryRule,
    pub fail_strategy: FailStrategy,
    pub on_lost: OnLost,
}

/// What is written when the attempt is settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub attempt: AttemptStatus,
    pub next: Next,
    pub result: Option<String>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Final {
        status: JobStatus,
        /// Set for FAILED and TIMEOUT: the job waits in the list of dead jobs, and people are told.
        dead: Option<DeadCause>,
        /// The task is disabled with it.
        stop_task: bool,
    },
    Again {
        due: Timestamp,
        spends: Budget,
    },
}

impl Decision {
    /// The loss of a node is counted against the job, also when it was one too many.
    pub const fn counts_a_loss(&self) -> bool {
        match self.next {
            Next::Again { spends, .. } => matches!(spends, Budget::Loss),
            Next::Final { dead, .. } => matches!(dead, Some(DeadCause::Poisoned | DeadCause::Lost)),
        }
    }
}

/// What a further try is paid from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    Failure,
    Loss,
    Nothing,
}

pub fn decide(ended: Ended, facts: &Facts, now: Timestamp, dice: u64) -> Decision {
    match ended {
        Ended::Answered(Verdict::Done { result: Some(result) }) if result.len() > limits::RESULT_BYTES_MAX => {
            let (bytes, max) = (result.len(), limits::RESULT_BYTES_MAX);
            let error = format!("the work is done, but its result has {bytes} bytes and at most {max} are kept");
            dead(AttemptStatus::Failed, JobStatus::Failed, DeadCause::NeedsPerson, &error, facts)
        }
        Ended::Answered(Verdict::Done { result }) => Decision {
            attempt: AttemptStatus::Success,
            next: Next::Final { status: JobStatus::Success, dead: None, stop_task: false },
            result: result.map(|text| text::storable(&text)),
            error: None,
        },
        Ended::Answered(Verdict::Retry { error, not_before }) => {
            let earliest = not_before.map(|wait| wait.end(now));
            again_or_dead(AttemptStatus::Failed, &error, earliest, facts, now, dice)
        }
        Ended::Panicked { message } => {
            again_or_dead(AttemptStatus::Failed, &format!("panicked: {message}"), None, facts, now, dice)
        }
        Ended::Answered(Verdict::Fail { error }) => {
            dead(AttemptStatus::Failed, JobStatus::Failed, DeadCause::FailedForGood, &error, facts)
        }
        Ended::Answered(Verdict::NeedsPerson { reason }) => {
            dead(AttemptStatus::Failed, JobStatus::Failed, DeadCause::NeedsPerson, &reason, facts)
        }
        Ended::Answered(Verdict::Snooze { wait, reason }) => Decision {
            attempt: AttemptStatus::Skipped,
            next: Next::Again { due: wait.end(now), spends: Budget::Nothing },
            result: None,
            error: Some(kept(&format!("snoozed: {reason}"))),
        },
        Ended::Answered(Verdict::Cancelled) => cancelled("stopped itself"),
        Ended::Cancelled { by } => cancelled(&format!("cancelled by {by}")),
        Ended::TimedOut { limit_ms, body_stopped: true } => {
            let error = format!("timed out after {limit_ms} ms");
            again_or_dead(AttemptStatus::Timeout, &error, None, facts, now, dice)
        }
        // A second body would run beside the first one: a person decides.
        Ended::TimedOut { limit_ms, body_stopped: false } => {
            let error =
                format!("timed out after {limit_ms} ms and ignores its cancellation: not retried while it may run");
            dead(AttemptStatus::Timeout, JobStatus::Timeout, DeadCause::TimedOut, &error, facts)
        }
        Ended::Expired { waited_ms } => Decision {
            attempt: AttemptStatus::Skipped,
            next: Next::Final { status: JobStatus::Skipped, dead: None, stop_task: false },
            result: None,
            error: Some(expired_text(waited_ms)),
        },
        Ended::Lost => after_loss(facts, now),
        Ended::GivenUp => Decision {
            attempt: AttemptStatus::Cancelled,
            next: Next::Again { due: now, spends: Budget::Nothing },
            result: None,
            error: Some("given up at a polite stop of its node".to_owned()),
        },
    }
}

/// The words of a fired job that did not begin within its task's start deadline.
pub fn expired_text(waited_ms: i64) -> String {
    format!("expired: it waited {} to start", Span::from_ms(waited_ms.unsigned_abs()))
}

fn after_loss(facts: &Facts, now: Timestamp) -> Decision {
    let losses = facts.lost_count.saturating_add(1);
    if facts.on_lost == OnLost::Fail {
        let error = "its node was lost while it ran, and the task says onLost = FAIL";
        dead(AttemptStatus::Lost, JobStatus::Failed, DeadCause::Lost, error, facts)
    } else if losses >= limits::LOST_COUNT_MAX {
        let error = format!("worker lost {losses} times while it ran: it is likely what ends the worker");
        dead(AttemptStatus::Lost, JobStatus::Failed, DeadCause::Poisoned, &error, facts)
    } else {
        Decision {
            attempt: AttemptStatus::Lost,
            next: Next::Again { due: now, spends: Budget::Loss },
            result: None,
            error: Some("its node was lost while it ran".to_owned()),
        }
    }
}

fn again_or_dead(
    attempt: AttemptStatus,
    error: &str,
    earliest: Option<Timestamp>,
    facts: &Facts,
    now: Timestamp,
    dice: u64,
) -> Decision {
    if facts.retry_count < facts.max_retry {
        let delay_ms = backoff::delay_ms(facts.retry, facts.retry_count.saturating_add(1), dice);
        let due = now.plus_ms(delay_ms).max(earliest.unwrap_or(now));
        return Decision {
            attempt,
            next: Next::Again { due, spends: Budget::Failure },
            result: None,
            error: Some(kept(error)),
        };
    }
    match attempt {
        AttemptStatus::Timeout => dead(attempt, JobStatus::Timeout, DeadCause::TimedOut, error, facts),
        _ => dead(attempt, JobStatus::Failed, DeadCause::RetriesSpent, error, facts),
    }
}

fn dead(attempt: AttemptStatus, status: JobStatus, cause: DeadCause, error: &str, facts: &Facts) -> Decision {
    let stop_task = facts.fail_strategy == FailStrategy::Stop;
    Decision {
        attempt,
        next: Next::Final { status, dead: Some(cause), stop_task },
        result: None,
        error: Some(kept(error)),
    }
}

fn cancelled(why: &str) -> Decision {
    Decision {
        attempt: AttemptStatus::Cancelled,
        next: Next::Final { status: JobStatus::Cancelled, dead: None, stop_task: false },
        result: None,
        error: Some(kept(why)),
    }
}

fn kept(error: &str) -> String {
    text::excerpt(&text::storable(error), limits::ERROR_CHARS_MAX)
}

/// How carefully a claimed job is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Care {
    /// The start need not be written before the body runs.
    Normal,
    /// The start is committed first, so that the loss of this node is counted against the job.
    WriteStartFirst,
    /// Its last chance: besides, no other careful job runs beside it, so that only the guilty one dies.
    Alone,
}

/// A crash leaves two kinds of jobs: those known to have run are counted as lost, those that were in memory are
/// suspects. Both prove themselves before they share a node with others at full speed again.
///
/// A job that must not run twice has its start written in any case: only what is known to have begun counts as lost.
pub fn care(lost_count: u32, suspect: bool, on_lost: OnLost) -> Care {
    if lost_count + 1 >= limits::LOST_COUNT_MAX {
        Care::Alone
    } else if suspect || lost_count > 0 || on_lost == OnLost::Fail {
        Care::WriteStartFirst
    } else {
        Care::Normal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Wait;
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_ms(1_790_000_000_000);

    fn facts() -> Facts {
        Facts {
            retry_count: 0,
            max_retry: 2,
            lost_count: 0,
            retry: RetryRule { count: 2, base_ms: 1_000, cap_ms: 8_000 },
            fail_strategy: FailStrategy::Retry,
            on_lost: OnLost::Rerun,
        }
    }

    fn check(ended: Ended, facts: &Facts, expect: &str) {
        let decision = decide(ended.clone(), facts, NOW, 400);
        let seen = match decision.next {
            Next::Final { status, dead, stop_task } => format!(
                "{} {status}{}{}",
                decision.attempt,
                dead.map(|cause| format!(" {cause}")).unwrap_or_default(),
                if stop_task { " stop" } else { "" }
            ),
            Next::Again { due, spends } => format!("{} again +{} {spends:?}", decision.attempt, due.ms_since(NOW)),
        };
        assert_eq!(seen, expect, "{ended:?}");
    }

    #[test]
    fn ends_lead_where_they_should() {
        let f = facts();
        let answered = Ended::Answered;
        check(answered(Verdict::done()), &f, "SUCCESS SUCCESS");
        check(answered(Verdict::done_with("x".repeat(limits::RESULT_BYTES_MAX))), &f, "SUCCESS SUCCESS");
        let large = "x".repeat(limits::RESULT_BYTES_MAX + 1);
        check(answered(Verdict::done_with(large)), &f, "FAILED FAILED NEEDS_PERSON");
        check(answered(Verdict::retry("x")), &f, "FAILED again +1200 Failure");
        check(answered(Verdict::retry("x")), &Facts { retry_count: 2, ..f }, "FAILED FAILED RETRIES_SPENT");
        check(answered(Verdict::fail("x")), &f, "FAILED FAILED FAILED_FOR_GOOD");
        check(answered(Verdict::NeedsPerson { reason: "x".into() }), &f, "FAILED FAILED NEEDS_PERSON");
        let snooze = Verdict::Snooze { wait: Wait::For(Duration::from_secs(9)), reason: "x".into() };
        check(answered(snooze), &Facts { retry_count: 2, ..f }, "SKIPPED again +9000 Nothing");
        check(answered(Verdict::Cancelled), &f, "CANCELLED CANCELLED");
        check(Ended::Cancelled { by: "ann".into() }, &f, "CANCELLED CANCELLED");
        check(Ended::Panicked { message: "x".into() }, &f, "FAILED again +1200 Failure");
        let timed_out = |body_stopped| Ended::TimedOut { limit_ms: 5, body_stopped };
        check(timed_out(true), &f, "TIMEOUT again +1200 Failure");
        check(timed_out(true), &Facts { max_retry: 0, ..f }, "TIMEOUT TIMEOUT TIMED_OUT");
        check(timed_out(false), &f, "TIMEOUT TIMEOUT TIMED_OUT");
        check(Ended::Expired { waited_ms: 90_000 }, &f, "SKIPPED SKIPPED");
        check(Ended::Lost, &f, "LOST again +0 Loss");
        check(Ended::Lost, &Facts { lost_count: 2, ..f }, "LOST FAILED POISONED");
        check(Ended::Lost, &Facts { on_lost: OnLost::Fail, ..f }, "LOST FAILED LOST");
        check(Ended::GivenUp, &Facts { retry_count: 2, lost_count: 2, ..f }, "CANCELLED again +0 Nothing");
        let stop = Facts { fail_strategy: FailStrategy::Stop, max_retry: 0, ..f };
        check(answered(Verdict::retry("x")), &stop, "FAILED FAILED RETRIES_SPENT stop");
    }

    #[test]
    fn a_retry_waits_for_the_later_of_back_off_and_not_before() {
        let later = Verdict::Retry { error: "429".into(), not_before: Some(Wait::For(Duration::from_secs(30))) };
        check(Ended::Answered(later), &facts(), "FAILED again +30000 Failure");
        let earlier = Verdict::Retry { error: "429".into(), not_before: Some(Wait::For(Duration::from_millis(1))) };
        check(Ended::Answered(earlier), &facts(), "FAILED again +1200 Failure");
    }

    #[test]
    fn care_grows_with_suspicion() {
        assert_eq!(care(0, false, OnLost::Rerun), Care::Normal);
        assert_eq!(care(0, true, OnLost::Rerun), Care::WriteStartFirst);
        assert_eq!(care(1, false, OnLost::Rerun), Care::WriteStartFirst);
        assert_eq!(care(2, true, OnLost::Rerun), Care::Alone);
        assert_eq!(care(0, false, OnLost::Fail), Care::WriteStartFirst);
    }
}
