//! A job: one request to run a task, and all that is recorded of it.

use std::sync::Arc;

use crate::ids::{BizId, Fence, JobId, PoolName, TaskCode};
use crate::names::words;
use crate::task::Priority;
use crate::time::Timestamp;

words! {
    /// Where a job is in its life. The moves are in `lifecycle`.
    JobStatus {
        Pending = 0 "PENDING",
        Executing = 1 "EXECUTING",
        Success = 2 "SUCCESS",
        Failed = 3 "FAILED",
        Timeout = 4 "TIMEOUT",
        Cancelled = 5 "CANCELLED",
        /// For the predecessors in its workflow.
        Waiting = 6 "WAITING",
        Skipped = 7 "SKIPPED",
    }
}
words! {
    /// How one attempt ended, or that it has not.
    AttemptStatus {
        Running = 1 "RUNNING",
        Success = 2 "SUCCESS",
        Failed = 3 "FAILED",
        Timeout = 4 "TIMEOUT",
        Cancelled = 5 "CANCELLED",
        /// The node went away while the body ran.
        Lost = 6 "LOST",
        /// A result that came after the job had been settled by somebody else: kept, without effect.
        Discarded = 7 "DISCARDED",
        Skipped = 8 "SKIPPED",
    }
}
words! {
    /// What made the job.
    Trigger {
        Submit = 0 "SUBMIT",
        Cron = 1 "CRON",
        Manual = 2 "MANUAL",
        Workflow = 3 "WORKFLOW",
        Misfire = 4 "MISFIRE",
        System = 5 "SYSTEM",
    }
}
words! {
    /// How long a business key belongs to its job.
    Unique {
        /// One job per key as long as the job's record is kept.
        Always = 0 "ALWAYS",
        /// The key is free again in the commit that makes the job final.
        Live = 1 "LIVE",
    }
}
words! {
    /// Why a dead job is dead.
    DeadCause {
        RetriesSpent = 0 "RETRIES_SPENT",
        FailedForGood = 1 "FAILED_FOR_GOOD",
        NeedsPerson = 2 "NEEDS_PERSON",
        TimedOut = 3 "TIMED_OUT",
        /// Its node was lost too often while it ran.
        Poisoned = 4 "POISONED",
        /// Lost once, and its task says that a lost job must not run again.
        Lost = 5 "LOST",
        /// A person marked it failed.
        MarkedFailed = 6 "MARKED_FAILED",
    }
}

words! {
    /// Why a fire time has a record and no body.
    SkipReason {
        /// It passed while nobody could fire it, and the task's policy does not run it.
        Misfire = 0 "SKIPPED_MISFIRE",
        /// A job of the task was live.
        Overlap = 1 "SKIPPED_OVERLAP",
        /// It waited in the queue past the task's start deadline.
        Expired = 2 "EXPIRED",
    }
}

/// The fire times that one job stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fires {
    /// The latest of them; it names the job.
    pub last: Timestamp,
    pub first: Timestamp,
    /// At `MISSED_FIRES_COUNTED_MAX` it means "at least".
    pub count: u32,
}

impl Fires {
    pub const fn one(at: Timestamp) -> Fires {
        Fires { last: at, first: at, count: 1 }
    }

    /// The key that makes the fire unique.
    pub fn key(&self) -> BizId {
        BizId::stored(&format!("cron@{}", self.last))
    }
}

/// The jobs of one task, or of one concurrency key of it, as far as they wait for each other. A job outside of any lane
/// never pays for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    pub key: Option<Arc<str>>,
    /// One of those that catch up: they run one after another, whatever the task allows.
    pub serial: bool,
}

/// Which part of a broadcast a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    pub total: u32,
}

/// What becomes of a fire or a trigger while jobs of its task are live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLive {
    /// It joins them. A plain submit always does.
    Join,
    /// It joins them when they are fewer than this; otherwise a fire is skipped and a trigger refused.
    JoinBelow(u32),
    /// They are cancelled.
    Replace,
}

impl JobStatus {
    pub const fn is_final(self) -> bool {
        !matches!(self, JobStatus::Pending | JobStatus::Executing | JobStatus::Waiting)
    }
}

/// The whole record of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub task: TaskCode,
    pub biz_id: Option<BizId>,
    pub status: JobStatus,
    /// Failures so far.
    pub retry_count: u32,
    pub max_retry: u32,
    /// Losses so far: the node went away while the body ran.
    pub lost_count: u32,
    /// Bodies so far.
    pub attempts: u32,
    /// Submits that came with its key and were answered with this job, at least: one that was repeated after an unknown
    /// outcome counts again. And the last one's time.
    pub duplicates: u32,
    pub last_duplicate: Option<Timestamp>,
    pub fence: Fence,
    /// When it was asked to run.
    pub execute_time: Timestamp,
    /// When it runs next, after a failure or a snooze.
    pub next_retry_time: Option<Timestamp>,
    pub start_time: Option<Timestamp>,
    pub finish_time: Option<Timestamp>,
    pub timeout_ms: Option<i64>,
    pub pool: PoolName,
    pub priority: Priority,
    pub trigger: Trigger,
    /// The fire times that it stands for, when a schedule made it.
    pub fires: Option<Fires>,
    pub skip_reason: Option<SkipReason>,
    /// By what the limits of its task count it.
    pub concurrency_key: Option<String>,
    /// Set for the parts of a broadcast.
    pub shard: Option<Shard>,
    /// JSON text, also when it is kept in the attachment table. `None` in lists.
    pub payload: Option<Arc<str>>,
    pub result_summary: Option<String>,
    pub error_msg: Option<String>,
    pub create_time: Timestamp,
    pub update_time: Timestamp,
    /// What the queue knows while the job is not final.
    pub queue: Option<QueueEntry>,
}

words! {
    /// Where a job that is not final stands.
    QueueState {
        /// In the store, for the first node with room.
        Queued = 0 "QUEUED",
        /// In a node's memory.
        Claimed = 1 "CLAIMED",
        /// Its body runs, and this is written down.
        Started = 2 "STARTED",
        /// No node knows its handler.
        Parked = 3 "PARKED",
        /// As many of its task, or of its key, are held as may be: waits for the end of one.
        Limited = 4 "LIMITED",
        /// The rate of its task, or of its key, is used up: waits for its time.
        Throttled = 5 "THROTTLED",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueEntry {
    pub state: QueueState,
    pub due: Timestamp,
    pub owner: Option<crate::ids::Incarnation>,
}

/// One try at a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub job: JobId,
    pub fence: Fence,
    pub task: TaskCode,
    /// 1 for the first body.
    pub number: u32,
    pub node: u16,
    pub status: AttemptStatus,
    pub execute_time: Timestamp,
    pub finish_time: Option<Timestamp>,
    pub cost_ms: Option<i64>,
    /// At most `RESULT_SUMMARY_CHARS_MAX` characters.
    pub result: Option<String>,
    pub error_message: Option<String>,
}
