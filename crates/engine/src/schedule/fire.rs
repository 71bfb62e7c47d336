//! One batch of due tasks: planned by a pure function, written in one transaction, followed by memory.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::job::{OnLive, SkipReason};
use mainspring_model::schedule::{How, NextFire, PlannedFire, plan};
use mainspring_model::{Incarnation, Task, Timestamp, Trigger, Unique};
use mainspring_store::{Fire, FireEnd, FireEntry, Fired, NewJob, ReplacedJob, StoreError};

use crate::core::{Core, Count};
use crate::dispatch::Place;
use crate::submit::{default_retries, fresh_claim};
use crate::tasks::{Planned, Seen};

/// How long one transaction is insisted on; what is due stays due.
const PATIENCE: Duration = Duration::from_secs(5);
/// A task that the store does not fire although nothing of it has moved (a row that cannot be read) is tried again then.
const MOVED_NOWHERE_MS: i64 = 1_000;
/// Past it one read of all tasks is cheaper.
const READ_SINGLY_MAX: usize = 8;

/// Were most of the fires this node's?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Race {
    Won,
    Lost,
}

impl Core {
    pub(super) async fn fire(self: &Arc<Core>, due: Vec<Planned>, now: Timestamp) -> Result<Race, StoreError> {
        let owning = self.owning.read().await;
        if self.has_left() {
            return Ok(Race::Won); // the loop ends with the engine
        }
        let me = self.node.me().incarnation;
        let fires: Vec<Fire> = due.iter().filter_map(|planned| self.planned_fire(planned, now)).collect();
        let write = || self.store.fire(me, fires.clone(), now);
        match self.insist(PATIENCE, write).await {
            Ok(answers) => {
                let asked = fires.len();
                let mut moved = Vec::new();
                for (fire, fired) in fires.into_iter().zip(answers) {
                    match fired {
                        Fired::Done(ends) => self.follow_fire(me, fire, ends).await,
                        Fired::Moved => moved.push(fire),
                    }
                }
                drop(owning);
                self.kick_all();
                self.claim_wake.notify_one();
                let lost_most = moved.len() * 2 > asked;
                self.follow_moved(moved, now).await;
                Ok(if lost_most { Race::Lost } else { Race::Won })
            }
            Err(error) => {
                drop(owning);
                self.not_fired(&fires);
                if matches!(error, StoreError::Unknown { .. }) {
                    self.give_back_unknown_soon();
                }
                Err(error)
            }
        }
    }

    /// The fire with places reserved for the jobs that may start here at once.
    fn planned_fire(&self, planned: &Planned, now: Timestamp) -> Option<Fire> {
        let (task, schedule) = (&planned.task, planned.schedule.as_ref()?);
        let due = task.next_fire_time?;
        let plan = plan(schedule, &task.definition, due, now);
        let entries = plan.fires.iter().map(|fire| self.entry(task, *fire, now)).collect();
        Some(Fire { task: task.code.clone(), version: task.version, due, next: plan.next, entries })
    }

    fn entry(&self, task: &Task, planned: PlannedFire, now: Timestamp) -> FireEntry {
        let (fires, definition) = (planned.fires, &task.definition);
        let (trigger, execute_time, on_live) = match planned.how {
            How::OnTime => (Trigger::Cron, fires.last, definition.on_live()),
            How::Misfire => (Trigger::Misfire, now, definition.on_live()),
            How::CatchUp => (Trigger::Misfire, now, OnLive::Join),
            How::Skip => (Trigger::Misfire, now, OnLive::Join),
        };
        let skip = (planned.how == How::Skip).then_some(SkipReason::Misfire);
        let mut job = NewJob {
            id: self.next_id(now),
            task: task.code.clone(),
            biz_id: Some(fires.key()),
            unique: Unique::Always,
            payload: definition.param.as_deref().map(Arc::from),
            execute_time,
            priority: definition.priority,
            max_retry: default_retries(task),
            timeout_ms: None,
            pool: definition.pool_of_jobs(),
            trigger,
            fires: Some(fires),
            create_time: now,
            claim: false,
            on_live,
            concurrency_key: definition.key_of(definition.param.as_deref()).map(Arc::from),
            shard: None,
            serial: planned.how == How::CatchUp,
        };
        // A full pool never makes a fire late or loses it: the job waits in the store.
        job.claim = skip.is_none() && self.place_for(&job) == Place::Reserved;
        FireEntry { job, skip }
    }

    /// Others have fired them, or they were changed. Many at once are read at once: at a full hour they are thousands.
    async fn follow_moved(self: &Arc<Core>, moved: Vec<Fire>, now: Timestamp) {
        self.not_fired(&moved);
        if moved.len() > READ_SINGLY_MAX {
            let _ = self.insist(Duration::MAX, || self.read_tasks()).await;
        } else {
            for fire in &moved {
                self.reload_task(&fire.task).await;
            }
        }
        for fire in &moved {
            let seen = Seen { code: &fire.task, version: fire.version, next_fire: Some(fire.due) };
            self.tasks.set_aside(&seen, now.plus_ms(MOVED_NOWHERE_MS));
        }
    }

    async fn follow_fire(self: &Arc<Core>, me: Incarnation, fire: Fire, ends: Vec<FireEnd>) {
        let seen = Seen { code: &fire.task, version: fire.version, next_fire: Some(fire.due) };
        let last = fire.entries.iter().filter_map(|entry| entry.job.fires).map(|fires| fires.last).max();
        let is_any_stored = ends.iter().any(|end| matches!(end, FireEnd::Stored { .. }));
        for (entry, end) in fire.entries.iter().zip(ends) {
            self.follow_entry(me, entry.job.clone(), end);
        }
        if fire.next == NextFire::Never {
            tracing::warn!(task = %fire.task, "the task has fired for the last time: its schedule has ended");
        }
        self.tasks.fired(&seen, fire.next.time(), last);
        if fire.next == NextFire::AfterEnd && !is_any_stored {
            // No end will come: the store has planned it.
            self.reload_task(&fire.task).await;
        }
    }

    fn follow_entry(self: &Arc<Core>, me: Incarnation, job: NewJob, end: FireEnd) {
        match end {
            FireEnd::Stored { claimed, replaced } => {
                self.counts.add(Count::Fired, 1);
                self.follow_replaced(&replaced, &job);
                self.follow_stored(me, job, claimed);
            }
            FireEnd::Skipped(reason) => {
                self.counts.add(Count::FiresSkipped, 1);
                // Its record says so, for ever and with the reason.
                tracing::debug!(task = %job.task, fire = ?job.fires.map(|fires| fires.last), %reason, "a fire was skipped");
                self.cancel_place(&job);
            }
            FireEnd::Duplicate => {
                tracing::info!(task = %job.task, fire = ?job.fires.map(|fires| fires.last), "it has fired already");
                self.cancel_place(&job);
            }
        }
    }

    /// A stored job goes into its reserved place, or is fetched from the store in its turn.
    pub(crate) fn follow_stored(&self, me: Incarnation, job: NewJob, claimed: bool) {
        let Some(pool) = self.pools.get(&job.pool) else { return };
        match (job.claim, claimed) {
            (true, true) => {
                let task = self.tasks.get(&job.task);
                pool.hold([fresh_claim(job, me, task.as_deref())], 1);
            }
            (reserved, _) => {
                if reserved {
                    pool.cancel_place(1);
                }
                pool.store_has(job.execute_time);
            }
        }
    }

    /// Bodies of jobs that were cancelled for another one are told so; what is in memory of them goes.
    pub(crate) fn follow_replaced(self: &Arc<Core>, replaced: &[ReplacedJob], by: &NewJob) {
        for job in replaced {
            self.take_from_memory(job.id, job.fence, &job.pool, &format!("job {}", by.id));
            self.end_parts_soon(job.id, &by.task, &job.pool);
            let end = || mainspring_store::JobEnd {
                status: mainspring_model::JobStatus::Cancelled,
                result: None,
                error: Some(job.error.clone()),
            };
            self.waiters.tell(job.id, end);
        }
    }

    pub(crate) fn cancel_place(&self, job: &NewJob) {
        if let (true, Some(pool)) = (job.claim, self.pools.get(&job.pool)) {
            pool.cancel_place(1);
        }
    }

    fn not_fired(self: &Arc<Core>, fires: &[Fire]) {
        fires.iter().flat_map(|fire| &fire.entries).for_each(|entry| self.cancel_place(&entry.job));
    }
}
