//! The store on a database server: PostgreSQL, MySQL and MariaDB. Several nodes may share it.
//!
//! There is one implementation of the verbs. What differs between the servers is in `postgres/` and `mysql/`: how one
//! connects, what error codes mean, migrations, and the statements that both cannot take.
//!
//! **Invariants:** `Ok` means committed; a verb is one function of a session in the file of its stage, may be run again
//! from its beginning, and writes with guarded statements: between what it read without a lock and what it writes another
//! node may have been.

pub(crate) mod address;
mod attempts;
mod audit;
mod calendars;
mod claim;
pub(crate) mod connections;
pub(crate) mod days;
mod decode;
mod driver;
mod durable;
mod ends;
pub(crate) mod fault;
mod history;
#[cfg(feature = "sqlite")]
pub(crate) mod import;
mod jobs;
pub(crate) mod kind;
mod lanes;
mod limits;
pub(crate) mod migrate;
mod nodes;
mod numbers;
mod open;
mod operate;
mod orphans;
mod outcome;
pub(crate) mod params;
#[cfg(feature = "postgres")]
mod partitioned;
mod peek;
mod pools;
mod rates;
mod release;
mod renewal;
mod requests;
pub(crate) mod row;
mod schedule;
pub(crate) mod session;
mod settle;
pub(crate) mod sql;
mod start;
pub(crate) mod statement;
mod submit;
mod submit_in;
mod tasks;
#[cfg(test)]
mod tests;
mod transact;
pub(crate) mod wakes;

pub use submit_in::{ApplicationTransaction, SubmitIn, SubmitInError, SubmittedIn, submit_in};

use std::sync::{Arc, atomic::AtomicU64, atomic::Ordering};

use async_trait::async_trait;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, Calendar, CalendarName, Clock, Incarnation, Job, JobId, Task, TaskCode, TaskDefinition,
    Timestamp,
};
use tokio::sync::broadcast;

use audit::By;
use connections::{Checks, Connections};
use driver::Driver;
use history::Seen;
use open::sample;
use params::params;
use tasks::Lock;
use transact::run;
use wakes::Hints;

use crate::clock::DatabaseClock;
use crate::rules::NodeEnd;
use crate::{
    Beat, CalendarDeletion, ClaimRequest, Claimed, DeadJob, Expiry, Fire, Fired, GiveBack, Held, JobEnd, JobFilter,
    Joined, LiveCount, LiveJobs, NewJob, NewNode, News, NextFireChange, NodeRow, Operate, Operated, OutputChunk, Page,
    PoolBacklog, PoolSettings, Press, Pressed, Replan, Result, Settled, Settlement, Started, Store, StoreInfo,
    Submitted, TakenOver, TaskChange, Violation, Wake,
};

#[derive(Debug)]
pub struct ServerStore {
    kind: &'static str,
    place: String,
    clock: Arc<DatabaseClock>,
    work: Connections,
    beat: Connections,
    /// For statements that look at everything.
    scan: Connections,
    /// The days that have partitions.
    #[cfg(feature = "postgres")]
    days: Arc<days::Days>,
    /// Set once the store is open.
    _driver: Option<Driver>,
    checks: Checks,
    /// Nobody hears of others where there is no way for it.
    hints: Option<Hints>,
    /// Transactions that met another one and were done again.
    repeated: AtomicU64,
    /// Counts the claims: see `rules::split`.
    turn: AtomicU64,
}

#[async_trait]
impl Store for ServerStore {
    fn info(&self) -> StoreInfo {
        let (durability, weak) = self.checks.durable.now();
        StoreInfo { kind: self.kind, place: self.place.clone(), durability, weak, is_shared: true }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::<DatabaseClock>::clone(&self.clock)
    }

    async fn now(&self) -> Result<Timestamp> {
        let sample = run!(self, Look, "now", session => sample(session, self.clock.node()))?;
        self.clock.learn(sample);
        Ok(sample.database)
    }

    async fn check_writable(&self) -> Result<()> {
        let now = self.clock.now().as_ms().to_string();
        run!(self, Single, "check_writable", session => session.run(&sql::WRITABLE, &params![now.as_str()])).map(drop)
    }

    async fn join(&self, node: NewNode, now: Timestamp) -> Result<Joined> {
        let (node_number, newest_job) = run!(self, Write, "join", session => nodes::join(session, &node))?;
        Ok(Joined { node_number, newest_job, taken_over: self.take_over_if_possible(now).await })
    }

    async fn heartbeat(&self, incarnation: Incarnation, lease_ms: i64) -> Result<Beat> {
        let node = self.clock.node();
        let heard =
            run!(self, Beat, Single, "heartbeat", session => nodes::heartbeat(session, incarnation, lease_ms, node))?;
        self.clock.learn(heard.sample);
        self.checks.history.saw(Seen { history: heard.beat.news.history, beats: heard.beats });
        Ok(heard.beat)
    }

    async fn take_over(&self, now: Timestamp) -> Result<TakenOver> {
        #[cfg(feature = "postgres")]
        self.look_ahead(now).await;
        self.take_over_from_expired(now).await
    }

    async fn drain_node(&self, incarnation: Incarnation, by: String, now: Timestamp) -> Result<bool> {
        let by = By { who: by, now };
        run!(self, Write, "drain_node", session => nodes::drain(session, incarnation, &by))
    }

    async fn news(&self) -> Result<News> {
        run!(self, Look, "news", session => nodes::news(session))
    }

    fn wakes(&self) -> Option<broadcast::Receiver<Wake>> {
        self.hints.as_ref().map(Hints::subscribe)
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<()> {
        self.empty(incarnation, NodeEnd::Leave, now, &mut TakenOver::default()).await?;
        self.ring(Wake::Jobs);
        run!(self, Single, "leave", session => session.run(&sql::NODE_GONE, &params![incarnation])).map(drop)
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>> {
        run!(self, Look, "nodes", session => nodes::nodes(session))
    }

    async fn submit(&self, owner: Incarnation, jobs: Vec<NewJob>) -> Result<Vec<Submitted>> {
        run!(self, Write, "submit", session => submit::submit(session, owner, &jobs))
            .inspect(|answers| self.ring_submitted(answers))
    }

    async fn fire(&self, owner: Incarnation, fires: Vec<Fire>, now: Timestamp) -> Result<Vec<Fired>> {
        run!(self, Write, "fire", session => schedule::fire(session, owner, &fires, now))
            .inspect(|answers| self.ring_fired(answers))
    }

    async fn replan(&self, replans: Vec<Replan>, _now: Timestamp) -> Result<Vec<bool>> {
        run!(self, Write, "replan", session => schedule::replan(session, &replans))
    }

    async fn expire(&self, expiries: Vec<Expiry>, now: Timestamp) -> Result<Vec<JobId>> {
        run!(self, Write, "expire", session => operate::expire(session, &expiries, now))
    }

    async fn judge_rates_anew(&self) -> Result<()> {
        run!(self, Write, "judge_rates_anew", session => rates::judge_anew(session))
    }

    async fn claim(&self, request: ClaimRequest) -> Result<Claimed> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let peek = run!(self, Look, "claim", session => peek::Peek::of(session, &request))?;
        if let Some(nothing) = peek.nothing(&request) {
            return Ok(nothing);
        }
        run!(self, Write, "claim", session => claim::claim(session, &request, &peek, turn))
    }

    async fn give_back(&self, held: Vec<Held>, how: GiveBack, _now: Timestamp) -> Result<()> {
        run!(self, Write, "give_back", session => release::give_back(session, &held, how))
            .inspect(|()| self.ring(Wake::Jobs))
    }

    async fn held(&self, owner: Incarnation) -> Result<Vec<Held>> {
        run!(self, Look, "held", session => nodes::held(session, owner))
    }

    async fn unpark(&self, tasks: Vec<TaskCode>) -> Result<u64> {
        run!(self, Write, "unpark", session => release::unpark(session, &tasks)).inspect(|_| self.ring(Wake::Jobs))
    }

    async fn mark_started(&self, started: Vec<Started>) -> Result<Vec<bool>> {
        run!(self, Write, "mark_started", session => start::mark_started(session, &started))
    }

    async fn append_output(&self, chunks: Vec<OutputChunk>) -> Result<()> {
        run!(self, Single, "append_output", session => attempts::append_output(session, &chunks))
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Vec<Settled>> {
        run!(self, Write, "settle", session => settle::settle(session, &settlements, now))
            .inspect(|answers| self.ring_settled(answers))
    }

    async fn tasks(&self) -> Result<Vec<Task>> {
        run!(self, Look, "tasks", session => tasks::tasks(session))
    }

    async fn task(&self, code: &TaskCode) -> Result<Option<Task>> {
        run!(self, Look, "task", session => tasks::task(session, code, Lock::None))
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
        run!(self, Write, "create_task", session => tasks::create(session, &code, &definition, switch, next_fire, &by))
            .inspect(|_| self.ring_definitions())
    }

    async fn declare_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: "declared".to_owned(), now };
        run!(self, Write, "declare_task", session => tasks::declare(session, &code, &definition, next_fire, &by))
            .inspect(|_| self.ring_definitions())
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
        run!(self, Write, "update_task", session => tasks::update(session, &code, version, &definition, next_fire, &by))
            .inspect(|_| self.ring_definitions())
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
        run!(self, Write, "switch_task", session => tasks::switch(session, &code, to, next_fire, &by))
            .inspect(|_| self.ring_definitions())
    }

    async fn delete_task(
        &self,
        code: TaskCode,
        version: Option<i64>,
        by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let by = By { who: by, now };
        run!(self, Write, "delete_task", session => tasks::delete(session, &code, version, &by))
            .inspect(|_| self.ring_definitions())
    }

    async fn calendars(&self) -> Result<Vec<Calendar>> {
        run!(self, Look, "calendars", session => calendars::calendars(session))
    }

    async fn put_calendar(&self, calendar: Calendar, by: String, now: Timestamp) -> Result<()> {
        let by = By { who: by, now };
        run!(self, Write, "put_calendar", session => calendars::put(session, &calendar, &by))
            .inspect(|_| self.ring_definitions())
    }

    async fn delete_calendar(&self, name: CalendarName, by: String, now: Timestamp) -> Result<CalendarDeletion> {
        let by = By { who: by, now };
        run!(self, Write, "delete_calendar", session => calendars::delete(session, &name, &by))
            .inspect(|_| self.ring_definitions())
    }

    async fn press(&self, press: Press) -> Result<Pressed> {
        run!(self, Write, "press", session => requests::press(session, &press))
    }

    async fn answer_press(&self, request_id: String, answer: Option<String>) -> Result<()> {
        run!(self, Single, "answer_press", session => requests::answer(session, &request_id, answer.as_deref()))
    }

    async fn pools(&self) -> Result<Vec<PoolSettings>> {
        run!(self, Look, "pools", session => pools::pools(session))
    }

    async fn put_pool(&self, pool: PoolSettings, by: String, now: Timestamp) -> Result<()> {
        let by = By { who: by, now };
        run!(self, Write, "put_pool", session => pools::put(session, &pool, &by)).inspect(|_| self.ring_definitions())
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        run!(self, Read, "job", session => jobs::job(session, id))
    }

    async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Result<Page<Job>> {
        run!(self, Read, "jobs", session => jobs::jobs(session, &filter, limit, cursor.as_deref()))
    }

    async fn job_end(&self, id: JobId) -> Result<Option<JobEnd>> {
        run!(self, Read, "job_end", session => jobs::job_end(session, id))
    }

    async fn operate(&self, operate: Operate) -> Result<Operated> {
        run!(self, Write, "operate", session => operate::operate(session, &operate))
            .inspect(|operated| self.ring_operated(operated))
    }

    async fn attempts_of_job(&self, id: JobId, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>> {
        run!(self, Read, "attempts_of_job", session => attempts::of_job(session, id, limit, cursor.as_deref()))
    }

    async fn attempts_of_task(&self, code: &TaskCode, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>> {
        run!(self, Read, "attempts_of_task", session => attempts::of_task(session, code, limit, cursor.as_deref()))
    }

    async fn attempt(&self, id: AttemptId) -> Result<Option<Attempt>> {
        run!(self, Look, "attempt", session => attempts::attempt(session, id))
    }

    async fn output(&self, id: AttemptId, after: Option<u32>, limit: u32) -> Result<Vec<OutputChunk>> {
        run!(self, Look, "output", session => attempts::output(session, id, after, limit))
    }

    async fn dead_jobs(&self, task: Option<TaskCode>, limit: u32, cursor: Option<String>) -> Result<Page<DeadJob>> {
        run!(self, Read, "dead_jobs", session => attempts::dead_jobs(session, task.as_ref(), limit, cursor.as_deref()))
    }

    async fn live_jobs_of_task(&self, code: &TaskCode, cap: u32) -> Result<LiveCount> {
        run!(self, Read, "live_jobs_of_task", session => numbers::live_jobs_of_task(session, code, cap))
    }

    async fn live_jobs(&self, cap: u32) -> Result<LiveJobs> {
        run!(self, Read, "live_jobs", session => numbers::live_jobs(session, cap))
    }

    async fn backlog(&self, cap: u32) -> Result<Vec<PoolBacklog>> {
        run!(self, Read, "backlog", session => numbers::backlog(session, cap))
    }

    async fn verify(&self) -> Result<Vec<Violation>> {
        run!(self, Scan, Read, "verify", session => numbers::verify(session))
    }
}
