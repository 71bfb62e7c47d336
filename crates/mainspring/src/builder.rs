//! From handlers, pools and a database to a running engine.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::{BlockingHandler, Context, Engine, EngineBuilder, Handler, Registry};
use mainspring_model::time::Clock;
use mainspring_model::{HandlerName, PoolName, Refused, TaskCode, limits};
use mainspring_store::clock::SystemClock;
use mainspring_store::{MemoryStore, OpenError, PoolSettings, SqliteStore, Store, WhenFull};
use serde::de::DeserializeOwned;

use crate::client::Mainspring;
use crate::define::Define;
use crate::{Answer, Error, blocking_handler, handler};

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Engine(#[from] Error),
}

impl From<Refused> for StartError {
    fn from(refused: Refused) -> StartError {
        StartError::Engine(refused.into())
    }
}

#[derive(Debug)]
pub struct Builder {
    place: Place,
    clock: Arc<dyn Clock>,
    handlers: Registry,
    tasks: BTreeMap<String, Define>,
    pools: Vec<PoolSettings>,
    node: Node,
    on_callers_runtime: bool,
    /// The first thing that was wrong; told at the start, so that the builder reads well.
    wrong: Option<Refused>,
}

/// What this program says of itself to other nodes on its database.
#[derive(Debug, Default)]
struct Node {
    name: Option<String>,
    labels: Vec<String>,
    lease: Option<Duration>,
}

impl Node {
    fn set(self, mut engine: EngineBuilder) -> EngineBuilder {
        if let Some(name) = self.name {
            engine = engine.node_name(name, env!("CARGO_PKG_VERSION").to_owned());
        }
        if let Some(lease) = self.lease {
            engine = engine.lease(lease);
        }
        engine.labels(self.labels)
    }
}

#[derive(Debug)]
enum Place {
    Sqlite(PathBuf),
    Memory,
    Store(Arc<dyn Store>),
}

impl Builder {
    pub(crate) fn sqlite(path: PathBuf) -> Builder {
        Builder::at(Place::Sqlite(path))
    }

    pub(crate) fn memory() -> Builder {
        Builder::at(Place::Memory)
    }

    pub(crate) fn on(store: Arc<dyn Store>) -> Builder {
        Builder::at(Place::Store(store))
    }

    fn at(place: Place) -> Builder {
        Builder {
            place,
            clock: SystemClock::new(),
            handlers: Registry::default(),
            tasks: BTreeMap::new(),
            pools: Vec::new(),
            node: Node::default(),
            on_callers_runtime: false,
            wrong: None,
        }
    }

    /// An async function as the handler of this name, and the task of the same name with the default policy.
    #[must_use]
    pub fn handler<F, I, Fut>(self, name: &str, function: F) -> Builder
    where
        F: Fn(Context, I) -> Fut + Send + Sync + 'static,
        I: DeserializeOwned + Send + 'static,
        Fut: Future<Output: Answer> + Send + 'static,
    {
        self.custom_handler(name, Arc::new(handler(function)))
    }

    /// A blocking function: every attempt gets a thread of its own. It should look at `context.is_cancelled()`.
    #[must_use]
    pub fn blocking<F, I, A>(self, name: &str, function: F) -> Builder
    where
        F: Fn(Context, I) -> A + Send + Sync + 'static,
        I: DeserializeOwned + 'static,
        A: Answer + 'static,
    {
        let handler: Arc<dyn BlockingHandler> = Arc::new(blocking_handler(function));
        self.register(name, |handlers, name| handlers.add_blocking(name, "", handler))
    }

    /// A handler that is a type, such as `execute::process::CommandHandler`.
    #[must_use]
    pub fn custom_handler(self, name: &str, handler: Arc<dyn Handler>) -> Builder {
        self.register(name, |handlers, name| handlers.add(name, "async", "", handler))
    }

    fn register(mut self, name: &str, add: impl FnOnce(&mut Registry, HandlerName)) -> Builder {
        match HandlerName::new(name).and_then(|checked| Ok((checked, Define::new(name)?))) {
            Ok((checked, define)) => {
                add(&mut self.handlers, checked);
                self.tasks.entry(name.to_owned()).or_insert(define);
            }
            Err(refused) => self.wrong = self.wrong.or(Some(refused)),
        }
        self
    }

    /// The policy of a handler's task.
    #[must_use]
    pub fn task(mut self, code: &str, policy: impl FnOnce(Define) -> Define) -> Builder {
        match self.tasks.remove(code).map_or_else(|| Define::new(code), Ok) {
            Ok(define) => drop(self.tasks.insert(code.to_owned(), policy(define))),
            Err(refused) => self.wrong = self.wrong.or(Some(refused)),
        }
        self
    }

    /// A pool with this many slots. A limit that was changed at run time is kept in the store and wins.
    #[must_use]
    pub fn pool(mut self, name: &str, concurrency: u32) -> Builder {
        match PoolName::new(name) {
            Ok(name) => match self.pools.iter_mut().find(|known| known.name == name) {
                Some(known) => known.concurrency = concurrency,
                None => self.pools.push(settings(name, concurrency)),
            },
            Err(refused) => self.wrong = self.wrong.or(Some(refused)),
        }
        self
    }

    /// How many jobs of a pool run at one time on all nodes together; its slots are those of each node. As with the slots, a
    /// limit that is in the store wins. A pool that was not named before has the default number of slots.
    #[must_use]
    pub fn cluster_concurrency(mut self, pool: &str, jobs: u32) -> Builder {
        match PoolName::new(pool).and_then(|name| Ok((name, check_cluster(jobs)?))) {
            Ok((name, jobs)) => match self.pools.iter_mut().find(|known| known.name == name) {
                Some(known) => known.cluster_concurrency = Some(jobs),
                None => {
                    let slots = limits::POOL_CONCURRENCY_DEFAULT;
                    self.pools.push(PoolSettings { cluster_concurrency: Some(jobs), ..settings(name, slots) });
                }
            },
            Err(refused) => self.wrong = self.wrong.or(Some(refused)),
        }
        self
    }

    // ---- as one of several nodes ----

    /// How this program is called in lists of nodes, before its number. Default `localhost`.
    #[must_use]
    pub fn node_name(mut self, name: &str) -> Builder {
        self.node.name = Some(name.to_owned());
        self
    }

    /// What this node is or has; tasks with `node_labels` ask for it.
    #[must_use]
    pub fn label(mut self, label: &str) -> Builder {
        self.node.labels.push(label.to_owned());
        self
    }

    /// How long other nodes believe that this one lives when it does not say so: 15 s.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Builder {
        self.node.lease = Some(lease);
        self
    }

    /// For tests: a clock that stands still until it is moved.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Builder {
        self.clock = clock;
        self
    }

    /// For tests on a single-threaded runtime: no thread of the engine's own.
    #[must_use]
    pub fn on_callers_runtime(mut self) -> Builder {
        self.on_callers_runtime = true;
        self
    }

    /// Opens the database, takes over what a dead predecessor left, and begins to work.
    pub async fn start(self) -> Result<Mainspring, StartError> {
        if let Some(refused) = self.wrong {
            return Err(refused.into());
        }
        let store: Arc<dyn Store> = match self.place {
            Place::Sqlite(path) => Arc::new(SqliteStore::open(&path, self.clock.clone())?),
            Place::Memory => Arc::new(MemoryStore::new(self.clock.clone())),
            Place::Store(store) => store,
        };
        let mut engine = self.node.set(Engine::builder(store).handlers(self.handlers));
        for pool in self.pools {
            engine = engine.pool(pool);
        }
        for (code, define) in self.tasks {
            let definition = define.finish().map_err(|mut refused| {
                refused.detail = format!("task `{code}`: {}", refused.detail);
                refused
            });
            engine = engine.declare(TaskCode::new(&code)?, definition?);
        }
        if self.on_callers_runtime {
            engine = engine.on_callers_runtime();
        }
        Ok(Mainspring::of(engine.start().await?))
    }
}

fn settings(name: PoolName, concurrency: u32) -> PoolSettings {
    PoolSettings {
        name,
        concurrency,
        queue_capacity: limits::POOL_QUEUE_DEFAULT,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: None,
        cluster_concurrency: None,
    }
}

/// None at all is not a limit but a pause, and that is another setting.
fn check_cluster(jobs: u32) -> Result<u32, Refused> {
    let max = limits::CLUSTER_CONCURRENCY_MAX;
    if (1..=max).contains(&jobs) {
        return Ok(jobs);
    }
    let detail = format!("cluster_concurrency is {jobs}, allowed are 1 to {max}");
    Err(Refused::field("cluster_concurrency", "OUT_OF_RANGE", detail))
}
