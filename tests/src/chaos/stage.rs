//! A database, a proxy before it for each node, and the nodes: real processes that can be killed, stopped, paused and
//! cut off.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainspring_test_servers::{CutProxy, Durability, Kind as Store, Server as Database};
use rustix::process::Signal;
use tempfile::TempDir;

use super::history::{Life, Ms};
use crate::{Options, Server, Witness, wall_ms};

/// A polite stop gives running bodies this long.
const DRAIN_SECONDS: u64 = 4;

/// Where callers find the nodes now; a node that is away has no address.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses(Arc<Mutex<Vec<Option<String>>>>);

impl Addresses {
    fn all(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn any(&self, dice: &mut fastrand::Rng) -> Option<String> {
        let there: Vec<String> = self.all().iter().flatten().cloned().collect();
        dice.choice(&there).cloned()
    }
}

#[derive(Debug)]
pub(super) struct Stage {
    pub database: Database,
    pub url: String,
    pub addresses: Addresses,
    pub lives: Vec<Life>,
    nodes: Vec<Node>,
    dir: TempDir,
}

#[derive(Debug)]
struct Node {
    proxy: CutProxy,
    server: Option<Server>,
}

impl Stage {
    /// All nodes are ready, with the lease that is the default.
    pub(super) fn start(store: Store, nodes: usize) -> Stage {
        let database = Database::start(store, Durability::Full).expect("a database server");
        let url = database.fresh_database().expect("a database");
        let dir = tempfile::tempdir().expect("a directory");
        let proxy = || CutProxy::before(&database).expect("a proxy");
        let nodes = (0..nodes).map(|_| Node { proxy: proxy(), server: None }).collect();
        let mut stage = Stage { database, url, addresses: Addresses::default(), lives: Vec::new(), nodes, dir };
        for at in 0..stage.nodes.len() {
            stage.addresses.all().push(None);
            stage.launch(at);
            stage.node(at).wait_ready();
            stage.is_ready(at);
        }
        stage
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn proxy(&self, at: usize) -> &CutProxy {
        &self.nodes[at].proxy
    }

    pub(super) fn node(&self, at: usize) -> &Server {
        self.nodes[at].server.as_ref().expect("the node was launched")
    }

    pub(super) fn pid(&self, at: usize) -> u32 {
        self.node(at).pid()
    }

    pub(super) fn witness(&self) -> Witness {
        Witness::at(&self.witness_path())
    }

    fn witness_path(&self) -> PathBuf {
        self.dir.path().join("witness.tsv")
    }

    /// A new process; when it is ready is another matter.
    pub(super) fn launch(&mut self, at: usize) {
        let dir = self.dir.path().join(format!("node{at}"));
        std::fs::create_dir_all(&dir).expect("a directory");
        let through = self.nodes[at].proxy.url_of(&self.url).expect("the proxy has a port");
        let options = Options {
            config: format!("[node]\nname = \"n{at}\"\n[shutdown]\ndrain_seconds = {DRAIN_SECONDS}\n"),
            database: Some(through),
            witness: Some(self.witness_path()),
            ..Options::default()
        };
        let server = Server::launch(&dir, options);
        self.lives.push(Life { pid: server.pid(), node: at, ready_ms: None, died_ms: None });
        self.addresses.all()[at] = Some(server.base().to_owned());
        self.nodes[at].server = Some(server);
    }

    pub(super) fn signal(&self, at: usize, signal: Signal) {
        self.node(at).signal(signal);
    }

    /// `kill -9`. The time is that of the death.
    pub(super) fn kill(&mut self, at: usize) -> Ms {
        self.signal(at, Signal::KILL);
        while !self.is_dead(at) {
            crate::pause(std::time::Duration::from_millis(1));
        }
        wall_ms()
    }

    /// Its process has ended; when that was is noted with the first look.
    pub(super) fn is_dead(&mut self, at: usize) -> bool {
        let server = self.nodes[at].server.as_mut().expect("the node was launched");
        if server.is_alive() {
            return false;
        }
        let life = self.lives.iter_mut().rfind(|life| life.node == at).expect("it lived");
        life.died_ms.get_or_insert_with(wall_ms);
        self.addresses.all()[at] = None;
        true
    }

    /// When it answers that it is ready, which is noted.
    pub(super) fn is_ready(&mut self, at: usize) -> bool {
        let is_ready = self.node(at).try_get("/readyz").is_some_and(|answer| answer.status == 200);
        let life = self.lives.iter_mut().rfind(|life| life.node == at).expect("it lives");
        if is_ready {
            life.ready_ms.get_or_insert_with(wall_ms);
        }
        is_ready
    }

    /// The end of what the node has said.
    pub(super) fn last_words(&self, at: usize) -> String {
        const LINES: usize = 12;
        let log = self.node(at).log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// For a look afterwards: the logs of all, and the witness.
    pub(super) fn keep_files(self) -> PathBuf {
        drop(self.nodes);
        self.dir.keep()
    }
}
