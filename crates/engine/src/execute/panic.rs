//! The panic wall: the one place where a panic of a handler becomes the end of its attempt.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use mainspring_model::Verdict;
use mainspring_model::decide::Ended;

/// Nothing of the body is used after its panic, so it cannot be seen half changed.
pub(super) async fn guarded(body: impl Future<Output = Verdict>) -> Ended {
    match AssertUnwindSafe(body).catch_unwind().await {
        Ok(verdict) => Ended::Answered(verdict),
        Err(panic) => Ended::Panicked { message: message(panic.as_ref()) },
    }
}

pub(super) fn guarded_blocking(body: impl FnOnce() -> Verdict) -> Ended {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(verdict) => Ended::Answered(verdict),
        Err(panic) => Ended::Panicked { message: message(panic.as_ref()) },
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message").to_owned()
}
