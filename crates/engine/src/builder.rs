//! Parts in, running engine out: the start in its order.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::ids::JobIds;
use mainspring_model::task::TaskSwitch;
use mainspring_model::time::Clock;
use mainspring_model::{Incarnation, JobId, PoolName, Refused, TaskCode, TaskDefinition, limits};
use mainspring_store::clock::SystemClock;
use mainspring_store::{NewNode, PoolSettings, Replaces, Store, WhenFull};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::core::{Core, Parts};
use crate::dispatch::{self, Pools};
use crate::error::Error;
use crate::handler::Registry;
use crate::{Engine, execute, schedule, submit, write_back};

#[derive(Debug)]
pub struct EngineBuilder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    registry: Registry,
    pools: Vec<PoolSettings>,
    tasks: Vec<(TaskCode, TaskDefinition)>,
    seed: Option<u64>,
    host: String,
    version: String,
    labels: Vec<String>,
    lease: Duration,
    cancel_grace: Duration,
    own_thread: bool,
}

impl EngineBuilder {
    pub(crate) fn new(store: Arc<dyn Store>) -> EngineBuilder {
        EngineBuilder {
            store,
            clock: SystemClock::new(),
            registry: Registry::default(),
            pools: vec![default_pool()],
            tasks: Vec::new(),
            seed: None,
            host: "localhost".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: Vec::new(),
            lease: Duration::from_millis(limits::LEASE_MS_DEFAULT),
            cancel_grace: Duration::from_millis(limits::CANCEL_GRACE_MS),
            own_thread: true,
        }
    }

    /// Handlers, by name.
    #[must_use]
    pub fn handlers(mut self, registry: Registry) -> EngineBuilder {
        self.registry = registry;
        self
    }

    /// A pool's settings where the store has none yet: what a person changed later wins. A pool with a rate
    /// or a limit of all nodes is written to the store at once.
    #[must_use]
    pub fn pool(mut self, settings: PoolSettings) -> EngineBuilder {
        self.pools.retain(|pool| pool.name != settings.name);
        self.pools.push(settings);
        self
    }

    /// Tasks declared in code or in files. What was never declared before is written, whatever is stored; a declaration
    /// that is known already changes nothing.
    #[must_use]
    pub fn declare(mut self, code: TaskCode, definition: TaskDefinition) -> EngineBuilder {
        self.tasks.push((code, definition));
        self
    }

    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> EngineBuilder {
        self.clock = clock;
        self
    }

    /// Seed of the dice: back-off jitter and the incarnation. Without it they differ at every start.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> EngineBuilder {
        self.seed = Some(seed);
        self
    }

    #[must_use]
    pub fn node_name(mut self, host: String, version: String) -> EngineBuilder {
        self.host = host;
        self.version = version;
        self
    }

    /// What this node is or has. Tasks can ask for it (`nodeLabels`).
    #[must_use]
    pub fn labels(mut self, labels: Vec<String>) -> EngineBuilder {
        self.labels = labels;
        self
    }

    /// For how long others believe that this node lives when it does not say so. It says so three times as often, and
    /// stops its own bodies before the lease ends. Shorter: jobs of a dead node run sooner elsewhere. Longer: a stall of
    /// the database or of the node costs nothing.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> EngineBuilder {
        self.lease = lease;
        self
    }

    /// How long a cancelled body may go on.
    #[must_use]
    pub fn cancel_grace(mut self, grace: Duration) -> EngineBuilder {
        self.cancel_grace = grace;
        self
    }

    /// Everything on the caller's runtime, without a thread of the engine's own. For tests and the simulation: bodies
    /// that block then also stop the engine's loops.
    #[must_use]
    pub fn on_callers_runtime(mut self) -> EngineBuilder {
        self.own_thread = false;
        self
    }

    /// Joins the store (which takes over what a dead predecessor held), then begins to work.
    pub async fn start(self) -> Result<Engine, Error> {
        self.check()?;
        let mut dice = self.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let incarnation = Incarnation(dice.i64(1..));
        let node = NewNode {
            incarnation,
            host: self.host.clone(),
            pid: std::process::id(),
            version: self.version.clone(),
            lease_ms: crate::heartbeat::LEASE_MS,
            labels: self.labels.clone(),
            handlers: self.registry.list().into_iter().map(|handler| handler.name.to_string()).collect(),
            replaces: Replaces::Everyone,
        };
        let joined = self.store.join(node, self.clock.now()).await?;
        let over = &joined.taken_over;
        if over.released + over.lost + over.dead > 0 {
            let (released, lost, dead) = (over.released, over.lost, over.dead);
            tracing::info!(released, lost, dead, "jobs of a node that ended without a stop were taken over");
        }
        let ids = JobIds::new(joined.node_number).after(joined.newest_job.unwrap_or(JobId(0)));
        let bodies = Handle::current();
        let quit = CancellationToken::new();
        let core = Arc::new(Core::new(Parts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            incarnation,
            node_number: joined.node_number,
            ids,
            host: self.host.clone(),
            registry: self.registry.clone(),
            cancel_grace: self.cancel_grace,
            pools: self.load_pools().await?,
            dice,
            loops: if self.own_thread { own_thread(self.clock.as_ref(), quit.clone()) } else { bodies.clone() },
            bodies,
            quit,
        }));
        core.load_tasks().await?;
        for (code, definition) in self.tasks {
            let declared = core.declare_task(code.clone(), definition).await;
            declared.map_err(|error| of_task(&code, error))?;
        }
        warn_of_missing_handlers(&core);
        core.plan_all_again().await;
        core.judge_rates_anew().await;
        core.unpark_known(&core.tasks.all()).await?;
        spawn_loops(&core);
        Ok(Engine::of(core))
    }

    fn check(&self) -> Result<(), Refused> {
        let (low, high) = (limits::LEASE_MS_MIN, limits::LEASE_MS_MAX);
        if !(u128::from(low)..=u128::from(high)).contains(&self.lease.as_millis()) {
            let detail = format!("the lease is {:?}, allowed are {low} to {high} ms", self.lease);
            return Err(Refused::field("lease", "OUT_OF_RANGE", detail));
        }
        mainspring_model::node::check_labels(&self.labels)
    }

    async fn load_pools(&self) -> Result<Pools, Error> {
        let pools = Pools::default();
        let stored = self.store.pools().await?;
        for settings in &self.pools {
            match stored.iter().find(|stored| stored.name == settings.name) {
                // A rate and a limit of all nodes are kept by the store, and by what it has of the pool.
                None if settings.rate_limit.is_some() || settings.cluster_concurrency.is_some() => {
                    self.store.put_pool(settings.clone(), "configuration".to_owned(), self.clock.now()).await?;
                }
                Some(stored) if stored != settings => {
                    tracing::info!(pool = %stored.name, "the stored settings of the pool win over those of the program");
                }
                _ => {}
            }
        }
        for settings in self.pools.iter().cloned().chain(stored) {
            pools.put(settings);
        }
        // A pool that only an old task or a waiting job names still exists, with the defaults.
        let named_by_jobs = self.store.backlog(1).await?.into_iter().map(|backlog| backlog.pool);
        let named_by_tasks = self.store.tasks().await?.into_iter().map(|task| task.definition.pool);
        for name in
            named_by_jobs.chain(named_by_tasks).chain(self.tasks.iter().map(|(_, definition)| definition.pool.clone()))
        {
            if pools.get(&name).is_none() {
                pools.put(PoolSettings { name, ..default_pool() });
            }
        }
        Ok(pools)
    }
}

/// Of many declarations it must be said which one is wrong.
fn of_task(code: &TaskCode, error: Error) -> Error {
    match error {
        Error::Refused(mut refused) => {
            refused.detail = format!("task `{code}`: {}", refused.detail);
            Error::Refused(refused)
        }
        unavailable => unavailable,
    }
}

fn default_pool() -> PoolSettings {
    PoolSettings {
        name: PoolName::default_pool(),
        concurrency: limits::POOL_CONCURRENCY_DEFAULT,
        queue_capacity: limits::POOL_QUEUE_DEFAULT,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: None,
        cluster_concurrency: None,
    }
}

/// Their jobs will wait; better to hear of it before the first one does.
fn warn_of_missing_handlers(core: &Core) {
    for task in core.tasks.all() {
        let handler = &task.definition.handler;
        if task.switch == TaskSwitch::Enabled && !core.registry.knows(handler) {
            tracing::warn!(task = %task.code, %handler, "the task is enabled, and this node does not have its handler");
        }
    }
}

/// The stages, in the order of the pipeline, then what watches over them.
fn spawn_loops(core: &Arc<Core>) {
    core.spawn_loop("submit", submit::write_gathered);
    core.spawn_loop("submit", submit::write_gathered);
    core.spawn_loop("schedule", schedule::fire_due);
    core.spawn_loop("claim", dispatch::claim_ahead);
    core.spawn_loop("start", dispatch::start_due);
    core.spawn_loop("write back", write_back::settle_ended);
    core.spawn_loop("deadlines", execute::enforce_deadlines);
    core.spawn_loop("progress", execute::show_progress);
    core.spawn_loop("heartbeat", crate::heartbeat::beat);
}

/// A runtime of its own for the engine's loops: a handler that blocks the application's threads cannot stop the clock
/// that ends it. Its thread ends with the loops.
fn own_thread(clock: &dyn Clock, quit: CancellationToken) -> Handle {
    wait_for_next_millisecond(clock);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs nothing that can be missing");
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(quit.cancelled());
    std::thread::Builder::new().name("mainspring".to_owned()).spawn(run).expect("one thread can be started");
    handle
}

/// The runtime's timer ticks in whole milliseconds from its own beginning, and jobs are due at whole milliseconds of the
/// wall clock. Begun on one of these, its ticks fall on them, and starts are not late by half a tick on average.
fn wait_for_next_millisecond(clock: &dyn Clock) {
    let now = clock.now();
    for _ in 0..LOOKS_MAX {
        if clock.now() != now {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Some milliseconds of a running clock; a clock that stands still is not waited for.
const LOOKS_MAX: u32 = 100_000;
