//! The clocks of the product: the system's, and one that a test moves by hand. (The simulation has its own.)

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use mainspring_model::Timestamp;
use mainspring_model::time::{Clock, Sleep};
use tokio::sync::watch;

#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    /// Moves the wall clock, for trials of a wrong one.
    offset_ms: i64,
}

impl SystemClock {
    pub fn new() -> Arc<SystemClock> {
        SystemClock::with_offset(0)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else takes")]
    pub fn with_offset(offset_ms: i64) -> Arc<SystemClock> {
        Arc::new(SystemClock { start: Instant::now(), offset_ms })
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else takes")]
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)).plus_ms(self.offset_ms)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else takes")]
    fn sleep(&self, length: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(length))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else takes")]
    fn sleep_until(&self, instant: Timestamp) -> Sleep {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let end_ms = instant.plus_ms(-self.offset_ms).as_ms();
        let end = Duration::from_millis(u64::try_from(end_ms).unwrap_or(0));
        Box::pin(tokio::time::sleep(end.saturating_sub(since_epoch)))
    }
}

/// Stands still until it is moved. Sleepers wake in the move that reaches them.
#[derive(Debug)]
pub struct ManualClock {
    start: Timestamp,
    elapsed_ms: watch::Sender<u64>,
    /// How far the wall clock was stepped, beside the time that passed.
    stepped_ms: AtomicI64,
}

impl ManualClock {
    pub fn at(start: Timestamp) -> Arc<ManualClock> {
        Arc::new(ManualClock { start, elapsed_ms: watch::Sender::new(0), stepped_ms: AtomicI64::new(0) })
    }

    /// The wall clock is set, forward or back; no time passes.
    pub fn step(&self, by_ms: i64) {
        self.stepped_ms.fetch_add(by_ms, Ordering::AcqRel);
    }

    pub fn advance(&self, by: Duration) {
        self.elapsed_ms.send_modify(|elapsed| *elapsed += u64::try_from(by.as_millis()).unwrap_or(0));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let elapsed_ms = i64::try_from(*self.elapsed_ms.borrow()).unwrap_or(i64::MAX);
        self.start.plus_ms(elapsed_ms.saturating_add(self.stepped_ms.load(Ordering::Acquire)))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(*self.elapsed_ms.borrow())
    }

    fn sleep(&self, length: Duration) -> Sleep {
        let mut elapsed = self.elapsed_ms.subscribe();
        let end = self.monotonic() + length;
        Box::pin(async move {
            let reached = elapsed.wait_for(|now| Duration::from_millis(*now) >= end).await.is_ok();
            if !reached {
                std::future::pending::<()>().await; // the clock is gone: time has stopped
            }
        })
    }
}
