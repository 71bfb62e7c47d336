//! Fetches jobs a little before they are due, in portions, for the pools that have room.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mainspring_model::{Task, TaskCode, Timestamp};
use mainspring_store::{Claim, ClaimRequest, Claimed, GiveBack, Held, PoolRoom, StoreError};

use crate::core::Core;

pub(crate) async fn claim_ahead(core: Arc<Core>) {
    let mut failures = 0_u32;
    loop {
        let wake = core.claim_wake.notified();
        tokio::pin!(wake);
        wake.as_mut().enable();
        let rooms = core.rooms();
        let pause = if rooms.is_empty() {
            core.until_next_claim()
        } else {
            match core.claim_once(rooms).await {
                Ok(()) => {
                    failures = 0;
                    continue;
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    if failures == 1 {
                        tracing::warn!(%error, "claiming failed; jobs wait in the store");
                    }
                    // A failed claim is retried at the pace of the poll, not in a tight loop.
                    Duration::from_millis(50 << failures.min(4))
                }
            }
        };
        tokio::select! {
            biased;
            () = wake => {}
            () = core.clock.sleep(pause) => core.pools.look_when_low(),
        }
    }
}

impl Core {
    /// Until the first job in the store comes within reach; at most the poll, the safety net.
    fn until_next_claim(&self) -> Duration {
        let reach = self.claim_until(self.clock.now());
        let dues = self.asked_pools().into_iter().filter_map(|pool| pool.store_due());
        let ahead = dues.filter(|due| *due > reach).map(|due| due.until(reach)).min();
        ahead.unwrap_or(self.claim_poll).min(self.claim_poll)
    }

    async fn claim_once(self: &Arc<Core>, rooms: Vec<PoolRoom>) -> Result<(), StoreError> {
        let owning = self.owning.read().await;
        if self.has_left() {
            return Ok(()); // the loop ends with the engine
        }
        let now = self.clock.now();
        let request = ClaimRequest {
            owner: self.node.me().incarnation,
            now,
            due_until: self.claim_until(now),
            rooms: rooms.clone(),
            excluded: self.excluded(),
        };
        let claimed = self.store.claim(request).await;
        match claimed {
            Ok(mut claimed) => {
                // Judged once: a task that changes in between must not let a job fall between two stools.
                let (known, others) =
                    std::mem::take(&mut claimed.jobs).into_iter().partition(|claim| self.can_run(&claim.task));
                claimed.jobs = known;
                self.place_claimed(&rooms, Some(&claimed));
                drop(owning);
                self.kick_all();
                self.leave_to_others(others).await;
                Ok(())
            }
            Err(error) => {
                self.place_claimed(&rooms, None);
                drop(owning);
                if matches!(error, StoreError::Unknown { .. }) {
                    self.give_back_unknown().await;
                }
                Err(error)
            }
        }
    }

    /// Into memory, while the caller still holds `owning`.
    fn place_claimed(&self, rooms: &[PoolRoom], claimed: Option<&Claimed>) {
        for room in rooms {
            let Some(pool) = self.pools.get(&room.pool) else { continue };
            let Some(claimed) = claimed else {
                pool.cancel_place(room.jobs_max);
                pool.store_has(Timestamp::default());
                continue;
            };
            let mine = |claim: &&Claim| claim.pool == room.pool;
            pool.hold(claimed.jobs.iter().filter(mine).cloned(), room.jobs_max);
            let next = claimed.next_due.iter().find(|(name, _)| *name == room.pool).and_then(|(_, due)| *due);
            pool.store_next(next);
        }
    }

    pub(crate) fn can_run(&self, code: &TaskCode) -> bool {
        self.tasks.get(code).is_some_and(|task| self.suits(&task.definition))
    }

    /// Tasks whose jobs this node leaves to others.
    fn excluded(&self) -> Vec<TaskCode> {
        self.tasks.excluded(|task| !self.suits(&task.definition))
    }

    /// Jobs of tasks that this node did not know, or not as they are now. They are neither failed nor delayed here: they
    /// go back, and are not asked for again.
    async fn leave_to_others(self: &Arc<Core>, claims: Vec<Claim>) {
        if claims.is_empty() {
            return;
        }
        let tasks: BTreeSet<TaskCode> = claims.iter().map(|claim| claim.task.clone()).collect();
        tracing::debug!(jobs = claims.len(), ?tasks, "jobs of tasks that this node cannot run go back");
        for code in tasks {
            self.tasks.exclude_stranger(&code);
            self.reload_soon(&code);
        }
        self.give_back(claims.iter().map(Claim::held).collect()).await;
    }

    /// Earlier versions let jobs rest for want of a handler: they go on, where this node has it.
    pub(crate) async fn unpark_known(&self, tasks: &[Arc<Task>]) -> Result<(), StoreError> {
        let known = tasks.iter().filter(|task| self.registry.knows(&task.definition.handler));
        let codes: Vec<TaskCode> = known.map(|task| task.code.clone()).collect();
        let freed = if codes.is_empty() { 0 } else { self.store.unpark(codes).await? };
        if freed > 0 {
            tracing::info!(jobs = freed, "jobs that waited for a handler go on");
            self.pools.look_in_store();
            self.claim_wake.notify_one();
        }
        Ok(())
    }

    /// The same for those who cannot wait: after a submit or a fire with an unknown outcome.
    pub(crate) fn give_back_unknown_soon(self: &Arc<Core>) {
        let core = self.clone();
        self.spawn_once(async move {
            core.give_back_unknown().await;
            core.pools.look_in_store();
            core.claim_wake.notify_one();
        });
    }

    /// After a claim with an unknown outcome this node may own jobs that are not in its memory.
    pub(crate) async fn give_back_unknown(self: &Arc<Core>) {
        // Exclusive: nothing is on its way into memory.
        let owning = self.owning.write().await;
        let held = self.insist(Duration::MAX, || self.store.held(self.node.me().incarnation)).await.unwrap_or_default();
        let pools = self.pools.all();
        // In this order: a job leaves its pool only when it is among the live ones.
        let known = |held: &Held| pools.iter().any(|pool| pool.holds(held)) || self.live.contains(held);
        let lost: Vec<Held> = held.into_iter().filter(|held| !known(held)).collect();
        if !lost.is_empty() {
            let give_back = || self.store.give_back(lost.clone(), GiveBack::Release, self.clock.now());
            let _ = self.insist(Duration::MAX, give_back).await;
        }
        drop(owning);
    }
}
