//! Who this node is. The one place that knows: an incarnation, its number and the ids made under it change together when
//! the node loses its lease and comes back.
//!
//! Whoever needs an owner for a write asks for it right before. A write that is under way while the owner changes is
//! harmless: it is guarded by the old one, and what it claimed is not begun (`may_begin`).

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use mainspring_model::ids::JobIds;
use mainspring_model::lease::{self, Lease};
use mainspring_model::{Incarnation, JobId, NodeState, Timestamp};
use mainspring_store::{Claim, Held, Joined, NewNode, News, Replaces, StoreError, Trouble};
use tokio::sync::Notify;

use super::peers::Peers;
use crate::locked;

/// What a node says of itself whenever it joins.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) host: String,
    pub(crate) version: String,
    pub(crate) labels: Vec<String>,
    pub(crate) handlers: Vec<String>,
    pub(crate) lease: Duration,
    /// Others may work on the store. Otherwise nobody can take the lease away.
    pub(crate) is_shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) incarnation: Incarnation,
    pub(crate) number: u16,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) about: About,
    who: Mutex<Who>,
    /// Nothing may begin until the node has joined again.
    fenced: AtomicBool,
    /// What the store said of this node's past does not hold any more.
    void: AtomicBool,
    draining: AtomicBool,
    /// Of what memory is a copy.
    definitions: AtomicI64,
    histories: Mutex<Histories>,
    /// Claims that were dropped when the lease was lost.
    dropped: Mutex<Vec<Held>>,
    pub(super) peers: Peers,
    pub(super) lease_wake: Notify,
    pub(super) follow_wake: Notify,
    pub(super) reconcile_wake: Notify,
    /// One reads at a time what others have changed.
    pub(super) following: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Who {
    me: Me,
    ids: JobIds,
    /// When the last confirmed renewal was sent, by the monotonic clock.
    confirmed: Duration,
}

impl About {
    pub(crate) fn as_new(&self, incarnation: Incarnation, replaces: Replaces) -> NewNode {
        NewNode {
            incarnation,
            host: self.host.clone(),
            pid: std::process::id(),
            version: self.version.clone(),
            lease_ms: self.lease_ms(),
            labels: self.labels.clone(),
            handlers: self.handlers.clone(),
            replaces,
        }
    }

    pub(crate) fn lease_ms(&self) -> i64 {
        i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Numbers of the database's history, one after each loss of commits.
#[derive(Debug)]
struct Histories {
    now: i64,
    over: BTreeSet<i64>,
}

impl Histories {
    /// Word of one that is over comes late, and says nothing.
    fn hears_of_a_new_one(&mut self, told: i64) -> bool {
        let is_new = told != self.now && !self.over.contains(&told);
        if is_new {
            self.over.insert(std::mem::replace(&mut self.now, told));
        }
        is_new
    }
}

impl Node {
    /// `sent`: when the join was sent.
    pub(crate) fn new(about: About, incarnation: Incarnation, joined: &Joined, news: News, sent: Duration) -> Node {
        let ids = JobIds::new(joined.node_number).after(joined.newest_job.unwrap_or(JobId(0)));
        let me = Me { incarnation, number: joined.node_number };
        Node {
            peers: Peers::of_one(&about),
            about,
            who: Mutex::new(Who { me, ids, confirmed: sent }),
            fenced: AtomicBool::new(false),
            void: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            definitions: AtomicI64::new(news.definitions),
            histories: Mutex::new(Histories { now: news.history, over: BTreeSet::new() }),
            dropped: Mutex::default(),
            lease_wake: Notify::new(),
            follow_wake: Notify::new(),
            reconcile_wake: Notify::new(),
            following: tokio::sync::Mutex::new(()),
        }
    }

    pub(crate) fn me(&self) -> Me {
        locked(&self.who).me
    }

    pub(crate) fn next_id(&self, now: Timestamp) -> JobId {
        locked(&self.who).ids.next(now)
    }

    // ---- the lease ----

    pub(super) fn judge(&self, now: Duration) -> Lease {
        if self.fenced.load(Ordering::Acquire) || self.void.load(Ordering::Acquire) {
            return Lease::Fence;
        }
        match lease::judge(locked(&self.who).confirmed, now, self.about.lease) {
            Lease::Fence if !self.about.is_shared => Lease::RenewNow,
            lease => lease,
        }
    }

    /// May anything begin? Asked right before, because the process may have been paused for any time.
    pub(crate) fn holds_lease(&self, now: Duration) -> bool {
        let holds = self.judge(now) != Lease::Fence;
        if !holds {
            self.lease_wake.notify_one();
        }
        holds
    }

    /// A claim of an earlier incarnation may be somebody else's by now.
    pub(crate) fn may_begin(&self, claim: &Claim, now: Duration) -> bool {
        claim.owner == self.me().incarnation && self.holds_lease(now)
    }

    /// For submits: an id that is drawn without a lease may be another node's, which has the number by now.
    pub(crate) fn require_lease(&self, now: Duration) -> Result<(), StoreError> {
        if self.holds_lease(now) {
            return Ok(());
        }
        let reason = "this node has lost its lease and has not joined again yet".to_owned();
        Err(StoreError::NotApplied { verb: "submit", kind: Trouble::Unavailable, reason })
    }

    /// Others have taken over from this incarnation.
    pub(super) fn is_taken(&self, me: Me) {
        let who = locked(&self.who);
        if who.me == me {
            self.void.store(true, Ordering::Release);
            self.lease_wake.notify_one();
        }
    }

    pub(super) fn confirmed(&self, me: Me, sent: Duration) {
        let mut who = locked(&self.who);
        if who.me == me {
            who.confirmed = who.confirmed.max(sent);
        }
    }

    pub(crate) fn lease_age(&self, now: Duration) -> Duration {
        now.saturating_sub(locked(&self.who).confirmed)
    }

    /// `true` when it was not fenced before.
    pub(super) fn fence(&self) -> bool {
        !self.fenced.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced.load(Ordering::Acquire)
    }

    /// It has joined again.
    pub(super) fn become_new(&self, incarnation: Incarnation, joined: &Joined, sent: Duration) {
        let mut who = locked(&self.who);
        let ids = who.ids.clone().as_node(joined.node_number).after(joined.newest_job.unwrap_or(JobId(0)));
        *who = Who { me: Me { incarnation, number: joined.node_number }, ids, confirmed: sent };
        self.void.store(false, Ordering::Release);
        self.fenced.store(false, Ordering::Release);
    }

    pub(super) fn keep_dropped(&self, held: impl IntoIterator<Item = Held>) {
        locked(&self.dropped).extend(held);
    }

    pub(super) fn take_dropped(&self) -> Vec<Held> {
        std::mem::take(&mut *locked(&self.dropped))
    }

    // ---- drain ----

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// `true` when it was not draining before.
    pub(super) fn begin_to_drain(&self) -> bool {
        !self.draining.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn state(&self, now: Duration) -> NodeState {
        if self.judge(now) == Lease::Fence {
            NodeState::Gone
        } else if self.is_draining() {
            NodeState::Draining
        } else {
            NodeState::Active
        }
    }

    // ---- news ----

    /// What others have changed is known up to here.
    pub(super) fn knows(&self, news: News) -> bool {
        self.definitions.load(Ordering::Acquire) == news.definitions
    }

    pub(super) fn has_read(&self, news: News) {
        self.definitions.store(news.definitions, Ordering::Release);
    }

    pub(super) fn heard(&self, news: News) {
        if locked(&self.histories).hears_of_a_new_one(news.history) {
            tracing::error!("the database has lost commits that were acknowledged: what this node holds is void");
            self.void.store(true, Ordering::Release);
            self.lease_wake.notify_one();
        }
        if !self.knows(news) {
            self.follow_wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use mainspring_model::{Incarnation, NodeState, Priority};
    use mainspring_store::{Joined, News, TakenOver};

    use super::*;
    use crate::testing::claim;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn joined(node_number: u16) -> Joined {
        Joined { node_number, newest_job: None, taken_over: TakenOver::default() }
    }

    fn node(is_shared: bool) -> Node {
        let about = About {
            host: "host".to_owned(),
            version: "1".to_owned(),
            labels: Vec::new(),
            handlers: Vec::new(),
            lease: seconds(15),
            is_shared,
        };
        Node::new(about, Incarnation(1), &joined(1), News::default(), seconds(100))
    }

    #[test]
    fn nothing_begins_after_a_pause_that_was_longer_than_the_lease() {
        let (claim, node) = (claim(1, 0, Priority::Normal), node(true));
        assert!(node.may_begin(&claim, seconds(111)));
        assert!(!node.may_begin(&claim, seconds(112)), "nobody but the clock has said so");
        assert!(node.require_lease(seconds(112)).is_err());
        assert_eq!(node.state(seconds(112)), NodeState::Gone);
    }

    #[test]
    fn claims_of_an_earlier_incarnation_are_not_begun() {
        let (old, node) = (claim(1, 0, Priority::Normal), node(true));
        assert!(node.fence());
        assert!(!node.may_begin(&old, seconds(101)));
        node.become_new(Incarnation(2), &joined(3), seconds(120));
        assert!(!node.may_begin(&old, seconds(121)));
        assert!(node.may_begin(&Claim { owner: Incarnation(2), ..old }, seconds(121)));
        // A renewal of the old one that is answered late says nothing of the new one.
        node.confirmed(Me { incarnation: Incarnation(1), number: 1 }, seconds(140));
        assert_eq!(node.lease_age(seconds(140)), seconds(20));
    }

    #[test]
    fn nobody_takes_the_lease_from_a_node_that_is_alone() {
        assert!(node(false).may_begin(&claim(1, 0, Priority::Normal), seconds(9_999)));
    }

    #[test]
    fn lost_history_voids_the_lease() {
        let node = node(true);
        node.heard(News { definitions: 4, history: 0 });
        assert!(node.holds_lease(seconds(101)));
        node.heard(News { definitions: 4, history: 1 });
        assert!(!node.holds_lease(seconds(101)));
    }

    #[test]
    fn late_word_of_a_history_that_is_over_is_no_new_one() {
        let mut histories = Histories { now: 4, over: BTreeSet::new() };
        assert_eq!([4, 9, 9, 4, 2].map(|told| histories.hears_of_a_new_one(told)), [false, true, false, false, true]);
    }
}
