//! One state of the model: the database, the nodes, the calls between them, and what only the checker knows.
//!
//! Numbers are small and relative (what is left of a lease, not when it ends), so that states which differ only in
//! their past are one state. There is one job: no guard of the protocol reads the row of another one.

use std::collections::BTreeSet;

use crate::laws::Broken;
use crate::nodes::Node;
use crate::symmetry::mirrored;

pub(crate) const NODES: usize = 2;
pub(crate) const STARTS_MAX: usize = 3;

/// One start of one node. The product draws a random number; here it is a node and the count of its starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation {
    pub(crate) node: u8,
    /// From 1.
    pub(crate) start: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct World {
    pub(crate) db: Database,
    /// What a stand-by has of it, once it has fallen behind.
    pub(crate) replica: Option<Database>,
    pub(crate) nodes: [Node; NODES],
    /// Sent and not carried out yet. What is lost stays here for ever.
    pub(crate) calls: BTreeSet<Call>,
    /// Read by a duty of two steps; only faulty ones have two.
    pub(crate) listed: Option<Incarnation>,
    pub(crate) spent: Spent,
    pub(crate) ghost: Ghost,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Database {
    pub(crate) job: Job,
    rows: [[NodeRow; STARTS_MAX]; NODES],
    /// Drawn by whoever finds another server, and never drawn before.
    pub(crate) history: u8,
    /// A fence that grows, grows to here at least.
    pub(crate) floor: u8,
    /// The server whose name is stored is not the one that answers.
    pub(crate) moved: bool,
    /// Grows with every renewal of any node. Counted only where a faulty protocol asks for it.
    pub(crate) beats: u8,
}

/// Record and queue row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Job {
    pub(crate) state: JobState,
    pub(crate) owner: Option<Incarnation>,
    pub(crate) fence: u8,
    pub(crate) losses: u8,
    /// Ghost: which claim is the newest.
    pub(crate) claim: u8,
    /// Ghost: drawn anew each time that a person opens it again.
    pub(crate) generation: u8,
    /// Ghost: this generation has its outcome.
    pub(crate) settled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum JobState {
    Queued,
    Claimed,
    Started,
    Done,
    Failed,
    /// Lost too often.
    Dead,
    Cancelled,
}

/// What people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    Pending,
    Executing,
    Success,
    Failed,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum NodeRow {
    Absent,
    /// Ticks until its lease ends, by the database's clock.
    Live {
        left: u8,
        /// Renewals of this row. Counted only where a faulty protocol asks for it.
        beats: u8,
    },
    Gone,
}

/// A statement under way. A process that has died may still have some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    Claim {
        of: Incarnation,
    },
    MarkStarted {
        by: Shown,
    },
    /// `said` is what the body answered: `end` differs only where an unknown outcome is taken for a failure.
    Settle {
        by: Shown,
        end: End,
        said: End,
    },
    GiveBack {
        by: Shown,
    },
    Leave {
        of: Incarnation,
    },
    Operate {
        word: Word,
        seen: Status,
        seen_fence: u8,
        generation: u8,
    },
}

/// What a node shows to write for a claim: owner and fence. The claim itself is a ghost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shown {
    pub(crate) owner: Incarnation,
    pub(crate) fence: u8,
    pub(crate) claim: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    Done,
    /// For good.
    Failed,
    /// A retry: back to the queue.
    Again,
}

/// A person's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    Cancel,
    Retry,
    Release,
}

/// Of the bounds of the scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Spent {
    pub(crate) claims: u8,
    pub(crate) crashes: u8,
    pub(crate) pauses: u8,
    pub(crate) drains: u8,
    pub(crate) words: u8,
}

/// What no node and no database knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ghost {
    pub(crate) broken: Broken,
    pub(crate) fail_overs: u8,
    /// How often a history was raised. Grows as time does.
    pub(crate) raises: u8,
    pub(crate) generations: u8,
    /// The newest fence that a lost history may have given out.
    pub(crate) lost_fence: u8,
}

impl Call {
    /// Owner, fence and claim of a call that may still write for a claim.
    pub(crate) fn shown(&self) -> Option<Shown> {
        match *self {
            Call::MarkStarted { by } | Call::Settle { by, .. } | Call::GiveBack { by } => Some(by),
            Call::Claim { .. } | Call::Leave { .. } | Call::Operate { .. } => None,
        }
    }
}

impl Job {
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.state, JobState::Claimed | JobState::Started)
    }

    /// The guard of all that is written for a claim.
    pub(crate) fn is_held_by(&self, by: Shown) -> bool {
        self.is_held() && self.owner == Some(by.owner) && self.fence == by.fence
    }

    pub(crate) fn shown_by(&self, owner: Incarnation) -> Shown {
        Shown { owner, fence: self.fence, claim: self.claim }
    }

    pub(crate) fn is_final(&self) -> bool {
        !self.is_held() && self.state != JobState::Queued
    }

    pub(crate) fn status(&self) -> Status {
        match self.state {
            JobState::Queued | JobState::Claimed => Status::Pending,
            JobState::Started => Status::Executing,
            JobState::Done => Status::Success,
            JobState::Failed | JobState::Dead => Status::Failed,
            JobState::Cancelled => Status::Cancelled,
        }
    }

    pub(crate) fn leave_owner(&mut self, state: JobState) {
        (self.state, self.owner) = (state, None);
    }
}

impl Database {
    pub(crate) fn new() -> Database {
        let job =
            Job { state: JobState::Queued, owner: None, fence: 0, losses: 0, claim: 0, generation: 0, settled: false };
        let rows = [[NodeRow::Absent; STARTS_MAX]; NODES];
        Database { job, rows, history: 0, floor: 0, moved: false, beats: 0 }
    }

    /// The one way in which fences grow.
    pub(crate) fn next_fence(&self) -> u8 {
        self.floor.max(self.job.fence + 1)
    }

    pub(crate) fn row(&self, of: Incarnation) -> NodeRow {
        self.rows[usize::from(of.node)][usize::from(of.start) - 1]
    }

    pub(crate) fn row_mut(&mut self, of: Incarnation) -> &mut NodeRow {
        &mut self.rows[usize::from(of.node)][usize::from(of.start) - 1]
    }

    pub(crate) fn incarnations() -> impl Iterator<Item = Incarnation> {
        (0..NODES as u8).flat_map(|node| (1..=STARTS_MAX as u8).map(move |start| Incarnation { node, start }))
    }

    pub(crate) fn is_live(&self, of: Incarnation) -> bool {
        matches!(self.row(of), NodeRow::Live { .. })
    }

    pub(crate) fn mirror(&mut self) {
        self.rows.reverse();
        self.job.owner = self.job.owner.map(mirrored);
    }

    pub(crate) fn tick(&mut self) {
        for row in self.rows.iter_mut().flatten() {
            if let NodeRow::Live { left, .. } = row {
                *left = left.saturating_sub(1);
            }
        }
    }
}
