//! The shapes that cross the seam between the engine and a store.

mod history;
mod nodes;
mod people;
mod schedule;

use std::sync::Arc;

use mainspring_model::decide::Decision;
use mainspring_model::job::{Fires, Lane, OnLive};
use mainspring_model::{
    AttemptId, AttemptStatus, BizId, Fence, Incarnation, JobId, JobStatus, PoolName, Priority, RateLimit, Shard, Task,
    TaskCode, Timestamp, Trigger, Unique,
};

pub use history::*;
pub use nodes::*;
pub use people::*;
pub use schedule::*;

/// A page and where the next one begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Opaque. `Some` also on a short page, when a rare match had to be looked for further than one page may look.
    pub next: Option<String>,
}

// ---- 1 submit ----

#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: JobId,
    pub task: TaskCode,
    pub biz_id: Option<BizId>,
    pub unique: Unique,
    /// JSON text. The store decides by its size where it is kept.
    pub payload: Option<Arc<str>>,
    pub execute_time: Timestamp,
    pub priority: Priority,
    pub max_retry: u32,
    pub timeout_ms: Option<i64>,
    pub pool: PoolName,
    pub trigger: Trigger,
    /// Set for the jobs of a schedule.
    pub fires: Option<Fires>,
    pub create_time: Timestamp,
    /// The submitting node has room and takes it at once: written with fence 1 and its owner. Not heeded when the job has
    /// to wait for others of its lane.
    pub claim: bool,
    /// What it does when jobs of its task are live.
    pub on_live: OnLive,
    /// By what the limits of its task count it.
    pub concurrency_key: Option<Arc<str>>,
    /// See [`mainspring_model::job::Lane`].
    pub serial: bool,
    /// Set for the parts of a broadcast.
    pub shard: Option<Shard>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    Stored {
        /// It is this node's, with fence 1. Otherwise it waits in the store.
        claimed: bool,
        /// The live jobs of its task that were cancelled for it. A repetition does not name them again.
        replaced: Vec<ReplacedJob>,
    },
    /// The key is taken: the first job.
    Duplicate {
        id: JobId,
        status: JobStatus,
        execute_time: Timestamp,
        /// Also when the first job's payload is lost: then nobody can say that it is the same.
        payload_differs: bool,
    },
    /// The task was deleted or disabled in the meantime, jobs of it are live and the new one keeps away from them, or the
    /// job that has the key cannot be read.
    Refused(mainspring_model::Refused),
}

impl Submitted {
    pub fn replaced(&self) -> &[ReplacedJob] {
        match self {
            Submitted::Stored { replaced, .. } => replaced,
            Submitted::Duplicate { .. } | Submitted::Refused(_) => &[],
        }
    }
}

/// A live job that was cancelled by the one that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedJob {
    pub id: JobId,
    /// Newer than that of the claim whose body may still run.
    pub fence: Fence,
    pub pool: PoolName,
    /// What its record says of its end.
    pub error: String,
}

// ---- 3 dispatch ----

#[derive(Debug, Clone)]
pub struct ClaimRequest {
    pub owner: Incarnation,
    /// By the clock of limits on rates.
    pub now: Timestamp,
    /// Jobs due up to here are taken: a little ahead of now.
    pub due_until: Timestamp,
    pub rooms: Vec<PoolRoom>,
    /// Tasks that this node cannot run: their jobs stay where they are, for other nodes.
    pub excluded: Vec<TaskCode>,
}

#[derive(Debug, Clone)]
pub struct PoolRoom {
    pub pool: PoolName,
    pub jobs_max: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Claimed {
    pub jobs: Vec<Claim>,
    /// Per asked pool: when the next unclaimed job is due; a past instant means there is more right now.
    pub next_due: Vec<(PoolName, Option<Timestamp>)>,
}

/// A job that this node holds, with all that an attempt needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub id: JobId,
    pub fence: Fence,
    pub owner: Incarnation,
    pub task: TaskCode,
    pub pool: PoolName,
    pub priority: Priority,
    pub due: Timestamp,
    /// Bodies before this one.
    pub attempts: u32,
    pub retry_count: u32,
    pub max_retry: u32,
    pub lost_count: u32,
    /// It was in the memory of a node that died.
    pub suspect: bool,
    pub timeout_ms: Option<i64>,
    pub payload: Option<Arc<str>>,
    pub biz_id: Option<BizId>,
    pub unique: Unique,
    pub trigger: Trigger,
    pub fire_time: Option<Timestamp>,
    pub create_time: Timestamp,
    pub shard: Option<Shard>,
    /// Set when its end lets others of its lane go on.
    pub lane: Option<Lane>,
}

impl Claim {
    pub fn held(&self) -> Held {
        Held { id: self.id, fence: self.fence, owner: self.owner }
    }
}

/// Names one claim: every verb that touches a held job carries it. The fence alone would do as long as the database
/// forgets nothing; after a fail-over that lost a claim, another node may be given the same fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Held {
    pub id: JobId,
    pub fence: Fence,
    pub owner: Incarnation,
}

impl Held {
    /// Bounds of all claims of the job that are older than this fence, for maps in the order of claims.
    pub fn before(id: JobId, fence: Fence) -> (Held, Held) {
        let at = |fence| Held { id, fence, owner: Incarnation(i64::MIN) };
        (at(Fence(0)), at(fence))
    }
}

/// What becomes of a claimed job that did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveBack {
    /// Back to the queue, for any node.
    Release,
    /// No handler here: rests until a node that knows it says so.
    Park,
}

// ---- 4 execute ----

/// A body has begun and this must be seen (it lasts, or it is under suspicion).
#[derive(Debug, Clone)]
pub struct Started {
    pub held: Held,
    pub task: TaskCode,
    pub attempt: u32,
    pub node: u16,
    pub start_time: Timestamp,
}

/// A piece of an attempt's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    pub attempt: AttemptId,
    /// Grows within the attempt.
    pub seq: u32,
    pub time: Timestamp,
    pub stream: Stream,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Lines that a handler logs.
    Log,
    Stdout,
    Stderr,
    /// `{"percent": …, "message": …}`: the newest is the progress.
    Progress,
}

// ---- 5 write back ----

#[derive(Debug, Clone)]
pub struct Settlement {
    pub held: Held,
    pub task: TaskCode,
    /// The number of this attempt, 1 for the first body.
    pub attempt: u32,
    pub node: u16,
    pub start_time: Timestamp,
    pub finish_time: Timestamp,
    pub decision: Decision,
    /// Set when the job's key is to be freed with its end.
    pub live_key: Option<BizId>,
    /// A RUNNING row of the attempt exists.
    pub start_written: bool,
    /// As the claim had it: with the end of this attempt the next one of the lane goes on.
    pub lane: Option<Lane>,
    /// A fired job's end sets the next fire time of a fixed delay.
    pub trigger: Trigger,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Applied,
    /// Besides, a job that waited for its lane may be claimed now.
    AppliedAndFreed,
    /// An earlier try with an unknown outcome had been applied.
    AlreadyApplied,
    /// The fence is gone: somebody else owns or ended the job. Kept as a DISCARDED attempt, nothing else changed.
    Lost,
    /// What is stored of the attempt cannot be read (a newer version wrote it, or it is damaged): discarded without a
    /// trace, for no repetition would end otherwise.
    Unreadable,
}

// ---- tasks ----

#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Fuzzy on code, name, owner and tags.
    pub text: Option<String>,
    pub kind: Option<mainspring_model::task::TaskKind>,
    pub pool: Option<PoolName>,
    pub tag: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TaskChange {
    Written(Task),
    /// Somebody else was first: what is stored now.
    Conflict(Task),
    /// Create: the code is taken. Delete: jobs are live.
    InTheWay(Task),
    Missing,
}

// ---- pools ----

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The job stays in the store and is fetched when there is room.
    Spill,
    /// The submitter waits for room, within its limit.
    Wait,
    /// The job runs in the submitter's own task, after it was stored.
    CallerRuns,
    /// The submit is refused with BACKLOG_FULL; nothing is stored.
    Reject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSettings {
    pub name: PoolName,
    /// Bodies at one time on each node.
    pub concurrency: u32,
    /// Jobs that are held or run at one time on all nodes together. Such jobs are never claimed by their own insert.
    pub cluster_concurrency: Option<u32>,
    pub queue_capacity: u32,
    pub paused: bool,
    pub when_full: WhenFull,
    pub rate_limit: Option<RateLimit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// `memory`, `sqlite`, …
    pub kind: &'static str,
    /// Where it is, without secrets.
    pub place: String,
    pub durability: Durability,
    /// With `Relaxed`: each setting that makes it so.
    pub weak: Vec<String>,
    /// Several nodes may work on it at one time. Otherwise whoever opened it is alone.
    pub is_shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// An acknowledged job survives a power loss.
    Full,
    /// It survives the end of the process only, or not even that.
    Relaxed,
}

/// The end of a job, for whoever waits for it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEnd {
    pub status: JobStatus,
    pub result: Option<String>,
    pub error: Option<String>,
}

/// For queries that show how an attempt ended.
pub const fn attempt_status_is_final(status: AttemptStatus) -> bool {
    !matches!(status, AttemptStatus::Running)
}
