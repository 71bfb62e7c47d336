//! The store as a node sees it through its link: late, refusing, losing replies, stalled, and silent when the node is
//! dead. Between the way there and the way back the call is done and checked in one step (`steps`).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mainspring_model::time::Clock;
use mainspring_model::{Attempt, AttemptId, Incarnation, Job, JobId, Task, TaskCode, TaskDefinition, Timestamp};
use mainspring_store::{
    ClaimRequest, Claimed, DeadJob, GiveBack, Held, JobEnd, JobFilter, Joined, LiveCount, LiveJobs, NewJob, NewNode,
    NodeRow, Operate, Operated, OutputChunk, Page, PoolBacklog, PoolSettings, Settled, Settlement, Started, Store,
    StoreError, StoreInfo, Submitted, TaskChange, Trouble, Violation,
};

use crate::link::Link;
use crate::locked;
use crate::steps::{Desk, at_once};
use crate::world::World;

type Answer<T> = Result<T, StoreError>;

/// How the store fails at present, for whoever calls.
#[derive(Debug)]
pub(crate) struct Weather {
    dice: Mutex<fastrand::Rng>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    calm: bool,
    /// Calls that are refused, and replies that are lost, of a thousand.
    fault_per_mille: u32,
    /// Until then, in milliseconds of the run, every call is refused.
    outage_until_ms: u64,
    /// Until then no call comes through.
    stall_until_ms: u64,
    /// Until then calls take ten times as long.
    slow_until_ms: u64,
}

const WAY_MS_MAX: u64 = 30;
const CALM_WAY_MS_MAX: u64 = 2;

impl Weather {
    pub(crate) fn new(dice: fastrand::Rng, fault_per_mille: u32) -> Weather {
        let state = State { calm: false, fault_per_mille, outage_until_ms: 0, stall_until_ms: 0, slow_until_ms: 0 };
        Weather { dice: Mutex::new(dice), state: Mutex::new(state) }
    }

    pub(crate) fn calm_down(&self) {
        let mut state = locked(&self.state);
        *state = State { calm: true, outage_until_ms: 0, stall_until_ms: 0, slow_until_ms: 0, ..*state };
    }

    pub(crate) fn is_calm(&self) -> bool {
        locked(&self.state).calm
    }

    pub(crate) fn outage_until(&self, ms: u64) {
        locked(&self.state).outage_until_ms = ms;
    }

    pub(crate) fn stall_until(&self, ms: u64) {
        locked(&self.state).stall_until_ms = ms;
    }

    pub(crate) fn slow_until(&self, ms: u64) {
        locked(&self.state).slow_until_ms = ms;
    }

    fn is_unlucky(&self, now_ms: u64) -> bool {
        let state = *locked(&self.state);
        let refused = now_ms < state.outage_until_ms;
        !state.calm && (refused || locked(&self.dice).u32(0..1_000) < state.fault_per_mille)
    }

    fn way(&self, now_ms: u64) -> Duration {
        let state = *locked(&self.state);
        let max = if state.calm { CALM_WAY_MS_MAX } else { WAY_MS_MAX };
        let ms = locked(&self.dice).u64(1..=max);
        Duration::from_millis(if now_ms < state.slow_until_ms { ms * 10 } else { ms })
    }

    fn stalled_until(&self) -> u64 {
        locked(&self.state).stall_until_ms
    }
}

#[derive(Debug)]
pub(crate) struct FaultyStore {
    pub(crate) world: Arc<World>,
    pub(crate) link: Arc<Link>,
}

impl FaultyStore {
    async fn call<T>(&self, verb: &'static str, work: impl FnOnce(&mut Desk<'_>) -> Answer<T> + Send) -> Answer<T> {
        self.travel().await;
        if self.world.weather.is_unlucky(self.world.clock.elapsed_ms()) {
            self.note(verb, "is refused");
            locked(&self.world.ghost).counts.refused_calls += 1;
            let reason = "simulated: the store cannot be reached".to_owned();
            return Err(StoreError::NotApplied { verb, kind: Trouble::Unavailable, reason });
        }
        let answer = {
            let mut desk = Desk::open(&self.world, self.link.number);
            desk.ghost.counts.calls += 1;
            work(&mut desk)
        };
        self.travel().await;
        if answer.is_ok() && self.world.weather.is_unlucky(self.world.clock.elapsed_ms()) {
            self.note(verb, "is done, its reply is lost");
            locked(&self.world.ghost).counts.unknown += 1;
            let reason = "simulated: the reply was lost".to_owned();
            return Err(StoreError::Unknown { verb, kind: Trouble::Unavailable, reason });
        }
        answer
    }

    async fn read<T>(&self, verb: &'static str, work: impl Future<Output = Answer<T>> + Send) -> Answer<T> {
        self.call(verb, |_| at_once(work)).await
    }

    /// One way. A dead node's call never arrives, a paused one's waits.
    async fn travel(&self) {
        let clock = &self.world.clock;
        clock.sleep(self.world.weather.way(clock.elapsed_ms())).await;
        loop {
            self.link.gate().await;
            let stall_ms = self.world.weather.stalled_until().saturating_sub(clock.elapsed_ms());
            if stall_ms == 0 {
                return;
            }
            clock.sleep(Duration::from_millis(stall_ms)).await;
        }
    }

    fn note(&self, verb: &str, what: &str) {
        let at_ms = self.world.clock.elapsed_ms();
        locked(&self.world.ghost).trace.add(at_ms, &format!("node {} {verb} {what}", self.link.number));
    }

    fn store(&self) -> &dyn Store {
        self.world.store.as_ref()
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn info(&self) -> StoreInfo {
        self.store().info()
    }

    async fn now(&self) -> Answer<Timestamp> {
        self.read("now", self.store().now()).await
    }

    async fn check_writable(&self) -> Answer<()> {
        self.read("check_writable", self.store().check_writable()).await
    }

    async fn join(&self, node: NewNode, now: Timestamp) -> Answer<Joined> {
        self.call("join", move |desk| desk.join(node, now)).await
    }

    async fn heartbeat(&self, incarnation: Incarnation, now: Timestamp) -> Answer<bool> {
        self.call("heartbeat", move |desk| desk.heartbeat(incarnation, now)).await
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Answer<()> {
        if self.world.planted.is(crate::Bug::StopHangs) {
            std::future::pending::<()>().await;
        }
        self.call("leave", move |desk| desk.leave(incarnation, now)).await
    }

    async fn nodes(&self) -> Answer<Vec<NodeRow>> {
        self.read("nodes", self.store().nodes()).await
    }

    async fn submit(&self, owner: Incarnation, jobs: Vec<NewJob>) -> Answer<Vec<Submitted>> {
        let answer = self.call("submit", move |desk| desk.submit(owner, jobs)).await;
        self.world.planted.retell(answer)
    }

    async fn claim(&self, request: ClaimRequest) -> Answer<Claimed> {
        let answer = self.call("claim", move |desk| desk.claim(request)).await;
        self.world.planted.retell_claim(answer)
    }

    async fn give_back(&self, held: Vec<Held>, how: GiveBack, now: Timestamp) -> Answer<()> {
        self.call("give_back", move |desk| desk.give_back(&held, how, now)).await
    }

    async fn held(&self, owner: Incarnation) -> Answer<Vec<Held>> {
        self.read("held", self.store().held(owner)).await
    }

    async fn unpark(&self, tasks: Vec<TaskCode>) -> Answer<u64> {
        self.call("unpark", move |desk| desk.unpark(tasks)).await
    }

    async fn mark_started(&self, started: Vec<Started>) -> Answer<Vec<bool>> {
        self.call("mark_started", move |desk| desk.mark_started(started)).await
    }

    async fn append_output(&self, chunks: Vec<OutputChunk>) -> Answer<()> {
        self.read("append_output", self.store().append_output(chunks)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Answer<Vec<Settled>> {
        Desk::open(&self.world, self.link.number).settle_is_sent(&settlements);
        self.call("settle", move |desk| desk.settle(settlements, now)).await
    }

    async fn tasks(&self) -> Answer<Vec<Task>> {
        self.read("tasks", self.store().tasks()).await
    }

    async fn task(&self, code: &TaskCode) -> Answer<Option<Task>> {
        self.read("task", self.store().task(code)).await
    }

    async fn create_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("create_task", move |desk| desk.create_task(code, definition, by, now)).await
    }

    async fn update_task(
        &self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("update_task", move |desk| desk.update_task(code, version, definition, by, now)).await
    }

    async fn switch_task(&self, code: TaskCode, enabled: bool, by: String, now: Timestamp) -> Answer<TaskChange> {
        self.call("switch_task", move |desk| desk.switch_task(code, enabled, by, now)).await
    }

    async fn delete_task(
        &self,
        code: TaskCode,
        version: Option<i64>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.read("delete_task", self.store().delete_task(code, version, by, now)).await
    }

    async fn pools(&self) -> Answer<Vec<PoolSettings>> {
        self.read("pools", self.store().pools()).await
    }

    async fn put_pool(&self, pool: PoolSettings, by: String, now: Timestamp) -> Answer<()> {
        self.call("put_pool", move |desk| desk.put_pool(pool, by, now)).await
    }

    async fn job(&self, id: JobId) -> Answer<Option<Job>> {
        self.read("job", self.store().job(id)).await
    }

    async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<String>) -> Answer<Page<Job>> {
        self.read("jobs", self.store().jobs(filter, limit, cursor)).await
    }

    async fn job_end(&self, id: JobId) -> Answer<Option<JobEnd>> {
        self.read("job_end", self.store().job_end(id)).await
    }

    async fn operate(&self, operate: Operate) -> Answer<Operated> {
        self.call("operate", move |desk| desk.operate(operate)).await
    }

    async fn attempts_of_job(&self, id: JobId, limit: u32, cursor: Option<String>) -> Answer<Page<Attempt>> {
        self.read("attempts_of_job", self.store().attempts_of_job(id, limit, cursor)).await
    }

    async fn attempts_of_task(&self, code: &TaskCode, limit: u32, cursor: Option<String>) -> Answer<Page<Attempt>> {
        self.read("attempts_of_task", self.store().attempts_of_task(code, limit, cursor)).await
    }

    async fn attempt(&self, id: AttemptId) -> Answer<Option<Attempt>> {
        self.read("attempt", self.store().attempt(id)).await
    }

    async fn output(&self, id: AttemptId, after: Option<u32>, limit: u32) -> Answer<Vec<OutputChunk>> {
        self.read("output", self.store().output(id, after, limit)).await
    }

    async fn dead_jobs(&self, task: Option<TaskCode>, limit: u32, cursor: Option<String>) -> Answer<Page<DeadJob>> {
        self.read("dead_jobs", self.store().dead_jobs(task, limit, cursor)).await
    }

    async fn live_jobs_of_task(&self, code: &TaskCode, cap: u32) -> Answer<LiveCount> {
        self.read("live_jobs_of_task", self.store().live_jobs_of_task(code, cap)).await
    }

    async fn live_jobs(&self, cap: u32) -> Answer<LiveJobs> {
        self.read("live_jobs", self.store().live_jobs(cap)).await
    }

    async fn backlog(&self, cap: u32) -> Answer<Vec<PoolBacklog>> {
        self.read("backlog", self.store().backlog(cap)).await
    }

    async fn verify(&self) -> Answer<Vec<Violation>> {
        self.read("verify", self.store().verify()).await
    }
}
