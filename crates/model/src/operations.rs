//! What a person may do to a job or a task in its present state. The API that lists and the API that acts ask the
//! same function, so they cannot disagree.

use serde::Serialize;

use crate::job::{Job, JobStatus, OnLive, QueueState};
use crate::names::words;
use crate::node::NodeState;
use crate::refused::{Code, Refused};
use crate::task::{Task, TaskKind, TaskSwitch};
use crate::time::Timestamp;

words! {
    JobOperation { Retry = 0 "retry", Cancel = 1 "cancel", Fail = 2 "fail", Release = 3 "release", }
}
words! {
    TaskOperation {
        Edit = 0 "edit",
        Enable = 1 "enable",
        Disable = 2 "disable",
        Trigger = 3 "trigger",
        Delete = 4 "delete",
        /// A new task with the same definition.
        Copy = 5 "copy",
        /// Fire times of the past, run after the fact.
        Backfill = 6 "backfill",
    }
}
words! {
    NodeOperation {
        /// It takes no new work and ends what it has begun.
        Drain = 0 "drain",
    }
}
words! {
    /// Why an operation is not allowed now.
    Denied {
        AlreadyFinal = 0 "ALREADY_FINAL",
        NotFinal = 1 "NOT_FINAL",
        Succeeded = 2 "SUCCEEDED",
        NotHeld = 3 "NOT_HELD",
        AlreadyDue = 4 "ALREADY_DUE",
        AlreadyEnabled = 5 "ALREADY_ENABLED",
        AlreadyDisabled = 6 "ALREADY_DISABLED",
        TaskDisabled = 7 "TASK_DISABLED",
        HasLiveJobs = 8 "HAS_LIVE_JOBS",
        TaskDeleted = 9 "TASK_DELETED",
        /// A job of it is live, and its overlap policy keeps others away.
        TaskRunning = 10 "TASK_RUNNING",
        /// Its schedule has no fire time from now on.
        NeverFires = 11 "NEVER_FIRES",
        /// It has no schedule.
        NotScheduled = 12 "NOT_SCHEDULED",
        /// It never ran: its fire time was skipped. A backfill runs it.
        Skipped = 13 "SKIPPED",
        AlreadyDraining = 14 "ALREADY_DRAINING",
        /// The node has left, or others have declared it dead.
        NodeGone = 15 "NODE_GONE",
    }
}

/// Every operation, allowed or denied with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operations<O> {
    pub allowed: Vec<O>,
    pub denied: Vec<(O, Denied)>,
}

impl<O: Copy + PartialEq> Operations<O> {
    fn judge(all: &[O], verdict: impl Fn(O) -> Result<(), Denied>) -> Operations<O> {
        let mut operations = Operations { allowed: Vec::new(), denied: Vec::new() };
        for operation in all.iter().copied() {
            match verdict(operation) {
                Ok(()) => operations.allowed.push(operation),
                Err(reason) => operations.denied.push((operation, reason)),
            }
        }
        operations
    }

    /// What the state allows and something else forbids.
    #[must_use]
    pub fn without(mut self, operation: O, reason: Denied) -> Operations<O> {
        if self.allows(operation) {
            self.allowed.retain(|allowed| *allowed != operation);
            self.denied.push((operation, reason));
        }
        self
    }

    pub fn allows(&self, operation: O) -> bool {
        self.allowed.contains(&operation)
    }

    pub fn reason(&self, operation: O) -> Option<Denied> {
        self.denied.iter().find(|(denied, _)| *denied == operation).map(|(_, reason)| *reason)
    }
}

impl<O: Copy + PartialEq + Word> Operations<O> {
    /// How a caller is told that `operation` is not allowed for `what`.
    pub fn refuse(&self, what: &str, operation: O) -> Refused {
        let reason = self.reason(operation).map_or("", Denied::as_str);
        let word = operation.word();
        let detail = format!("{word} is not allowed for {what}: {reason}");
        Refused { allowed: Some(self.listed()), ..Refused::new(Code::OperationNotAllowed, detail) }
    }

    pub fn listed(&self) -> Listed {
        Listed {
            allowed: self.allowed.iter().map(|allowed| allowed.word()).collect(),
            denied: self.denied.iter().map(|(denied, why)| (denied.word(), why.as_str())).collect(),
        }
    }
}

/// The words of [`Operations`], whatever they are done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub allowed: Vec<&'static str>,
    pub denied: Vec<(&'static str, &'static str)>,
}

/// Operations of both kinds have a word.
pub trait Word {
    fn word(self) -> &'static str;
}

impl Word for JobOperation {
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for TaskOperation {
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for NodeOperation {
    fn word(self) -> &'static str {
        self.as_str()
    }
}

pub fn on_node(state: NodeState) -> Operations<NodeOperation> {
    Operations::judge(NodeOperation::ALL, |NodeOperation::Drain| match state {
        NodeState::Active => Ok(()),
        NodeState::Draining => Err(Denied::AlreadyDraining),
        NodeState::Gone => Err(Denied::NodeGone),
    })
}

pub fn on_job(job: &Job, now: Timestamp) -> Operations<JobOperation> {
    Operations::judge(JobOperation::ALL, |operation| job_verdict(job, operation, now))
}

fn job_verdict(job: &Job, operation: JobOperation, now: Timestamp) -> Result<(), Denied> {
    let held = job.queue.is_some_and(|entry| matches!(entry.state, QueueState::Claimed | QueueState::Started));
    match (operation, job.status) {
        (JobOperation::Retry, JobStatus::Failed | JobStatus::Timeout | JobStatus::Cancelled) => Ok(()),
        (JobOperation::Retry, JobStatus::Success) => Err(Denied::Succeeded),
        (JobOperation::Retry, JobStatus::Skipped) => Err(Denied::Skipped),
        // "Retry now" of a job that waits for its next time.
        (JobOperation::Retry, JobStatus::Pending) if !held => match job.queue {
            Some(entry) if entry.due > now => Ok(()),
            _ => Err(Denied::AlreadyDue),
        },
        (JobOperation::Retry, _) => Err(Denied::NotFinal),
        (_, status) if status.is_final() => Err(Denied::AlreadyFinal),
        (JobOperation::Cancel | JobOperation::Fail, _) => Ok(()),
        (JobOperation::Release, _) if held => Ok(()),
        (JobOperation::Release, _) => Err(Denied::NotHeld),
    }
}

/// What must be known of a task beside its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskFacts {
    pub live_jobs: u64,
    /// Its schedule has a fire time from now on. Of no account for a task without one.
    pub fires_again: bool,
}

pub fn on_task(task: &Task, facts: TaskFacts) -> Operations<TaskOperation> {
    Operations::judge(TaskOperation::ALL, |operation| task_verdict(task, facts, operation))
}

fn task_verdict(task: &Task, facts: TaskFacts, operation: TaskOperation) -> Result<(), Denied> {
    let is_enabled = task.switch == TaskSwitch::Enabled;
    let is_scheduled = task.definition.kind == TaskKind::Cron;
    match operation {
        TaskOperation::Edit | TaskOperation::Copy => Ok(()),
        TaskOperation::Enable if is_enabled => Err(Denied::AlreadyEnabled),
        TaskOperation::Enable if is_scheduled && !facts.fires_again => Err(Denied::NeverFires),
        TaskOperation::Enable => Ok(()),
        TaskOperation::Disable if !is_enabled => Err(Denied::AlreadyDisabled),
        TaskOperation::Disable => Ok(()),
        TaskOperation::Backfill if !is_scheduled || task.definition.rests_after_end() => Err(Denied::NotScheduled),
        TaskOperation::Trigger | TaskOperation::Backfill if !is_enabled => Err(Denied::TaskDisabled),
        TaskOperation::Trigger => match task.definition.overlap.on_live() {
            OnLive::JoinBelow(jobs) if facts.live_jobs >= jobs.into() => Err(Denied::TaskRunning),
            _ => Ok(()),
        },
        TaskOperation::Backfill => Ok(()),
        TaskOperation::Delete if facts.live_jobs > 0 => Err(Denied::HasLiveJobs),
        TaskOperation::Delete => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_drained_while_it_works() {
        let check = |state, expect| assert_eq!(on_node(state).reason(NodeOperation::Drain), expect, "{state}");
        check(NodeState::Active, None);
        check(NodeState::Draining, Some(Denied::AlreadyDraining));
        check(NodeState::Gone, Some(Denied::NodeGone));
    }
}
