//! What an application holds: submit, wait, stop.

use std::future::{Future, IntoFuture};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::{Engine, Error, JobRequest, Receipt, StopReport, When};
use mainspring_model::task::TaskSwitch;
use mainspring_model::{BizId, Job, JobId, Priority, Refused, Span, Task, TaskCode, Timestamp, Unique};
use mainspring_store::{JobEnd, Store};
use serde::Serialize;

use crate::builder::Builder;

/// Who changes tasks through this face, for the record.
const BY: &str = "application";

/// A running Mainspring. Cheap to clone; all clones are the same engine.
#[derive(Debug, Clone)]
pub struct Mainspring {
    engine: Engine,
}

impl Mainspring {
    /// On an embedded database, which this process then owns.
    pub fn sqlite(path: impl AsRef<Path>) -> Builder {
        Builder::sqlite(path.as_ref().to_owned())
    }

    /// In memory: for tests, nothing survives.
    pub fn in_memory() -> Builder {
        Builder::memory()
    }

    /// On a store that is open already.
    pub fn on(store: Arc<dyn Store>) -> Builder {
        Builder::on(store)
    }

    pub(crate) fn of(engine: Engine) -> Mainspring {
        Mainspring { engine }
    }

    /// A job of `task`; it is stored when the returned value has been awaited.
    pub fn submit<P: Serialize + ?Sized>(&self, task: &str, payload: &P) -> Submit<'_> {
        Submit { engine: &self.engine, item: Item::new(payload).map(|item| (task.to_owned(), item)) }
    }

    /// Many jobs of one task: one answer per item, in order; one bad item never stops the others.
    pub async fn submit_many(
        &self,
        task: &str,
        items: impl IntoIterator<Item = Item>,
    ) -> Result<Vec<Result<Receipt, Error>>, Refused> {
        let task = TaskCode::new(task)?;
        let requests = items.into_iter().map(|item| item.request(task.clone())).collect();
        Ok(self.engine.submit_many(requests).await)
    }

    /// The end of a job, when it comes.
    pub async fn wait(&self, id: JobId) -> Result<JobEnd, Error> {
        self.engine.wait(id).await
    }

    pub async fn job(&self, id: JobId) -> Result<Job, Error> {
        self.engine.job(id).await
    }

    /// Runs a task now, with its own parameters.
    pub async fn trigger(&self, task: &str) -> Result<Receipt, Error> {
        self.engine.trigger_task(&TaskCode::new(task)?, None, None, BY).await
    }

    /// Its schedule goes on from now; nothing is caught up.
    pub async fn enable(&self, task: &str) -> Result<Task, Error> {
        self.engine.switch_task(&TaskCode::new(task)?, TaskSwitch::Enabled, BY).await
    }

    /// When it has answered, nothing fires any more. Live jobs end, new ones are refused.
    pub async fn disable(&self, task: &str) -> Result<Task, Error> {
        self.engine.switch_task(&TaskCode::new(task)?, TaskSwitch::Disabled, BY).await
    }

    /// When a task fires next: fewer when fewer remain, none without a schedule.
    pub fn next_fires(&self, task: &str, max: usize) -> Result<Vec<Timestamp>, Refused> {
        self.engine.next_fires(&TaskCode::new(task)?, max)
    }

    /// Everything else: tasks, calendars, pools, operations, lists.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Takes no new work, lets bodies end until `limit`, gives the rest back. No attempt is burnt.
    pub async fn stop(&self, limit: Duration) -> StopReport {
        self.engine.stop(limit).await
    }
}

/// One job of a bulk submit: its payload and what else it brings.
#[derive(Debug, Clone)]
pub struct Item {
    payload: Arc<str>,
    biz_id: Option<BizId>,
    unique: Unique,
    when: When,
    priority: Option<Priority>,
    max_retry: Option<u32>,
    timeout: Option<Span>,
}

impl Item {
    pub fn new<P: Serialize + ?Sized>(payload: &P) -> Result<Item, Refused> {
        let json = serde_json::to_string(payload)
            .map_err(|error| Refused::field("payload", "NOT_JSON", format!("the payload is not JSON: {error}")))?;
        Ok(Item {
            payload: json.into(),
            biz_id: None,
            unique: Unique::Always,
            when: When::Now,
            priority: None,
            max_retry: None,
            timeout: None,
        })
    }

    /// Your own key: with the task it is unique, so that a repeated submit answers the first job.
    pub fn biz_id(mut self, biz_id: &str) -> Result<Item, Refused> {
        self.biz_id = Some(BizId::new(biz_id)?);
        Ok(self)
    }

    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Item {
        self.when = When::After(Span(delay));
        self
    }

    #[must_use]
    pub fn at(mut self, instant: Timestamp) -> Item {
        self.when = When::At(instant);
        self
    }

    fn request(self, task: TaskCode) -> JobRequest {
        let mut request = JobRequest::new(task);
        request.payload = Some(self.payload);
        request.biz_id = self.biz_id;
        request.unique = self.unique;
        request.when = self.when;
        request.priority = self.priority;
        request.max_retry = self.max_retry;
        request.timeout = self.timeout;
        request
    }
}

/// A job that is being described. Await it to submit it.
#[derive(Debug)]
#[must_use = "nothing is submitted until this is awaited"]
pub struct Submit<'a> {
    engine: &'a Engine,
    /// Or the first thing that was wrong: told when it is awaited.
    item: Result<(String, Item), Refused>,
}

impl Submit<'_> {
    fn with(self, change: impl FnOnce(Item) -> Result<Item, Refused>) -> Self {
        let item = self.item.and_then(|(task, item)| Ok((task, change(item)?)));
        Submit { item, ..self }
    }

    /// Your own key: with the task it is unique, so that a repeated submit answers the first job.
    pub fn biz_id(self, biz_id: &str) -> Self {
        self.with(|item| item.biz_id(biz_id))
    }

    /// How long the key is taken. Default: as long as the record of the job is kept.
    pub fn unique(self, unique: Unique) -> Self {
        self.with(|item| Ok(Item { unique, ..item }))
    }

    pub fn delay(self, delay: Duration) -> Self {
        self.with(|item| Ok(item.delay(delay)))
    }

    /// A time in the past means now.
    pub fn at(self, instant: Timestamp) -> Self {
        self.with(|item| Ok(item.at(instant)))
    }

    pub fn priority(self, priority: Priority) -> Self {
        self.with(|item| Ok(Item { priority: Some(priority), ..item }))
    }

    pub fn retries(self, max_retry: u32) -> Self {
        self.with(|item| Ok(Item { max_retry: Some(max_retry), ..item }))
    }

    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|item| Ok(Item { timeout: Some(Span(timeout)), ..item }))
    }
}

impl<'a> IntoFuture for Submit<'a> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (task, item) = self.item?;
            self.engine.submit(item.request(TaskCode::new(&task)?)).await
        })
    }
}
