//! What a person may do to a job or a task in its present state. The API that lists and the API that acts ask the
//! same function, so they cannot disagree.

use serde::Serialize;

use crate::job::{Job, JobStatus, QueueState};
use crate::names::words;
use crate::task::{Task, TaskSwitch};
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
}

pub fn on_job(job: &Job, now: Timestamp) -> Operations<JobOperation> {
    Operations::judge(JobOperation::ALL, |operation| job_verdict(job, operation, now))
}

fn job_verdict(job: &Job, operation: JobOperation, now: Timestamp) -> Result<(), Denied> {
    let held = job.queue.is_some_and(|entry| matches!(entry.state, QueueState::Claimed | QueueState::Started));
    match (operation, job.status) {
        (JobOperation::Retry, JobStatus::Failed | JobStatus::Timeout | JobStatus::Cancelled) => Ok(()),
        (JobOperation::Retry, JobStatus::Success | JobStatus::Skipped) => Err(Denied::Succeeded),
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

pub fn on_task(task: &Task, live_jobs: u64) -> Operations<TaskOperation> {
    Operations::judge(TaskOperation::ALL, |operation| match (operation, task.switch) {
        (TaskOperation::Edit, _) => Ok(()),
        (TaskOperation::Enable, TaskSwitch::Enabled) => Err(Denied::AlreadyEnabled),
        (TaskOperation::Enable, TaskSwitch::Disabled) => Ok(()),
        (TaskOperation::Disable, TaskSwitch::Disabled) => Err(Denied::AlreadyDisabled),
        (TaskOperation::Disable, TaskSwitch::Enabled) => Ok(()),
        (TaskOperation::Trigger, TaskSwitch::Disabled) => Err(Denied::TaskDisabled),
        (TaskOperation::Trigger, TaskSwitch::Enabled) => Ok(()),
        (TaskOperation::Delete, _) if live_jobs > 0 => Err(Denied::HasLiveJobs),
        (TaskOperation::Delete, _) => Ok(()),
    })
}
