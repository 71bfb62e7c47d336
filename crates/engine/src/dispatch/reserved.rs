//! Pools that no person made: that of broadcasts, and that of the parts which are meant for this node. Coordinators and
//! parts take no slot of people's pools, so a pool of one slot cannot wait for itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mainspring_model::{Incarnation, PoolName, limits};
use mainspring_store::{PoolRoom, PoolSettings, WhenFull};

use super::{Pool, Pools};
use crate::core::Core;

impl Pools {
    /// The node is known by this incarnation from now on. Bodies of an earlier one may still be on their way out: its pool
    /// takes nothing more, and is forgotten when it is empty.
    pub(crate) fn serve_node(&self, incarnation: Incarnation) {
        let own = PoolName::of_node(incarnation);
        let mut pools = self.by_name.write().expect("no panic while pools are held");
        let is_old = |name: &PoolName| name.is_reserved() && *name != own && *name != PoolName::of_broadcasts();
        pools.retain(|name, pool| !is_old(name) || !pool.load().is_idle());
        pools.iter().filter(|(name, _)| is_old(name)).for_each(|(_, pool)| pool.close());
        for (name, concurrency) in [(PoolName::of_broadcasts(), limits::BROADCASTS_MAX), (own, limits::NODE_PARTS_MAX)]
        {
            pools.entry(name.clone()).or_insert_with(|| Arc::new(Pool::new(settings(name, concurrency))));
        }
    }

    /// Jobs were met that only the reserved pools serve, whether or not there is a task to them.
    pub(crate) fn expect_broadcasts(&self) {
        self.broadcasts.store(true, Ordering::Release);
    }

    /// Those that people made.
    pub(crate) fn of_people(&self) -> Vec<Arc<Pool>> {
        self.all().into_iter().filter(|pool| !pool.name.is_reserved()).collect()
    }
}

impl Core {
    /// Pools that a claim asks for. Where there are no broadcasts, nobody pays for them.
    pub(super) fn asked_pools(&self) -> Vec<Arc<Pool>> {
        if self.pools.broadcasts.load(Ordering::Acquire) || self.tasks.has_met_broadcasts() {
            self.pools.all()
        } else {
            self.pools.of_people()
        }
    }

    pub(super) fn rooms(&self) -> Vec<PoolRoom> {
        if !self.takes_work() {
            return Vec::new();
        }
        let claim_until = self.claim_until(self.clock.now());
        let rooms = self.asked_pools().into_iter().filter_map(|pool| {
            let jobs_max = pool.reserve_for_claim(claim_until);
            (jobs_max > 0).then(|| PoolRoom { pool: pool.name.clone(), jobs_max })
        });
        rooms.collect()
    }
}

fn settings(name: PoolName, concurrency: u32) -> PoolSettings {
    PoolSettings {
        name,
        concurrency,
        queue_capacity: limits::BROADCAST_QUEUE,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: None,
        cluster_concurrency: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_serves_its_newest_incarnation_and_keeps_its_past_as_long_as_bodies_run() {
        let pools = Pools::default();
        let names = || pools.all().iter().map(|pool| pool.name.to_string()).collect::<Vec<_>>();
        pools.serve_node(Incarnation(1));
        assert_eq!(names(), ["@1", "@broadcast"]);
        let old = pools.get(&PoolName::of_node(Incarnation(1))).expect("served");
        old.add_slot();
        pools.serve_node(Incarnation(2));
        assert_eq!(names(), ["@1", "@2", "@broadcast"]);
        old.next_in_slot(mainspring_model::Timestamp::default());
        pools.serve_node(Incarnation(3));
        assert_eq!(names(), ["@3", "@broadcast"]);
        assert!(pools.of_people().is_empty());
    }
}
