//! The real engine over a real store, in a world that fails: calls are late, lost or refused, nodes stop dead, pause
//! and restart, the wall clock steps, bodies misbehave, people intervene, and schedules fire through all of it. One seed
//! decides everything, so a failing seed is a repeatable case.
//!
//! After every call of the store the ghost (what must be true, kept outside of the product) is compared with what the
//! store holds and answered: `steps` has a file per stage. `planted` breaks the store on purpose and proves that each
//! check sees what it is there for.
//!
//! **Invariant:** no threads, no time but tokio's paused one, no order of a hash map, no dice but the seed's: two runs
//! of a seed make the same trace, and their hashes are compared.

mod clients;
mod clock;
mod crons;
mod faulty_store;
mod ghost;
mod ghost_schedule;
mod handlers;
mod link;
mod nemesis;
mod node;
mod oracle;
mod people;
mod planners;
pub mod planted;
mod probes;
mod steps;
mod trace;
mod watched;
mod weather;
mod workload;
pub mod world;

pub use ghost::Violation;
pub use planted::Bug;
pub use world::{Options, Report, StoreKind, run};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One thread runs a world: a poisoned lock means that a check itself panicked, and that is shown elsewhere.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
