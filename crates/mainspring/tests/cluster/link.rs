//! The way of one node to the store, which a test can cut.

use std::sync::Arc;

use async_trait::async_trait;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, Calendar, CalendarName, Incarnation, Job, JobId, Task, TaskCode, TaskDefinition, Timestamp,
};
use mainspring_store::{
    Beat, CalendarDeletion, ClaimRequest, Claimed, DeadJob, Expiry, Fire, Fired, GiveBack, Held, JobEnd, JobFilter,
    Joined, LiveCount, LiveJobs, NewJob, NewNode, News, NextFireChange, NodeRow, Operate, Operated, OutputChunk, Page,
    PoolBacklog, PoolSettings, Press, Pressed, Replan, Result, Settled, Settlement, Started, Store, StoreError,
    StoreInfo, Submitted, TakenOver, TaskChange, Trouble, Violation, Wake,
};
use tokio::sync::{broadcast, watch};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Every call fails at once.
    Cut,
    /// No call is answered until the way is another one.
    Hangs,
    /// As if the process were gone: no call is ever answered.
    Dead,
}

#[derive(Debug)]
pub(crate) struct Link {
    store: Arc<dyn Store>,
    way: watch::Sender<Way>,
}

impl Link {
    pub(crate) fn to(store: Arc<dyn Store>) -> Arc<Link> {
        Arc::new(Link { store, way: watch::Sender::new(Way::Open) })
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    async fn travel(&self, verb: &'static str) -> Result<()> {
        let mut way = self.way.subscribe();
        loop {
            match *way.borrow_and_update() {
                Way::Open => return Ok(()),
                Way::Cut => {
                    let reason = "the test has cut the way".to_owned();
                    return Err(StoreError::NotApplied { verb, kind: Trouble::Unavailable, reason });
                }
                Way::Hangs | Way::Dead => {}
            }
            if way.changed().await.is_err() || *way.borrow() == Way::Dead {
                std::future::pending::<()>().await;
            }
        }
    }
}

macro_rules! linked {
    ($($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl Store for Link {
            fn info(&self) -> StoreInfo {
                self.store.info()
            }

            fn clock(&self) -> std::sync::Arc<dyn mainspring::Clock> {
                self.store.clock()
            }

            fn wakes(&self) -> Option<broadcast::Receiver<Wake>> {
                self.store.wakes()
            }

            $(async fn $verb(&self, $($name: $type),*) -> Result<$answer> {
                self.travel(stringify!($verb)).await?;
                self.store.$verb($($name),*).await
            })+
        }
    };
}

linked! {
    now() -> Timestamp;
    check_writable() -> ();
    join(node: NewNode, now: Timestamp) -> Joined;
    heartbeat(incarnation: Incarnation, lease_ms: i64) -> Beat;
    take_over(now: Timestamp) -> TakenOver;
    drain_node(incarnation: Incarnation, by: String, now: Timestamp) -> bool;
    news() -> News;
    leave(incarnation: Incarnation, now: Timestamp) -> ();
    nodes() -> Vec<NodeRow>;
    submit(owner: Incarnation, jobs: Vec<NewJob>) -> Vec<Submitted>;
    fire(owner: Incarnation, fires: Vec<Fire>, now: Timestamp) -> Vec<Fired>;
    replan(replans: Vec<Replan>, now: Timestamp) -> Vec<bool>;
    expire(expiries: Vec<Expiry>, now: Timestamp) -> Vec<JobId>;
    judge_rates_anew() -> ();
    claim(request: ClaimRequest) -> Claimed;
    give_back(held: Vec<Held>, how: GiveBack, now: Timestamp) -> ();
    held(owner: Incarnation) -> Vec<Held>;
    unpark(tasks: Vec<TaskCode>) -> u64;
    mark_started(started: Vec<Started>) -> Vec<bool>;
    append_output(chunks: Vec<OutputChunk>) -> ();
    settle(settlements: Vec<Settlement>, now: Timestamp) -> Vec<Settled>;
    tasks() -> Vec<Task>;
    task(code: &TaskCode) -> Option<Task>;
    create_task(code: TaskCode, definition: TaskDefinition, switch: TaskSwitch, next_fire: Option<Timestamp>, by: String, now: Timestamp) -> TaskChange;
    declare_task(code: TaskCode, definition: TaskDefinition, next_fire: Option<Timestamp>, now: Timestamp) -> TaskChange;
    update_task(code: TaskCode, version: i64, definition: TaskDefinition, next_fire: NextFireChange, by: String, now: Timestamp) -> TaskChange;
    switch_task(code: TaskCode, to: TaskSwitch, next_fire: Option<Timestamp>, by: String, now: Timestamp) -> TaskChange;
    delete_task(code: TaskCode, version: Option<i64>, by: String, now: Timestamp) -> TaskChange;
    calendars() -> Vec<Calendar>;
    put_calendar(calendar: Calendar, by: String, now: Timestamp) -> ();
    delete_calendar(name: CalendarName, by: String, now: Timestamp) -> CalendarDeletion;
    press(press: Press) -> Pressed;
    answer_press(request_id: String, answer: Option<String>) -> ();
    pools() -> Vec<PoolSettings>;
    put_pool(pool: PoolSettings, by: String, now: Timestamp) -> ();
    job(id: JobId) -> Option<Job>;
    jobs(filter: JobFilter, limit: u32, cursor: Option<String>) -> Page<Job>;
    job_end(id: JobId) -> Option<JobEnd>;
    operate(operate: Operate) -> Operated;
    attempts_of_job(id: JobId, limit: u32, cursor: Option<String>) -> Page<Attempt>;
    attempts_of_task(code: &TaskCode, limit: u32, cursor: Option<String>) -> Page<Attempt>;
    attempt(id: AttemptId) -> Option<Attempt>;
    output(id: AttemptId, after: Option<u32>, limit: u32) -> Vec<OutputChunk>;
    dead_jobs(task: Option<TaskCode>, limit: u32, cursor: Option<String>) -> Page<DeadJob>;
    live_jobs_of_task(code: &TaskCode, cap: u32) -> LiveCount;
    live_jobs(cap: u32) -> LiveJobs;
    backlog(cap: u32) -> Vec<PoolBacklog>;
    verify() -> Vec<Violation>;
}
