//! What people do: INV-8 only a person's retry leaves a final state, INV-12 with its consequences.

use mainspring_model::job::DeadCause;
use mainspring_model::operations::JobOperation;
use mainspring_model::{BizId, Fence, JobId, JobStatus, TaskCode, Timestamp, Unique};
use mainspring_store::{Operate, Operated};

use super::{Answer, Desk, queued};
use crate::ghost::Image;

impl Desk<'_> {
    pub(crate) fn operate(&mut self, operate: Operate) -> Answer<Operated> {
        let answer = self.world.planted.operate(self.world.store.as_ref(), &operate);
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
            JobOperation::Cancel => self.ended(id, before, JobStatus::Cancelled, None, operate.now),
            JobOperation::Fail => self.ended(id, before, JobStatus::Failed, Some(DeadCause::MarkedFailed), operate.now),
            JobOperation::Release => {
                let due = before.due().unwrap_or_default();
                self.taken_from_node(id);
                let fence = before.fence.next();
                self.judge("operate", id, Image { status: JobStatus::Pending, fence, queue: queued(due), ..before });
            }
        }
        if let Some(code) = self.job(id).map(|job| job.task.clone()) {
            self.check_task(&code, "INV-15");
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
            // Nor that it was one of several that catch up.
            job.serial = false;
        }
        let status = JobStatus::Pending;
        let fence = before.fence.next();
        let expected = Image { status, fence, retry_count: 0, lost_count: 0, queue: queued(now), ..before };
        self.judge("operate", id, expected);
    }

    pub(super) fn ended(
        &mut self,
        id: JobId,
        before: Image,
        status: JobStatus,
        dead: Option<DeadCause>,
        now: Timestamp,
    ) {
        self.taken_from_node(id);
        let fence = before.fence.next();
        self.judge("operate", id, Image { status, fence, queue: None, ..before });
        self.ghost.free_key(id);
        self.after_end(id, now);
        self.check_dead(id, dead.is_some());
    }

    fn taken_from_node(&mut self, id: JobId) {
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            job.revoked.extend(job.claim.map(|claim| claim.fence));
            job.claim = None;
            job.newest_fence = Fence(job.image.fence.0 + 1);
        }
    }

    fn live_key(&self, id: JobId) -> Option<(TaskCode, BizId)> {
        let job = self.job(id).filter(|job| job.unique == Unique::Live)?;
        job.biz_id.clone().map(|biz_id| (job.task.clone(), biz_id))
    }
}
