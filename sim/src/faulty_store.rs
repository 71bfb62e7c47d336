//! The store as a node sees it through its link: late, refusing, losing replies, stalled, and silent when the node is
//! dead. Between the way there and the way back the call is done and checked in one step (`steps`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mainspring_model::task::TaskSwitch;
use mainspring_model::time::Clock;
use mainspring_model::{
    Attempt, AttemptId, Calendar, CalendarName, Incarnation, Job, JobId, Task, TaskCode, TaskDefinition, Timestamp,
};
use mainspring_store::{
    Beat, CalendarDeletion, ClaimRequest, Claimed, DeadJob, Expiry, Fire, Fired, GiveBack, Held, JobEnd, JobFilter,
    Joined, LiveCount, LiveJobs, NewJob, NewNode, News, NextFireChange, NodeRow, Operate, Operated, OutputChunk, Page,
    PoolBacklog, PoolSettings, Press, Pressed, Replan, Settled, Settlement, Started, Store, StoreError, StoreInfo,
    Submitted, TakenOver, TaskChange, Trouble, Violation, Wake,
};

use crate::link::Link;
use crate::locked;
use crate::steps::{Desk, at_once};
use crate::world::World;

type Answer<T> = Result<T, StoreError>;

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
    /// The nodes of this world come one after another.
    fn info(&self) -> StoreInfo {
        StoreInfo { is_shared: false, ..self.store().info() }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.store().clock()
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

    async fn heartbeat(&self, incarnation: Incarnation, lease_ms: i64) -> Answer<Beat> {
        self.call("heartbeat", move |desk| desk.heartbeat(incarnation, lease_ms)).await
    }

    async fn take_over(&self, now: Timestamp) -> Answer<TakenOver> {
        self.read("take_over", self.store().take_over(now)).await
    }

    async fn drain_node(&self, incarnation: Incarnation, by: String, now: Timestamp) -> Answer<bool> {
        self.read("drain_node", self.store().drain_node(incarnation, by, now)).await
    }

    async fn news(&self) -> Answer<News> {
        self.read("news", self.store().news()).await
    }

    fn wakes(&self) -> Option<tokio::sync::broadcast::Receiver<Wake>> {
        None
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

    async fn fire(&self, owner: Incarnation, fires: Vec<Fire>, now: Timestamp) -> Answer<Vec<Fired>> {
        self.call("fire", move |desk| desk.fire(owner, &fires, now)).await
    }

    async fn replan(&self, replans: Vec<Replan>, now: Timestamp) -> Answer<Vec<bool>> {
        self.call("replan", move |desk| desk.replan(&replans, now)).await
    }

    async fn expire(&self, expiries: Vec<Expiry>, now: Timestamp) -> Answer<Vec<JobId>> {
        self.call("expire", move |desk| desk.expire(&expiries, now)).await
    }

    async fn judge_rates_anew(&self) -> Answer<()> {
        self.read("judge_rates_anew", self.store().judge_rates_anew()).await
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
        switch: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("create_task", move |desk| desk.create_task(code, definition, switch, next_fire, by, now)).await
    }

    async fn declare_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("declare_task", move |desk| desk.declare_task(code, definition, next_fire, now)).await
    }

    async fn update_task(
        &self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        next_fire: NextFireChange,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("update_task", move |desk| desk.update_task(code, version, definition, next_fire, by, now)).await
    }

    async fn switch_task(
        &self,
        code: TaskCode,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("switch_task", move |desk| desk.switch_task(code, to, next_fire, by, now)).await
    }

    async fn delete_task(
        &self,
        code: TaskCode,
        version: Option<i64>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        self.call("delete_task", move |desk| desk.delete_task(code, version, by, now)).await
    }

    async fn calendars(&self) -> Answer<Vec<Calendar>> {
        self.read("calendars", self.store().calendars()).await
    }

    async fn put_calendar(&self, calendar: Calendar, by: String, now: Timestamp) -> Answer<()> {
        self.call("put_calendar", move |desk| desk.put_calendar(calendar, by, now)).await
    }

    async fn delete_calendar(&self, name: CalendarName, by: String, now: Timestamp) -> Answer<CalendarDeletion> {
        self.read("delete_calendar", self.store().delete_calendar(name, by, now)).await
    }

    async fn press(&self, press: Press) -> Answer<Pressed> {
        self.read("press", self.store().press(press)).await
    }

    async fn answer_press(&self, request_id: String, answer: Option<String>) -> Answer<()> {
        self.read("answer_press", self.store().answer_press(request_id, answer)).await
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
