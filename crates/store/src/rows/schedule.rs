//! Fires and presses: what a schedule and a button ask of a store, and what they hear.

use mainspring_model::job::SkipReason;
use mainspring_model::schedule::NextFire;
use mainspring_model::{TaskCode, Timestamp};

use super::{NewJob, ReplacedJob};

/// What is to become of the fire times of one task that are due. Guarded by all that the planner saw of the task.
#[derive(Debug, Clone)]
pub struct Fire {
    pub task: TaskCode,
    pub version: i64,
    pub due: Timestamp,
    pub next: NextFire,
    /// Oldest first; each has `fires` set and the key of its fires.
    pub entries: Vec<FireEntry>,
}

#[derive(Debug, Clone)]
pub struct FireEntry {
    pub job: NewJob,
    /// Decided already: only its record is written.
    pub skip: Option<SkipReason>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fired {
    /// A person or another node was first, or the task is gone: read it again. Nothing was written.
    Moved,
    /// One end per entry, in order.
    Done(Vec<FireEnd>),
}

impl Fired {
    pub fn replaced(&self) -> impl Iterator<Item = &ReplacedJob> {
        let ends = match self {
            Fired::Moved => &[],
            Fired::Done(ends) => ends.as_slice(),
        };
        ends.iter().flat_map(|end| match end {
            FireEnd::Stored { replaced, .. } => replaced.as_slice(),
            FireEnd::Skipped(_) | FireEnd::Duplicate => &[],
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FireEnd {
    Stored {
        /// It is this node's, with fence 1. Otherwise it waits in the store.
        claimed: bool,
        replaced: Vec<ReplacedJob>,
    },
    /// Only its record was written: status SKIPPED, with the reason.
    Skipped(SkipReason),
    /// This fire time has its record already.
    Duplicate,
}

/// A fire time that is planned anew, because the world around the schedule has changed.
#[derive(Debug, Clone)]
pub struct Replan {
    pub task: TaskCode,
    pub version: i64,
    /// What was read.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// What a change by a person does to the next fire time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextFireChange {
    /// The schedule has not changed.
    Keep,
    Set(Option<Timestamp>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalendarDeletion {
    Deleted,
    Missing,
    /// Nothing was deleted.
    NamedBy {
        first: TaskCode,
        tasks: u64,
    },
}

/// A person pressed a button, or a program did: the id makes the press unique for `REQUEST_ID_KEPT_MS`.
#[derive(Debug, Clone)]
pub struct Press {
    pub request_id: String,
    /// What is done to what: a request id that comes again for something else is refused.
    pub operation: String,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pressed {
    /// Carry it out, then say with `answer_press` what came of it.
    First,
    /// It was carried out: the first answer.
    Again { answer: String },
    /// The first press is being carried out, or its node died over it.
    UnderWay,
    /// The id was used for another operation.
    OtherOperation { operation: String },
}

/// Fired jobs of this task that nobody has begun, and that were fired before then.
#[derive(Debug, Clone)]
pub struct Expiry {
    pub task: TaskCode,
    pub before: Timestamp,
}
