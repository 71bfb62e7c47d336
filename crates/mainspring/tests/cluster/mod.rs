//! Several engines on one store, under one clock that is moved by hand.

mod link;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring::clock::ManualClock;
use mainspring::prelude::*;
use mainspring::{Builder, Engine, Job, JobId, JobStatus, TaskCode, Timestamp};
use mainspring_store::{MemoryStore, Store};
use tokio::sync::Semaphore;

pub(crate) use link::Way;

use link::Link;

const BEGIN: &str = "2026-12-01T08:00:00.500Z";
const STEP: Duration = Duration::from_millis(100);
/// Real time, after which nothing will come any more.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn code(text: &str) -> TaskCode {
    TaskCode::new(text).expect("a code")
}

/// What bodies did, by node.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    pub(crate) began: Mutex<Vec<(&'static str, JobId)>>,
    pub(crate) stopped: Mutex<Vec<(&'static str, JobId)>>,
}

pub(crate) struct Cluster {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) witness: Arc<Witness>,
    /// Bodies of `gated` wait for a permit.
    pub(crate) gate: Arc<Semaphore>,
    nodes: BTreeMap<&'static str, Node>,
}

pub(crate) struct Node {
    pub(crate) jobs: Mainspring,
    link: Arc<Link>,
    /// The clock does not run away from its renewals.
    is_kept: bool,
}

/// Says that its body was dropped before it ended.
struct Dropped {
    witness: Arc<Witness>,
    who: (&'static str, JobId),
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.witness.stopped.lock().expect("whole").push(self.who);
    }
}

impl Cluster {
    pub(crate) fn new() -> Cluster {
        let clock = ManualClock::at(BEGIN.parse().expect("an instant"));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let gate = Arc::new(Semaphore::new(0));
        Cluster { clock, store, witness: Arc::default(), gate, nodes: BTreeMap::new() }
    }

    pub(crate) async fn with(names: &[&'static str]) -> Cluster {
        let mut cluster = Cluster::new();
        for name in names {
            cluster.start(name, |jobs| jobs).await;
        }
        cluster
    }

    /// A node with the handlers `ok` and `gated`, and what `more` adds.
    pub(crate) async fn start(&mut self, name: &'static str, more: impl FnOnce(Builder) -> Builder) {
        let link = Link::to(self.store.clone());
        let (witness, permits) = (self.witness.clone(), self.gate.clone());
        let gated = move |context: Context, _: serde_json::Value| {
            let (witness, permits) = (witness.clone(), permits.clone());
            async move {
                let who = (name, context.job_id());
                witness.began.lock().expect("whole").push(who);
                let dropped = Dropped { witness, who };
                permits.acquire().await.expect("open").forget();
                std::mem::forget(dropped);
            }
        };
        let builder = Mainspring::on(link.clone())
            .clock(self.clock.clone())
            .handler("ok", async |_: Context, _: serde_json::Value| ())
            .handler("gated", gated);
        let jobs = more(builder).start().await.expect("starts");
        self.nodes.insert(name, Node { jobs, link, is_kept: true });
    }

    pub(crate) fn on(&self, name: &str) -> &Mainspring {
        &self.nodes[name].jobs
    }

    pub(crate) fn engine(&self, name: &str) -> &Engine {
        self.on(name).engine()
    }

    /// From now on the node's lease may run out.
    pub(crate) fn set_way(&mut self, name: &str, way: Way) {
        let node = self.nodes.get_mut(name).expect("it was started");
        node.is_kept = false;
        node.link.set(way);
    }

    /// Time passes no faster than the nodes renew their leases.
    #[expect(clippy::disallowed_methods, reason = "real time, in which the engines follow the clock of the test")]
    pub(crate) async fn step(&self) {
        self.clock.advance(STEP);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let lags = |node: &Node| node.is_kept && node.jobs.engine().node().lease_age > Duration::from_secs(7);
        let caught_up = async {
            while self.nodes.values().any(lags) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, caught_up).await.expect("the leases are kept");
    }

    pub(crate) async fn pass(&self, seconds: u32) {
        for _ in 0..seconds * 10 {
            self.step().await;
        }
    }

    /// Lets time pass until it has come to that. How long it took.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
        let begin = self.now();
        let looked = async {
            while !is_so().await {
                self.step().await;
            }
        };
        tokio::time::timeout(PATIENCE, looked).await.unwrap_or_else(|_| panic!("it never came to that: {what}"));
        Duration::from_millis(u64::try_from(self.now().ms_since(begin)).expect("time passes"))
    }

    pub(crate) fn now(&self) -> Timestamp {
        use mainspring::Clock;
        self.clock.now()
    }

    pub(crate) async fn job(&self, id: JobId) -> Job {
        self.store.job(id).await.expect("read").expect("known")
    }

    pub(crate) async fn until_status(&self, id: JobId, status: JobStatus) -> Duration {
        self.until(&format!("{id} is {status}"), async || self.job(id).await.status == status).await
    }

    pub(crate) async fn submit(&self, node: &str, task: &str) -> JobId {
        self.on(node).submit(task, &serde_json::Value::Null).await.expect("stored").id
    }

    pub(crate) fn began(&self) -> Vec<(&'static str, JobId)> {
        self.witness.began.lock().expect("whole").clone()
    }

    pub(crate) fn stopped(&self) -> Vec<(&'static str, JobId)> {
        self.witness.stopped.lock().expect("whole").clone()
    }

    pub(crate) async fn until_begun(&self, jobs: usize) {
        self.until(&format!("{jobs} bodies have begun"), async || self.began().len() >= jobs).await;
    }

    pub(crate) async fn check(&self) {
        let wrong = self.store.verify().await.expect("read");
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
