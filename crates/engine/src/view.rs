//! What the engine shows of itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mainspring_model::node::Runners;
use mainspring_model::refused::Complaints;
use mainspring_model::{Code, Incarnation, NodeState, PoolName, QueueState, Refused, Task, Timestamp, limits};
use mainspring_store::{LiveCount, PoolSettings, StoreInfo};

use crate::core::{Core, Count};
use crate::error::Error;

/// A pool as it is now, on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolView {
    pub settings: PoolSettings,
    /// Bodies that hold a slot.
    pub running: u32,
    /// Claimed by this node and waiting for a slot or their instant.
    pub held: u32,
    /// Bodies that ignored their cancellation; each was replaced by a fresh slot.
    pub zombies: u32,
    /// Waiting in the store for a slot or their instant. All four are counted up to a bound.
    pub queued: LiveCount,
    /// As many of their task, or of their concurrency key, run as may run.
    pub limited: LiveCount,
    /// The rate of their task, or of their concurrency key, is used up.
    pub rate_limited: LiveCount,
    /// No running node knows their handler, or carries the labels that their task asks for.
    pub no_handler: LiveCount,
    /// Of all that wait in the store.
    pub oldest_due: Option<Timestamp>,
}

/// Numbers since the start of this node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub submitted: u64,
    pub duplicates: u64,
    pub started: u64,
    pub settled: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub retried: u64,
    pub timed_out: u64,
    pub panicked: u64,
    /// Results that came after their fence was gone.
    pub discarded: u64,
    /// Jobs that schedules made.
    pub fired: u64,
    pub fires_skipped: u64,
    pub replanned: u64,
    pub zombies_now: u64,
    pub zombies_ever: u64,
    pub store_errors: u64,
    /// How often the node has lost its lease, and come back.
    pub leases_lost: u64,
}

/// This node among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// For people: `host#number`.
    pub name: String,
    pub number: u16,
    pub incarnation: Incarnation,
    /// GONE: it has lost its lease, and joins again as soon as the store answers.
    pub state: NodeState,
    pub labels: Vec<String>,
    /// Since the last confirmed renewal.
    pub lease_age: Duration,
    pub lease: Duration,
}

/// Is the node able to work?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub ready: bool,
    /// `ok`, or what is wrong: one line each.
    pub problems: Vec<String>,
    pub stopping: bool,
    pub node: NodeView,
    /// What its database is, and how much a commit there can bear.
    pub store: StoreInfo,
    pub totals: Totals,
}

/// How a stop went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StopReport {
    /// Claimed jobs that went back to the queue, no attempt burnt.
    pub given_back: u64,
    /// Bodies that ran on past the limit and were given up.
    pub given_up: u64,
    /// Outcomes that could not be written; their jobs run again.
    pub unwritten: u64,
}

/// The pools of this node with what the store says of their backlog.
pub(crate) async fn pools(core: &Arc<Core>) -> Result<Vec<PoolView>, Error> {
    core.catch_up().await?;
    let for_nobody = for_nobody(core).await?;
    let backlog = core.store.backlog(BACKLOG_COUNT_MAX).await?;
    let views = core.pools.of_people().into_iter().map(|pool| {
        let load = pool.load();
        let in_state = |state| backlog.iter().find(|one| one.pool == pool.name && one.state == state);
        let waiting = WAITING.map(in_state);
        let [mut queued, limited, rate_limited, mut no_handler] =
            waiting.map(|one| one.map(|one| one.jobs).unwrap_or_default());
        let stuck = for_nobody.get(&pool.name).copied().unwrap_or(0).min(queued.jobs);
        queued.jobs -= stuck;
        no_handler.jobs += stuck;
        PoolView {
            settings: pool.settings(),
            running: load.running,
            held: load.held,
            zombies: load.zombies,
            queued,
            limited,
            rate_limited,
            no_handler,
            oldest_due: waiting.into_iter().flatten().filter_map(|one| one.oldest_due).min(),
        }
    });
    Ok(views.collect())
}

/// Jobs that no node takes, by pool. The store is asked for them only when there are tasks that no node can run.
async fn for_nobody(core: &Core) -> Result<BTreeMap<PoolName, u64>, Error> {
    let tasks = core.tasks.all().into_iter();
    let is_stuck = |task: &Arc<Task>| core.runners_of(&task.definition) != Runners::Some;
    let stuck: Vec<_> = tasks.filter(|task| !task.definition.broadcast && is_stuck(task)).collect();
    let mut jobs = BTreeMap::new();
    if !stuck.is_empty() {
        let live = core.store.live_jobs(BACKLOG_COUNT_MAX).await?;
        for task in stuck {
            *jobs.entry(task.definition.pool.clone()).or_default() += live.of(&task.code).jobs;
        }
    }
    Ok(jobs)
}

pub(crate) async fn put_pool(core: &Arc<Core>, settings: PoolSettings, by: String) -> Result<PoolView, Error> {
    core.catch_up().await?;
    let others = core.pools.of_people().iter().filter(|pool| pool.name != settings.name).count();
    check_pool_name(&settings.name)?;
    check_pool(&settings, others)?;
    let name = settings.name.clone();
    core.store.put_pool(settings.clone(), by, core.clock.now()).await?;
    let pool = core.pools.put(settings);
    core.kick(&pool);
    core.claim_wake.notify_one();
    let missing = || Refused::new(Code::PoolNotFound, format!("there is no pool `{name}`"));
    let view = pools(core).await?.into_iter().find(|view| view.settings.name == name);
    Ok(view.ok_or_else(missing)?)
}

/// Pools of the engine's own are nobody's to change.
pub(crate) fn check_pool_name(name: &PoolName) -> Result<(), Refused> {
    match name.is_reserved() {
        false => Ok(()),
        true => Err(Refused::field("name", "RESERVED", format!("`{name}` is a pool of the engine's own"))),
    }
}

fn check_pool(settings: &PoolSettings, other_pools: usize) -> Result<(), Refused> {
    let mut complaints = Complaints::default();
    let mut in_range = |field: &str, value: u32, low: u32, high: u32| {
        if !(low..=high).contains(&value) {
            complaints.add(field, "OUT_OF_RANGE", format!("{field} is {value}, allowed are {low} to {high}"));
        }
    };
    in_range("concurrency", settings.concurrency, 1, limits::POOL_CONCURRENCY_MAX);
    in_range("queueCapacity", settings.queue_capacity, 1, limits::POOL_QUEUE_MAX);
    if let Some(jobs) = settings.cluster_concurrency {
        in_range("clusterConcurrency", jobs, 1, limits::CLUSTER_CONCURRENCY_MAX);
    }
    if other_pools >= limits::POOLS_MAX {
        complaints.add("name", "TOO_MANY", format!("at most {} pools are kept", limits::POOLS_MAX));
    }
    complaints.into_result()
}

pub(crate) async fn health(core: &Core) -> Health {
    let zombies_now: u64 = core.pools.all().iter().map(|pool| u64::from(pool.load().zombies)).sum();
    let mut problems = Vec::new();
    if let Err(error) = core.store.check_writable().await {
        problems.push(format!("the store takes no writes: {error}"));
    }
    if zombies_now >= limits::ZOMBIES_MAX as u64 {
        problems.push(format!("{zombies_now} bodies ignore their cancellation: restart this node"));
    }
    let panics = core.counts.get(Count::LoopPanics);
    if panics > 0 {
        problems.push(format!("loops of the engine panicked {panics} times: see the log, and restart this node"));
    }
    let (node, stopping) = (node(core), core.is_stopping());
    match node.state {
        NodeState::Active => {}
        NodeState::Draining if stopping => {}
        NodeState::Draining => problems.push("the node is draining".to_owned()),
        NodeState::Gone => problems.push("lease lost: the node joins again when the store answers".to_owned()),
    }
    if stopping {
        problems.push("the node is stopping".to_owned());
    }
    let (store, totals) = (core.store.info(), core.counts.totals(zombies_now));
    Health { ready: problems.is_empty(), problems, stopping, node, store, totals }
}

pub(crate) fn node(core: &Core) -> NodeView {
    let (me, now, about) = (core.node.me(), core.clock.monotonic(), &core.node.about);
    NodeView {
        name: format!("{}#{}", about.host, me.number),
        number: me.number,
        incarnation: me.incarnation,
        state: match core.node.state(now) {
            NodeState::Active if core.is_stopping() => NodeState::Draining,
            state => state,
        },
        labels: about.labels.clone(),
        lease_age: core.node.lease_age(now),
        lease: about.lease,
    }
}

/// What waits in the store and not in a node's memory.
const WAITING: [QueueState; 4] = [QueueState::Queued, QueueState::Limited, QueueState::Throttled, QueueState::Parked];

/// People need to know that it is a lot, not exactly how much.
const BACKLOG_COUNT_MAX: u32 = 100_000;
