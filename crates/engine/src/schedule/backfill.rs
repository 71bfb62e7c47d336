//! Fire times of the past, run after the fact because a person asks for it.
//!
//! **Invariant:** a fire time that has run is not run again: neither one that fired, nor one of an earlier backfill. One
//! that was skipped can be.

use std::sync::Arc;

use mainspring_model::job::{Fires, OnLive};
use mainspring_model::operations::TaskOperation;
use mainspring_model::{BizId, JobId, JobStatus, Refused, TaskCode, Timestamp, Trigger, limits};
use mainspring_store::{JobFilter, NewJob};

use crate::core::Core;
use crate::error::Error;
use crate::submit::JobRequest;

/// What a backfill comes to, or would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfilled {
    /// Fire times that were to run, oldest first, each with its job unless it was only asked for.
    pub fires: Vec<(Timestamp, Option<JobId>)>,
    /// Fire times of the range that have run already.
    pub ran_before: Vec<Timestamp>,
}

impl Core {
    /// All fire times from `from` to `to`, both included.
    pub(crate) async fn backfill(
        self: &Arc<Core>,
        code: &TaskCode,
        from: Timestamp,
        to: Timestamp,
        act: Act,
        by: &str,
    ) -> Result<Backfilled, Error> {
        self.catch_up().await?;
        self.task_now(code).await?;
        let task = self.open_task(code)?;
        let allowed = self.task_operations(&task, 0);
        if !allowed.allows(TaskOperation::Backfill) {
            return Err(allowed.refuse(&format!("task `{code}`"), TaskOperation::Backfill).into());
        }
        let times = self.fire_times(code, from, to)?;
        let mut backfilled = Backfilled { fires: Vec::new(), ran_before: Vec::new() };
        for time in times {
            if self.has_run(code, time).await? {
                backfilled.ran_before.push(time);
            } else {
                backfilled.fires.push((time, None));
            }
        }
        if act == Act::Show || backfilled.fires.is_empty() {
            return Ok(backfilled);
        }
        let jobs: Vec<NewJob> =
            backfilled.fires.iter().map(|(time, _)| self.backfill_job(code, *time)).collect::<Result<_, _>>()?;
        let receipts = self.store_portion(jobs).await;
        for ((_, id), receipt) in backfilled.fires.iter_mut().zip(receipts) {
            *id = Some(receipt?.id);
        }
        tracing::info!(task = %code, %from, %to, jobs = backfilled.fires.len(), by, "fire times are run after the fact");
        Ok(backfilled)
    }

    fn fire_times(&self, code: &TaskCode, from: Timestamp, to: Timestamp) -> Result<Vec<Timestamp>, Refused> {
        if to > self.clock.now() {
            return Err(Refused::field(
                "to",
                "OUT_OF_RANGE",
                "to lies in the future: those fire times fire by themselves",
            ));
        }
        if from > to {
            return Err(Refused::field("from", "OUT_OF_RANGE", "from lies after to"));
        }
        let planned = self.tasks.planned(code).and_then(|planned| planned.schedule);
        let max = limits::BACKFILL_FIRES_MAX as usize;
        let times: Vec<Timestamp> = planned
            .iter()
            .flat_map(|schedule| schedule.fires(from.plus_ms(-1)))
            .take_while(|time| *time <= to)
            .take(max + 1)
            .collect();
        if times.len() > max {
            let detail = format!("the range holds more than {max} fire times");
            return Err(
                Refused::field("to", "TOO_MANY", detail).hint(format!("the first {max} end at {}", times[max - 1]))
            );
        }
        Ok(times)
    }

    async fn has_run(&self, code: &TaskCode, time: Timestamp) -> Result<bool, Error> {
        for key in [Fires::one(time).key(), backfill_key(time)] {
            let filter = JobFilter { task: Some(code.clone()), biz_id: Some(key), ..JobFilter::default() };
            let page = self.store.jobs(filter, 1, None).await?;
            if page.items.iter().any(|job| job.status != JobStatus::Skipped) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn backfill_job(&self, code: &TaskCode, time: Timestamp) -> Result<NewJob, Refused> {
        let mut request = JobRequest::new(code.clone());
        request.biz_id = Some(backfill_key(time));
        request.trigger = Trigger::Manual;
        let job = self.checked(request)?;
        Ok(NewJob { fires: Some(Fires::one(time)), on_live: OnLive::Join, ..job })
    }
}

/// Only shown, or done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Show,
    Do,
}

fn backfill_key(time: Timestamp) -> BizId {
    BizId::stored(&format!("backfill@{time}"))
}

/// One transaction writes them.
const _: () = assert!(limits::BACKFILL_FIRES_MAX as usize <= limits::FLUSH_JOBS_MAX);
