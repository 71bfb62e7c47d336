//! What runs for the parent of a broadcast: makes a part for every node that can run the task, and waits for their ends.
//!
//! **Invariant:** a coordinator can be repeated at any point, here or on another node. Parts have keys, so what was made is
//! found and not made again, and whoever waits is nobody's owner.
//!
//! Deliberately not here: time-outs and retries. Parts have theirs, and the parent ends when they have.

mod parts;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mainspring_model::broadcast::{self, PartEnd};
use mainspring_model::job::OnLive;
use mainspring_model::node::Skills;
use mainspring_model::{Code, JobId, JobStatus, NodeState, PoolName, Shard, Trigger, Unique, Verdict, Wait, limits};
use mainspring_store::{Claim, NewJob, NodeRow, Stream};

use super::LiveAttempt;
use crate::context::Context;
use crate::core::Core;
use crate::error::Error;
use crate::handler::{Body, Handler};

const PAUSE: Duration = Duration::from_millis(limits::COORDINATOR_PAUSE_MS);

/// Stands for the handler of a parent.
pub(super) fn coordinator(core: &Arc<Core>) -> Body {
    Body::Async(Arc::new(Coordinator { core: core.clone() }))
}

struct Coordinator {
    core: Arc<Core>,
}

#[async_trait]
impl Handler for Coordinator {
    async fn handle(&self, context: Context) -> Verdict {
        let (core, attempt) = (self.core.clone(), context.attempt);
        // Not dropped with the body: parts that were being made when the parent was cancelled are cancelled too.
        let work = async move { core.coordinate(&attempt).await };
        let gone = |_| Verdict::retry("the coordinator of the broadcast ended without an answer");
        self.core.to_its_end(work).await.unwrap_or_else(gone)
    }
}

impl Core {
    async fn coordinate(self: &Arc<Core>, attempt: &LiveAttempt) -> Verdict {
        let verdict = match self.make_parts(attempt).await {
            Err(verdict) => verdict,
            Ok(parts) => tokio::select! {
                biased;
                () = attempt.cancel.cancelled() => Verdict::Cancelled,
                ends = self.ends_of(&parts) => broadcast::join(&ends),
            },
        };
        if attempt.cancel.is_cancelled() {
            self.end_parts_of_ended(attempt.claim.id, &attempt.claim.task).await;
        }
        verdict
    }

    /// The parts, by index. `Err`: there are none, and the attempt ends like this.
    async fn make_parts(self: &Arc<Core>, attempt: &LiveAttempt) -> Result<Vec<JobId>, Verdict> {
        let (parent, definition) = (&attempt.claim, &attempt.task.definition);
        let first = self.patiently(attempt, || self.part_of(parent.id, &parent.task, 0)).await?;
        let nodes = self.patiently(attempt, || self.store.nodes()).await?;
        let active: Vec<_> = nodes.into_iter().filter(|node| node.state == NodeState::Active).map(skills).collect();
        let made = first.and_then(|first| first.shard);
        let routes = broadcast::routes(&definition.handler, &definition.node_labels, &active, made);
        if routes.is_empty() {
            // This node is not either: it drains, or others believe that it is gone.
            let reason = "no node that can run the task takes new work in this moment".to_owned();
            return Err(Verdict::Snooze { wait: Wait::For(PAUSE), reason });
        }
        if routes.len() > limits::BROADCAST_PARTS_MAX {
            let (nodes, max) = (routes.len(), limits::BROADCAST_PARTS_MAX);
            return Err(Verdict::fail(format!("{nodes} nodes can run the task, a broadcast reaches at most {max}")));
        }
        let total = u32::try_from(routes.len()).unwrap_or(u32::MAX);
        let jobs: Vec<NewJob> =
            (0..).zip(routes).map(|(index, pool)| self.part(parent, Shard { index, total }, pool)).collect();
        let parts = self.patiently(attempt, || self.store_parts(jobs.clone())).await?;
        for (index, id) in parts.iter().enumerate() {
            attempt.output.write(Stream::Log, &format!("part {index} of {total} is job {id}"));
        }
        Ok(parts)
    }

    async fn store_parts(self: &Arc<Core>, jobs: Vec<NewJob>) -> Result<Vec<JobId>, Error> {
        self.store_portion(jobs).await.into_iter().map(|stored| Ok(stored?.id)).collect()
    }

    fn part(&self, parent: &Claim, shard: Shard, pool: PoolName) -> NewJob {
        let now = self.clock.now();
        NewJob {
            id: self.next_id(now),
            task: parent.task.clone(),
            biz_id: Some(broadcast::part_key(parent.id, shard.index)),
            unique: Unique::Always,
            payload: parent.payload.clone(),
            execute_time: now,
            priority: parent.priority,
            max_retry: parent.max_retry,
            timeout_ms: parent.timeout_ms,
            pool,
            trigger: Trigger::System,
            fires: parent.fire_time.map(mainspring_model::job::Fires::one),
            create_time: now,
            claim: false,
            on_live: OnLive::Join,
            concurrency_key: None,
            serial: false,
            shard: Some(shard),
        }
    }

    /// One after the other: each wait asks the store now and then, and all must end anyway.
    async fn ends_of(&self, parts: &[JobId]) -> Vec<PartEnd> {
        let mut ends = Vec::with_capacity(parts.len());
        for id in parts {
            ends.push(self.end_of(*id).await);
        }
        ends
    }

    async fn end_of(&self, job: JobId) -> PartEnd {
        loop {
            match self.wait(job).await {
                Ok(end) => return PartEnd { job, status: end.status, result: end.result, error: end.error },
                Err(Error::Refused(refused)) if refused.code == Code::JobNotFound => {
                    let error = Some("its record is gone".to_owned());
                    return PartEnd { job, status: JobStatus::Failed, result: None, error };
                }
                Err(error) => tracing::debug!(%job, %error, "the end of a part is asked for again"),
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    /// Until the store answers or the attempt is over. What can be refused for a moment only is tried again too.
    async fn patiently<T, E, F>(&self, attempt: &LiveAttempt, mut call: impl FnMut() -> F) -> Result<T, Verdict>
    where
        E: Into<Error>,
        F: Future<Output = Result<T, E>>,
    {
        while !attempt.cancel.is_cancelled() {
            match call().await.map_err(E::into) {
                Ok(answer) => return Ok(answer),
                Err(Error::Refused(refused)) if refused.retry_after.is_none() => {
                    return Err(Verdict::fail(refused.detail));
                }
                Err(error) => tracing::debug!(attempt = %attempt.id(), %error, "a broadcast tries again in a moment"),
            }
            self.clock.sleep(PAUSE).await;
        }
        Err(Verdict::Cancelled)
    }
}

fn skills(node: NodeRow) -> (mainspring_model::Incarnation, Skills) {
    (node.incarnation, Skills { handlers: node.handlers, labels: node.labels })
}
