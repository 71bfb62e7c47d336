//! Operations by people on jobs.

use mainspring_model::decide::expired_text;
use mainspring_model::job::{DeadCause, QueueState, SkipReason};
use mainspring_model::{
    AttemptId, AttemptStatus, CalendarName, Job, JobId, JobStatus, TaskCode, Timestamp, Trigger, Unique, limits,
};

use super::lanes::is_held;
use super::{Data, Queued};
use crate::rules::{self, Change, Place};
use crate::{CalendarDeletion, Expiry, Operate, Operated};

/// The end of a live job that is not its body's own.
#[derive(Debug)]
pub(super) struct EndByOthers {
    pub(super) status: JobStatus,
    pub(super) attempt: AttemptStatus,
    pub(super) message: String,
    pub(super) now: Timestamp,
}

impl Data {
    pub(super) fn delete_calendar(&mut self, name: &CalendarName) -> CalendarDeletion {
        let users = self.tasks.values().filter(|task| task.definition.calendar.as_ref() == Some(name));
        let users: Vec<&TaskCode> = users.map(|task| &task.code).collect();
        match users.first() {
            Some(first) => CalendarDeletion::NamedBy { first: TaskCode::clone(first), tasks: users.len() as u64 },
            None if self.calendars.remove(name).is_some() => CalendarDeletion::Deleted,
            None => CalendarDeletion::Missing,
        }
    }

    pub(super) fn operate(&mut self, operate: &Operate) -> Operated {
        let Some(job) = self.job(operate.id) else { return Operated::Missing };
        let Some(change) = rules::judge(&job, operate) else {
            let is_same = |done: &Operate| {
                (done.id, done.operation, done.now, &done.by)
                    == (operate.id, operate.operation, operate.now, &operate.by)
            };
            return if self.operations.iter().any(is_same) { Operated::Done(job) } else { Operated::Moved };
        };
        match change {
            Change::Reopen => {
                let live = self.records[&job.id].unique == Unique::Live;
                if let Some(biz_id) = job.biz_id.clone().filter(|_| live) {
                    let key = (biz_id, job.task.clone());
                    let holder = *self.keys.entry(key).or_insert(job.id);
                    if holder != job.id {
                        return Operated::KeyTaken(holder);
                    }
                }
                self.reopen(&job, operate.now);
            }
            Change::DueNow => self.make_due(&job, operate.now),
            Change::End(status) => {
                let message = rules::operation_message(operate);
                let attempt = rules::attempt_after(operate.operation);
                self.end_by_others(&job, EndByOthers { status, attempt, message, now: operate.now });
            }
            Change::Release => self.release_by_person(&job, operate),
        }
        self.operations.push(operate.clone());
        Operated::Done(self.job(job.id).expect("it was read under this lock"))
    }

    fn change(&mut self, job: &Job, change: impl FnOnce(&mut Job)) {
        change(&mut self.records.get_mut(&job.id).expect("it was read under this lock").job);
    }

    fn reopen(&mut self, job: &Job, now: Timestamp) {
        self.change(job, |record| {
            (record.status, record.retry_count, record.lost_count) = (JobStatus::Pending, 0, 0);
            (record.next_retry_time, record.finish_time, record.update_time) = (None, None, now);
        });
        let definition = self.tasks.get(&job.task).map(|task| &task.definition);
        let queued = Queued {
            task: job.task.clone(),
            due: now,
            fence: job.fence.next(),
            owner: None,
            state: QueueState::Queued,
            suspect: false,
            lane: rules::lane_of(definition, Place::of_known(job, false), job.concurrency_key.as_deref()),
        };
        self.queue.insert(job.id, queued);
        if let Some(dead) = self.dead.get_mut(&job.id) {
            dead.open = false;
        }
    }

    fn make_due(&mut self, job: &Job, now: Timestamp) {
        if let Some(queued) = self.queue.get_mut(&job.id) {
            queued.due = now;
        }
        self.change(job, |record| {
            record.next_retry_time = record.next_retry_time.map(|_| now);
            record.update_time = now;
        });
    }

    /// As a person ends it, and as a job that takes its place does.
    pub(super) fn end_by_others(&mut self, job: &Job, end: EndByOthers) {
        let queued = self.queue.remove(&job.id).expect("a live job has a queue row");
        self.end_attempt(job, end.attempt, &end.message, end.now);
        self.change(job, |record| {
            (record.status, record.fence, record.error_msg) = (end.status, job.fence.next(), Some(end.message));
            (record.finish_time, record.update_time) = (Some(end.now), end.now);
        });
        self.free_live_key(job.id);
        if end.status == JobStatus::Failed {
            self.die(job.id, &job.task, DeadCause::MarkedFailed, end.now);
        }
        self.after_end(&job.task, job.trigger, end.now);
        self.release_lane(&job.task, queued.lane.as_ref());
    }

    pub(super) fn expire(&mut self, expiry: &Expiry, now: Timestamp) -> Vec<JobId> {
        let is_unbegun = |(id, queued): &(&JobId, &Queued)| {
            let job = &self.records[id].job;
            let is_fired = matches!(job.trigger, Trigger::Cron | Trigger::Misfire);
            let is_late = is_fired && job.attempts == 0 && job.create_time < expiry.before;
            queued.task == expiry.task && queued.lane.is_some() && !is_held(queued) && is_late
        };
        let late = self.queue.iter().filter(is_unbegun).map(|(id, _)| *id);
        let late: Vec<JobId> = late.take(limits::FLUSH_JOBS_MAX).collect();
        for id in &late {
            let job = self.job(*id).expect("a queue row has its record");
            let message = expired_text(now.ms_since(job.create_time));
            self.end_by_others(
                &job,
                EndByOthers { status: JobStatus::Skipped, attempt: AttemptStatus::Skipped, message, now },
            );
            self.change(&job, |record| record.skip_reason = Some(SkipReason::Expired));
        }
        late
    }

    fn release_by_person(&mut self, job: &Job, operate: &Operate) {
        let fence = job.fence.next();
        let queued = self.queue.get_mut(&job.id).expect("a live job has a queue row");
        (queued.owner, queued.state, queued.fence) = (None, QueueState::Queued, fence);
        let lane = queued.lane.clone();
        self.change(job, |record| {
            (record.status, record.fence, record.update_time) = (JobStatus::Pending, fence, operate.now);
        });
        let message = rules::operation_message(operate);
        self.end_attempt(job, rules::attempt_after(operate.operation), &message, operate.now);
        self.release_lane(&job.task, lane.as_ref());
    }

    fn end_attempt(&mut self, job: &Job, status: AttemptStatus, message: &str, now: Timestamp) {
        let row = self.attempts.get_mut(&AttemptId { job: job.id, fence: job.fence });
        if let Some(attempt) = row.filter(|attempt| attempt.status == AttemptStatus::Running) {
            attempt.status = status;
            attempt.finish_time = Some(now);
            attempt.cost_ms = Some(now.ms_since(attempt.execute_time).max(0));
            attempt.error_message = Some(message.to_owned());
        }
    }
}
