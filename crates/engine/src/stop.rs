//! A polite stop: nothing new is taken, bodies may end, the rest goes back, no attempt is burnt.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::broadcast::is_parent;
use mainspring_model::decide::Ended;
use mainspring_model::limits;
use mainspring_store::{GiveBack, Held};

use crate::core::Core;
use crate::view::StopReport;

/// For the last outcomes to be written.
const LAST_WRITES: Duration = Duration::from_secs(10);
/// How often the progress of a stop is looked at, besides the news of ended bodies.
const LOOK: Duration = Duration::from_millis(20);

impl Core {
    pub(crate) async fn stop(self: &Arc<Core>, limit: Duration) -> StopReport {
        let mut report = StopReport::default();
        self.begin_stop();
        if self.node.about.is_shared {
            self.tell_drain(self.node.me().incarnation).await;
        }
        let pools = self.pools.all();
        pools.iter().for_each(|pool| pool.close());
        report.given_back = self.give_back_unstarted().await;
        if !self.bodies_end_within(limit).await {
            report.given_up = self.give_up_bodies().await;
        }
        report.given_back += self.give_up_coordinators().await;
        self.own_nothing_more().await;
        // Bodies that ended meanwhile may have left work behind: a claim that was under way, their outcomes.
        report.given_back += self.give_back_unstarted().await;
        report.unwritten = self.write_last_outcomes().await;
        let leave = || self.store.leave(self.node.me().incarnation, self.clock.now());
        if let Err(error) = self.insist(LAST_WRITES, leave).await {
            tracing::warn!(%error, "the store was not told of the stop; others take the jobs over");
        }
        self.intake.close();
        self.quit.cancel();
        self.tracker.close();
        self.tracker.wait().await;
        report
    }

    /// Waits for submits and claims that are under way, so that their callers hear the truth and what they brought is
    /// given back; whoever comes later finds the node gone.
    async fn own_nothing_more(&self) {
        tokio::select! {
            biased;
            owning = self.owning.write() => {
                self.begin_to_leave();
                drop(owning);
            }
            () = self.clock.sleep(LAST_WRITES) => self.begin_to_leave(),
        }
    }

    pub(crate) async fn give_back_unstarted(&self) -> u64 {
        let claims = self.pools.all().into_iter().flat_map(|pool| pool.drain());
        let held: Vec<Held> = claims.map(|claim| claim.held()).collect();
        if held.is_empty() {
            return 0;
        }
        let jobs = held.len() as u64;
        self.give_back(held).await;
        jobs
    }

    pub(crate) async fn give_back(&self, held: Vec<Held>) {
        let give_back = || self.store.give_back(held.clone(), GiveBack::Release, self.clock.now());
        if let Err(error) = self.insist(LAST_WRITES, give_back).await {
            tracing::warn!(%error, "held jobs were not given back; others take them over");
        }
    }

    /// Without coordinators: what they wait for may take its time, and runs elsewhere.
    fn running_bodies(&self) -> u32 {
        let pools = self.pools.all();
        pools.iter().filter(|pool| !is_parent(&pool.name)).map(|pool| pool.load().running).sum()
    }

    /// Those whose last part has just ended here may say so. The others go on on any node, with the same parts.
    async fn give_up_coordinators(self: &Arc<Core>) -> u64 {
        let coordinators = || self.live.all().into_iter().filter(|attempt| is_parent(&attempt.claim.pool));
        let end = self.clock.monotonic() + Duration::from_millis(limits::COORDINATOR_LAST_WORDS_MS);
        while coordinators().next().is_some() && self.clock.monotonic() < end {
            self.wait_for_news().await;
        }
        let now = self.clock.monotonic();
        let given_up = coordinators().filter(|attempt| attempt.revoke(Ended::GivenUp, now)).count();
        self.watch_wake.notify_one();
        given_up as u64
    }

    async fn bodies_end_within(&self, limit: Duration) -> bool {
        let end = self.clock.monotonic().saturating_add(limit);
        while self.running_bodies() > 0 {
            if self.clock.monotonic() >= end {
                return false;
            }
            self.wait_for_news().await;
        }
        true
    }

    /// The limit has passed: bodies are asked to stop, dropped after their grace, and abandoned if that fails. Their
    /// jobs go back to the queue.
    async fn give_up_bodies(self: &Arc<Core>) -> u64 {
        let now = self.clock.monotonic();
        let bodies = self.live.all().into_iter().filter(|attempt| !is_parent(&attempt.claim.pool));
        let given_up = bodies.filter(|attempt| attempt.revoke(Ended::GivenUp, now)).count();
        self.watch_wake.notify_one();
        self.bodies_end_within(self.cancel_grace + Duration::from_secs(2)).await;
        given_up as u64
    }

    async fn write_last_outcomes(&self) -> u64 {
        let end = self.clock.monotonic() + LAST_WRITES;
        while !(self.live.is_empty() && self.intake.is_empty()) && self.clock.monotonic() < end {
            self.wait_for_news().await;
        }
        self.live.all().len() as u64
    }

    async fn wait_for_news(&self) {
        tokio::select! {
            biased;
            () = self.body_ended.notified() => {}
            () = self.clock.sleep(LOOK) => {}
        }
    }
}
