//! Simulated time: tokio's paused clock, and a wall clock that steps in both directions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_model::Timestamp;
use mainspring_model::time::{Clock, Sleep};
use tokio::time::Instant;

use crate::link::Link;
use crate::locked;

/// Forty seconds before midnight: calendars matter.
pub(crate) const WALL_AT_START: Timestamp = Timestamp::from_ms(1_790_035_160_000);

/// The machine's clock: the database and the node share it.
#[derive(Debug)]
pub(crate) struct WorldClock {
    start: Instant,
    steps: Mutex<Vec<Step>>,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    at_ms: u64,
    offset_before_ms: i64,
    offset_ms: i64,
}

impl WorldClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else takes")]
    pub(crate) fn new() -> WorldClock {
        WorldClock { start: Instant::now(), steps: Mutex::default() }
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// How far the steps have moved the wall clock by now.
    pub(crate) fn offset_ms(&self) -> i64 {
        locked(&self.steps).last().map_or(0, |step| step.offset_ms)
    }

    pub(crate) fn step(&self, by_ms: i64) {
        let offset_before_ms = self.offset_ms();
        let step = Step { at_ms: self.elapsed_ms(), offset_before_ms, offset_ms: offset_before_ms + by_ms };
        locked(&self.steps).push(step);
    }

    /// The earliest and the latest instant that the wall clock has shown from `from_ms` of the run until `to_ms`.
    pub(crate) fn wall_range(&self, from_ms: u64, to_ms: u64) -> (Timestamp, Timestamp) {
        let steps = locked(&self.steps);
        let offset_at = |ms: u64| steps.iter().rev().find(|step| step.at_ms <= ms).map_or(0, |step| step.offset_ms);
        let (mut low, mut high) = (wall(from_ms, offset_at(from_ms)), wall(to_ms, offset_at(to_ms)));
        for step in steps.iter().filter(|step| (from_ms..=to_ms).contains(&step.at_ms)) {
            low = low.min(wall(step.at_ms, step.offset_ms)).min(wall(step.at_ms, step.offset_before_ms));
            high = high.max(wall(step.at_ms, step.offset_ms)).max(wall(step.at_ms, step.offset_before_ms));
        }
        (low.min(high), high.max(low))
    }
}

fn wall(elapsed_ms: u64, offset_ms: i64) -> Timestamp {
    WALL_AT_START.plus_ms(i64::try_from(elapsed_ms).unwrap_or(i64::MAX)).plus_ms(offset_ms)
}

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        wall(self.elapsed_ms(), self.offset_ms())
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else takes")]
    fn sleep(&self, length: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(length))
    }
}

/// The same clock, seen from a node: while it is paused none of its sleeps ends, when it is dead none ever does.
#[derive(Debug)]
pub(crate) struct NodeClock {
    pub(crate) world: Arc<WorldClock>,
    pub(crate) link: Arc<Link>,
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    fn monotonic(&self) -> Duration {
        self.world.monotonic()
    }

    fn sleep(&self, length: Duration) -> Sleep {
        let (slept, link) = (self.world.sleep(length), self.link.clone());
        Box::pin(async move {
            slept.await;
            link.gate().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_range_of_the_wall_clock_covers_its_steps() {
        let clock = WorldClock::new();
        let second = Duration::from_secs(1);
        clock.sleep(second).await;
        clock.step(5_000);
        clock.sleep(second).await;
        clock.step(-7_000);
        clock.sleep(second).await;
        let since_start =
            |(low, high): (Timestamp, Timestamp)| (low.ms_since(WALL_AT_START), high.ms_since(WALL_AT_START));
        assert_eq!(since_start(clock.wall_range(0, 3_000)), (0, 7_000));
        assert_eq!(since_start(clock.wall_range(2_500, 3_000)), (500, 1_000));
        assert_eq!(clock.now().ms_since(WALL_AT_START), 1_000);
    }
}
