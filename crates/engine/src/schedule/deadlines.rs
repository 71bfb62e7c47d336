//! Fired jobs that have not begun within their task's start deadline are skipped, wherever they wait: in the store, or in
//! this node's memory behind full slots or a paused pool.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::{JobStatus, Task, Timestamp};
use mainspring_store::{Claim, Expiry, JobEnd};

use crate::core::{Core, Count};
use crate::execute;

impl Core {
    pub(super) async fn expire_overdue(self: &Arc<Core>, now: Timestamp) {
        let with_deadline = self.tasks.with_deadline();
        if with_deadline.is_empty() {
            return;
        }
        for pool in self.pools.all() {
            for claim in pool.take_where(|claim| self.is_overdue(claim, now)) {
                execute::expire(self, &pool, claim);
            }
        }
        let expiries = with_deadline.iter().filter_map(|task| expiry(task, now)).collect::<Vec<_>>();
        match self.insist(Duration::from_secs(2), || self.store.expire(expiries.clone(), now)).await {
            Ok(expired) => {
                self.counts.add(Count::FiresSkipped, expired.len() as u64);
                for id in &expired {
                    self.waiters.tell(*id, || JobEnd { status: JobStatus::Skipped, result: None, error: None });
                }
                if !expired.is_empty() {
                    tracing::info!(jobs = expired.len(), "fired jobs have waited past their start deadline");
                    self.pools.look_in_store();
                    self.claim_wake.notify_one();
                    for task in with_deadline.iter().filter(|task| task.definition.rests_after_end()) {
                        self.reload_task(&task.code).await;
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "start deadlines are looked at again in a moment"),
        }
    }

    fn is_overdue(&self, claim: &Claim, now: Timestamp) -> bool {
        self.tasks.get(&claim.task).is_some_and(|task| execute::waited_too_long(&task, claim, now).is_some())
    }
}

fn expiry(task: &Task, now: Timestamp) -> Option<Expiry> {
    let deadline_ms = i64::from(task.definition.start_deadline_seconds?) * 1_000;
    Some(Expiry { task: task.code.clone(), before: now.plus_ms(-deadline_ms) })
}
