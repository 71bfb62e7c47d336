//! Decides by the wall clock, sleeps by the monotonic one, and notices when they part.
//!
//! A step forward needs nothing: what it skipped is due, and the misfire rule decides. A small step back needs nothing
//! either: the keys of fire times that have fired already stop a second fire. A large one would leave every task silent
//! until the clock has caught up: then all are planned anew.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_model::schedule::replan;
use mainspring_model::time::Clock;
use mainspring_model::{Timestamp, limits};
use mainspring_store::Replan;

use crate::core::{Core, Count};
use crate::tasks::Seen;

#[derive(Debug)]
pub(super) struct ClockWatch {
    wall: Timestamp,
    monotonic: Duration,
    /// The latest that the wall clock has shown since all was planned: small steps back add up.
    latest: Timestamp,
}

/// Is the wall clock so far behind what it has shown that all must be planned anew?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    No,
    Far,
}

impl ClockWatch {
    pub(super) fn new(clock: &dyn Clock) -> ClockWatch {
        let wall = clock.now();
        ClockWatch { wall, monotonic: clock.monotonic(), latest: wall }
    }

    pub(super) fn look(&mut self, clock: &dyn Clock) -> Back {
        let (wall, monotonic) = (clock.now(), clock.monotonic());
        let passed_ms = i64::try_from(monotonic.saturating_sub(self.monotonic).as_millis()).unwrap_or(i64::MAX);
        let step_ms = wall.ms_since(self.wall) - passed_ms;
        (self.wall, self.monotonic) = (wall, monotonic);
        if step_ms.abs() > limits::CLOCK_JUMP_MS {
            tracing::warn!(step_ms, "the wall clock has jumped");
        }
        if wall.ms_since(self.latest) < -limits::CLOCK_BACK_MS {
            self.latest = wall;
            return Back::Far;
        }
        self.latest = self.latest.max(wall);
        Back::No
    }
}

impl Core {
    /// Every fire time that lies in the future must be the one that follows from now. It is not when the clock went back,
    /// when the zone data are other ones than those it was computed with, when a calendar changed. Nothing is caught up.
    pub(crate) async fn plan_all_again(&self) {
        let _planning = self.planning.lock().await;
        let now = self.clock.now();
        let planned = self.tasks.all_planned();
        let wrong: Vec<Replan> = planned
            .iter()
            .filter_map(|planned| {
                let (task, schedule) = (&planned.task, planned.schedule.as_ref()?);
                let is_on = task.switch == mainspring_model::task::TaskSwitch::Enabled;
                let to = replan(schedule, task.next_fire_time, now).filter(|_| is_on)?.time();
                Some(Replan { task: task.code.clone(), version: task.version, from: task.next_fire_time, to })
            })
            .collect();
        for portion in wrong.chunks(limits::FIRE_TASKS_MAX) {
            let replanned = self.insist(Duration::from_secs(10), || self.store.replan(portion.to_vec(), now)).await;
            let Ok(replanned) = replanned else {
                tracing::error!("fire times could not be planned anew; it is tried again at the next look");
                self.must_plan_again.store(true, Ordering::Release);
                continue;
            };
            for (one, done) in portion.iter().zip(replanned) {
                if done {
                    self.counts.add(Count::Replanned, 1);
                    tracing::info!(task = %one.task, from = ?one.from, to = ?one.to, "the next fire time was planned anew");
                    let seen = Seen { code: &one.task, version: one.version, next_fire: one.from };
                    self.tasks.fired(&seen, one.to, None);
                } else {
                    self.reload_task(&one.task).await;
                }
            }
        }
        self.schedule_wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_store::clock::ManualClock;

    #[test]
    fn steps_back_add_up_until_all_is_planned_anew() {
        let clock = ManualClock::at(Timestamp::from_ms(1_790_000_000_000));
        let mut watch = ClockWatch::new(clock.as_ref());
        let mut check = |step_ms: i64, passed: u64, expect| {
            clock.step(step_ms);
            clock.advance(Duration::from_secs(passed));
            assert_eq!(watch.look(clock.as_ref()), expect, "after a step of {step_ms}");
        };
        check(0, 1, Back::No);
        check(-59_000, 0, Back::No);
        check(-1_000, 0, Back::No);
        check(-1, 0, Back::Far);
        check(0, 1, Back::No);
        check(-59_000, 30, Back::No);
        check(-32_000, 0, Back::Far);
        check(3_600_000, 0, Back::No);
        check(-3_600_000, 0, Back::Far);
    }
}
