//! Compares what the store says that this node holds with what the node remembers. They part when another node deprives
//! this one of a job (a cancellation, a replacement, a take-over), and when an answer was lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mainspring_model::decide::Ended;
use mainspring_model::limits;
use mainspring_store::{Held, StoreError};

use crate::core::Core;

pub(crate) async fn reconcile(core: Arc<Core>) {
    let mut strange = BTreeSet::new();
    let mut compared_at = core.clock.monotonic();
    loop {
        let wake = core.node.reconcile_wake.notified();
        tokio::select! {
            biased;
            () = wake => {}
            () = core.clock.sleep(Duration::from_millis(limits::NEWS_LOOK_MS)) => {
                let since = core.clock.monotonic().saturating_sub(compared_at);
                if strange.is_empty() && !core.anything_lasts() && since < Duration::from_millis(limits::RECOUNT_MS) {
                    continue;
                }
            }
        }
        match core.compare_held(&strange).await {
            Ok(still) => (strange, compared_at) = (still, core.clock.monotonic()),
            Err(error) => tracing::debug!(%error, "what this node holds is compared again in a moment"),
        }
        core.clock.sleep(Duration::from_millis(limits::NEWS_PAUSE_MS)).await;
    }
}

impl Core {
    /// A short job ends before anybody could be told.
    fn anything_lasts(&self) -> bool {
        let now = self.clock.monotonic();
        let lasts = Duration::from_millis(limits::NEWS_LOOK_MS);
        self.live.all().iter().any(|attempt| now.saturating_sub(attempt.started_at) >= lasts)
    }

    /// The rows of this node that memory does not know. One of them may be on its way into memory, or out of the store: it
    /// is given back when it is met twice.
    async fn compare_held(self: &Arc<Core>, strange: &BTreeSet<Held>) -> Result<BTreeSet<Held>, StoreError> {
        let me = self.node.me();
        if self.node.is_fenced() {
            return Ok(BTreeSet::new());
        }
        // In this order: what is in memory before the store is asked was committed before.
        let remembered = self.remembered();
        let rows: BTreeSet<Held> = self.store.held(me.incarnation).await?.into_iter().collect();
        for held in remembered.iter().filter(|held| held.owner == me.incarnation && !rows.contains(held)) {
            self.deprived_of(held);
        }
        let now_known = self.remembered();
        let unknown: BTreeSet<Held> =
            rows.into_iter().filter(|held| !now_known.contains(held) && !remembered.contains(held)).collect();
        if unknown.iter().any(|held| strange.contains(held)) {
            self.give_back_unknown().await;
            return Ok(BTreeSet::new());
        }
        Ok(unknown)
    }

    /// In this order: a job leaves its pool only when it is among the live ones.
    fn remembered(&self) -> BTreeSet<Held> {
        let mut held = BTreeSet::new();
        for pool in self.pools.all() {
            pool.add_held(&mut held);
        }
        held.extend(self.live.all().iter().map(|attempt| attempt.held()));
        held
    }

    /// Nothing happens to an attempt that has ended: its outcome was written meanwhile.
    fn deprived_of(&self, held: &Held) {
        let by = "another node";
        for pool in self.pools.all() {
            pool.take_out(held.id, held.fence.next(), by);
        }
        for attempt in self.live.of_job(held.id, held.fence.next()) {
            if attempt.revoke(Ended::Cancelled { by: by.to_owned() }, self.clock.monotonic()) {
                tracing::info!(attempt = %attempt.id(), "the job was taken from this node: its body is stopped");
                self.watch_wake.notify_one();
            }
        }
    }
}
