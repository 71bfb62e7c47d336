//! The reference store: plain maps behind one lock. It says what the verbs mean; the suite compares the others with it,
//! and the simulation can run on it.
//!
//! **Invariant:** each verb holds the lock from its first read to its last write, so it is one transaction.
//! Deliberately not here: speed, durability, bounds on what is kept.

mod admin;
mod claim;
mod fire;
mod lanes;
mod lists;
mod nodes;
mod settle;
mod submit;
mod tasks;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use mainspring_model::job::{DeadCause, Lane, QueueEntry, QueueState};
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, BizId, Calendar, CalendarName, Clock, Fence, Incarnation, Job, JobId, PoolName, Task, TaskCode,
    TaskDefinition, Timestamp, Unique,
};
use tokio::sync::broadcast;

use self::lanes::{Ring, RingId};
use crate::{
    Beat, CalendarDeletion, ClaimRequest, Claimed, DeadJob, Durability, Expiry, Fire, Fired, GiveBack, Held, JobEnd,
    JobFilter, Joined, LiveCount, LiveJobs, NewJob, NewNode, News, NextFireChange, NodeRow, Operate, Operated,
    OutputChunk, Page, PoolBacklog, PoolSettings, Press, Pressed, ReplacedJob, Replan, Result, Settled, Settlement,
    Started, Store, StoreInfo, Submitted, TakenOver, TaskChange, Violation, Wake,
};

#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    data: Mutex<Data>,
    wakes: broadcast::Sender<Wake>,
}

/// A receiver that lags further behind looks by itself.
const WAKES_KEPT: usize = 64;

#[derive(Debug, Default)]
struct Data {
    /// What was ever declared, by its fingerprint.
    declared: BTreeSet<(TaskCode, String)>,
    tasks: BTreeMap<TaskCode, Task>,
    last_task_id: i64,
    records: BTreeMap<JobId, Record>,
    queue: BTreeMap<JobId, Queued>,
    keys: BTreeMap<(BizId, TaskCode), JobId>,
    attempts: BTreeMap<AttemptId, Attempt>,
    output: BTreeMap<(AttemptId, u32), OutputChunk>,
    dead: BTreeMap<JobId, Dead>,
    alerts: Vec<Alert>,
    nodes: BTreeMap<Incarnation, NodeRow>,
    pools: BTreeMap<PoolName, PoolSettings>,
    calendars: BTreeMap<CalendarName, Calendar>,
    requests: BTreeMap<String, Request>,
    rings: BTreeMap<RingId, Ring>,
    /// What people did to jobs.
    operations: Vec<Operate>,
    claims: u64,
    news: News,
    /// Tasks that a failure has stopped.
    stopped: u64,
}

/// `job.fence` is the record's own; `job.queue` is always `None` here.
#[derive(Debug)]
struct Record {
    job: Job,
    unique: Unique,
    result: Option<String>,
}

#[derive(Debug, Clone)]
struct Queued {
    task: TaskCode,
    due: Timestamp,
    fence: Fence,
    owner: Option<Incarnation>,
    state: QueueState,
    suspect: bool,
    lane: Option<Lane>,
}

#[derive(Debug)]
struct Dead {
    task: TaskCode,
    cause: DeadCause,
    time: Timestamp,
    open: bool,
}

#[derive(Debug)]
struct Alert {
    kind: &'static str,
    job: Option<JobId>,
}

/// What a person's request id was used for.
#[derive(Debug)]
struct Request {
    operation: String,
    answer: Option<String>,
    time: Timestamp,
}

impl Data {
    /// The job as people see it: the record, and where the queue has it.
    fn job(&self, id: JobId) -> Option<Job> {
        let mut job = self.records.get(&id)?.job.clone();
        if let Some(queued) = self.queue.get(&id) {
            job.fence = job.fence.max(queued.fence);
            job.queue = Some(QueueEntry { state: queued.state, due: queued.due, owner: queued.owner });
        }
        Some(job)
    }
}

impl MemoryStore {
    pub fn new(clock: Arc<dyn Clock>) -> MemoryStore {
        MemoryStore { clock, data: Mutex::default(), wakes: broadcast::Sender::new(WAKES_KEPT) }
    }

    /// Nobody may listen.
    fn wake(&self, wake: Wake) {
        drop(self.wakes.send(wake));
    }

    fn tell_replaced<'r>(&self, mut replaced: impl Iterator<Item = &'r ReplacedJob>) {
        if replaced.next().is_some() {
            self.wake(Wake::Held);
        }
    }

    fn tell_change(&self, data: &mut Data, change: &TaskChange) {
        if matches!(change, TaskChange::Written(_)) {
            self.tell_definitions(data);
        }
    }

    /// A task, a pool or a calendar has changed.
    fn tell_definitions(&self, data: &mut Data) {
        data.news.definitions += 1;
        self.wake(Wake::Definitions);
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn info(&self) -> StoreInfo {
        StoreInfo {
            kind: "memory",
            place: "memory:".to_owned(),
            durability: Durability::Relaxed,
            weak: vec!["the database is in memory".to_owned()],
            is_shared: true,
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    async fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    async fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    async fn join(&self, node: NewNode, now: Timestamp) -> Result<Joined> {
        let clock = self.clock.now();
        let joined = self.data().join(&node, clock, now)?;
        if !joined.taken_over.is_empty() {
            self.wake(Wake::Jobs);
        }
        Ok(joined)
    }

    async fn heartbeat(&self, incarnation: Incarnation, lease_ms: i64) -> Result<Beat> {
        let clock = self.clock.now();
        let mut data = self.data();
        Ok(Beat { state: data.heartbeat(incarnation, lease_ms, clock), news: data.news })
    }

    async fn take_over(&self, now: Timestamp) -> Result<TakenOver> {
        let clock = self.clock.now();
        let taken_over = self.data().take_over(clock, now);
        if !taken_over.is_empty() {
            self.wake(Wake::Jobs);
        }
        Ok(taken_over)
    }

    async fn drain_node(&self, incarnation: Incarnation, _by: String, _now: Timestamp) -> Result<bool> {
        Ok(self.data().drain_node(incarnation))
    }

    async fn news(&self) -> Result<News> {
        Ok(self.data().news)
    }

    fn wakes(&self) -> Option<broadcast::Receiver<Wake>> {
        Some(self.wakes.subscribe())
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<()> {
        self.data().leave(incarnation, now);
        self.wake(Wake::Jobs);
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>> {
        Ok(self.data().nodes())
    }

    async fn submit(&self, owner: Incarnation, jobs: Vec<NewJob>) -> Result<Vec<Submitted>> {
        let mut data = self.data();
        let answers: Vec<Submitted> = jobs.iter().map(|job| data.submit(owner, job)).collect();
        if answers.iter().any(|answer| matches!(answer, Submitted::Stored { claimed: false, .. })) {
            self.wake(Wake::Jobs);
        }
        self.tell_replaced(answers.iter().flat_map(Submitted::replaced));
        Ok(answers)
    }

    async fn fire(&self, owner: Incarnation, fires: Vec<Fire>, now: Timestamp) -> Result<Vec<Fired>> {
        let mut data = self.data();
        let answers: Vec<Fired> = fires.iter().map(|fire| data.fire(owner, fire, now)).collect();
        self.wake(Wake::Jobs);
        self.tell_replaced(answers.iter().flat_map(Fired::replaced));
        Ok(answers)
    }

    async fn replan(&self, replans: Vec<Replan>, _now: Timestamp) -> Result<Vec<bool>> {
        let mut data = self.data();
        Ok(replans.iter().map(|replan| data.replan(replan)).collect())
    }

    async fn expire(&self, expiries: Vec<Expiry>, now: Timestamp) -> Result<Vec<JobId>> {
        let mut data = self.data();
        Ok(expiries.iter().flat_map(|expiry| data.expire(expiry, now)).collect())
    }

    async fn judge_rates_anew(&self) -> Result<()> {
        self.data().judge_rates_anew();
        Ok(())
    }

    async fn claim(&self, request: ClaimRequest) -> Result<Claimed> {
        Ok(self.data().claim(&request))
    }

    async fn give_back(&self, held: Vec<Held>, how: GiveBack, _now: Timestamp) -> Result<()> {
        self.data().give_back(&held, how);
        self.wake(Wake::Jobs);
        Ok(())
    }

    async fn held(&self, owner: Incarnation) -> Result<Vec<Held>> {
        let data = self.data();
        let own = data.queue.iter().filter(|(_, queued)| queued.owner == Some(owner));
        Ok(own.map(|(id, queued)| Held { id: *id, fence: queued.fence, owner }).collect())
    }

    async fn unpark(&self, tasks: Vec<TaskCode>) -> Result<u64> {
        Ok(self.data().unpark(&tasks))
    }

    async fn mark_started(&self, started: Vec<Started>) -> Result<Vec<bool>> {
        let mut data = self.data();
        Ok(started.iter().map(|start| data.mark_started(start)).collect())
    }

    async fn append_output(&self, chunks: Vec<OutputChunk>) -> Result<()> {
        let mut data = self.data();
        for chunk in chunks {
            data.output.entry((chunk.attempt, chunk.seq)).or_insert(chunk);
        }
        Ok(())
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Vec<Settled>> {
        let mut data = self.data();
        let switched = data.stopped;
        let answers = settlements.iter().map(|settlement| data.settle(settlement, now)).collect();
        if data.stopped != switched {
            self.tell_definitions(&mut data);
        }
        self.wake(Wake::Jobs);
        Ok(answers)
    }

    async fn tasks(&self) -> Result<Vec<Task>> {
        Ok(self.data().tasks.values().cloned().collect())
    }

    async fn task(&self, code: &TaskCode) -> Result<Option<Task>> {
        Ok(self.data().tasks.get(code).cloned())
    }

    async fn create_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        next_fire: Option<Timestamp>,
        _by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let mut data = self.data();
        let change = data.create_task(code, definition, switch, next_fire, now);
        self.tell_change(&mut data, &change);
        Ok(change)
    }

    async fn declare_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let mut data = self.data();
        let change = data.declare_task(code, definition, next_fire, now);
        self.tell_change(&mut data, &change);
        Ok(change)
    }

    async fn update_task(
        &self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        next_fire: NextFireChange,
        _by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let mut data = self.data();
        let change = data.update_task(&code, version, definition, next_fire, now);
        self.tell_change(&mut data, &change);
        Ok(change)
    }

    async fn switch_task(
        &self,
        code: TaskCode,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        _by: String,
        now: Timestamp,
    ) -> Result<TaskChange> {
        let mut data = self.data();
        let change = data.switch_task(&code, to, next_fire, now);
        self.tell_change(&mut data, &change);
        Ok(change)
    }

    async fn delete_task(
        &self,
        code: TaskCode,
        version: Option<i64>,
        _by: String,
        _now: Timestamp,
    ) -> Result<TaskChange> {
        let mut data = self.data();
        let change = data.delete_task(&code, version);
        self.tell_change(&mut data, &change);
        Ok(change)
    }

    async fn calendars(&self) -> Result<Vec<Calendar>> {
        Ok(self.data().calendars.values().cloned().collect())
    }

    async fn put_calendar(&self, calendar: Calendar, _by: String, _now: Timestamp) -> Result<()> {
        let mut data = self.data();
        data.calendars.insert(calendar.name.clone(), calendar);
        self.tell_definitions(&mut data);
        Ok(())
    }

    async fn delete_calendar(&self, name: CalendarName, _by: String, _now: Timestamp) -> Result<CalendarDeletion> {
        let mut data = self.data();
        let deletion = data.delete_calendar(&name);
        self.tell_definitions(&mut data);
        Ok(deletion)
    }

    async fn press(&self, press: Press) -> Result<Pressed> {
        Ok(self.data().press(&press))
    }

    async fn answer_press(&self, request_id: String, answer: Option<String>) -> Result<()> {
        self.data().answer_press(&request_id, answer);
        Ok(())
    }

    async fn pools(&self) -> Result<Vec<PoolSettings>> {
        Ok(self.data().pools.values().cloned().collect())
    }

    async fn put_pool(&self, pool: PoolSettings, _by: String, _now: Timestamp) -> Result<()> {
        let mut data = self.data();
        data.pools.insert(pool.name.clone(), pool);
        self.tell_definitions(&mut data);
        Ok(())
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>> {
        Ok(self.data().job(id))
    }

    async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Result<Page<Job>> {
        Ok(self.data().jobs(&filter, limit, cursor.as_deref()))
    }

    async fn job_end(&self, id: JobId) -> Result<Option<JobEnd>> {
        Ok(self.data().job_end(id))
    }

    async fn operate(&self, operate: Operate) -> Result<Operated> {
        let done = self.data().operate(&operate);
        self.wake(Wake::Held);
        self.wake(Wake::Jobs);
        Ok(done)
    }

    async fn attempts_of_job(&self, id: JobId, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>> {
        Ok(self.data().attempts_of_job(id, limit, cursor.as_deref()))
    }

    async fn attempts_of_task(&self, code: &TaskCode, limit: u32, cursor: Option<String>) -> Result<Page<Attempt>> {
        Ok(self.data().attempts_of_task(code, limit, cursor.as_deref()))
    }

    async fn attempt(&self, id: AttemptId) -> Result<Option<Attempt>> {
        Ok(self.data().attempts.get(&id).cloned())
    }

    async fn output(&self, id: AttemptId, after: Option<u32>, limit: u32) -> Result<Vec<OutputChunk>> {
        Ok(self.data().output(id, after, limit))
    }

    async fn dead_jobs(&self, task: Option<TaskCode>, limit: u32, cursor: Option<String>) -> Result<Page<DeadJob>> {
        Ok(self.data().dead_jobs(task.as_ref(), limit, cursor.as_deref()))
    }

    async fn live_jobs_of_task(&self, code: &TaskCode, cap: u32) -> Result<LiveCount> {
        Ok(self.data().live_jobs_of_task(code, cap))
    }

    async fn live_jobs(&self, cap: u32) -> Result<LiveJobs> {
        Ok(self.data().live_jobs(cap))
    }

    async fn backlog(&self, cap: u32) -> Result<Vec<PoolBacklog>> {
        Ok(self.data().backlog(cap))
    }

    async fn verify(&self) -> Result<Vec<Violation>> {
        Ok(self.data().verify())
    }
}

#[cfg(test)]
mod tests {
    use crate::clock::SystemClock;
    use crate::suite::Subject;

    async fn make() -> Subject {
        Subject::new(super::MemoryStore::new(SystemClock::new()))
    }

    crate::store_suite!(suite => crate::memory::tests::make);

    #[tokio::test]
    async fn limits_hold_under_random_verbs_and_nobody_is_stuck() {
        for seed in 0..25 {
            crate::suite::sequences::limits_hold_and_nobody_is_stuck(&make().await, seed, 400).await;
        }
    }
}
