//! Watches over the attempts in hand, on the engine's own thread.
//!
//! Layer one of a time-out: the body is asked to stop, after its grace it is dropped. Layer two: from the deadline on
//! its answer no longer counts, whenever it comes. A body that cannot be stopped is a zombie: its attempt ends, its
//! slot is replaced, and it is counted until it is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_model::decide::Ended;
use mainspring_model::limits;

use super::{LiveAttempt, started};
use crate::core::{Core, Count};
use crate::dispatch::ZombieSlot;

const TICK: Duration = Duration::from_millis(50);
/// Whoever has not ended its node in this time may have company: others wait behind it.
const ALONE_HOLD: Duration = Duration::from_secs(3);
/// From the drop of an async body to the moment it counts as a zombie: it blocks the thread that would drop it.
const DROP_GRACE: Duration = Duration::from_millis(500);

pub(crate) async fn enforce_deadlines(core: Arc<Core>) {
    loop {
        if core.live.is_empty() {
            core.watch_wake.notified().await;
        }
        let now = core.clock.monotonic();
        let mut pause = TICK;
        for attempt in core.live.all() {
            pause = pause.min(core.enforce(&attempt, now));
        }
        core.clock.sleep(pause.max(Duration::from_millis(1))).await;
    }
}

impl Core {
    /// What is due for this attempt now; how long until its next step.
    fn enforce(self: &Arc<Core>, attempt: &Arc<LiveAttempt>, now: Duration) -> Duration {
        // The limit is the body's: while the store is slow to take its start it has not begun to run out.
        let Some(began) = attempt.began() else { return TICK };
        if now.saturating_sub(began) >= ALONE_HOLD {
            attempt.end_turn();
        }
        if attempt.is_running() {
            let left = (began + attempt.limit).saturating_sub(now);
            if left.is_zero() {
                let limit_ms = i64::try_from(attempt.limit.as_millis()).unwrap_or(i64::MAX);
                if attempt.revoke(Ended::TimedOut { limit_ms, body_stopped: true }, now) {
                    self.counts.add(Count::TimedOut, 1);
                }
            }
            return left;
        }
        let Some(asked_for) = attempt.revoked_for(now) else { return TICK };
        let grace = attempt.grace(self.cancel_grace);
        if asked_for < grace {
            return grace.saturating_sub(asked_for).min(TICK);
        }
        // Counted from the drop: a node that was suspended in between must not take every such body for a zombie.
        let dropped_for = attempt.drop_body(now);
        let blocks = attempt.blocks.load(Ordering::Acquire);
        if blocks || dropped_for >= DROP_GRACE {
            self.abandon(attempt);
        }
        TICK
    }

    fn abandon(self: &Arc<Core>, attempt: &Arc<LiveAttempt>) {
        let Some(ended) = attempt.abandon() else { return };
        tracing::warn!(attempt = %attempt.id(), task = %attempt.claim.task, "a body ignores its cancellation");
        self.counts.add(Count::ZombiesEver, 1);
        attempt.tell_end();
        let kept = attempt.pool.slot_became_zombie() == ZombieSlot::Kept;
        attempt.keeps_slot.store(kept, Ordering::Release);
        self.write_back.add(attempt.clone(), ended, self.clock.now());
        self.kick(&attempt.pool);
    }
}

/// Writes down what lasts: that an attempt is EXECUTING, and what it says meanwhile.
pub(crate) async fn show_progress(core: Arc<Core>) {
    loop {
        if core.live.is_empty() {
            core.show_wake.notified().await;
        }
        core.clock.sleep(TICK).await;
        let now = core.clock.monotonic();
        let mut to_mark = Vec::new();
        let mut output = Vec::new();
        for attempt in core.live.all() {
            let shown_after = Duration::from_millis(limits::SHOW_EXECUTING_AFTER_MS);
            let lasts = attempt.began().is_some_and(|began| now.saturating_sub(began) >= shown_after);
            if lasts && attempt.is_running() && !attempt.is_start_written() {
                to_mark.push(attempt.clone());
            }
            output.extend(attempt.output.take());
        }
        if !to_mark.is_empty() {
            core.show_executing(&to_mark).await;
        }
        if !output.is_empty() {
            core.write_output(output).await;
        }
    }
}

impl Core {
    async fn show_executing(&self, attempts: &[Arc<LiveAttempt>]) {
        let rows = attempts.iter().map(|attempt| started(attempt)).collect();
        let held = match self.store.mark_started(rows).await {
            Ok(held) => held,
            Err(error) => return tracing::debug!(%error, "EXECUTING is not shown yet"),
        };
        for (attempt, held) in attempts.iter().zip(held) {
            attempt.start_written.store(true, Ordering::Release);
            // Refused and still running: somebody else has the job.
            if !held
                && attempt
                    .revoke(Ended::Cancelled { by: "a newer claim of the job".to_owned() }, self.clock.monotonic())
            {
                tracing::warn!(attempt = %attempt.id(), "the fence is gone: the body is stopped");
            }
        }
    }
}
