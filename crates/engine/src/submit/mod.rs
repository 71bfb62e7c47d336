//! 1 SUBMIT: a request is checked, joins the batch that is being gathered, and is answered after the commit.

mod batch;
mod request;

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::job::Lane;
use mainspring_model::{Code, Incarnation, Refused, Task, limits, payload};
use mainspring_store::{Claim, Durability, NewJob, Submitted, WhenFull};

use batch::Stored;
pub(crate) use batch::{Intake, write_gathered};
pub use request::{JobRequest, Receipt, When};

use crate::core::{Core, Count};
use crate::dispatch::Place;
use crate::error::{Error, RETRY_AFTER};

impl Core {
    pub(crate) async fn submit(self: &Arc<Core>, request: JobRequest) -> Result<Receipt, Error> {
        let mut job = self.checked_now(request).await?;
        let mut waits_left = limits::INTAKE_WAIT_MS / PLACE_POLL_MS;
        loop {
            let permit = self.intake.admit(1, self.clock.as_ref()).await?;
            match self.intake.add(job, permit).await {
                Stored::Answer(answer) => return answer,
                // The pool's policy CALLER_RUNS: the submitter waits as if it did the work itself. It may go away; the
                // job runs on.
                Stored::RunsForCaller(receipt, end) => {
                    let _ = end.await;
                    return Ok(receipt);
                }
                Stored::PoolFull(back) if waits_left > 0 => {
                    waits_left -= 1;
                    job = *back;
                    self.clock.sleep(Duration::from_millis(PLACE_POLL_MS)).await;
                }
                Stored::PoolFull(back) => return Err(pool_full(&back).into()),
            }
        }
    }

    /// Jobs of one call: written together, answered one by one.
    pub(crate) async fn submit_many(self: &Arc<Core>, requests: Vec<JobRequest>) -> Vec<Result<Receipt, Error>> {
        let mut answers: Vec<Option<Result<Receipt, Error>>> = Vec::with_capacity(requests.len());
        let mut jobs = Vec::with_capacity(requests.len());
        for request in requests {
            match self.checked_now(request).await {
                Ok(job) => {
                    jobs.push(job);
                    answers.push(None);
                }
                Err(error) => answers.push(Some(Err(error))),
            }
        }
        let mut stored = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            let portion: Vec<NewJob> = jobs.by_ref().take(limits::FLUSH_JOBS_MAX).collect();
            stored.extend(self.store_portion(portion).await);
        }
        let mut stored = stored.into_iter();
        let fill = |answer: Option<_>| answer.or_else(|| stored.next());
        answers.into_iter().filter_map(fill).collect()
    }

    /// The same for a task that another node may have made, enabled or changed a moment ago.
    pub(crate) async fn checked_now(self: &Arc<Core>, request: JobRequest) -> Result<NewJob, Error> {
        self.node.require_lease(self.clock.monotonic())?;
        match self.checked(request.clone()) {
            Err(refused) if self.node.about.is_shared && is_of_task(&refused) => {
                self.catch_up().await?;
                Ok(self.checked(request)?)
            }
            checked => Ok(checked?),
        }
    }

    /// The checks that need no database, and the row that will be written.
    pub(crate) fn checked(&self, request: JobRequest) -> Result<NewJob, Refused> {
        if self.is_stopping() {
            return Err(Refused::new(Code::Stopping, "the node is stopping").retry_after(RETRY_AFTER));
        }
        let task = self.open_task(&request.task)?;
        if let Some(json) = &request.payload {
            payload::check(json)?;
        }
        check_range("maxRetry", request.max_retry.unwrap_or(0).into(), 0, limits::RETRY_COUNT_MAX.into())?;
        let timeout_ms = request.timeout.map(mainspring_model::Span::as_ms);
        let timeout_ms_max = i64::from(limits::TIMEOUT_SECONDS_MAX) * 1_000;
        check_range("timeoutSeconds", timeout_ms.unwrap_or(1), 1, timeout_ms_max)?;
        let now = self.clock.now();
        let execute_time = match request.when {
            When::Now => now,
            When::At(instant) => instant.max(now),
            When::After(span) => now.plus(span.0),
        };
        let definition = &task.definition;
        let payload = request.payload.or_else(|| definition.param.as_deref().map(Arc::from));
        Ok(NewJob {
            id: self.next_id(now),
            max_retry: request.max_retry.unwrap_or_else(|| default_retries(&task)),
            priority: request.priority.unwrap_or(definition.priority),
            pool: definition.pool_of_jobs(),
            concurrency_key: definition.key_of(payload.as_deref()).map(Arc::from),
            shard: None,
            payload,
            task: request.task,
            biz_id: request.biz_id,
            unique: request.unique,
            execute_time,
            timeout_ms,
            trigger: request.trigger,
            fires: None,
            create_time: now,
            claim: false,
            on_live: request.on_live,
            serial: false,
        })
    }

    /// Where a job goes that is about to be written.
    pub(crate) fn place_for(&self, job: &NewJob) -> Place {
        let due = job.execute_time;
        match self.pools.get(&job.pool) {
            Some(pool) if self.takes_work() && self.can_run(&job.task) => {
                match pool.place_for(due, job.priority, self.claim_until(job.create_time)) {
                    // A caller runs what is due. What is due in a moment is fetched in its time, or it would run early.
                    Place::Full(WhenFull::CallerRuns) if due > job.create_time => Place::InStore,
                    place => place,
                }
            }
            _ => Place::InStore,
        }
    }

    /// What a committed row means for the caller, for memory and for the counters.
    fn receipt(&self, job: &NewJob, submitted: Submitted, durability: Durability) -> Result<Receipt, Error> {
        self.counts.add(Count::Submitted, 1);
        let receipt = |id, status, duplicate, execute_time, payload_differs| Receipt {
            id,
            task: job.task.clone(),
            biz_id: job.biz_id.clone(),
            status,
            duplicate,
            payload_differs,
            execute_time,
            durability,
        };
        match submitted {
            Submitted::Stored { .. } => {
                Ok(receipt(job.id, mainspring_model::JobStatus::Pending, false, job.execute_time, false))
            }
            Submitted::Duplicate { id, status, execute_time, payload_differs } => {
                self.counts.add(Count::Duplicates, 1);
                Ok(receipt(id, status, true, execute_time, payload_differs))
            }
            Submitted::Refused(refused) => Err(refused.into()),
        }
    }
}

fn is_of_task(refused: &Refused) -> bool {
    matches!(refused.code, Code::TaskNotFound | Code::TaskDisabled)
}

const PLACE_POLL_MS: u64 = 10;

fn pool_full(job: &NewJob) -> Refused {
    let detail = format!("the queue of pool `{}` is full; nothing was stored", job.pool);
    Refused::new(Code::BacklogFull, detail).retry_after(RETRY_AFTER)
}

/// ALERT and STOP act on the first failure, unless the submitter asks for retries.
pub(crate) fn default_retries(task: &Task) -> u32 {
    match task.definition.fail_strategy {
        mainspring_model::task::FailStrategy::Retry => task.definition.retry.count,
        mainspring_model::task::FailStrategy::Alert | mainspring_model::task::FailStrategy::Stop => 0,
    }
}

fn check_range(field: &str, value: i64, low: i64, high: i64) -> Result<(), Refused> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Refused::field(field, "OUT_OF_RANGE", format!("{field} is {value}, allowed are {low} to {high}")))
}

/// The claim that a fresh job was inserted with.
pub(crate) fn fresh_claim(job: NewJob, owner: Incarnation, task: Option<&Task>) -> Claim {
    let key = job.concurrency_key;
    let is_guarded = |task: &Task| task.definition.is_guarded();
    let in_lane = job.shard.is_none() && (job.serial || task.is_some_and(is_guarded));
    Claim {
        id: job.id,
        fence: mainspring_model::Fence(1),
        owner,
        task: job.task,
        pool: job.pool,
        priority: job.priority,
        due: job.execute_time,
        attempts: 0,
        retry_count: 0,
        max_retry: job.max_retry,
        lost_count: 0,
        suspect: false,
        timeout_ms: job.timeout_ms,
        payload: job.payload,
        biz_id: job.biz_id,
        unique: job.unique,
        trigger: job.trigger,
        fire_time: job.fires.map(|fires| fires.last),
        create_time: job.create_time,
        shard: job.shard,
        lane: in_lane.then_some(Lane { key, serial: job.serial }),
    }
}
