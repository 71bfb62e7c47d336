//! A node that has lost its lease, or cannot confirm it, stops what it runs, and comes back as a new incarnation as soon
//! as the store answers.
//!
//! Outcomes of bodies that had ended before carry the old owner: they count as long as nobody has taken over, so they are
//! given a moment to be written before the node joins again (which takes over from its own past).

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::decide::Ended;
use mainspring_model::{Incarnation, lease, limits};
use mainspring_store::{GiveBack, Joined, Replaces, StoreError};

use super::Me;
use crate::core::{Core, Count};

/// Why a lease is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// No renewal was confirmed in time.
    Unconfirmed,
    /// Another node has declared this one gone.
    Taken,
}

/// How often it is looked whether the last outcomes are written.
const LOOK: Duration = Duration::from_millis(20);

impl Core {
    /// Until the node is a member again. A node that stops does not join again: it ends with what it can still write.
    pub(super) async fn come_back(self: &Arc<Core>, lost: Lost) {
        self.fence(lost);
        let old = self.node.me();
        self.until_store_answers(old).await;
        self.last_words().await;
        if self.is_stopping() {
            return self.quit.cancelled().await;
        }
        let (incarnation, joined, sent) = self.join_again(old).await;
        self.node.become_new(incarnation, &joined, sent);
        self.pools.serve_node(incarnation);
        tracing::info!(%incarnation, number = joined.node_number, taken_over = ?joined.taken_over, "the node is back");
        // Claims of the old incarnation that came in since are not begun.
        self.forget_unstarted();
        if self.node.is_draining() {
            self.tell_drain(incarnation).await;
        }
        self.wake_all();
    }

    /// Nothing begins any more, what is held is dropped, what runs must be out before the lease ends.
    fn fence(&self, lost: Lost) {
        if self.node.fence() {
            self.counts.add(Count::LeasesLost, 1);
            tracing::error!(
                ?lost,
                "the lease of this node is lost: its bodies are stopped, others may take its jobs over"
            );
        }
        let (now, grace) = (self.clock.monotonic(), lease::body_grace(self.node.about.lease));
        for attempt in self.live.all() {
            attempt.revoke(Ended::GivenUp, now);
            attempt.hurry(grace);
        }
        self.forget_unstarted();
        self.watch_wake.notify_one();
    }

    fn forget_unstarted(&self) {
        let me = self.node.me();
        let is_stale = |owner: Incarnation| owner != me.incarnation || self.node.is_fenced();
        for pool in self.pools.all() {
            self.node.keep_dropped(pool.take_where(|claim| is_stale(claim.owner)).iter().map(|claim| claim.held()));
        }
    }

    async fn until_store_answers(&self, old: Me) {
        let about = &self.node.about;
        let limit = lease::try_limit(about.lease);
        while self.in_time(limit, self.store.heartbeat(old.incarnation, about.lease_ms())).await.is_err() {
            self.clock.sleep(lease::try_again_after(about.lease)).await;
        }
    }

    /// Bounded: whoever waits for this node's jobs waits no longer than for a dead one.
    async fn last_words(self: &Arc<Core>) {
        let end = self.clock.monotonic() + Duration::from_millis(limits::LAST_WORDS_MS);
        let dropped = self.node.take_dropped();
        if !dropped.is_empty() {
            let give_back = self.store.give_back(dropped, GiveBack::Release, self.clock.now());
            if let Err(error) = self.in_time(Duration::from_millis(limits::LAST_WORDS_MS), give_back).await {
                tracing::debug!(%error, "what was held is taken over instead of given back");
            }
        }
        while !self.live.is_empty() && self.clock.monotonic() < end {
            self.clock.sleep(LOOK).await;
        }
    }

    async fn join_again(&self, old: Me) -> (Incarnation, Joined, Duration) {
        let about = &self.node.about;
        let mut incarnation = self.new_incarnation();
        let mut failures = 0_u32;
        loop {
            let sent = self.clock.monotonic();
            let new = about.as_new(incarnation, Replaces::Own(old.incarnation));
            // Longer than a renewal: it takes over.
            match self.in_time(about.lease / 2, self.store.join(new, self.clock.now())).await {
                Ok(joined) => return (incarnation, joined, sent),
                Err(error) => {
                    failures = failures.saturating_add(1);
                    if failures == 1 {
                        tracing::warn!(%error, "joining again failed; it is tried until the store answers");
                    }
                    if matches!(error, StoreError::NotApplied { .. }) {
                        // It may have joined by a try without an answer, and be gone since.
                        incarnation = self.new_incarnation();
                    }
                }
            }
            self.clock.sleep(lease::try_again_after(about.lease)).await;
        }
    }

    /// Whoever rests looks again.
    fn wake_all(&self) {
        self.pools.look_in_store();
        self.claim_wake.notify_one();
        self.schedule_wake.notify_one();
        self.start_wake.notify_one();
        self.node.follow_wake.notify_one();
    }
}
