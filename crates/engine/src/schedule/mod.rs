//! Schedules: a fire is a submit with a key of its own. At the instant one transaction writes the jobs of all tasks that
//! are due and their next fire times; nothing about a fire lives only in memory, so a crash loses and doubles nothing.
//!
//! Any node may fire, there is no leader: the transaction is guarded by all that was seen of the task, so an edit or a
//! pause by a person is never undone by it.

mod backfill;
mod calendars;
mod clock_watch;
mod deadlines;
mod fire;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_model::{Timestamp, limits};

pub use backfill::{Act, Backfilled};

use crate::core::Core;
use crate::tasks::From;
use clock_watch::{Back, ClockWatch};
use fire::Race;

/// Fires what is due, and watches the wall clock while it waits.
pub(crate) async fn fire_due(core: Arc<Core>) {
    let mut watch = ClockWatch::new(core.clock.as_ref());
    let mut failures = 0_u32;
    let mut from = From::TheLongestDue;
    let mut last_look = core.clock.monotonic();
    let mut last_deadlines = last_look;
    loop {
        // Ask to be woken before looking, or a change that arrives in between is missed.
        let wake = core.schedule_wake.notified();
        tokio::pin!(wake);
        wake.as_mut().enable();
        let is_far_back = watch.look(core.clock.as_ref()) == Back::Far;
        if is_far_back {
            core.judge_rates_anew().await;
        }
        if core.must_plan_again.swap(false, Ordering::AcqRel) || is_far_back {
            core.plan_all_again().await;
        }
        if core.clock.monotonic().saturating_sub(last_look) >= Duration::from_millis(limits::MISSED_ENDS_LOOK_MS) {
            last_look = core.clock.monotonic();
            core.look_for_missed_ends().await;
        }
        if core.clock.monotonic().saturating_sub(last_deadlines) >= Duration::from_millis(limits::SCHEDULE_LOOK_MS) {
            last_deadlines = core.clock.monotonic();
            core.expire_overdue(core.clock.now()).await;
        }
        let planning = core.planning.lock().await;
        let now = core.clock.now();
        let due = if core.takes_work() { core.tasks.due(now, limits::FIRE_TASKS_MAX, from) } else { Vec::new() };
        let pause = if due.is_empty() {
            core.until_next_fire(now)
        } else {
            match core.fire(due, now).await {
                Ok(race) => {
                    failures = 0;
                    // Whoever was late goes on somewhere else: nodes share what is due without agreeing on it.
                    from = if race == Race::Lost { From::Anywhere(core.dice()) } else { From::TheLongestDue };
                    continue;
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    if failures == 1 {
                        tracing::warn!(%error, "firing failed; what is due fires when the store answers");
                    }
                    Duration::from_millis(50 << failures.min(4))
                }
            }
        };
        drop(planning);
        let until = now.plus(pause);
        tokio::select! {
            biased;
            () = wake => {}
            () = core.clock.sleep_until(until) => {}
        }
    }
}

impl Core {
    /// At most one look: a step of the wall clock is noticed soon. A node that stops leaves what is due to the next one.
    fn until_next_fire(&self, now: Timestamp) -> Duration {
        let look = Duration::from_millis(limits::SCHEDULE_LOOK_MS);
        let next = self.tasks.next_due().filter(|_| self.takes_work());
        next.map_or(look, |next| next.until(now).min(look))
    }

    /// Rates open by the clock that was: whoever waits for one asks again.
    pub(crate) async fn judge_rates_anew(&self) {
        if let Err(error) = self.insist(Duration::from_secs(10), || self.store.judge_rates_anew()).await {
            tracing::error!(%error, "jobs that wait for a rate may wait until the clock has caught up");
        }
        self.pools.look_in_store();
        self.claim_wake.notify_one();
    }

    /// The end of a job plans the next fire of a fixed delay, in the store. This node may not have heard of it: an answer
    /// was lost, or a read failed, or came late.
    async fn look_for_missed_ends(&self) {
        for code in self.tasks.waiting_for_an_end() {
            self.reload_task(&code).await;
        }
    }
}
