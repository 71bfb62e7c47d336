//! Renews the lease, on a thread that load cannot starve, and gives it up in time.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::NodeState;
use mainspring_model::lease::{self, Lease};
use mainspring_store::{Result as Answer, StoreError, Trouble};

use super::fence::Lost;
use crate::core::Core;

enum Renewal {
    Confirmed,
    Failed,
    /// Others have it, or will have it in a moment.
    Gone,
}

pub(crate) async fn keep_lease(core: Arc<Core>) {
    let mut failures = 0_u32;
    loop {
        let wake = core.node.lease_wake.notified();
        let lease = core.node.about.lease;
        let pause = match core.node.judge(core.clock.monotonic()) {
            Lease::Sound { renew_in } => renew_in,
            Lease::Fence => {
                core.come_back(Lost::Unconfirmed).await;
                failures = 0;
                continue;
            }
            Lease::RenewNow => match core.renew(failures).await {
                Renewal::Confirmed => {
                    failures = 0;
                    continue;
                }
                Renewal::Gone => {
                    core.come_back(Lost::Taken).await;
                    failures = 0;
                    continue;
                }
                Renewal::Failed => {
                    failures = failures.saturating_add(1);
                    lease::try_again_after(lease)
                }
            },
        };
        tokio::select! {
            biased;
            () = wake => {}
            () = core.clock.sleep(pause) => {}
        }
    }
}

impl Core {
    async fn renew(self: &Arc<Core>, failures: u32) -> Renewal {
        let (me, sent) = (self.node.me(), self.clock.monotonic());
        let about = &self.node.about;
        let beat = self.in_time(lease::try_limit(about.lease), self.store.heartbeat(me.incarnation, about.lease_ms()));
        match beat.await {
            Ok(beat) if beat.state == NodeState::Gone => Renewal::Gone,
            Ok(beat) => {
                self.node.confirmed(me, sent);
                self.node.heard(beat.news);
                if beat.state == NodeState::Draining {
                    self.begin_to_drain();
                }
                Renewal::Confirmed
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(%error, "the lease was not renewed; it is tried again until it ends");
                }
                Renewal::Failed
            }
        }
    }

    /// A call that hangs is given up; what became of it is unknown.
    pub(super) async fn in_time<T>(&self, limit: Duration, call: impl Future<Output = Answer<T>>) -> Answer<T> {
        tokio::select! {
            biased;
            answer = call => answer,
            () = self.clock.sleep(limit) => {
                let reason = format!("no answer within {limit:?}");
                Err(StoreError::Unknown { verb: "lease", kind: Trouble::Unavailable, reason })
            }
        }
    }
}
