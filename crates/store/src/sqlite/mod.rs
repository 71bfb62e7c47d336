//! The embedded store: one file, one process, one writer.
//!
//! `SqliteStore::open` runs threads: a writer that commits in groups, readers with their own connections, and one that
//! checkpoints. `SqliteStore::inline` keeps an in-memory database and does everything in the caller's own future, for
//! the simulation, whose clock stands still while nobody waits.
//!
//! **Invariants:** `Ok` means committed; only `writer` writes; a verb is one function of a connection in the file of
//! its stage, and does not know which of the two ways it is run.

mod attempts;
mod calendars;
mod checkpoint;
mod claim;
mod command;
mod decode;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod export;
mod fault;
mod jobs;
mod lanes;
mod lock;
mod migrate;
mod nodes;
mod numbers;
mod open;
mod operate;
mod pools;
mod pragmas;
mod rates;
mod reader;
mod requests;
mod schedule;
mod settle;
mod sql;
mod start;
mod submit;
mod tasks;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, Calendar, CalendarName, Clock, Incarnation, Job, JobId, Task, TaskCode, TaskDefinition,
    Timestamp,
};
use rusqlite::{Connection, params};
use tokio::sync::broadcast;
use tokio::sync::oneshot;

use command::{Call, Command, transact};
use fault::Outcome;
use open::open_connection;
use tasks::By;

use crate::{
    Beat, CalendarDeletion, ClaimRequest, Claimed, DeadJob, Durability, Expiry, Fire, Fired, GiveBack, Held, JobEnd,
    JobFilter, Joined, LiveCount, LiveJobs, NewJob, NewNode, News, NextFireChange, NodeRow, OpenError, Operate,
    Operated, OutputChunk, Page, PoolBacklog, PoolSettings, Press, Pressed, Replan, Result, Settled, Settlement,
    Started, Store, StoreError, StoreInfo, Submitted, TakenOver, TaskChange, Trouble, Violation, Wake,
};

#[derive(Debug)]
pub struct SqliteStore {
    place: String,
    clock: Arc<dyn Clock>,
    /// Counts the claims: see `rules::split`.
    turn: AtomicU64,
    runner: Runner,
}

/// Fields are dropped in their order: readers, then the writer with a last checkpoint, then the lock.
#[derive(Debug)]
struct Threads {
    readers: reader::Readers,
    writer: writer::Writer,
    _checkpointer: checkpoint::Checkpointer,
    _lock: lock::Lock,
}

#[derive(Debug)]
enum Runner {
    Threads(Threads),
    Inline(Box<Mutex<Connection>>),
}

impl SqliteStore {
    /// Opens or creates the database file, and its directory.
    pub fn open(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> std::result::Result<SqliteStore, OpenError> {
        let path = path.as_ref();
        let place = path.display().to_string();
        open::make_directory(path)?;
        let lock = lock::Lock::take(path)?;
        let conn = open::open_database(path, clock.now())?;
        let (checkpointer, policy) = checkpoint::Checkpointer::start(path.to_owned())?;
        let writer = writer::Writer::start(conn, path.to_owned(), policy)?;
        let readers = reader::Readers::start(path)?;
        let runner = Runner::Threads(Threads { readers, writer, _checkpointer: checkpointer, _lock: lock });
        Ok(SqliteStore { place, clock, turn: AtomicU64::new(0), runner })
    }

    /// In memory, without threads: each verb is done within its caller's poll.
    pub fn inline(clock: Arc<dyn Clock>) -> std::result::Result<SqliteStore, OpenError> {
        let conn = open::open_in_memory(clock.now())?;
        let runner = Runner::Inline(Box::new(Mutex::new(conn)));
        Ok(SqliteStore { place: ":memory:".to_owned(), clock, turn: AtomicU64::new(0), runner })
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: &'static str,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let (call, answer) = Call::new(verb, work);
        match &self.runner {
            Runner::Threads(threads) => threads.writer.send(Box::new(call)).await,
            Runner::Inline(conn) => run_inline(conn, Box::new(call)),
        }
        answered(verb, answer).await
    }

    async fn read<T: Send + 'static>(
        &self,
        verb: &'static str,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let (call, answer) = Call::new(verb, work);
        match &self.runner {
            Runner::Threads(threads) => threads.readers.send(Box::new(call)).await,
            Runner::Inline(conn) => run_inline(conn, Box::new(call)),
        }
        answered(verb, answer).await
    }
}

fn run_inline(conn: &Mutex<Connection>, command: Box<dyn Command>) {
    let mut commands = [command];
    // A panic inside a verb is caught before it could poison the lock.
    let conn = conn.lock().unwrap_or_else(PoisonError::into_inner);
    let ending = transact(&conn, &mut commands);
    drop(conn);
    let [command] = commands;
    command.reply(&ending);
}

/// A command that vanished unanswered took its thread with it: nobody knows what it did.
async fn answered<T>(verb: &'static str, answer: oneshot::Receiver<Result<T>>) -> Result<T> {
    answer.await.unwrap_or_else(|_| {
        let reason = "the store's thread ended without an answer".to_owned();
        Err(StoreError::Unknown { verb, kind: Trouble::Unavailable, reason })
    })
}

#[async_trait]
impl Store for SqliteStore {
    fn info(&self) -> StoreInfo {
        let (durability, weak) = match self.runner {
            Runner::Threads(_) => (Durability::Full, Vec::new()),
            Runner::Inline(_) => (Durability::Relaxed, vec!["the database is in memory".to_owned()]),
        };
        StoreInfo { kind: "sqlite", place: self.place.clone(), durability, weak, is_shared: false }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    async fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    async fn check_writable(&self) -> Result<()> {
        let now = self.clock.now().as_ms().to_string();
        self.write("check_writable", move |conn| {
            conn.prepare_cached(sql::WRITABLE)?.execute(params![now])?;
            Ok(())
        })
        .await
    }

    async fn join(&self, node: NewNode, now: Timestamp) -> Result<Joined> {
        let clock = self.clock.now();
        self.write("join", move |conn| nodes::join(conn, &node, clock, now)).await
    }

    async fn heartbeat(&self, incarnation: Incarnation, lease_ms: i64) -> Result<Beat> {
        let clock = self.clock.now();
        let state = self.write("heartbeat", move |conn| nodes::heartbeat(conn, incarnation, lease_ms, clock)).await?;
        Ok(Beat { state, news: News::default() })
    }

    async fn take_over(&self, now: Timestamp) -> Result<TakenOver> {
        let clock = self.clock.now();
        self.write("take_over", move |conn| nodes::take_over(conn, clock, now)).await
    }

    async fn drain_node(&self, incarnation: Incarnation, by: String, now: Timestamp) -> Result<bool> {
        let by = By { who: by, now };
        self.write("drain_node", move |conn| nodes::drain(conn, incarnation, &by)).await
    }

    async fn news(&self) -> Result<News> {
        Ok(News::default()) // nobody else can change anything
    }

    fn wakes(&self) -> Option<broadcast::Receiver<Wake>> {
        None
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<()> {
        self.write("leave", move |conn| nodes::leave(conn, incarnation, now)).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>> {
        self.read("nodes", nodes::nodes).await
    }

    async fn submit(&self, owner: Incarnation, jobs: Vec<NewJob>) -> Result<Vec<Submitted>> {
        self.write("submit", move |conn| submit::submit(conn, owner, &jobs)).await
    }

    async fn fire(&self, owner: Incarnation, fires: Vec<Fire>, now: Timestamp) -> Result<Vec<Fired>> {
        self.write("fire", move |conn| schedule::fire(conn, owner, &fires, now)).await
    }

    async fn replan(&self, replans: Vec<Replan>, _now: Timestamp) -> Result<Vec<bool>> {
        self.write("replan", move |conn| schedule::replan(conn, &replans)).await
    }

    async fn expire(&self, expiries: Vec<Expiry>, now: Timestamp) -> Result<Vec<JobId>> {
        self.write("expire", move |conn| operate::expire(conn, &expiries, now)).await
    }

    async fn judge_rates_anew(&self) -> Result<()> {
        self.write("judge_rates_anew", rates::judge_anew).await
    }

    async fn claim(&self, request: ClaimRequest) -> Result<Claimed> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.write("claim", move |conn| claim::claim(conn, &request, turn)).await
    }

    async fn give_back(&self, held: Vec<Held>, how: GiveBack, _now: Timestamp) -> Result<()> {
        self.write("give_back", move |conn| claim::give_back(conn, &held, how)).await
    }

    /// Asked of the writer, behind whatever is still on its way: a reader could answer with the state before it.
    async fn held(&self, owner: Incarnation) -> Result<Vec<Held>> {
        self.write("held", move |conn| nodes::held(conn, owner)).await
    }

    async fn unpark(&self, tasks: Vec<TaskCode>) -> Result<u64> {
        self.write("unpark", move |conn| claim::unpark(conn, &tasks)).await
    }

    async fn mark_started(&self, started: Vec<Started>) -> Result<Vec<bool>> {
        self.write("mark_started", move |conn| start::mark_started(conn, &started)).await
    }

    async fn append_output(&self, chunks: Vec<OutputChunk>) -> Result<()> {
        self.write("append_output", move |conn| start::append_output(conn, &chunks)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Vec<Settled>> {
        self.write("settle", move |conn| settle::settle(conn, &settlements, now)).await
    }

    async fn tasks(&self) -> Result<Vec<Task>> {
        self.read("tasks", tasks::tasks).await
    }

    async fn task(&self, code: &TaskCode) -> Result<Option<Task>> {
        let code = code.clone();
        self.read("task", move |conn| tasks::task(conn, &code)).await
    }

    async fn create_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: by, now };
        self.write("create_task", move |conn| tasks::create(conn, &code, &definition, switch, next_fire, &by)).await
    }

    async fn declare_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: "declared".to_owned(), now };
        self.write("declare_task", move |conn| tasks::declare(conn, &code, &definition, next_fire, &by)).await
    }

    async fn update_task(
        &self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        next_fire: NextFireChange,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: by, now };
        self.write("update_task", move |conn| tasks::update(conn, &code, version, &definition, next_fire, &by)).await
    }

    async fn switch_task(
        &self,
        code: TaskCode,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: by, now };
        self.write("switch_task", move |conn| tasks::switch(conn, &code, to, next_fire, &by)).await
    }

    async fn delete_task(
        &self,
        code: TaskCode,
        version: Option<i64>,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: by, now };
        self.write("delete_task", move |conn| tasks::delete(conn, &code, version, &by)).await
    }

    async fn calendars(&self) -> Result<Vec<Calendar>> {
        self.read("calendars", calendars::calendars).await
    }

    async fn put_calendar(&self, calendar: Calendar, by: String, now: Timestamp) -> Result<()> {
        let by = By { who: by, now };
        self.write("put_calendar", move |conn| calendars::put(conn, &calendar, &by)).await
    }

    async fn delete_calendar(&self, name: CalendarName, by: String, now: Timestamp) -> Result<CalendarDeletion> {
        let by = By { who: by, now };
        self.write("delete_calendar", move |conn| calendars::delete(conn, &name, &by)).await
    }

    async fn press(&self, press: Press) -> Result<Pressed> {
        self.write("press", move |conn| requests::press(conn, &press)).await
    }

    async fn answer_press(&self, request_id: String, answer: Option<String>) -> Result<()> {
        self.write("answer_press", move |conn| requests::answer(conn, &request_id, answer.as_deref())).await
    }

    async fn pools(&self) -> Result<Vec<PoolSettings>> {
        self.read("pools", pools::pools).await
    }

    async fn put_pool(&self, pool: PoolSettings, by: String, now: Timestamp) -> Result<()> {
        let by = By { who: by, now };
        self.write("put_pool", move |conn| pools::put(conn, &pool, &by)).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        self.read("job", move |conn| jobs::job(conn, id)).await
    }

    async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Result<Page<Job>> {
        self.read("jobs", move |conn| jobs::jobs(conn, &filter, limit, cursor.as_deref())).await
    }

    async fn job_end(&self, id: JobId) -> Result<Option<JobEnd>> {
        self.read("job_end", move |conn| jobs::job_end(conn, id)).await
    }

    async fn operate(&self, operate: Operate) -> Result<Operated> {
        self.write("operate", move |conn| operate::operate(conn, &operate)).await
    }

    async fn attempts_of_job(&self, id: JobId, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>> {
        self.read("attempts_of_job", move |conn| attempts::of_job(conn, id, limit, cursor.as_deref())).await
    }

    async fn attempts_of_task(&self, code: &TaskCode, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>> {
        let code = code.clone();
        self.read("attempts_of_task", move |conn| attempts::of_task(conn, &code, limit, cursor.as_deref())).await
    }

    async fn attempt(&self, id: AttemptId) -> Result<Option<Attempt>> {
        self.read("attempt", move |conn| attempts::attempt(conn, id)).await
    }

    async fn output(&self, id: AttemptId, after: Option<u32>, limit: u32) -> Result<Vec<OutputChunk>> {
        self.read("output", move |conn| start::output(conn, id, after, limit)).await
    }

    async fn dead_jobs(&self, task: Option<TaskCode>, limit: u32, cursor: Option<String>) -> Result<Page<DeadJob>> {
        self.read("dead_jobs", move |conn| attempts::dead_jobs(conn, task.as_ref(), limit, cursor.as_deref())).await
    }

    async fn live_jobs_of_task(&self, code: &TaskCode, cap: u32) -> Result<LiveCount> {
        let code = code.clone();
        self.read("live_jobs_of_task", move |conn| numbers::live_jobs_of_task(conn, &code, cap)).await
    }

    async fn live_jobs(&self, cap: u32) -> Result<LiveJobs> {
        self.read("live_jobs", move |conn| numbers::live_jobs(conn, cap)).await
    }

    async fn backlog(&self, cap: u32) -> Result<Vec<PoolBacklog>> {
        self.read("backlog", move |conn| numbers::backlog(conn, cap)).await
    }

    async fn verify(&self) -> Result<Vec<Violation>> {
        self.read("verify", numbers::verify).await
    }
}
