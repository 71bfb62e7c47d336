//! The pipeline of Mainspring.
//!
//! ```text
//!  caller ── submit ──► store ──► dispatch ──► execute ──► write_back ──► store
//!            group      (another  claim ahead, slots        decide, then one
//!            commit,    crate)    hold, start  deadlines    transaction a batch
//!            answer               on time      panic wall
//!            after it                          zombies
//! ```
//!
//! The folders are the stages, in this order. Decisions are functions in `mainspring_model`; the engine fetches, calls
//! and applies. Every loop of the engine runs on a thread of its own, so that bodies cannot starve it.
//!
//! **Invariant:** what is in memory may be lost at any moment. The store knows every job, and its rows are enough to go
//! on after `kill -9`.

mod builder;
mod by_hand;
mod context;
mod core;
mod dispatch;
mod error;
pub mod execute;
mod handler;
mod node;
mod schedule;
mod stop;
pub mod submit;
mod task_admin;
mod task_search;
mod tasks;
pub mod testing;
mod view;
mod waiters;
mod write_back;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mainspring_model::node::Runners;
use mainspring_model::operations::{JobOperation, Operations, TaskOperation};
use mainspring_model::schedule::fires_to_come;
use mainspring_model::task::{Overlap, TaskSwitch};
use mainspring_model::time::Clock;
use mainspring_model::wait_reason::{self, PoolFacts, TaskFacts, WaitReason};
use mainspring_model::{
    BizId, Calendar, CalendarName, Job, JobId, Refused, Schedule, Task, TaskCode, TaskDefinition, Timestamp, Trigger,
    limits,
};
use mainspring_store::{JobEnd, JobFilter, Page, PoolSettings, Store, TaskFilter};

use crate::core::Core;
pub use builder::EngineBuilder;
pub use context::Context;
pub use error::{Error, RETRY_AFTER};
pub use handler::{BlockingHandler, Handler, HandlerInfo, Registry};
pub use schedule::{Act, Backfilled};
pub use submit::{JobRequest, Receipt, When};
pub use view::{Health, NodeView, PoolView, StopReport, Totals};

/// A running engine. Cheap to clone; all clones are the same engine.
#[derive(Debug, Clone)]
pub struct Engine {
    core: Arc<Core>,
}

impl Engine {
    pub fn builder(store: Arc<dyn Store>) -> EngineBuilder {
        EngineBuilder::new(store)
    }

    pub(crate) fn of(core: Arc<Core>) -> Engine {
        Engine { core }
    }

    // ---- submit ----

    /// Answers after the job is committed. An `Unavailable` whose outcome is unknown may have been stored: repeat the
    /// request with the same biz id.
    pub async fn submit(&self, request: JobRequest) -> Result<Receipt, Error> {
        self.core.submit(request).await
    }

    /// One answer per request, in order; one bad request never stops the others.
    pub async fn submit_many(&self, requests: Vec<JobRequest>) -> Vec<Result<Receipt, Error>> {
        self.core.submit_many(requests).await
    }

    /// The end of a job, when it comes.
    pub async fn wait(&self, id: JobId) -> Result<JobEnd, Error> {
        self.core.wait(id).await
    }

    // ---- jobs, by hand ----

    pub async fn operate(&self, id: JobId, operation: JobOperation, by: &str) -> Result<Job, Error> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.core.to_its_end(async move { core.operate(id, operation, &by).await }).await?
    }

    pub async fn job(&self, id: JobId) -> Result<Job, Error> {
        self.core.job(id).await
    }

    /// Newest first, without payloads. A filter that no index serves is refused.
    pub async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Result<Page<Job>, Error> {
        mainspring_store::check_filter(&filter)?;
        Ok(self.core.store.jobs(filter, limit.clamp(1, limits::PAGE_SIZE_MAX), cursor).await?)
    }

    pub fn job_operations(&self, job: &Job) -> Operations<JobOperation> {
        self.core.operations_on(job, self.core.clock.now())
    }

    /// As far as this node knows: it hears of others about every second.
    pub fn wait_reason(&self, job: &Job) -> Option<WaitReason> {
        let facts = self.core.pools.get(&job.pool).map(|pool| {
            let settings = pool.settings();
            let free_slots = settings.concurrency.saturating_sub(pool.load().running);
            PoolFacts { paused: settings.paused, free_slots, has_rate: settings.rate_limit.is_some() }
        });
        let nothing = PoolFacts { paused: false, free_slots: 0, has_rate: false };
        // A part that waits for another node: only that one knows of its slots.
        let elsewhere = PoolFacts { free_slots: 1, ..nothing };
        let facts = facts.unwrap_or(if job.pool.is_reserved() { elsewhere } else { nothing });
        let task = match self.core.tasks.get(&job.task) {
            None => TaskFacts { overlap: Overlap::Allow, runners: Runners::Some },
            Some(task) => {
                TaskFacts { overlap: task.definition.overlap, runners: self.core.runners_of(&task.definition) }
            }
        };
        wait_reason::of(job, task, facts, self.core.clock.now())
    }

    // ---- tasks ----

    /// A task that begins DISABLED fires only after it was enabled. One that begins ENABLED and never fires is refused.
    pub async fn create_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        by: &str,
    ) -> Result<Task, Error> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.core.to_its_end(async move { core.create_task(code, definition, switch, &by).await }).await?
    }

    /// What is checked of every definition that a person writes.
    pub fn check_definition(&self, definition: &TaskDefinition) -> Result<(), Refused> {
        self.core.check_definition(definition)
    }

    /// The same, and that it fires. Nothing is written.
    pub fn check_task(&self, code: &TaskCode, definition: &TaskDefinition) -> Result<(), Refused> {
        self.core.check_task(code, definition)
    }

    /// `version` is the one that was read.
    pub async fn update_task(
        &self,
        code: &TaskCode,
        version: i64,
        definition: TaskDefinition,
        by: &str,
    ) -> Result<Task, Error> {
        let (core, code, by) = (self.core.clone(), code.clone(), by.to_owned());
        self.core.to_its_end(async move { core.update_task(&code, version, definition, &by).await }).await?
    }

    /// At the moment of enabling the next fire is planned from now: nothing is caught up.
    pub async fn switch_task(&self, code: &TaskCode, to: TaskSwitch, by: &str) -> Result<Task, Error> {
        let (core, code, by) = (self.core.clone(), code.clone(), by.to_owned());
        self.core.to_its_end(async move { core.switch_task(&code, to, &by).await }).await?
    }

    pub async fn delete_task(&self, code: &TaskCode, version: Option<i64>, by: &str) -> Result<(), Error> {
        let (core, code, by) = (self.core.clone(), code.clone(), by.to_owned());
        self.core.to_its_end(async move { core.delete_task(&code, version, &by).await }).await?
    }

    /// A job by a person's hand. The same request id again answers the first job, `duplicate: true`.
    pub async fn trigger_task(
        &self,
        code: &TaskCode,
        request_id: Option<&str>,
        param: Option<Arc<str>>,
        by: &str,
    ) -> Result<Receipt, Error> {
        let key = request_id.map(|id| BizId::new(&format!("manual@{id}"))).transpose();
        let mut request = JobRequest::new(code.clone());
        request.biz_id = key.map_err(|refused| refused.of_field("requestId"))?;
        request.payload = param;
        request.trigger = Trigger::Manual;
        request.on_live = self.core.task_now(code).await?.definition.overlap.on_live();
        let receipt = self.core.submit(request).await?;
        tracing::info!(task = %code, job = %receipt.id, by, duplicate = receipt.duplicate, "triggered by hand");
        Ok(receipt)
    }

    /// Runs fire times of the past, from `from` to `to`, both included. What has run already is not run again.
    pub async fn backfill(
        &self,
        code: &TaskCode,
        from: Timestamp,
        to: Timestamp,
        act: Act,
        by: &str,
    ) -> Result<Backfilled, Error> {
        let (core, code, by) = (self.core.clone(), code.clone(), by.to_owned());
        self.core.to_its_end(async move { core.backfill(&code, from, to, act, &by).await }).await?
    }

    /// What may be done to a task that has so many live jobs; the calls that do it ask the same.
    pub fn task_operations(&self, task: &Task, live_jobs: u64) -> Operations<TaskOperation> {
        self.core.task_operations(task, live_jobs)
    }

    /// Of a task as it is, or of a definition that may become one. `None` for a task without a schedule.
    pub fn schedule_of(&self, definition: &TaskDefinition) -> Result<Option<Schedule>, Refused> {
        self.core.schedule_of(definition)
    }

    /// Empty for a task without a schedule, and for one whose schedule has ended.
    pub fn next_fires(&self, code: &TaskCode, max: usize) -> Result<Vec<Timestamp>, Refused> {
        let task = self.core.task_or_refuse(code)?;
        let schedule = self.core.schedule_of(&task.definition)?;
        let now = self.core.clock.now();
        Ok(schedule.map_or_else(Vec::new, |schedule| fires_to_come(&task, &schedule, now, max)))
    }

    // ---- calendars ----

    pub fn calendars(&self) -> Vec<Arc<Calendar>> {
        self.core.tasks.calendars()
    }

    pub fn calendar(&self, name: &CalendarName) -> Result<Calendar, Refused> {
        self.core.calendar(name)
    }

    /// Makes it, or replaces the whole of it. The tasks that name it are planned anew.
    pub async fn put_calendar(&self, calendar: Calendar, by: &str) -> Result<(), Error> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.core.to_its_end(async move { core.put_calendar(calendar, &by).await }).await?
    }

    pub async fn delete_calendar(&self, name: &CalendarName, by: &str) -> Result<(), Error> {
        let (core, name, by) = (self.core.clone(), name.clone(), by.to_owned());
        self.core.to_its_end(async move { core.delete_calendar(&name, &by).await }).await?
    }

    pub async fn task(&self, code: &TaskCode) -> Result<Task, Error> {
        Ok(Task::clone(&*self.core.task_now(code).await?))
    }

    /// By code; they are few.
    pub async fn tasks(&self, filter: TaskFilter) -> Result<Vec<Task>, Error> {
        let tasks = self.core.tasks_now().await?;
        Ok(task_search::filter(tasks.into_iter(), &filter))
    }

    // ---- this node ----

    pub fn handlers(&self) -> Vec<HandlerInfo> {
        self.core.registry.list()
    }

    pub async fn pools(&self) -> Result<Vec<PoolView>, Error> {
        view::pools(&self.core).await
    }

    /// Takes effect at once and is kept.
    pub async fn put_pool(&self, settings: PoolSettings, by: &str) -> Result<PoolView, Error> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.core.to_its_end(async move { view::put_pool(&core, settings, by).await }).await?
    }

    /// This node takes no new work from now on, for as long as it lives: what runs ends, what waits is others'. It goes on
    /// to answer, and to store jobs for others.
    pub async fn drain(&self, by: &str) -> Result<(), Error> {
        let (core, by) = (self.core.clone(), by.to_owned());
        self.core.to_its_end(async move { core.drain(&by).await }).await?
    }

    /// Who this node is now: a node that lost its lease comes back as another incarnation.
    pub fn node(&self) -> NodeView {
        view::node(&self.core)
    }

    pub async fn health(&self) -> Health {
        view::health(&self.core).await
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.core.store
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.core.clock
    }

    /// Takes no new work, lets bodies end until `limit`, gives the rest back. No attempt is burnt.
    pub async fn stop(&self, limit: Duration) -> StopReport {
        self.core.stop(limit).await
    }
}

/// Nothing that holds one of our locks can panic half-way: the data is whole even when a lock says it is poisoned.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
