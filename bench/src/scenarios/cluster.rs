//! Several nodes drain one queue, each a process of its own. The jobs were submitted by another one, which is gone.
//!
//! A node says `READY`, then how many outcomes it has committed, again and again; when nothing is said to it any more it
//! stops and tells its figures.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mainspring_store::clock::SystemClock;

use super::submit::{PATIENCE, SETTLE};
use super::{Spec, Step};
use crate::figures::Figures;
use crate::host::{Host, POOL, until};
use crate::meter::Meter;
use crate::tables;
use crate::waits::Waits;

/// Each look at the health writes something.
const TELL: Duration = Duration::from_millis(100);

pub(super) async fn be_a_node(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(SETTLE).await;
    say("READY");
    let reader = std::thread::spawn(|| std::io::stdin().read(&mut [0; 1]));
    let mut told = 0;
    while !reader.is_finished() {
        tokio::time::sleep(TELL).await;
        let settled = host.jobs.engine().health().await.totals.settled;
        if settled != told {
            say(&settled.to_string());
            told = settled;
        }
    }
    let mut figures = Figures::default();
    figures.set("starts", host.witness.starts() as f64);
    figures.set("first_us", host.witness.first_us() as f64);
    figures.set("last_us", host.witness.last_us() as f64);
    host.stop().await?;
    Ok(figures)
}

#[expect(clippy::print_stdout, reason = "the process that started this one listens")]
fn say(line: &str) {
    println!("{line}");
}

pub(super) async fn drain(spec: &Spec, count: u32) -> Result<Figures> {
    let jobs = spec.sizes.jobs;
    let nodes = (0..count).map(|_| Node::start(spec)).collect::<Result<Vec<_>>>()?;
    until(PATIENCE, || nodes.iter().all(Node::is_ready)).await.context("a node did not start")?;
    let pids: Vec<u32> = nodes.iter().map(|node| node.process.id()).collect();
    let meter = Meter::open(&spec.place, &pids)?;
    let waits = Waits::watch(&spec.place).await?;
    release_pool(spec).await?;
    let settled = || nodes.iter().map(Node::settled).sum::<u64>();
    until(PATIENCE, || settled() >= jobs)
        .await
        .with_context(|| format!("{} of {jobs} jobs were settled", settled()))?;
    let (spent, waits) = (meter.close()?, waits.end().await?);
    let all = nodes.into_iter().map(Node::stop).collect::<Result<Vec<_>>>()?;
    let mut figures = Figures::default();
    let mut set = |name: &str, value: f64| figures.set(&format!("nodes_{count}_{name}"), value);
    let of_all = |name: &str| all.iter().filter_map(|node| node.get(name)).collect::<Vec<_>>();
    let starts: f64 = of_all("starts").iter().sum();
    let first_us = of_all("first_us").into_iter().fold(f64::MAX, f64::min);
    let last_us = of_all("last_us").into_iter().fold(0.0, f64::max);
    set("per_s", (jobs - 1) as f64 / ((last_us - first_us) / 1e6));
    set("least_of_a_node", of_all("starts").into_iter().fold(f64::MAX, f64::min));
    set("cpu_us_per_job", spent.cpu_s * 1e6 / jobs as f64);
    let of_machine = |cpu_s: f64| {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        100.0 * cpu_s / (cpus * spent.wall_s)
    };
    let server_s = spent.server_s.unwrap_or(0.0);
    set("database_cpu_percent", of_machine(server_s));
    set("node_cpu_percent", of_machine(spent.cpu_s - server_s));
    set("busy_percent", spent.busy_percent);
    set("sync_percent", waits.sync_percent());
    set("lock_percent", waits.lock_percent());
    spent.tell(&mut figures);
    figures.set("twice", starts - jobs as f64);
    figures.set("left", tables::left(&spec.place)? as f64);
    Ok(figures)
}

/// Through the store: no engine of this process takes part.
async fn release_pool(spec: &Spec) -> Result<()> {
    let store = mainspring_store::open(&spec.place.url, SystemClock::new()).await?;
    let mut pools = store.pools().await?.into_iter();
    let mut pool = pools.find(|pool| pool.name.as_str() == POOL).context("the pool is missing")?;
    pool.paused = false;
    store.put_pool(pool, "bench".to_owned(), store.now().await?).await?;
    Ok(())
}

#[derive(Debug)]
struct Node {
    process: Child,
    /// As long as it is open the node works.
    input: Option<ChildStdin>,
    heard: Arc<Heard>,
    /// Gives what the node said at last.
    listener: Option<JoinHandle<String>>,
}

#[derive(Debug, Default)]
struct Heard {
    ready: AtomicBool,
    settled: AtomicU64,
}

impl Node {
    fn start(spec: &Spec) -> Result<Node> {
        let mut command = Spec { step: Step::Node, ..spec.clone() }.command()?;
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting a node")?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().context("stdout is piped")?);
        let heard = Arc::<Heard>::default();
        let to = heard.clone();
        let listener = std::thread::spawn(move || {
            let mut last = String::new();
            for line in output.lines().map_while(Result::ok) {
                match line.parse() {
                    Ok(settled) => to.settled.store(settled, Ordering::Relaxed),
                    Err(_) if line == "READY" => to.ready.store(true, Ordering::Relaxed),
                    Err(_) => last = line,
                }
            }
            last
        });
        Ok(Node { process, input, heard, listener: Some(listener) })
    }

    fn is_ready(&self) -> bool {
        self.heard.ready.load(Ordering::Relaxed)
    }

    fn settled(&self) -> u64 {
        self.heard.settled.load(Ordering::Relaxed)
    }

    fn stop(mut self) -> Result<Figures> {
        self.input = None;
        let listener = self.listener.take().context("a node is stopped once")?;
        let said = listener.join().map_err(|_| anyhow!("the listener of a node panicked"))?;
        serde_json::from_str(&said).with_context(|| format!("reading the figures of a node: `{said}`"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.listener.is_some() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}
