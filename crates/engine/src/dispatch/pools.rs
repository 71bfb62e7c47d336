//! A pool on this node: its slots, and the jobs it holds in memory.
//!
//! **Invariant:** `running` ≤ concurrency after every start; a lower limit takes effect as bodies end.
//! **Invariant:** held + reserved ≤ queue capacity, and an eighth and one more for urgent jobs, whatever comes from
//! submits and claims at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use mainspring_model::{Fence, JobId, PoolName, Priority, Timestamp, limits};
use mainspring_store::{Claim, Held, PoolSettings, WhenFull};

use super::ready::Ready;
use crate::locked;

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) name: PoolName,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    settings: PoolSettings,
    ready: Ready,
    /// Taken from `ready` and not yet among the live attempts: on their way into a slot, or waiting for their turn.
    /// Set when a person ended the job meanwhile, with that person's name.
    starting: BTreeMap<Held, Option<String>>,
    /// Places promised to jobs whose insert or claim is on its way.
    reserved: u32,
    running: u32,
    /// Jobs that have their turn after a crash and wait for a slot: the next free ones are theirs.
    awaited: u32,
    zombies: u32,
    /// When the first job that this node has not claimed is due, as far as it knows.
    store_due: Option<Timestamp>,
    /// The earliest job left in the store since the last claim began: its answer may not know of it.
    store_news: Option<Timestamp>,
    /// Somebody says that the store may have more.
    hinted: bool,
    /// The node takes no more work.
    closed: bool,
}

/// May a fresh job be claimed by its own insert?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Yes, a place is reserved.
    Reserved,
    /// No: it goes to the store and is fetched in its turn.
    InStore,
    /// No, and the pool's policy says what happens to the submitter.
    Full(WhenFull),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZombieSlot {
    Replaced,
    Kept,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) running: u32,
    pub(crate) held: u32,
    pub(crate) zombies: u32,
}

impl Load {
    pub(crate) fn is_idle(&self) -> bool {
        *self == Load::default()
    }
}

impl Pool {
    pub(crate) fn new(settings: PoolSettings) -> Pool {
        let state = State {
            ready: Ready::default(),
            starting: BTreeMap::new(),
            reserved: 0,
            running: 0,
            awaited: 0,
            zombies: 0,
            store_due: Some(Timestamp::default()), // unknown: the first claim tells
            store_news: None,
            hinted: false,
            closed: false,
            settings: settings.clone(),
        };
        Pool { name: settings.name, state: Mutex::new(state) }
    }

    pub(crate) fn settings(&self) -> PoolSettings {
        locked(&self.state).settings.clone()
    }

    pub(crate) fn change(&self, settings: PoolSettings) {
        locked(&self.state).settings = settings;
    }

    pub(crate) fn load(&self) -> Load {
        let state = locked(&self.state);
        Load { running: state.running, held: state.held(), zombies: state.zombies }
    }

    // ---- places in memory ----

    /// For a fresh job. It never overtakes the backlog of its pool that waits in the store, unless it is urgent: that
    /// goes first anyway, and has a few places more, so that a full memory does not hold it up.
    pub(crate) fn place_for(&self, due: Timestamp, priority: Priority, claim_until: Timestamp) -> Place {
        let mut state = locked(&self.state);
        if due > claim_until {
            return Place::InStore;
        }
        let is_urgent = priority < Priority::Normal;
        let capacity = state.settings.queue_capacity;
        let places = if is_urgent { capacity.saturating_add(limits::urgent_places(capacity)) } else { capacity };
        let full = state.held() + state.reserved >= places;
        // Limits that hold on all nodes are counted in the store, by its claims.
        let is_counted = state.settings.rate_limit.is_some() || state.settings.cluster_concurrency.is_some();
        match state.settings.when_full {
            WhenFull::CallerRuns if is_counted => {}
            WhenFull::Spill => {}
            policy if full => return Place::Full(policy),
            _ => {}
        }
        let backlog_first = !is_urgent && state.store_due.is_some_and(|first| first <= due);
        if full || backlog_first || is_counted || state.closed {
            return Place::InStore;
        }
        state.reserved += 1;
        Place::Reserved
    }

    /// The reservation of a job that was not stored, or not claimed, after all.
    pub(crate) fn cancel_place(&self, places: u32) {
        let mut state = locked(&self.state);
        state.reserved = state.reserved.saturating_sub(places);
    }

    /// How many jobs a claim may bring now; they are reserved. Claims come in useful portions: a nearly full queue
    /// is not topped up job by job.
    pub(crate) fn reserve_for_claim(&self, claim_until: Timestamp) -> u32 {
        let mut state = locked(&self.state);
        let due_in_store = state.store_due.is_some_and(|due| due <= claim_until);
        if state.closed || !(due_in_store || state.hinted) || !state.is_low() {
            return 0;
        }
        state.hinted = false;
        let free = state.settings.queue_capacity.saturating_sub(state.held() + state.reserved);
        let places = free.min(limits::CLAIM_JOBS_MAX);
        state.reserved += places;
        state.store_news = None;
        places
    }

    /// Claimed jobs arrive in their places; places that stay empty are free again.
    pub(crate) fn hold(&self, claims: impl IntoIterator<Item = Claim>, places: u32) {
        let mut state = locked(&self.state);
        state.reserved = state.reserved.saturating_sub(places);
        for claim in claims {
            state.ready.push(claim);
        }
    }

    // ---- the store's part ----

    pub(crate) fn look_when_low(&self) {
        locked(&self.state).hinted = true;
    }

    /// A job of this pool was left in the store.
    pub(crate) fn store_has(&self, due: Timestamp) {
        let earlier = |known: Option<Timestamp>| Some(known.map_or(due, |known| known.min(due)));
        let mut state = locked(&self.state);
        state.store_due = earlier(state.store_due);
        state.store_news = earlier(state.store_news);
    }

    /// What a claim found to be the next one.
    pub(crate) fn store_next(&self, next: Option<Timestamp>) {
        let mut state = locked(&self.state);
        let news = state.store_news.take();
        state.store_due = [next, news].into_iter().flatten().min();
    }

    pub(crate) fn store_due(&self) -> Option<Timestamp> {
        locked(&self.state).store_due
    }

    // ---- slots ----

    /// A due job and a slot for it, if there are both.
    pub(crate) fn take_slot(&self, now: Timestamp) -> Option<Claim> {
        let mut state = locked(&self.state);
        if state.settings.paused || state.closed || state.running + state.awaited >= state.settings.concurrency {
            return None;
        }
        let claim = state.pop(now)?;
        state.running += 1;
        Some(claim)
    }

    /// A body has ended: its slot goes to the next due job, or is freed. Also says whether memory runs low while the
    /// store has more.
    pub(crate) fn next_in_slot(&self, now: Timestamp) -> (Option<Claim>, bool) {
        let mut state = locked(&self.state);
        let keeps =
            !state.settings.paused && !state.closed && state.running + state.awaited <= state.settings.concurrency;
        let next = if keeps { state.pop(now) } else { None };
        if next.is_none() {
            state.running = state.running.saturating_sub(1);
        }
        let wants_more = state.is_low() && state.store_due.is_some_and(|due| due <= now);
        (next, wants_more)
    }

    /// A job that its submitter runs takes a slot beyond the limit: the submitter is the slot.
    pub(crate) fn add_slot(&self) {
        locked(&self.state).running += 1;
    }

    pub(crate) fn await_slot(&self) {
        locked(&self.state).awaited += 1;
    }

    /// `at_once`: a stop does not wait for slots, its bodies do not begin.
    pub(crate) fn take_awaited_slot(&self, at_once: bool) -> bool {
        let mut state = locked(&self.state);
        let is_free = !state.settings.paused && state.running < state.settings.concurrency;
        if is_free || at_once {
            state.running += 1;
            state.awaited = state.awaited.saturating_sub(1);
        }
        is_free || at_once
    }

    /// The job is among the live attempts, or will not be. The name of whoever has ended it since it left the queue.
    pub(crate) fn has_started(&self, held: &Held) -> Option<String> {
        locked(&self.state).starting.remove(held).flatten()
    }

    /// A body ignores its cancellation. Its slot is replaced, as long as there are few of them: past the limit they
    /// keep their slots, or a handler that never ends would take one thread after the other.
    pub(crate) fn slot_became_zombie(&self) -> ZombieSlot {
        let mut state = locked(&self.state);
        state.zombies += 1;
        if state.zombies > limits::ZOMBIES_MAX as u32 {
            return ZombieSlot::Kept;
        }
        state.running = state.running.saturating_sub(1);
        ZombieSlot::Replaced
    }

    pub(crate) fn zombie_ended(&self) {
        let mut state = locked(&self.state);
        state.zombies = state.zombies.saturating_sub(1);
    }

    /// When the next held job becomes due. One that is due already waits for a slot, not for its time: counting it
    /// would turn whoever sleeps until then into a busy loop while all slots are taken.
    pub(crate) fn next_held_due(&self, now: Timestamp) -> Option<Timestamp> {
        locked(&self.state).ready.next_due(now)
    }

    /// Held jobs that wait for their slot and shall not any longer.
    pub(crate) fn take_where(&self, is_wanted: impl Fn(&Claim) -> bool) -> Vec<Claim> {
        let mut state = locked(&self.state);
        state.ready.take_where(is_wanted)
    }

    /// A person has ended or moved the job: it does not start from this memory.
    pub(crate) fn take_out(&self, id: JobId, before: Fence, by: &str) {
        let mut state = locked(&self.state);
        if state.ready.remove(id, before).is_none() {
            let (from, to) = Held::before(id, before);
            state.starting.range_mut(from..to).for_each(|(_, ended_by)| *ended_by = Some(by.to_owned()));
        }
    }

    pub(crate) fn holds(&self, held: &Held) -> bool {
        let state = locked(&self.state);
        state.starting.contains_key(held) || state.ready.holds(held)
    }

    /// Held and not among the live attempts.
    pub(crate) fn add_held(&self, held: &mut BTreeSet<Held>) {
        let state = locked(&self.state);
        held.extend(state.ready.all().map(|claim| claim.held()));
        held.extend(state.starting.keys());
    }

    /// All that is held and has not started: a stop gives it back.
    pub(crate) fn drain(&self) -> Vec<Claim> {
        locked(&self.state).ready.drain()
    }

    /// No more work from here on.
    pub(crate) fn close(&self) {
        locked(&self.state).closed = true;
    }
}

impl State {
    fn pop(&mut self, now: Timestamp) -> Option<Claim> {
        self.ready.pop(now).inspect(|claim| drop(self.starting.insert(claim.held(), None)))
    }

    /// Half empty: a claim now brings a useful portion.
    fn is_low(&self) -> bool {
        self.held() + self.reserved <= self.settings.queue_capacity / 2
    }

    /// Those that wait for their turn without a slot are held too.
    fn held(&self) -> u32 {
        u32::try_from(self.ready.len() + self.starting.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{claim, pool_settings};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn pool(concurrency: u32, capacity: u32, when_full: WhenFull) -> Pool {
        let pool = Pool::new(PoolSettings { when_full, ..pool_settings("p", concurrency, capacity) });
        pool.store_next(None);
        pool
    }

    #[test]
    fn places_are_bounded_and_a_full_pool_follows_its_policy() {
        let check = |when_full, expect| {
            let pool = pool(1, 2, when_full);
            assert_eq!(pool.place_for(at(5), Priority::Normal, at(10)), Place::Reserved);
            assert_eq!(pool.place_for(at(5), Priority::Normal, at(10)), Place::Reserved);
            assert_eq!(pool.place_for(at(5), Priority::Normal, at(10)), expect);
        };
        check(WhenFull::Spill, Place::InStore);
        check(WhenFull::Reject, Place::Full(WhenFull::Reject));
        check(WhenFull::Wait, Place::Full(WhenFull::Wait));
        check(WhenFull::CallerRuns, Place::Full(WhenFull::CallerRuns));
    }

    #[test]
    fn a_fresh_job_never_overtakes_the_backlog() {
        let pool = pool(1, 10, WhenFull::Spill);
        pool.store_has(at(3));
        assert_eq!(pool.place_for(at(5), Priority::Normal, at(10)), Place::InStore);
        assert_eq!(pool.place_for(at(2), Priority::Normal, at(10)), Place::Reserved);
        assert_eq!(pool.place_for(at(11), Priority::Normal, at(10)), Place::InStore, "it is not due yet");
    }

    #[test]
    fn news_during_a_claim_are_not_forgotten() {
        let pool = pool(1, 10, WhenFull::Spill);
        pool.store_has(at(7));
        assert_eq!(pool.reserve_for_claim(at(10)), 10);
        pool.store_has(at(7));
        pool.store_next(None);
        assert_eq!(pool.store_due(), Some(at(7)));
    }

    #[test]
    fn who_waits_for_a_slot_is_not_waited_for_by_the_clock() {
        let pool = pool(1, 10, WhenFull::Spill);
        for (id, due) in [(1, 0), (2, 3), (3, 9)] {
            pool.hold([claim(id, due, Priority::Normal)], 0);
        }
        assert!(pool.take_slot(at(5)).is_some());
        assert!(pool.take_slot(at(5)).is_none(), "the slot is taken");
        assert_eq!(pool.next_held_due(at(5)), Some(at(9)));
    }

    #[test]
    fn slots_follow_the_limit_while_it_changes() {
        let pool = pool(2, 10, WhenFull::Spill);
        for id in 1..=5 {
            pool.hold([claim(id, 0, Priority::Normal)], 0);
        }
        let begins = |claim: Option<Claim>| claim.inspect(|claim| drop(pool.has_started(&claim.held()))).is_some();
        assert!(begins(pool.take_slot(at(0))));
        assert!(begins(pool.take_slot(at(0))));
        assert!(!begins(pool.take_slot(at(0))));
        pool.change(PoolSettings { concurrency: 1, ..pool.settings() });
        assert!(!begins(pool.next_in_slot(at(0)).0), "one slot too many: it is freed");
        assert!(begins(pool.next_in_slot(at(0)).0));
        pool.slot_became_zombie();
        assert_eq!(pool.load(), Load { running: 0, held: 2, zombies: 1 });
        pool.await_slot();
        assert!(!begins(pool.take_slot(at(0))), "the next slot belongs to whoever has its turn");
        assert!(pool.take_awaited_slot(false));
        assert!(pool.load().running <= 1, "the zombie's slot was replaced, by one");
    }
}
