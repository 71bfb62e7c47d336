//! What people do to single jobs: retry, cancel, mark failed, release. The store decides, under the status and fence
//! that were seen; memory follows.

use std::sync::Arc;

use mainspring_model::decide::Ended;
use mainspring_model::operations::{self, Denied, JobOperation};
use mainspring_model::{Code, Fence, Job, JobId, PoolName, Refused, Timestamp, broadcast};
use mainspring_store::{JobEnd, Operate, Operated, StoreError};

use crate::core::Core;
use crate::error::Error;

/// A job that moves under a person's hand is read and judged again, but not for ever.
const TRIES_MAX: u32 = 5;

impl Core {
    pub(crate) async fn operate(self: &Arc<Core>, id: JobId, operation: JobOperation, by: &str) -> Result<Job, Error> {
        for _ in 0..TRIES_MAX {
            let seen = self.job(id).await?;
            let now = self.clock.now();
            let allowed = self.operations_on(&seen, now);
            if !allowed.allows(operation) {
                let what = format!("job {} in state {}", seen.id, seen.status);
                return Err(allowed.refuse(&what, operation).into());
            }
            if operation == JobOperation::Retry && seen.status.is_final() && broadcast::is_parent(&seen.pool) {
                // Before their parent: it would find them ended, and end with them.
                self.retry_parts(seen.id, &seen.task, by).await?;
            }
            let operate =
                Operate { id, operation, seen_status: seen.status, seen_fence: seen.fence, now, by: by.to_owned() };
            let operated = self.store.operate(operate).await;
            if let Err(StoreError::Unknown { .. }) = operated {
                self.reload_soon(&seen.task);
            }
            match operated? {
                Operated::Done(job) => {
                    self.follow(&job, operation, by);
                    if job.status.is_final() {
                        // Its end may have set the next fire of a fixed delay.
                        self.reload_task(&job.task).await;
                    }
                    return Ok(job);
                }
                Operated::Moved => {}
                Operated::Missing => return Err(no_such_job(id).into()),
                Operated::KeyTaken(other) => {
                    let detail = format!("the key of job {id} belongs to job {other} by now");
                    let refused = Refused::new(Code::OperationNotAllowed, detail);
                    return Err(refused.hint("wait for that job, or cancel it").into());
                }
            }
        }
        let detail = format!("job {id} changes too fast to {operation} it");
        Err(Refused::new(Code::OperationNotAllowed, detail).hint("try again").into())
    }

    /// What is in this node's memory of the job follows what the store has written. The job may have been claimed anew
    /// before we hear of it: what has a newer fence is left alone.
    fn follow(self: &Arc<Core>, job: &Job, operation: JobOperation, by: &str) {
        match operation {
            JobOperation::Retry => {}
            JobOperation::Cancel | JobOperation::Fail | JobOperation::Release => {
                self.take_from_memory(job.id, job.fence, &job.pool, by);
            }
        }
        if job.status.is_final() {
            self.end_parts_soon(job.id, &job.task, &job.pool);
            let end = || JobEnd { status: job.status, result: None, error: job.error_msg.clone() };
            self.waiters.tell(job.id, end);
        }
        // It waits in the store now, or its end has let another one of its lane go on.
        if let Some(pool) = self.pools.get(&job.pool) {
            pool.store_has(job.queue.map_or(Timestamp::default(), |entry| entry.due));
            self.claim_wake.notify_one();
        }
    }

    /// What this node holds of the job under an older fence: its place goes, its body is told to stop.
    pub(crate) fn take_from_memory(&self, id: JobId, fence: Fence, pool: &PoolName, by: &str) {
        if let Some(pool) = self.pools.get(pool) {
            pool.take_out(id, fence, by);
        }
        for attempt in self.live.of_job(id, fence) {
            attempt.revoke(Ended::Cancelled { by: by.to_owned() }, self.clock.monotonic());
        }
    }

    pub(crate) fn operations_on(&self, job: &Job, now: Timestamp) -> operations::Operations<JobOperation> {
        let allowed = operations::on_job(job, now);
        // A job of no task would wait for ever.
        match self.tasks.get(&job.task) {
            Some(_) => allowed,
            None => allowed.without(JobOperation::Retry, Denied::TaskDeleted),
        }
    }

    pub(crate) async fn job(&self, id: JobId) -> Result<Job, Error> {
        Ok(self.store.job(id).await?.ok_or_else(|| no_such_job(id))?)
    }
}

fn no_such_job(id: JobId) -> Refused {
    Refused::new(Code::JobNotFound, format!("there is no job {id}"))
}
