//! Parts in, running engine out: the start in its order.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::task::TaskSwitch;
use mainspring_model::time::Clock;
use mainspring_model::{Incarnation, PoolName, Refused, TaskCode, TaskDefinition, limits};
use mainspring_store::{News, PoolSettings, Replaces, Store, WhenFull};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::core::{Core, Parts};
use crate::dispatch::{self, Pools};
use crate::error::Error;
use crate::handler::Registry;
use crate::node::{self, About, Node};
use crate::{Engine, execute, schedule, submit, view, write_back};

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
            clock: store.clock(),
            store,
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

    /// Instead of the store's, which is the database's time.
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
        let node = self.join(Incarnation(dice.i64(1..))).await?;
        let pools = self.load_pools().await?;
        pools.serve_node(node.me().incarnation);
        let bodies = Handle::current();
        let quit = CancellationToken::new();
        let runtime = |name: &str| match self.own_thread {
            true => own_thread(name, self.clock.as_ref(), quit.clone()),
            false => bodies.clone(),
        };
        let loops = runtime("mainspring");
        // Nobody can take the lease from a node that is alone.
        let lease_loop = if node.about.is_shared { runtime("mainspring-lease") } else { loops.clone() };
        let core = Arc::new(Core::new(Parts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            node,
            registry: self.registry.clone(),
            cancel_grace: self.cancel_grace,
            claim_poll: claim_poll(self.store.as_ref()),
            pools,
            dice,
            loops,
            lease_loop,
            bodies,
            quit,
        }));
        // From here on the lease is kept, however long the rest takes.
        core.spawn_lease_loop(node::keep_lease);
        let loaded = self.load(&core).await;
        if let Err(error) = loaded {
            core.quit.cancel();
            return Err(error);
        }
        spawn_loops(&core);
        Ok(Engine::of(core))
    }

    async fn load(self, core: &Arc<Core>) -> Result<(), Error> {
        core.load_tasks().await?;
        for (code, definition) in self.tasks {
            let declared = core.declare_task(code.clone(), definition).await;
            declared.map_err(|error| of_task(&code, error))?;
        }
        warn_of_missing_handlers(core);
        core.plan_all_again().await;
        core.judge_rates_anew().await;
        core.unpark_known(&core.tasks.all()).await?;
        Ok(())
    }

    fn check(&self) -> Result<(), Refused> {
        let (low, high) = (limits::LEASE_MS_MIN, limits::LEASE_MS_MAX);
        if !(u128::from(low)..=u128::from(high)).contains(&self.lease.as_millis()) {
            let detail = format!("the lease is {:?}, allowed are {low} to {high} ms", self.lease);
            return Err(Refused::field("lease", "OUT_OF_RANGE", detail));
        }
        self.pools.iter().try_for_each(|pool| view::check_pool_name(&pool.name))?;
        mainspring_model::node::check_labels(&self.labels)
    }

    /// What others change from here on is news to this node.
    async fn join(&self, incarnation: Incarnation) -> Result<Node, Error> {
        let about = About {
            host: self.host.clone(),
            version: self.version.clone(),
            labels: self.labels.clone(),
            handlers: self.registry.list().into_iter().map(|handler| handler.name.to_string()).collect(),
            lease: self.lease,
            is_shared: self.store.info().is_shared,
        };
        let replaces = if about.is_shared { Replaces::Nobody } else { Replaces::Everyone };
        let sent = self.clock.monotonic();
        let joined = self.store.join(about.as_new(incarnation, replaces), self.clock.now()).await?;
        let over = &joined.taken_over;
        if over.released + over.lost + over.dead > 0 {
            let (released, lost, dead) = (over.released, over.lost, over.dead);
            tracing::info!(released, lost, dead, "jobs of a node that ended without a stop were taken over");
        }
        let news = if about.is_shared { self.store.news().await? } else { News::default() };
        Ok(Node::new(about, incarnation, &joined, news, sent))
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
            if name.is_reserved() {
                pools.expect_broadcasts();
            } else if pools.get(&name).is_none() {
                pools.put(PoolSettings { name, ..default_pool() });
            }
        }
        Ok(pools)
    }
}

/// Where others leave jobs and nobody tells of them, this poll is how they are found.
fn claim_poll(store: &dyn Store) -> Duration {
    let tells = !store.info().is_shared || store.wakes().is_some();
    Duration::from_millis(if tells { limits::CLAIM_POLL_MS } else { limits::CLAIM_POLL_SHARED_MS })
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

pub(crate) fn default_pool() -> PoolSettings {
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
    if core.node.about.is_shared {
        core.spawn_loop("follow", node::follow);
        core.spawn_loop("hear", node::hear);
        core.spawn_loop("reconcile", node::reconcile);
        core.spawn_loop("take over", node::take_over);
    }
}

/// A runtime of its own for the engine's loops: a handler that blocks the application's threads cannot stop the clock
/// that ends it. Its thread ends with the loops. It can do I/O, because a store may be called from it; what a store needs
/// for longer than one call, such as connections, must live on a runtime of the store's.
fn own_thread(name: &str, clock: &dyn Clock, quit: CancellationToken) -> Handle {
    wait_for_next_millisecond(clock);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a few file descriptors can be opened");
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(quit.cancelled());
    std::thread::Builder::new().name(name.to_owned()).spawn(run).expect("one thread can be started");
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
