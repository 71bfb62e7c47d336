//! What a handler may return.

use std::fmt::Display;

use mainspring_model::Verdict;

/// `()` and text are success, an `Err` is a failure that is retried; a [`Verdict`] says the rest: fail for good, not
/// before, needs a person, snooze.
pub trait Answer {
    fn into_verdict(self) -> Verdict;
}

impl Answer for () {
    fn into_verdict(self) -> Verdict {
        Verdict::done()
    }
}

/// The result that is kept with the job.
impl Answer for String {
    fn into_verdict(self) -> Verdict {
        Verdict::done_with(self)
    }
}

impl Answer for Verdict {
    fn into_verdict(self) -> Verdict {
        self
    }
}

impl<A: Answer, E: Display> Answer for Result<A, E> {
    fn into_verdict(self) -> Verdict {
        match self {
            Ok(answer) => answer.into_verdict(),
            // With its causes, where the error shows them in its alternate form.
            Err(error) => Verdict::retry(format!("{error:#}")),
        }
    }
}
