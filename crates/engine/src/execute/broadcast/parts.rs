//! The parts of a parent, found by their keys, and what becomes of them when people act on their parent.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mainspring_model::operations::JobOperation;
use mainspring_model::{Job, JobId, JobStatus, PoolName, TaskCode, broadcast};
use mainspring_store::{JobFilter, StoreError};

use super::PAUSE;
use crate::core::Core;
use crate::error::Error;

impl Core {
    pub(super) async fn part_of(&self, parent: JobId, task: &TaskCode, index: u32) -> Result<Option<Job>, StoreError> {
        let key = broadcast::part_key(parent, index);
        let filter = JobFilter { task: Some(task.clone()), biz_id: Some(key), ..JobFilter::default() };
        Ok(self.store.jobs(filter, 1, None).await?.items.pop().filter(|job| job.shard.is_some()))
    }

    /// By index; none when no coordinator has begun.
    async fn parts_of(&self, parent: JobId, task: &TaskCode) -> Result<Vec<Job>, StoreError> {
        let Some(first) = self.part_of(parent, task, 0).await? else { return Ok(Vec::new()) };
        let total = first.shard.map_or(1, |shard| shard.total);
        let mut parts = vec![first];
        for index in 1..total {
            parts.extend(self.part_of(parent, task, index).await?);
        }
        Ok(parts)
    }

    /// A person takes a parent up again: its parts that did not succeed are taken up before it. (In a box: to do so is the
    /// same operation.)
    pub(crate) fn retry_parts<'c>(
        self: &'c Arc<Core>,
        parent: JobId,
        task: &'c TaskCode,
        by: &'c str,
    ) -> BoxFuture<'c, Result<(), Error>> {
        async move {
            for part in self.parts_of(parent, task).await? {
                if part.status.is_final() && part.status != JobStatus::Success {
                    self.operate_on_part(part.id, JobOperation::Retry, by).await?;
                }
            }
            Ok(())
        }
        .boxed()
    }

    /// The parent was ended by others than its coordinator: nobody waits for its parts any more.
    pub(crate) fn end_parts_soon(self: &Arc<Core>, parent: JobId, task: &TaskCode, pool: &PoolName) {
        if broadcast::is_parent(pool) {
            let (core, task) = (self.clone(), task.clone());
            self.spawn_once(async move { core.end_parts(parent, &task).await });
        }
    }

    /// The same for a coordinator that was told to stop. Its parent may only have changed hands.
    pub(super) async fn end_parts_of_ended(self: &Arc<Core>, parent: JobId, task: &TaskCode) {
        loop {
            match self.store.job_end(parent).await {
                Ok(Some(end)) if end.status != JobStatus::Success => return self.end_parts(parent, task).await,
                Ok(_) => return,
                Err(error) => tracing::debug!(%parent, %error, "it is asked again whether a broadcast has ended"),
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    fn end_parts<'c>(self: &'c Arc<Core>, parent: JobId, task: &'c TaskCode) -> BoxFuture<'c, ()> {
        async move {
            while let Err(error) = self.try_to_end_parts(parent, task).await {
                tracing::debug!(%parent, %error, "the parts of a broadcast that has ended are cancelled in a moment");
                self.clock.sleep(PAUSE).await;
            }
        }
        .boxed()
    }

    async fn try_to_end_parts(self: &Arc<Core>, parent: JobId, task: &TaskCode) -> Result<(), Error> {
        let by = format!("job {parent}");
        for part in self.parts_of(parent, task).await? {
            if !part.status.is_final() {
                self.operate_on_part(part.id, JobOperation::Cancel, &by).await?;
            }
        }
        Ok(())
    }

    /// One that has moved on by itself needs nothing.
    async fn operate_on_part(self: &Arc<Core>, id: JobId, operation: JobOperation, by: &str) -> Result<(), Error> {
        match self.operate(id, operation, by).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(unavailable) => Err(unavailable),
        }
    }
}
