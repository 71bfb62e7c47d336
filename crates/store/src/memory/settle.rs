//! The end of the pipeline: starts, and outcomes with all that follows from them.

use mainspring_model::decide::{Budget, Next};
use mainspring_model::job::{DeadCause, QueueState, SkipReason};
use mainspring_model::task::TaskSwitch;
use mainspring_model::{Attempt, AttemptId, AttemptStatus, JobId, JobStatus, TaskCode, Timestamp};

use super::{Alert, Data, Dead, Record};
use crate::rules;
use crate::{Settled, Settlement, Started};

impl Data {
    pub(super) fn mark_started(&mut self, start: &Started) -> bool {
        let Some(queued) = self.held_row(start.held) else { return false };
        queued.state = QueueState::Started;
        let job = &mut self.record(start.held.id).job;
        job.status = JobStatus::Executing;
        (job.start_time, job.update_time) = (Some(start.start_time), start.start_time);
        (job.fence, job.attempts) = (start.held.fence, start.attempt);
        let id = AttemptId { job: start.held.id, fence: start.held.fence };
        self.attempts.entry(id).or_insert_with(|| Attempt {
            job: id.job,
            fence: id.fence,
            task: start.task.clone(),
            number: start.attempt,
            node: start.node,
            status: AttemptStatus::Running,
            execute_time: start.start_time,
            finish_time: None,
            cost_ms: None,
            result: None,
            error_message: None,
        });
        true
    }

    fn record(&mut self, id: JobId) -> &mut Record {
        self.records.get_mut(&id).expect("a queue row has its record")
    }

    pub(super) fn settle(&mut self, settlement: &Settlement, now: Timestamp) -> Settled {
        let held = settlement.held;
        let Some(queued) = self.held_row(held) else { return self.late(settlement) };
        // The lane of the row, not that of the claim: the task may have got or lost its limits since.
        let lane = queued.lane.clone();
        match settlement.decision.next {
            Next::Again { due, .. } => {
                (queued.owner, queued.state, queued.suspect, queued.due) = (None, QueueState::Queued, false, due);
            }
            Next::Final { .. } => drop(self.queue.remove(&held.id)),
        }
        self.write_outcome(settlement, now);
        self.write_attempt(settlement, settlement.decision.attempt);
        if let Next::Final { status, dead, stop_task } = settlement.decision.next {
            self.free_live_key(held.id);
            if let Some(cause) = dead {
                self.die(held.id, &settlement.task, cause, now);
            }
            if stop_task {
                self.stop(settlement, status, now);
            }
            // An end that lies in the future is one by a clock that has gone back since.
            self.after_end(&settlement.task, settlement.trigger, settlement.finish_time.min(now));
        }
        match self.release_lane(&settlement.task, lane.as_ref()) {
            None => Settled::Applied,
            Some(_) => Settled::AppliedAndFreed,
        }
    }

    fn write_outcome(&mut self, settlement: &Settlement, now: Timestamp) {
        let decision = &settlement.decision;
        let record = self.record(settlement.held.id);
        let job = &mut record.job;
        match decision.next {
            Next::Final { status, .. } => {
                (job.status, job.finish_time, job.next_retry_time) = (status, Some(settlement.finish_time), None);
                job.skip_reason = (status == JobStatus::Skipped).then_some(SkipReason::Expired);
            }
            Next::Again { due, spends } => {
                (job.status, job.finish_time, job.next_retry_time) = (JobStatus::Pending, None, Some(due));
                job.retry_count += u32::from(spends == Budget::Failure);
            }
        }
        job.lost_count += u32::from(decision.counts_a_loss());
        (job.attempts, job.fence) = (settlement.attempt, settlement.held.fence);
        // What expired has never begun.
        job.start_time = Some(settlement.start_time).filter(|_| job.status != JobStatus::Skipped);
        job.update_time = now;
        job.result_summary = decision.result.as_deref().map(|result| rules::summary(result).0);
        job.error_msg.clone_from(&decision.error);
        record.result.clone_from(&decision.result);
    }

    fn write_attempt(&mut self, settlement: &Settlement, status: AttemptStatus) {
        let id = AttemptId { job: settlement.held.id, fence: settlement.held.fence };
        let new = Attempt {
            job: id.job,
            fence: id.fence,
            task: settlement.task.clone(),
            number: settlement.attempt,
            node: settlement.node,
            status,
            execute_time: settlement.start_time,
            finish_time: Some(settlement.finish_time),
            cost_ms: Some(settlement.finish_time.ms_since(settlement.start_time).max(0)),
            result: settlement.decision.result.as_deref().map(|result| rules::summary(result).0),
            error_message: settlement.decision.error.clone(),
        };
        // A row of its start keeps what it says of the start.
        let kept = match self.attempts.get(&id) {
            None => new,
            Some(row) => Attempt {
                task: row.task.clone(),
                number: row.number,
                node: row.node,
                execute_time: row.execute_time,
                ..new
            },
        };
        self.attempts.insert(id, kept);
    }

    fn late(&mut self, settlement: &Settlement) -> Settled {
        let id = AttemptId { job: settlement.held.id, fence: settlement.held.fence };
        match self.attempts.get(&id).filter(|row| row.status != AttemptStatus::Running) {
            Some(row) if rules::is_own_end(row.status, row.finish_time, row.error_message.as_deref(), settlement) => {
                Settled::AlreadyApplied
            }
            Some(_) => Settled::Lost,
            None => {
                // Nobody was ever given a fence past the newest one: such a row would be a lie.
                if self.job(id.job).is_some_and(|job| id.fence <= job.fence) {
                    self.write_attempt(settlement, AttemptStatus::Discarded);
                }
                Settled::Lost
            }
        }
    }

    pub(super) fn die(&mut self, id: JobId, task: &TaskCode, cause: DeadCause, now: Timestamp) {
        self.dead.insert(id, Dead { task: task.clone(), cause, time: now, open: true });
        self.alerts.push(Alert { kind: "JOB_FAILED", job: Some(id) });
    }

    fn stop(&mut self, settlement: &Settlement, ended: JobStatus, now: Timestamp) {
        let task = self.tasks.get_mut(&settlement.task).filter(|task| task.switch == TaskSwitch::Enabled);
        if let Some(task) = task {
            (task.switch, task.update_time, task.next_fire_time) = (TaskSwitch::Disabled, now, None);
            task.disabled_reason = Some(rules::stopped_text(&task.code, settlement.held.id, ended));
            task.version += 1;
            self.alerts.push(Alert { kind: "TASK_STOPPED", job: Some(settlement.held.id) });
            self.stopped += 1;
        }
    }
}
