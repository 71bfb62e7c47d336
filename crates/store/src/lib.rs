//! Where tasks, jobs and attempts are kept: one trait, several databases.
//!
//! The verbs are grouped by the stage of the pipeline that calls them. Three rules hold for every implementation, and
//! the conformance suite (`suite/`) checks them on each:
//!
//! - An answer `Ok` means committed. An error says whether nothing was written or the outcome is unknown.
//! - Every verb can be repeated after an unknown outcome: ids are made by the caller, and writes to a held job are
//!   guarded by its fence, so a repetition changes nothing and answers as the first call did.
//! - A batch is one transaction. One bad row of it is answered for itself and never stops the others.

pub mod clock;
mod error;
pub mod memory;
#[cfg(feature = "mysql")]
mod mysql;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod rules;
mod secrets;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod server;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

#[cfg(all(feature = "sqlite", any(feature = "postgres", feature = "mysql")))]
pub mod transfer;

use std::sync::Arc;

use async_trait::async_trait;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, Calendar, CalendarName, Clock, Incarnation, Job, JobId, Task, TaskCode, TaskDefinition,
    Timestamp,
};
use tokio::sync::broadcast;

pub use error::{OpenError, StoreError, Trouble};
pub use memory::MemoryStore;
pub use open::{exists, open};
pub use rows::*;
pub use rules::check_filter;
pub use secrets::without_secrets;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use server::{ApplicationTransaction, ServerStore, SubmitIn, SubmitInError, SubmittedIn, submit_in};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
/// The driver whose transactions `submit_in` takes.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use sqlx;

/// What every verb answers.
pub type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    fn info(&self) -> StoreInfo;
    /// The clock by which this store's nodes agree: the database's, as far as this node knows it.
    fn clock(&self) -> Arc<dyn Clock>;
    /// The database's clock: it decides what is due and what has expired.
    async fn now(&self) -> Result<Timestamp>;
    /// A write that changes nothing, committed: is the store able to take work?
    async fn check_writable(&self) -> Result<()>;

    // ---- nodes ----
    /// Makes this incarnation a node. Queue rows of incarnations that are certainly dead (`Replaces`, and those that are
    /// gone already) are taken over in the same transaction: held ones are released as suspects, started ones are settled
    /// as lost (`model::decide`).
    async fn join(&self, node: NewNode, now: Timestamp) -> Result<Joined>;
    /// Renews the node's lease, unless it was declared gone.
    async fn heartbeat(&self, incarnation: Incarnation, lease_ms: i64) -> Result<Beat>;
    /// Declares nodes gone whose lease has run out by the database's clock, in a statement that itself tests it. Then takes
    /// over all that is held by any node that is gone, as `join` does: a claim may have been committed after its node was
    /// declared gone.
    async fn take_over(&self, now: Timestamp) -> Result<TakenOver>;
    /// A person wants the node to take no new work. `false`: there is no such node, or it is gone.
    async fn drain_node(&self, incarnation: Incarnation, by: String, now: Timestamp) -> Result<bool>;
    async fn news(&self) -> Result<News>;
    /// `None`: nobody else can change anything.
    fn wakes(&self) -> Option<broadcast::Receiver<Wake>>;
    /// A polite end: all that the incarnation still holds without a body goes back to the queue, unburnt.
    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<()>;
    async fn nodes(&self) -> Result<Vec<NodeRow>>;

    // ---- 1 submit ----
    /// One answer per job, in order.
    async fn submit(&self, owner: Incarnation, jobs: Vec<NewJob>) -> Result<Vec<Submitted>>;

    // ---- schedule ----
    /// One answer per task, in order. For each, in one transaction: the records of its fire times, the next fire time,
    /// and an alert when the schedule has ended. A repetition answers as the first call did, but does not name again
    /// what was replaced.
    async fn fire(&self, owner: Incarnation, fires: Vec<Fire>, now: Timestamp) -> Result<Vec<Fired>>;
    /// One answer per task, in order: `false` when somebody else has changed it.
    async fn replan(&self, replans: Vec<Replan>, now: Timestamp) -> Result<Vec<bool>>;

    /// Fired jobs that no node holds and no body has begun in time are skipped as EXPIRED: these. At most
    /// `FLUSH_JOBS_MAX` of each task. Tasks with a start deadline have their jobs in lanes.
    async fn expire(&self, expiries: Vec<Expiry>, now: Timestamp) -> Result<Vec<JobId>>;
    /// The clock went far back: jobs that wait for a rate to open at a time of the old clock are judged anew.
    async fn judge_rates_anew(&self) -> Result<()>;

    // ---- 3 dispatch ----
    async fn claim(&self, request: ClaimRequest) -> Result<Claimed>;
    /// Claimed jobs that did not start. Rows whose fence is gone are left alone.
    async fn give_back(&self, held: Vec<Held>, how: GiveBack, now: Timestamp) -> Result<()>;
    /// What the store believes that this incarnation holds. After an unknown outcome the node gives back what it does
    /// not know of.
    async fn held(&self, owner: Incarnation) -> Result<Vec<Held>>;
    /// This node knows these tasks: parked jobs of theirs go back to the queue. How many did.
    async fn unpark(&self, tasks: Vec<TaskCode>) -> Result<u64>;

    // ---- 4 execute ----
    /// One answer per attempt, in order: `false` when the fence is gone and the body must stop.
    async fn mark_started(&self, started: Vec<Started>) -> Result<Vec<bool>>;
    async fn append_output(&self, chunks: Vec<OutputChunk>) -> Result<()>;

    // ---- 5 write back ----
    /// One answer per settlement, in order. All that follows from an outcome (key freed, dead job, alert event, task
    /// stopped) is written with it.
    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Vec<Settled>>;

    // ---- tasks ----
    async fn tasks(&self) -> Result<Vec<Task>>;
    async fn task(&self, code: &TaskCode) -> Result<Option<Task>>;
    /// A repetition finds the task of the first try `InTheWay`.
    async fn create_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange>;
    /// From a program or its configuration. Missing: created, enabled. Present: written over when this declaration was
    /// never made before (its switch, its history and, where the schedule is the same, its next fire stay), `InTheWay`
    /// when it was, whatever the task has become since.
    async fn declare_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<TaskChange>;
    /// Jobs that wait for a limit of the old definition are judged anew. `version` is the one that the writer read.
    async fn update_task(
        &self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        next_fire: NextFireChange,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange>;
    /// A disabled task has no next fire time. Without a version the switch wins over whatever else changed. Switching to the present state is `Written`.
    async fn switch_task(
        &self,
        code: TaskCode,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange>;
    /// Refused (`InTheWay`) while jobs of the task are live; the record of its jobs stays. A repetition is `Missing`.
    async fn delete_task(&self, code: TaskCode, version: Option<i64>, by: String, now: Timestamp)
    -> Result<TaskChange>;

    // ---- calendars ----
    async fn calendars(&self) -> Result<Vec<Calendar>>;
    /// Makes it, or replaces the whole of it.
    async fn put_calendar(&self, calendar: Calendar, by: String, now: Timestamp) -> Result<()>;
    /// Not while a task names it.
    async fn delete_calendar(&self, name: CalendarName, by: String, now: Timestamp) -> Result<CalendarDeletion>;

    // ---- requests ----
    /// Keeps the request id, and forgets those whose time is over.
    async fn press(&self, press: Press) -> Result<Pressed>;
    /// What came of it. `None`: nothing was done, and the id is free again.
    async fn answer_press(&self, request_id: String, answer: Option<String>) -> Result<()>;

    // ---- pools ----
    async fn pools(&self) -> Result<Vec<PoolSettings>>;
    async fn put_pool(&self, pool: PoolSettings, by: String, now: Timestamp) -> Result<()>;

    // ---- jobs and attempts, for people ----
    async fn job(&self, id: JobId) -> Result<Option<Job>>;
    /// Newest first, without payloads. The filter has been checked against the indexes (`check_filter`).
    async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Result<Page<Job>>;
    async fn job_end(&self, id: JobId) -> Result<Option<JobEnd>>;
    async fn operate(&self, operate: Operate) -> Result<Operated>;
    /// Newest first.
    async fn attempts_of_job(&self, id: JobId, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>>;
    async fn attempts_of_task(&self, code: &TaskCode, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>>;
    async fn attempt(&self, id: AttemptId) -> Result<Option<Attempt>>;
    /// The chunks after `after`, in order.
    async fn output(&self, id: AttemptId, after: Option<u32>, limit: u32) -> Result<Vec<OutputChunk>>;
    async fn dead_jobs(&self, task: Option<TaskCode>, limit: u32, cursor: Option<String>) -> Result<Page<DeadJob>>;

    // ---- numbers and checks ----
    /// Looks at every job in the queue at worst: for one task that a person looks at, not for a list of tasks.
    async fn live_jobs_of_task(&self, code: &TaskCode, cap: u32) -> Result<LiveCount>;
    /// Of all tasks, in one pass over at most `cap` jobs in the queue.
    async fn live_jobs(&self, cap: u32) -> Result<LiveJobs>;
    /// Queued, started and parked jobs; those in a node's memory are the node's to count.
    async fn backlog(&self, cap: u32) -> Result<Vec<PoolBacklog>>;
    /// The invariants that can be seen in the database; empty when all hold.
    async fn verify(&self) -> Result<Vec<Violation>>;
}
