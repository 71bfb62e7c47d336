//! The two state machines, as tables. Whoever changes a status asks here.

use crate::job::JobStatus;
use crate::names::words;
use crate::task::{Task, TaskKind, TaskSwitch};

words! {
    /// What can happen to a job.
    JobEvent {
        /// A body began and lasts long enough to be written down.
        Started = 0 "started",
        Succeeded = 1 "succeeded",
        /// A failure with no retry left, or for good.
        FailedForGood = 2 "failed for good",
        TimedOutForGood = 3 "timed out for good",
        /// A retry, a snooze, a loss, a polite stop: back to the queue.
        Requeued = 4 "requeued",
        Cancelled = 5 "cancelled",
        /// Its predecessors in the workflow are done.
        Unblocked = 6 "unblocked",
        Skipped = 7 "skipped",
        /// A person wants a final job run again: a new generation begins.
        Reopened = 8 "reopened",
    }
}

/// The state after `event`, or `None` when it cannot happen in this state.
pub const fn next(state: JobStatus, event: JobEvent) -> Option<JobStatus> {
    use JobEvent as E;
    use JobStatus as S;
    Some(match (state, event) {
        (S::Pending, E::Started) => S::Executing,
        // A short attempt ends before EXECUTING is ever written: both states lead on.
        (S::Pending | S::Executing, E::Succeeded) => S::Success,
        (S::Pending | S::Executing, E::FailedForGood) => S::Failed,
        (S::Pending | S::Executing, E::TimedOutForGood) => S::Timeout,
        (S::Pending | S::Executing, E::Requeued) => S::Pending,
        (S::Pending | S::Executing | S::Waiting, E::Cancelled) => S::Cancelled,
        (S::Waiting, E::Unblocked) => S::Pending,
        // Also a fired job that waited past its start deadline.
        (S::Waiting | S::Pending, E::Skipped) => S::Skipped,
        (S::Failed | S::Timeout | S::Cancelled, E::Reopened) => S::Pending,
        _ => return None,
    })
}

words! {
    /// What people see of a task.
    TaskState {
        Disabled = 0 "DISABLED",
        Enabled = 1 "ENABLED",
        Running = 2 "RUNNING",
        /// Enabled, and its schedule has no fire time left.
        Completed = 3 "COMPLETED",
    }
}

/// RUNNING is an enabled task with live jobs; a disabled task stays DISABLED while its last jobs end.
pub fn task_state(task: &Task, running: u64) -> TaskState {
    match (task.switch, running) {
        (TaskSwitch::Disabled, _) => TaskState::Disabled,
        (TaskSwitch::Enabled, 0) if task.definition.kind == TaskKind::Cron && task.next_fire_time.is_none() => {
            TaskState::Completed
        }
        (TaskSwitch::Enabled, 0) => TaskState::Enabled,
        (TaskSwitch::Enabled, _) => TaskState::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_states_are_left_only_by_reopening() {
        for state in JobStatus::ALL.iter().copied().filter(|state| state.is_final()) {
            for event in JobEvent::ALL.iter().copied().filter(|event| *event != JobEvent::Reopened) {
                assert_eq!(next(state, event), None, "{state} on {event}");
            }
        }
        assert_eq!(next(JobStatus::Success, JobEvent::Reopened), None, "a success is never run again by its own id");
    }

    #[test]
    fn every_state_but_the_successful_ones_leads_somewhere() {
        for state in JobStatus::ALL.iter().copied() {
            let leads = JobEvent::ALL.iter().any(|event| next(state, *event).is_some());
            assert_eq!(leads, !matches!(state, JobStatus::Success | JobStatus::Skipped), "{state}");
        }
    }
}
