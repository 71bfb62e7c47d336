//! A person wants this node to take no new work. It keeps its lease and ends what it has begun.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::{Incarnation, lease};

use crate::core::Core;
use crate::error::Error;

impl Core {
    /// Of this node. It goes on to answer, and to take submits for others.
    pub(crate) async fn drain(self: &Arc<Core>, by: &str) -> Result<(), Error> {
        let me = self.node.me();
        self.store.drain_node(me.incarnation, by.to_owned(), self.clock.now()).await?;
        self.begin_to_drain();
        Ok(())
    }

    pub(super) fn begin_to_drain(self: &Arc<Core>) {
        if !self.node.begin_to_drain() {
            return;
        }
        tracing::info!("this node takes no new work: it ends what it has begun");
        let core = self.clone();
        self.spawn_once(async move {
            // Exclusive: what a claim under way brings is given back with the rest.
            drop(core.owning.write().await);
            core.give_back_unstarted().await;
        });
    }

    /// So that others see it. Worth one try: the node behaves so all the same.
    pub(crate) async fn tell_drain(&self, incarnation: Incarnation) {
        let limit = lease::try_limit(self.node.about.lease).min(Duration::from_secs(1));
        let told = self.store.drain_node(incarnation, "the node itself".to_owned(), self.clock.now());
        if let Err(error) = self.in_time(limit, told).await {
            tracing::debug!(%error, "others do not see that this node drains");
        }
    }
}
