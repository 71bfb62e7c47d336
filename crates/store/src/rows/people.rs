//! What people ask of jobs, and what is counted and checked for them.

use std::collections::BTreeMap;

use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::operations::JobOperation;
use mainspring_model::{BizId, Fence, Job, JobId, JobStatus, PoolName, TaskCode, Timestamp, Trigger};

#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub task: Option<TaskCode>,
    /// Empty: all.
    pub status: Vec<JobStatus>,
    /// Finds the jobs that came with the key, also those that have ended and freed it.
    pub biz_id: Option<BizId>,
    pub pool: Option<PoolName>,
    pub trigger: Option<Trigger>,
    /// Created at or after / before.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// A change by a person, guarded by what the person saw.
#[derive(Debug, Clone)]
pub struct Operate {
    pub id: JobId,
    pub operation: JobOperation,
    /// The record as it was read: status and fence must still be these.
    pub seen_status: JobStatus,
    pub seen_fence: Fence,
    pub now: Timestamp,
    pub by: String,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one answer to one person: a box would only be in the way")]
pub enum Operated {
    Done(Job),
    /// It moved on meanwhile: read again and judge anew.
    Moved,
    /// Retry: the job's key was free and belongs to this live job now. Nothing was changed.
    KeyTaken(JobId),
    Missing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeadJob {
    pub id: JobId,
    pub task: TaskCode,
    pub cause: DeadCause,
    pub time: Timestamp,
}

/// Live jobs by queue state, bounded: a count that reached its bound says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveCount {
    pub jobs: u64,
    pub capped: bool,
}

/// Live jobs of all tasks, from one bounded pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveJobs {
    /// Tasks that were met, and how often.
    pub by_task: BTreeMap<TaskCode, u64>,
    /// The pass ended at its bound: each number is "at least", that of a task which was not met too.
    pub capped: bool,
}

impl LiveJobs {
    pub fn of(&self, task: &TaskCode) -> LiveCount {
        LiveCount { jobs: self.by_task.get(task).copied().unwrap_or(0), capped: self.capped }
    }
}

/// Numbers for people and for `verify`, per pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolBacklog {
    pub pool: PoolName,
    pub state: QueueState,
    pub jobs: LiveCount,
    pub oldest_due: Option<Timestamp>,
}

/// One violated invariant, found in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `INV-5` …
    pub invariant: &'static str,
    pub detail: String,
}
