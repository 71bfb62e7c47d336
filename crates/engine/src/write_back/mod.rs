//! 5 WRITE BACK: how attempts ended is decided by a pure function and written in batches, each one transaction.
//!
//! **Invariant:** an outcome leaves memory only when the store has answered for it. While the store is away outcomes
//! wait here; they are bounded by what was claimed, since nothing new is claimed meanwhile.

pub(crate) mod output;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_model::decide::{Ended, Facts, Next, decide};
use mainspring_model::job::Lane;
use mainspring_model::{JobStatus, Timestamp, Unique, limits};
use mainspring_store::{JobEnd, OutputChunk, Settled, Settlement};
use tokio::sync::Notify;

use crate::core::{Core, Count};
use crate::execute::LiveAttempt;
use crate::locked;

#[derive(Debug, Default)]
pub(crate) struct WriteBack {
    ended: Mutex<Vec<EndedAttempt>>,
    wake: Notify,
}

#[derive(Debug)]
struct EndedAttempt {
    attempt: Arc<LiveAttempt>,
    ended: Ended,
    finish_time: Timestamp,
}

impl WriteBack {
    pub(crate) fn add(&self, attempt: Arc<LiveAttempt>, ended: Ended, finish_time: Timestamp) {
        locked(&self.ended).push(EndedAttempt { attempt, ended, finish_time });
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<EndedAttempt> {
        let mut ended = locked(&self.ended);
        let count = ended.len().min(limits::FLUSH_JOBS_MAX);
        ended.drain(..count).collect()
    }
}

/// While one batch is being written, the next one gathers.
pub(crate) async fn settle_ended(core: Arc<Core>) {
    loop {
        let ended = core.write_back.take();
        if ended.is_empty() {
            core.write_back.wake.notified().await;
            continue;
        }
        core.settle(ended).await;
    }
}

impl Core {
    async fn settle(self: &Arc<Core>, ended: Vec<EndedAttempt>) {
        let now = self.clock.now();
        let output: Vec<OutputChunk> = ended.iter().flat_map(|one| one.attempt.output.take_all()).collect();
        if !output.is_empty() {
            self.write_output(output).await;
        }
        let settlements: Vec<Settlement> = ended.iter().map(|one| self.settlement(one, now)).collect();
        // Guarded by fences: repeating is safe, whatever became of the call before.
        let settle = || self.store.settle(settlements.clone(), self.clock.now());
        let settled = self.insist(Duration::MAX, settle).await.unwrap_or_default();
        self.live.remove(ended.iter().map(|one| one.attempt.held()));
        ended.iter().for_each(|one| one.attempt.end_turn());
        for ((one, settlement), settled) in ended.iter().zip(&settlements).zip(settled) {
            self.settled(&one.attempt, settlement, settled).await;
        }
        self.claim_wake.notify_one();
        if self.is_stopping() {
            self.body_ended.notify_waiters();
        }
    }

    fn settlement(&self, one: &EndedAttempt, now: Timestamp) -> Settlement {
        let (attempt, definition) = (&one.attempt, &one.attempt.task.definition);
        let facts = Facts {
            retry_count: attempt.claim.retry_count,
            max_retry: attempt.claim.max_retry,
            lost_count: attempt.claim.lost_count,
            retry: definition.retry,
            fail_strategy: definition.fail_strategy,
            on_lost: definition.on_lost,
        };
        if matches!(one.ended, Ended::Panicked { .. }) {
            self.counts.add(Count::Panicked, 1);
        }
        Settlement {
            held: attempt.held(),
            task: attempt.claim.task.clone(),
            attempt: attempt.number,
            node: attempt.node,
            start_time: attempt.start_time,
            finish_time: one.finish_time.max(attempt.start_time),
            decision: decide(one.ended.clone(), &facts, now, self.dice()),
            live_key: attempt.claim.biz_id.clone().filter(|_| attempt.claim.unique == Unique::Live),
            start_written: attempt.is_start_written(),
            lane: self.lane_of(attempt),
            trigger: attempt.claim.trigger,
        }
    }

    /// As it was claimed, or as its task was edited since.
    fn lane_of(&self, attempt: &LiveAttempt) -> Option<Lane> {
        attempt.claim.lane.clone().or_else(|| {
            let task = self.tasks.get(&attempt.claim.task)?;
            task.definition.lane_of(attempt.claim.payload.as_deref()).filter(|_| attempt.claim.shard.is_none())
        })
    }

    async fn settled(&self, attempt: &LiveAttempt, settlement: &Settlement, settled: Settled) {
        if matches!(settled, Settled::Lost | Settled::Unreadable) {
            self.counts.add(Count::Discarded, 1);
            return tracing::info!(attempt = %attempt.id(), "the job had moved on: its result is discarded");
        }
        self.counts.add(Count::Settled, 1);
        let decision = &settlement.decision;
        // Of the first try of a repeated settlement nobody knows whether it has let another one go on.
        let may_have_freed = settled == Settled::AlreadyApplied && settlement.lane.is_some();
        if settled == Settled::AppliedAndFreed || may_have_freed {
            attempt.pool.store_has(Timestamp::default());
        }
        match decision.next {
            Next::Again { due, .. } => {
                self.counts.add(Count::Retried, 1);
                attempt.pool.store_has(due);
            }
            Next::Final { status, stop_task, .. } => {
                match status {
                    JobStatus::Success => self.counts.add(Count::Succeeded, 1),
                    JobStatus::Skipped => self.counts.add(Count::FiresSkipped, 1),
                    _ => self.counts.add(Count::Failed, 1),
                }
                let end = || JobEnd { status, result: decision.result.clone(), error: decision.error.clone() };
                self.waiters.tell(attempt.claim.id, end);
                // As the task is now: it may have become a fixed delay since the attempt began.
                let task = self.tasks.get(&attempt.claim.task);
                if stop_task || task.is_some_and(|task| task.definition.rests_after_end()) {
                    self.reload_task(&attempt.claim.task).await;
                }
            }
        }
    }

    pub(crate) async fn write_output(&self, chunks: Vec<OutputChunk>) {
        // Output is for people: it is worth a few tries, and never the job.
        let patience = Duration::from_secs(5);
        if let Err(error) = self.insist(patience, || self.store.append_output(chunks.clone())).await {
            tracing::warn!(%error, chunks = chunks.len(), "output of handlers was not kept");
        }
    }
}
