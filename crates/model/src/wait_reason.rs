//! Why a job is not further: one word that says what it waits for.

use crate::decide::{Care, care};
use crate::job::{Job, JobStatus, QueueState};
use crate::names::words;
use crate::node::Runners;
use crate::task::{OnLost, Overlap};
use crate::time::Timestamp;

words! {
    WaitReason {
        /// Its time has not come.
        NotDue = 0 "NOT_DUE",
        /// It failed and waits for its next try.
        RetryWait = 1 "RETRY_WAIT",
        /// No running node knows its handler.
        NoHandler = 2 "NO_HANDLER",
        /// Running nodes know its handler, but none of them carries the labels that its task asks for.
        NoNode = 11 "NO_NODE",
        PoolPaused = 3 "POOL_PAUSED",
        /// All slots of its pool are taken.
        PoolFull = 4 "POOL_FULL",
        /// It is due and has a place: it starts in this moment.
        Starting = 5 "STARTING",
        /// Its node was lost twice while it ran: it runs without other suspects beside it, and waits for its turn.
        Alone = 7 "ALONE",
        /// As many bodies of its task, or of its concurrency key, run as may run: it waits for the end of one.
        MaxRunning = 8 "MAX_RUNNING",
        /// The rate limit of its task, or of its concurrency key, is used up for now.
        RateLimit = 9 "RATE_LIMIT",
        /// Its task lets no two of its bodies run side by side: it waits for the end of the other one.
        Overlap = 10 "OVERLAP",
        /// For its predecessors in the workflow.
        Predecessors = 6 "PREDECESSORS",
    }
}

/// What must be known of the job's task.
#[derive(Debug, Clone, Copy)]
pub struct TaskFacts {
    pub overlap: Overlap,
    pub runners: Runners,
}

/// What must be known of the job's pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolFacts {
    pub paused: bool,
    pub free_slots: u32,
    /// With free slots, a due job that nobody has claimed waits for it.
    pub has_rate: bool,
}

/// `None` for a job that runs or is final.
pub fn of(job: &Job, task: TaskFacts, pool: PoolFacts, now: Timestamp) -> Option<WaitReason> {
    match (job.status, job.queue) {
        (JobStatus::Waiting, _) => Some(WaitReason::Predecessors),
        (JobStatus::Pending, Some(entry)) => Some(match entry.state {
            QueueState::Parked => WaitReason::NoHandler,
            QueueState::Limited if task.overlap != Overlap::Allow => WaitReason::Overlap,
            QueueState::Limited => WaitReason::MaxRunning,
            QueueState::Throttled => WaitReason::RateLimit,
            _ if entry.due > now && job.retry_count > 0 => WaitReason::RetryWait,
            _ if entry.due > now => WaitReason::NotDue,
            QueueState::Started => return None,
            QueueState::Queued if task.runners == Runners::NoHandler => WaitReason::NoHandler,
            QueueState::Queued if task.runners == Runners::NoLabels => WaitReason::NoNode,
            _ if pool.paused => WaitReason::PoolPaused,
            QueueState::Claimed if care(job.lost_count, false, OnLost::Rerun) == Care::Alone => WaitReason::Alone,
            _ if pool.free_slots == 0 => WaitReason::PoolFull,
            QueueState::Queued if pool.has_rate => WaitReason::RateLimit,
            _ => WaitReason::Starting,
        }),
        _ => None,
    }
}
