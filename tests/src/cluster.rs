//! Several server processes on one database.

use std::path::Path;
use std::time::Duration;

use mainspring_test_servers::{Durability, Kind, Server as Database};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::witness::Line;
use crate::{Options, Server, Witness};

/// A database of its own, and the nodes on it. Each node has a directory, and all write one witness.
#[derive(Debug)]
pub struct Cluster {
    pub database: Database,
    pub url: String,
    dir: TempDir,
    nodes: Vec<Option<Server>>,
    /// Of every process that was ever a node, and which one it was: the witness knows bodies by their process.
    pids: Vec<(u32, usize)>,
}

/// What a node of a cluster has of its own.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    pub lease: &'static str,
    pub labels: &'static [&'static str],
    /// More lines for its configuration file.
    pub config: String,
    /// Its way to the database, when it is not the direct one.
    pub url: Option<String>,
    /// Without it the node has no handler `probe.…`.
    pub has_probes: bool,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions { lease: "6s", labels: &[], config: String::new(), url: None, has_probes: true }
    }
}

impl Cluster {
    /// Nodes with a lease of six seconds.
    pub fn start(kind: Kind, nodes: usize) -> Cluster {
        Cluster::start_with(kind, nodes, &NodeOptions::default())
    }

    pub fn start_with(kind: Kind, nodes: usize, options: &NodeOptions) -> Cluster {
        let database = Database::start(kind, Durability::Full).expect("a database server");
        let url = database.fresh_database().expect("a database");
        let dir = tempfile::tempdir().expect("a directory");
        let mut cluster = Cluster { database, url, dir, nodes: Vec::new(), pids: Vec::new() };
        (0..nodes).for_each(|_| {
            cluster.add(options);
        });
        cluster
    }

    /// The number of the new node.
    pub fn add(&mut self, options: &NodeOptions) -> usize {
        let at = self.nodes.len();
        let dir = self.dir.path().join(format!("node{at}"));
        std::fs::create_dir_all(&dir).expect("a directory");
        let NodeOptions { lease, labels, config, .. } = options;
        let config = format!("[node]\nname = \"n{at}\"\nlease = {lease:?}\nlabels = {labels:?}\n{config}");
        let options = Options {
            config,
            not_dev: !options.has_probes,
            no_probes: !options.has_probes,
            database: Some(options.url.clone().unwrap_or_else(|| self.url.clone())),
            witness: Some(self.witness_path()),
            clock: None,
        };
        self.nodes.push(None);
        self.put_back(at, Server::start_with(&dir, options));
        at
    }

    fn witness_path(&self) -> std::path::PathBuf {
        self.dir.path().join("witness.tsv")
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub fn node(&self, at: usize) -> &Server {
        self.nodes[at].as_ref().expect("the node runs")
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Server> {
        self.nodes.iter().flatten()
    }

    pub fn witness(&self) -> Witness {
        Witness::at(&self.witness_path())
    }

    /// `kill -9`; it stays away.
    pub fn kill(&mut self, at: usize) {
        self.take(at).kill();
    }

    pub fn kill_and_restart(&mut self, at: usize, away: Duration) {
        let server = self.take(at);
        server.signal(Signal::KILL);
        crate::pause(away);
        self.put_back(at, server.restart());
    }

    pub fn restart(&mut self, at: usize) {
        let server = self.take(at);
        self.put_back(at, server.restart());
    }

    /// The process, to end it by hand.
    pub fn take(&mut self, at: usize) -> Server {
        self.nodes[at].take().expect("the node runs")
    }

    pub fn put_back(&mut self, at: usize, server: Server) {
        self.pids.push((server.pid(), at));
        self.nodes[at] = Some(server);
    }

    /// At which node a body began.
    pub fn node_of(&self, start: &Line) -> usize {
        let began = self.pids.iter().rev().find(|(pid, _)| start.node == pid.to_string());
        began.unwrap_or_else(|| panic!("no node began {start:?}")).1
    }

    /// What the database itself can say against the product.
    pub fn verify(&self) {
        let violations = violations(&self.url);
        assert!(violations.is_none(), "{}", violations.unwrap_or_default());
    }
}

/// By `mainspring verify`.
pub(crate) fn violations(url: &str) -> Option<String> {
    let verified = std::process::Command::new(crate::binary()).args(["verify", "--database", url]).output();
    let verified = verified.expect("verify runs");
    let said = String::from_utf8_lossy(&verified.stdout).into_owned() + &String::from_utf8_lossy(&verified.stderr);
    (!verified.status.success()).then_some(said)
}
