//! 3 DISPATCH: due jobs get a slot. It hands out and never executes.
//!
//! Two loops, so that a slow store never delays a start: `start_due` watches the clock and the slots, `claim_ahead`
//! fetches what becomes due soon. Between them lies the bounded memory of the pools.

mod claim;
mod pools;
mod ready;
mod reserved;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use mainspring_model::{PoolName, Timestamp};
use mainspring_store::PoolSettings;

pub(crate) use claim::claim_ahead;
pub(crate) use pools::{Place, Pool, ZombieSlot};

use crate::core::Core;
use crate::execute;

/// The pools of this node, by name.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    by_name: RwLock<BTreeMap<PoolName, Arc<Pool>>>,
    /// There may be jobs in the reserved pools.
    broadcasts: AtomicBool,
}

impl Pools {
    pub(crate) fn get(&self, name: &PoolName) -> Option<Arc<Pool>> {
        self.by_name.read().expect("no panic while pools are held").get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Pool>> {
        self.by_name.read().expect("no panic while pools are held").values().cloned().collect()
    }

    /// Changes the pool, or makes it.
    pub(crate) fn put(&self, settings: PoolSettings) -> Arc<Pool> {
        let mut pools = self.by_name.write().expect("no panic while pools are held");
        let pool = pools.entry(settings.name.clone()).or_insert_with(|| Arc::new(Pool::new(settings.clone()))).clone();
        pool.change(settings);
        pool
    }

    /// The store may have more: the next claim asks. What is stored meanwhile waits for nobody.
    pub(crate) fn look_when_low(&self) {
        for pool in self.all() {
            pool.look_when_low();
        }
    }

    /// What the store holds is not known for certain: the next claim asks.
    pub(crate) fn look_in_store(&self) {
        for pool in self.all() {
            pool.store_has(Timestamp::default());
        }
    }
}

impl Core {
    /// Fills the free slots with due jobs, everywhere.
    pub(crate) fn kick_all(self: &Arc<Core>) {
        for pool in self.pools.all() {
            self.kick(&pool);
        }
    }

    pub(crate) fn kick(self: &Arc<Core>, pool: &Arc<Pool>) {
        let now = self.clock.now();
        while let Some(claim) = pool.take_slot(now) {
            execute::start(self, pool.clone(), claim);
        }
        if pool.next_held_due(now).is_some() {
            self.start_wake.notify_one();
        }
    }
}

/// Starts jobs on their instant.
pub(crate) async fn start_due(core: Arc<Core>) {
    loop {
        // Ask to be woken before looking, or a job that arrives in between is missed.
        let wake = core.start_wake.notified();
        let now = core.clock.now();
        let mut next: Option<Timestamp> = None;
        for pool in core.pools.all() {
            while let Some(claim) = pool.take_slot(now) {
                execute::start(&core, pool.clone(), claim);
            }
            next = [next, pool.next_held_due(now)].into_iter().flatten().min();
        }
        // A step of the wall clock is noticed within a second.
        let look_again = now.plus(Duration::from_secs(1));
        match next {
            None => wake.await,
            Some(due) => tokio::select! {
                biased;
                () = wake => {}
                () = core.clock.sleep_until(due.min(look_again)) => {}
            },
        }
    }
}
