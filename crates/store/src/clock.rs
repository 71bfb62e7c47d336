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

/// One question to a database about its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSample {
    /// By the node's monotonic clock.
    pub sent: Duration,
    pub answered: Duration,
    pub database: Timestamp,
}

impl ClockSample {
    /// The database looked at its clock somewhere between question and answer: the least and the most that it is ahead of
    /// the node's monotonic clock, in microseconds. It shows whole milliseconds, the rest of the last one is left off.
    fn bounds_us(&self) -> (i64, i64) {
        let micros = |instant: Duration| i64::try_from(instant.as_micros()).unwrap_or(i64::MAX);
        let shown_us = self.database.as_ms().saturating_mul(1_000);
        (shown_us - micros(self.answered) - 1, shown_us + 1_000 - micros(self.sent))
    }
}

/// The clock of a database that several nodes share, as this node knows it: its own monotonic clock, and how far the
/// database is ahead of that.
///
/// **Invariant:** it is never ahead of the database by more than that drifted since the last sample, so nothing starts
/// before its time.
#[derive(Debug)]
pub struct DatabaseClock {
    node: Arc<dyn Clock>,
    ahead_us: AtomicI64,
}

impl DatabaseClock {
    pub fn new(node: Arc<dyn Clock>, first: ClockSample) -> Arc<DatabaseClock> {
        Arc::new(DatabaseClock { node, ahead_us: AtomicI64::new(first.bounds_us().0) })
    }

    /// The node's own clock.
    pub fn node(&self) -> &dyn Clock {
        self.node.as_ref()
    }

    /// The largest lower bound is the best one: its answer took the shortest way. It is given up when a newer sample says
    /// that it cannot be: the database's clock went back, or the two drifted apart.
    pub fn learn(&self, sample: ClockSample) {
        let (least, most) = sample.bounds_us();
        let better = |known: i64| if known > most { Some(least) } else { Some(known.max(least)) };
        let _ = self.ahead_us.fetch_update(Ordering::AcqRel, Ordering::Acquire, better);
    }

    fn now_us(&self) -> i64 {
        let micros = i64::try_from(self.node.monotonic().as_micros()).unwrap_or(i64::MAX);
        micros.saturating_add(self.ahead_us.load(Ordering::Acquire))
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_us().div_euclid(1_000))
    }

    fn monotonic(&self) -> Duration {
        self.node.monotonic()
    }

    fn sleep(&self, length: Duration) -> Sleep {
        self.node.sleep(length)
    }

    fn sleep_until(&self, instant: Timestamp) -> Sleep {
        let rest_us = instant.as_ms().saturating_mul(1_000).saturating_sub(self.now_us());
        self.node.sleep(Duration::from_micros(u64::try_from(rest_us).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: i64 = 1_790_000_000_000;

    fn sample(sent_ms: u64, answered_ms: u64, database_ms: i64) -> ClockSample {
        let (sent, answered) = (Duration::from_millis(sent_ms), Duration::from_millis(answered_ms));
        ClockSample { sent, answered, database: Timestamp::from_ms(T0 + database_ms) }
    }

    /// What the clock shows at 1000 ms of the node, after these samples.
    fn shown(samples: &[ClockSample]) -> i64 {
        let node = ManualClock::at(Timestamp::from_ms(0));
        node.advance(Duration::from_millis(1_000));
        let clock = DatabaseClock::new(node, samples[0]);
        samples[1..].iter().for_each(|sample| clock.learn(*sample));
        clock.now().as_ms() - T0
    }

    #[test]
    fn the_clock_is_never_ahead_of_the_database() {
        // The database stood at 500 somewhere between 100 and 120 of the node: it may be at 1380 by now, not less.
        assert_eq!(shown(&[sample(100, 120, 500)]), 1_379);
    }

    #[test]
    fn the_shortest_way_gives_the_best_estimate() {
        let exact = sample(200, 201, 601);
        assert_eq!(shown(&[sample(100, 120, 500), exact]), 1_399);
        assert_eq!(shown(&[exact, sample(300, 390, 720)]), 1_399, "a slow answer teaches nothing");
    }

    #[test]
    fn a_clock_that_went_back_is_followed() {
        assert_eq!(shown(&[sample(200, 201, 601), sample(300, 310, 650)]), 1_339);
        assert_eq!(shown(&[sample(200, 201, 601), sample(300, 310, 7_000)]), 7_689, "and forward");
    }

    #[test]
    fn drift_is_corrected_once_it_shows() {
        // The node's clock runs fast: the database falls behind what the first sample promised.
        assert_eq!(shown(&[sample(0, 1, 1), sample(900, 901, 895)]), 993);
    }

    #[tokio::test]
    async fn sleepers_wake_when_the_database_is_there() {
        let node = ManualClock::at(Timestamp::from_ms(0));
        let clock = DatabaseClock::new(node.clone(), sample(0, 0, 0));
        let until = Timestamp::from_ms(T0 + 500);
        let sleeping = clock.sleep_until(until);
        node.advance(Duration::from_millis(501));
        sleeping.await;
        assert!(clock.now() >= until);
    }
}
