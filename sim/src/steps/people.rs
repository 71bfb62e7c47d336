//! What people do: INV-8 only a person's retry leaves a final state, INV-12 with its consequences, INV-17 switches hold.

use mainspring_model::job::DeadCause;
use mainspring_model::operations::JobOperation;
use mainspring_model::{BizId, Fence, JobId, JobStatus, TaskCode, TaskDefinition, Timestamp, Unique};
use mainspring_store::{Operate, Operated, PoolSettings, TaskChange};

use super::{Answer, Desk, at_once, queued};
use crate::ghost::{GhostTask, Image};

impl Desk<'_> {
    pub(crate) fn operate(&mut self, operate: Operate) -> Answer<Operated> {
        let answer = at_once(self.world.store.operate(operate.clone()));
        let operated = self.sound("operate", answer)?;
        let (id, operation) = (operate.id, operate.operation);
        let done = matches!(operated, Operated::Done(_));
        self.event(format_args!("operates {operation} on {id}: {}", if done { "done" } else { "not done" }));
        let Some(job) = self.job(id) else {
            if done {
                self.violate("INV-1", format!("{operation} of job {id}, which nobody submitted"));
            }
            return Ok(operated);
        };
        let before = job.image.clone();
        if !done {
            let as_seen = before.status == operate.seen_status && before.fence == operate.seen_fence;
            if matches!(operated, Operated::Moved) && as_seen && operation == JobOperation::Cancel {
                self.violate("INV-12", format!("{operation} of job {id} was refused: moved, it has not"));
            }
            self.judge_untouched("operate", id);
            return Ok(operated);
        }
        let this = (operation, operate.seen_fence, operate.now);
        if job.operations.contains(&this) {
            self.judge_untouched("operate", id);
            return Ok(operated);
        }
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            job.operations.push(this);
        }
        if before.status != operate.seen_status || before.fence != operate.seen_fence {
            self.violate("INV-8", format!("{operation} of job {id} was done, it was not as the person saw it"));
        }
        self.ghost.counts.operations += 1;
        match operation {
            JobOperation::Retry => self.retried(id, before, operate.now),
            JobOperation::Cancel => self.ended(id, before, JobStatus::Cancelled, None),
            JobOperation::Fail => self.ended(id, before, JobStatus::Failed, Some(DeadCause::MarkedFailed)),
            JobOperation::Release => {
                let due = before.due().unwrap_or_default();
                self.taken_from_node(id);
                let fence = before.fence.next();
                self.judge("operate", id, Image { status: JobStatus::Pending, fence, queue: queued(due), ..before });
            }
        }
        Ok(operated)
    }

    fn retried(&mut self, id: JobId, before: Image, now: Timestamp) {
        if !before.status.is_final() {
            let queue = before.queue.map(|entry| mainspring_model::job::QueueEntry { due: now, ..entry });
            return self.judge("operate", id, Image { queue, ..before });
        }
        let key = self.live_key(id);
        if let Some(holder) = key.as_ref().and_then(|key| self.ghost.keys.get(key)).copied() {
            self.violate("INV-3", format!("job {id} was reopened, its key belongs to job {holder}"));
        }
        if let Some(key) = key {
            self.ghost.keys.insert(key, id);
        }
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            (job.failures, job.losses) = (0, 0);
            // The queue row is new and knows of no suspicion.
            job.suspect = false;
        }
        let status = JobStatus::Pending;
        let expected = Image { status, retry_count: 0, lost_count: 0, queue: queued(now), ..before };
        self.judge("operate", id, expected);
    }

    fn ended(&mut self, id: JobId, before: Image, status: JobStatus, dead: Option<DeadCause>) {
        self.taken_from_node(id);
        let fence = before.fence.next();
        self.judge("operate", id, Image { status, fence, queue: None, ..before });
        self.ghost.free_key(id);
        self.check_consequences(id, dead.is_some());
    }

    fn taken_from_node(&mut self, id: JobId) {
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            job.claim = None;
            job.newest_fence = Fence(job.image.fence.0 + 1);
        }
    }

    fn live_key(&self, id: JobId) -> Option<(TaskCode, BizId)> {
        let job = self.job(id).filter(|job| job.unique == Unique::Live)?;
        job.biz_id.clone().map(|biz_id| (job.task.clone(), biz_id))
    }

    pub(crate) fn create_task(
        &mut self,
        code: TaskCode,
        definition: TaskDefinition,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let answer = at_once(self.world.store.create_task(code.clone(), definition.clone(), by, now));
        let change = self.sound("create_task", answer)?;
        if let TaskChange::Written(_) = &change {
            self.ghost.tasks.entry(code).or_insert(GhostTask { enabled: true, definition });
        }
        Ok(change)
    }

    pub(crate) fn update_task(
        &mut self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let answer = at_once(self.world.store.update_task(code.clone(), version, definition.clone(), by, now));
        let change = self.sound("update_task", answer)?;
        if let (TaskChange::Written(_), Some(task)) = (&change, self.ghost.tasks.get_mut(&code)) {
            task.definition = definition;
        }
        self.event(format_args!("edits task {code}"));
        Ok(change)
    }

    pub(crate) fn switch_task(
        &mut self,
        code: TaskCode,
        enabled: bool,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let answer = at_once(self.world.store.switch_task(code.clone(), enabled, by, now));
        let change = self.sound("switch_task", answer)?;
        self.event(format_args!("switches task {code} to {enabled}"));
        if let TaskChange::Written(stored) = &change {
            if (stored.switch == mainspring_model::task::TaskSwitch::Enabled) != enabled {
                self.violate("INV-17", format!("task {code} was switched to {enabled} and is not"));
            }
            if let Some(task) = self.ghost.tasks.get_mut(&code) {
                task.enabled = enabled;
            }
        }
        Ok(change)
    }

    pub(crate) fn put_pool(&mut self, pool: PoolSettings, by: String, now: Timestamp) -> Answer<()> {
        self.ghost.allow(&pool);
        self.event(format_args!("sets pool {} to {} slots, paused: {}", pool.name, pool.concurrency, pool.paused));
        let answer = at_once(self.world.store.put_pool(pool, by, now));
        self.sound("put_pool", answer)
    }
}
