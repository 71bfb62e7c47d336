//! The duty to the dead: every node looks, any one of them finds a lease that has run out.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::lease;

use crate::core::Core;

/// What a dead node held waits no longer than this for a look.
const LOOK_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn take_over(core: Arc<Core>) {
    loop {
        // Nodes that started together do not all look at once.
        // Leases of others may be shorter than its own.
        let every = lease::renew_every(core.node.about.lease).min(LOOK_MAX);
        let spread_ms = u64::try_from(every.as_millis() / 4).unwrap_or(0).max(1);
        core.clock.sleep(every - Duration::from_millis(core.dice() % spread_ms)).await;
        if core.node.is_fenced() {
            continue; // it must know of itself first
        }
        match core.store.take_over(core.clock.now()).await {
            Ok(over) if over.is_empty() => {}
            Ok(over) => {
                let (released, lost, dead, rerouted) = (over.released, over.lost, over.dead, over.rerouted);
                tracing::warn!(nodes = ?over.nodes, released, lost, dead, rerouted, "jobs of nodes that are gone were taken over");
                core.pools.look_in_store();
                core.claim_wake.notify_one();
            }
            Err(error) => tracing::debug!(%error, "dead nodes are looked for again in a moment"),
        }
    }
}
