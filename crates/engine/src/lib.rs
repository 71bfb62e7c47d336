//! The pipeline (skeleton).
#![allow(unused, clippy::all)]
mod context;
mod error;
pub mod execute;
mod handler;
pub mod submit;
mod view;
pub mod write_back;

pub use context::Context;
pub use error::{Error, RETRY_AFTER};
pub use handler::{BlockingHandler, Handler, HandlerInfo, Registry};
pub use submit::{JobRequest, Receipt, When};
pub use view::{Health, PoolView, StopReport, Totals};

use std::sync::Arc;
use std::time::Duration;
use mainspring_model::operations::{JobOperation, Operations, TaskOperation};
use mainspring_model::time::Clock;
use mainspring_model::wait_reason::WaitReason;
use mainspring_model::*;
use mainspring_store::*;

/// Parts in, running engine out.
#[derive(Debug)]
pub struct EngineBuilder;
impl EngineBuilder {
    /// Handlers, by name.
    pub fn handlers(self, registry: Registry) -> EngineBuilder { unimplemented!() }
    /// A pool's settings where the store has none yet: what a person changed later wins.
    pub fn pool(self, settings: PoolSettings) -> EngineBuilder { unimplemented!() }
    /// Tasks declared in code: created when missing, left alone when present.
    pub fn declare(self, code: TaskCode, definition: TaskDefinition) -> EngineBuilder { unimplemented!() }
    pub fn clock(self, clock: Arc<dyn Clock>) -> EngineBuilder { unimplemented!() }
    /// Seed of the dice: back-off jitter and the incarnation.
    pub fn seed(self, seed: u64) -> EngineBuilder { unimplemented!() }
    pub fn node_name(self, host: String, version: String) -> EngineBuilder { unimplemented!() }
    pub fn cancel_grace(self, grace: Duration) -> EngineBuilder { unimplemented!() }
    /// Everything on the caller's runtime, no thread of its own (tests, simulation).
    pub fn on_callers_runtime(self) -> EngineBuilder { unimplemented!() }
    pub async fn start(self) -> Result<Engine, Error> { unimplemented!() }
}

#[derive(Debug, Clone)]
pub struct Engine;
impl Engine {
    pub fn builder(store: Arc<dyn Store>) -> EngineBuilder { unimplemented!() }
    // submit
    pub async fn submit(&self, request: JobRequest) -> Result<Receipt, Error> { unimplemented!() }
    /// One answer per request, in order; one bad request never stops the others. Err: the store failed for all.
    pub async fn submit_many(&self, requests: Vec<JobRequest>) -> Vec<Result<Receipt, Error>> { unimplemented!() }
    /// The end of a job, when it comes.
    pub async fn wait(&self, id: JobId) -> Result<JobEnd, Error> { unimplemented!() }
    // by hand
    pub async fn operate(&self, id: JobId, operation: JobOperation, by: &str) -> Result<Job, Error> { unimplemented!() }
    // tasks
    pub async fn create_task(&self, code: TaskCode, definition: TaskDefinition, by: &str) -> Result<Task, Error> { unimplemented!() }
    pub async fn update_task(&self, code: &TaskCode, version: i64, definition: TaskDefinition, by: &str) -> Result<Task, Error> { unimplemented!() }
    pub async fn switch_task(&self, code: &TaskCode, enabled: bool, by: &str) -> Result<Task, Error> { unimplemented!() }
    pub async fn delete_task(&self, code: &TaskCode, version: Option<i64>, by: &str) -> Result<(), Error> { unimplemented!() }
    /// The same request id again answers the first job, `duplicate: true`.
    pub async fn trigger_task(&self, code: &TaskCode, request_id: Option<&str>, param: Option<Arc<str>>, by: &str) -> Result<Receipt, Error> { unimplemented!() }
    pub async fn task(&self, code: &TaskCode) -> Result<Task, Error> { unimplemented!() }
    /// All tasks, by code (they are few).
    pub async fn tasks(&self, filter: TaskFilter) -> Result<Vec<Task>, Error> { unimplemented!() }
    // reading jobs
    pub async fn job(&self, id: JobId) -> Result<Job, Error> { unimplemented!() }
    pub async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Result<Page<Job>, Error> { unimplemented!() }
    pub fn wait_reason(&self, job: &Job) -> Option<WaitReason> { unimplemented!() }
    pub fn job_operations(&self, job: &Job) -> Operations<JobOperation> { unimplemented!() }
    // what runs here
    pub fn handlers(&self) -> Vec<HandlerInfo> { unimplemented!() }
    pub async fn pools(&self) -> Result<Vec<PoolView>, Error> { unimplemented!() }
    pub async fn put_pool(&self, settings: PoolSettings, by: &str) -> Result<PoolView, Error> { unimplemented!() }
    pub async fn health(&self) -> Health { unimplemented!() }
    pub fn store(&self) -> &Arc<dyn Store> { unimplemented!() }
    pub fn clock(&self) -> &Arc<dyn Clock> { unimplemented!() }
    pub fn node_name(&self, number: u16) -> String { unimplemented!() }
    /// Takes no new work, lets bodies end until `limit`, gives the rest back.
    pub async fn stop(&self, limit: Duration) -> StopReport { unimplemented!() }
}
