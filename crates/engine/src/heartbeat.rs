//! Tells the store that this node lives.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::NodeState;
use mainspring_model::decide::Ended;

use crate::core::{Core, Count};

pub(crate) const LEASE_MS: i64 = 15_000;
const EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn beat(core: Arc<Core>) {
    loop {
        core.clock.sleep(EVERY).await;
        match core.store.heartbeat(core.incarnation, LEASE_MS).await {
            Ok(beat) if beat.state == NodeState::Gone => return core.stop_for_good(),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the heartbeat was not written"),
        }
    }
}

impl Core {
    /// Somebody else has declared this node dead and taken its jobs over: nothing may begin or go on here. Whatever its
    /// bodies answer is refused by the fences.
    fn stop_for_good(&self) {
        tracing::error!("the store does not know this node any more: its jobs are others' now, and it stops working");
        self.counts.add(Count::Disowned, 1);
        self.begin_stop();
        self.begin_to_leave();
        self.pools.all().iter().for_each(|pool| pool.close());
        let now = self.clock.monotonic();
        for attempt in self.live.all() {
            attempt.revoke(Ended::GivenUp, now);
        }
    }
}
