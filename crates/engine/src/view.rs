//! What the engine shows of itself.

use mainspring_model::{Timestamp, wait_reason::PoolFacts};
use mainspring_store::{LiveCount, PoolSettings};

/// A pool as it is now, on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolView {
    pub settings: PoolSettings,
    /// Bodies that hold a slot.
    pub running: u32,
    /// Claimed by this node and waiting for a slot or their instant.
    pub held: u32,
    /// Bodies that ignored their cancellation; each was replaced by a fresh slot.
    pub zombies: u32,
    /// Waiting in the store, counted up to a bound.
    pub queued: LiveCount,
    pub oldest_due: Option<Timestamp>,
}

impl PoolView {
    pub fn facts(&self) -> PoolFacts {
        let free_slots = self.settings.concurrency.saturating_sub(self.running);
        PoolFacts { paused: self.settings.paused, free_slots }
    }
}

/// Numbers since the start of this node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub submitted: u64,
    pub duplicates: u64,
    pub started: u64,
    pub settled: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub retried: u64,
    pub timed_out: u64,
    pub panicked: u64,
    /// Results that came after their fence was gone.
    pub discarded: u64,
    pub zombies_now: u64,
    pub zombies_ever: u64,
    pub store_errors: u64,
}

/// Is the node able to work?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub ready: bool,
    /// `ok`, or what is wrong: one line each.
    pub problems: Vec<String>,
    pub stopping: bool,
    pub totals: Totals,
}

/// How a stop went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StopReport {
    /// Claimed jobs that went back to the queue, no attempt burnt.
    pub given_back: u64,
    /// Bodies that ran on past the limit and were given up.
    pub given_up: u64,
    /// Outcomes that could not be written; their jobs run again.
    pub unwritten: u64,
}
