//! Tells the store that this node lives.

use std::sync::Arc;
use std::time::Duration;

use crate::core::Core;

const EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn beat(core: Arc<Core>) {
    loop {
        core.clock.sleep(EVERY).await;
        match core.store.heartbeat(core.incarnation, core.clock.now()).await {
            Ok(true) => {}
            Ok(false) => tracing::error!("the store does not know this node any more: was its row removed by hand?"),
            Err(error) => tracing::warn!(%error, "the heartbeat was not written"),
        }
    }
}
