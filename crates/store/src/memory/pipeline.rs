//! The stages of the pipeline: submit, claim, start, settle.

use mainspring_model::decide::{Budget, Next};
use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, AttemptStatus, Code, Incarnation, Job, JobId, JobStatus, PoolName, Priority, TaskCode,
    Timestamp,
};

use super::{Alert, Data, Dead, Queued, Record};
use crate::rules::{self, PRIORITIES};
use crate::{Claim, ClaimRequest, Claimed, GiveBack, Held, NewJob, PoolRoom, Settled, Settlement, Started, Submitted};

impl Data {
    pub(super) fn submit(&mut self, owner: Incarnation, new: &NewJob) -> Submitted {
        if self.records.contains_key(&new.id) {
            return Submitted::Stored; // an earlier try, whatever has happened to its task and key since
        }
        let refusal = match self.tasks.get(&new.task).map(|task| task.switch) {
            None => Some(Code::TaskNotFound),
            Some(TaskSwitch::Disabled) => Some(Code::TaskDisabled),
            Some(TaskSwitch::Enabled) => None,
        };
        if let Some(code) = refusal {
            return Submitted::Refused(rules::refused_task(code, &new.task));
        }
        if let Some(biz_id) = &new.biz_id {
            let key = (biz_id.clone(), new.task.clone());
            if let Some(first) = self.keys.get(&key).and_then(|id| self.records.get_mut(id)) {
                first.job.duplicates += 1;
                first.job.last_duplicate = Some(new.create_time);
                return Submitted::Duplicate {
                    id: first.job.id,
                    status: first.job.status,
                    execute_time: first.job.execute_time,
                    payload_differs: first.job.payload != new.payload,
                };
            }
            self.keys.insert(key, new.id);
        }
        let job = new_record(new);
        let queued = Queued {
            task: new.task.clone(),
            due: new.execute_time,
            fence: job.fence,
            owner: new.claim.then_some(owner),
            state: if new.claim { QueueState::Claimed } else { QueueState::Queued },
            suspect: false,
        };
        self.queue.insert(new.id, queued);
        self.records.insert(new.id, Record { job, unique: new.unique, result: None });
        Submitted::Stored
    }

    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Claimed {
        let turn = self.claims;
        self.claims += 1;
        let mut claimed = Claimed::default();
        for room in &request.rooms {
            for id in self.choose(room, request.due_until, turn) {
                let queued = self.queue.get_mut(&id).expect("it was found in the queue under this lock");
                (queued.owner, queued.state) = (Some(request.owner), QueueState::Claimed);
                queued.fence = queued.fence.next();
                claimed.jobs.push(claim_of(&self.records[&id], queued));
            }
            claimed.next_due.push((room.pool.clone(), self.earliest_due(&room.pool)));
        }
        claimed
    }

    fn choose(&self, room: &PoolRoom, until: Timestamp, turn: u64) -> Vec<JobId> {
        let mut waiting: [Vec<(Timestamp, JobId)>; PRIORITIES] = Default::default();
        for (id, queued) in self.unclaimed(&room.pool).filter(|(_, queued)| queued.due <= until) {
            let at = Priority::ALL.iter().position(|priority| *priority == self.records[&id].job.priority);
            waiting[at.expect("ALL holds every priority")].push((queued.due, id));
        }
        let mut counts = [0; PRIORITIES];
        for (jobs, count) in waiting.iter_mut().zip(&mut counts) {
            jobs.sort();
            jobs.truncate(room.jobs_max as usize);
            *count = u32::try_from(jobs.len()).expect("it was cut to a u32");
        }
        let taken = rules::split(room.jobs_max, counts, turn);
        waiting
            .iter()
            .zip(taken)
            .flat_map(|(jobs, taken)| jobs.iter().take(taken as usize))
            .map(|(_, id)| *id)
            .collect()
    }

    pub(super) fn unclaimed<'d>(&'d self, pool: &'d PoolName) -> impl Iterator<Item = (JobId, &'d Queued)> {
        let free = |queued: &Queued| queued.owner.is_none() && queued.state == QueueState::Queued;
        let rows = self.queue.iter().map(|(id, queued)| (*id, queued));
        rows.filter(move |(id, queued)| free(queued) && self.records[id].job.pool == *pool)
    }

    fn earliest_due(&self, pool: &PoolName) -> Option<Timestamp> {
        self.unclaimed(pool).map(|(_, queued)| queued.due).min()
    }

    pub(super) fn give_back(&mut self, held: &[Held], how: GiveBack) {
        for held in held {
            let row = self.queue.get_mut(&held.id);
            if let Some(queued) = row.filter(|row| row.fence == held.fence && row.state == QueueState::Claimed) {
                queued.owner = None;
                queued.state = match how {
                    GiveBack::Release => QueueState::Queued,
                    GiveBack::Park => QueueState::Parked,
                };
            }
        }
    }

    pub(super) fn unpark(&mut self, tasks: &[TaskCode]) -> u64 {
        let mut jobs = 0;
        for queued in self.queue.values_mut() {
            if queued.state == QueueState::Parked && tasks.contains(&queued.task) {
                queued.state = QueueState::Queued;
                jobs += 1;
            }
        }
        jobs
    }

    /// The queue row of a job that is held under this fence.
    fn held_row(&mut self, held: Held) -> Option<&mut Queued> {
        let row = self.queue.get_mut(&held.id)?;
        let is_held = matches!(row.state, QueueState::Claimed | QueueState::Started) && row.fence == held.fence;
        Some(row).filter(|_| is_held)
    }

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
        match settlement.decision.next {
            Next::Again { due, .. } => {
                (queued.owner, queued.state, queued.suspect, queued.due) = (None, QueueState::Queued, false, due);
            }
            Next::Final { .. } => drop(self.queue.remove(&held.id)),
        }
        self.write_outcome(settlement, now);
        self.write_attempt(settlement, settlement.decision.attempt);
        if let Next::Final { dead, stop_task, .. } = settlement.decision.next {
            if let Some(biz_id) = &settlement.live_key {
                self.free_key((biz_id.clone(), settlement.task.clone()), held.id);
            }
            if let Some(cause) = dead {
                self.die(held.id, &settlement.task, cause, now);
            }
            if stop_task {
                self.stop(settlement, now);
            }
        }
        Settled::Applied
    }

    fn write_outcome(&mut self, settlement: &Settlement, now: Timestamp) {
        let decision = &settlement.decision;
        let record = self.record(settlement.held.id);
        let job = &mut record.job;
        match decision.next {
            Next::Final { status, .. } => {
                (job.status, job.finish_time, job.next_retry_time) = (status, Some(settlement.finish_time), None);
            }
            Next::Again { due, spends } => {
                (job.status, job.finish_time, job.next_retry_time) = (JobStatus::Pending, None, Some(due));
                job.retry_count += u32::from(spends == Budget::Failure);
            }
        }
        job.lost_count += u32::from(decision.counts_a_loss());
        (job.attempts, job.fence) = (settlement.attempt, settlement.held.fence);
        (job.start_time, job.update_time) = (Some(settlement.start_time), now);
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

    pub(super) fn free_key(&mut self, key: (mainspring_model::BizId, TaskCode), id: JobId) {
        if self.keys.get(&key) == Some(&id) {
            self.keys.remove(&key);
        }
    }

    pub(super) fn die(&mut self, id: JobId, task: &TaskCode, cause: DeadCause, now: Timestamp) {
        self.dead.insert(id, Dead { task: task.clone(), cause, time: now, open: true });
        self.alerts.push(Alert { kind: "JOB_FAILED", job: id });
    }

    fn stop(&mut self, settlement: &Settlement, now: Timestamp) {
        let task = self.tasks.get_mut(&settlement.task).filter(|task| task.switch == TaskSwitch::Enabled);
        if let Some(task) = task {
            (task.switch, task.update_time) = (TaskSwitch::Disabled, now);
            task.version += 1;
            self.alerts.push(Alert { kind: "TASK_STOPPED", job: settlement.held.id });
        }
    }
}

fn new_record(new: &NewJob) -> Job {
    Job {
        id: new.id,
        task: new.task.clone(),
        biz_id: new.biz_id.clone(),
        status: JobStatus::Pending,
        retry_count: 0,
        max_retry: new.max_retry,
        lost_count: 0,
        attempts: 0,
        duplicates: 0,
        last_duplicate: None,
        fence: mainspring_model::Fence(i64::from(new.claim)),
        execute_time: new.execute_time,
        next_retry_time: None,
        start_time: None,
        finish_time: None,
        timeout_ms: new.timeout_ms,
        pool: new.pool.clone(),
        priority: new.priority,
        trigger: new.trigger,
        fire_time: new.fire_time,
        payload: new.payload.clone(),
        result_summary: None,
        error_msg: None,
        create_time: new.create_time,
        update_time: new.create_time,
        queue: None,
    }
}

fn claim_of(record: &Record, queued: &Queued) -> Claim {
    let job = &record.job;
    Claim {
        id: job.id,
        fence: queued.fence,
        task: job.task.clone(),
        pool: job.pool.clone(),
        priority: job.priority,
        due: queued.due,
        attempts: job.attempts,
        retry_count: job.retry_count,
        max_retry: job.max_retry,
        lost_count: job.lost_count,
        suspect: queued.suspect,
        timeout_ms: job.timeout_ms,
        payload: job.payload.clone(),
        biz_id: job.biz_id.clone(),
        unique: record.unique,
        trigger: job.trigger,
        fire_time: job.fire_time,
        create_time: job.create_time,
    }
}
