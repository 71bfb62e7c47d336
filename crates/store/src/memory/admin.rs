//! Changes by people: tasks, and operations on jobs.

use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::task::TaskSwitch;
use mainspring_model::{AttemptId, AttemptStatus, Job, JobStatus, Task, TaskCode, TaskDefinition, Timestamp, Unique};

use super::{Data, Queued};
use crate::rules::{self, Change};
use crate::{Operate, Operated, TaskChange};

impl Data {
    pub(super) fn create_task(&mut self, code: TaskCode, definition: TaskDefinition, now: Timestamp) -> TaskChange {
        if let Some(stored) = self.tasks.get(&code) {
            return TaskChange::InTheWay(stored.clone());
        }
        self.last_task_id = self.tasks.values().map(|task| task.id).max().unwrap_or(0) + 1;
        let task = Task {
            id: self.last_task_id,
            code: code.clone(),
            switch: TaskSwitch::Enabled,
            definition,
            next_fire_time: None,
            prev_fire_time: None,
            version: 1,
            create_time: now,
            update_time: now,
        };
        self.tasks.insert(code, task.clone());
        TaskChange::Written(task)
    }

    pub(super) fn update_task(
        &mut self,
        code: &TaskCode,
        version: i64,
        definition: TaskDefinition,
        now: Timestamp,
    ) -> TaskChange {
        let Some(stored) = self.tasks.get_mut(code) else { return TaskChange::Missing };
        if stored.version != version {
            return match rules::is_repeated_update(stored, version, &definition) {
                true => TaskChange::Written(stored.clone()),
                false => TaskChange::Conflict(stored.clone()),
            };
        }
        (stored.definition, stored.update_time) = (definition, now);
        stored.version += 1;
        TaskChange::Written(stored.clone())
    }

    pub(super) fn switch_task(&mut self, code: &TaskCode, enabled: bool, now: Timestamp) -> TaskChange {
        let to = if enabled { TaskSwitch::Enabled } else { TaskSwitch::Disabled };
        let Some(stored) = self.tasks.get_mut(code) else { return TaskChange::Missing };
        if stored.switch != to {
            (stored.switch, stored.update_time) = (to, now);
            stored.version += 1;
        }
        let written = stored.clone();
        TaskChange::Written(written)
    }

    pub(super) fn delete_task(&mut self, code: &TaskCode, version: Option<i64>) -> TaskChange {
        let Some(stored) = self.tasks.get(code).cloned() else { return TaskChange::Missing };
        if version.is_some_and(|version| version != stored.version) {
            return TaskChange::Conflict(stored);
        }
        if self.queue.values().any(|queued| queued.task == *code) {
            return TaskChange::InTheWay(stored);
        }
        self.tasks.remove(code);
        TaskChange::Written(stored)
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
        let unique = self.records[&job.id].unique;
        let live_key = job.biz_id.clone().filter(|_| unique == Unique::Live).map(|biz_id| (biz_id, job.task.clone()));
        match change {
            Change::Reopen => {
                if let Some(key) = live_key {
                    let holder = *self.keys.entry(key).or_insert(job.id);
                    if holder != job.id {
                        return Operated::KeyTaken(holder);
                    }
                }
                self.reopen(&job, operate.now);
            }
            Change::DueNow => self.make_due(&job, operate.now),
            Change::End(status) => {
                self.end(&job, status, operate);
                if let Some(key) = live_key {
                    self.free_key(key, job.id);
                }
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
        let task = job.task.clone();
        let queued =
            Queued { task, due: now, fence: job.fence, owner: None, state: QueueState::Queued, suspect: false };
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

    fn end(&mut self, job: &Job, status: JobStatus, operate: &Operate) {
        self.queue.remove(&job.id);
        let message = rules::operation_message(operate);
        self.end_attempt(job, operate, &message);
        self.change(job, |record| {
            (record.status, record.fence, record.error_msg) = (status, job.fence.next(), Some(message));
            (record.finish_time, record.update_time) = (Some(operate.now), operate.now);
        });
        if status == JobStatus::Failed {
            self.die(job.id, &job.task, DeadCause::MarkedFailed, operate.now);
        }
    }

    fn release_by_person(&mut self, job: &Job, operate: &Operate) {
        let fence = job.fence.next();
        if let Some(queued) = self.queue.get_mut(&job.id) {
            (queued.owner, queued.state, queued.fence) = (None, QueueState::Queued, fence);
        }
        self.change(job, |record| {
            (record.status, record.fence, record.update_time) = (JobStatus::Pending, fence, operate.now);
        });
        self.end_attempt(job, operate, &rules::operation_message(operate));
    }

    fn end_attempt(&mut self, job: &Job, operate: &Operate, message: &str) {
        let row = self.attempts.get_mut(&AttemptId { job: job.id, fence: job.fence });
        if let Some(attempt) = row.filter(|attempt| attempt.status == AttemptStatus::Running) {
            attempt.status = rules::attempt_after(operate.operation);
            attempt.finish_time = Some(operate.now);
            attempt.cost_ms = Some(operate.now.ms_since(attempt.execute_time).max(0));
            attempt.error_message = Some(message.to_owned());
        }
    }
}
