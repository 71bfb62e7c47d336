//! The server `mainspring serve` as a process of its own, and a caller of its REST interface.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mainspring::{JobId, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::client::Connection;
use crate::host::{POOL, Stamp, TASK};
use crate::load::Submitter;
use crate::scenarios::Spec;

const START_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
    log: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attempt {
    pub(crate) job_id: JobId,
    pub(crate) execute_time: Timestamp,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempts {
    items: Vec<Attempt>,
    next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Pool {
    running: u32,
    held: u32,
    queued: u64,
}

impl Server {
    /// Ready for requests, with a pool, and a task whose handler is one of the server's own probes.
    pub(crate) async fn start(spec: &Spec, slots: u32, probe: &str) -> Result<Server> {
        let (program, dir) = (spec.program()?, &spec.dir);
        let address = free_address()?;
        let log = dir.join("server.log");
        let output = File::create(&log).context("making the server's log")?;
        let process = Command::new(program)
            .args(["serve", "--dev", "--listen", &address.to_string(), "--database", &spec.place.url, "--data-dir"])
            .arg(dir.join("data"))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let mut server = Server { process, address, log };
        server.ready().await?;
        let pool = json!({ "concurrency": slots });
        server.call("PUT", &format!("/api/v1/pools/{POOL}"), &pool.to_string()).await?;
        let task = json!({ "code": TASK, "handler": probe, "pool": POOL });
        server.call("POST", "/api/v1/tasks", &task.to_string()).await?;
        Ok(server)
    }

    async fn ready(&mut self) -> Result<()> {
        let end = Instant::now() + START_LIMIT;
        loop {
            let Err(error) = self.call("GET", "/readyz", "").await else { return Ok(()) };
            if let Some(status) = self.process.try_wait()? {
                let said = std::fs::read_to_string(&self.log).unwrap_or_default();
                bail!("the server ended ({status}): {}", said.trim());
            }
            if Instant::now() > end {
                return Err(error.context("the server did not become ready"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// On a connection of its own: a kept one that is seldom used is closed by the server.
    async fn call(&self, method: &str, path: &str, body: &str) -> Result<Vec<u8>> {
        let mut connection = Connection::open(self.address).await?;
        Ok(connection.call(method, path, body.as_bytes()).await?.to_owned())
    }

    pub(crate) async fn pause(&self) -> Result<()> {
        self.call("PUT", &format!("/api/v1/pools/{POOL}"), r#"{"paused":true}"#).await?;
        Ok(())
    }

    /// Nothing waits and nothing runs.
    pub(crate) async fn idle(&self, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            let answer = self.call("GET", &format!("/api/v1/pools/{POOL}"), "").await?;
            let pool: Pool = serde_json::from_slice(&answer).context("reading a pool")?;
            if (pool.running, pool.held, pool.queued) == (0, 0, 0) {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < end, "the pool is still busy: {pool:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Newest first.
    pub(crate) async fn attempts(&self, count: usize) -> Result<Vec<Attempt>> {
        let mut attempts = Vec::new();
        let mut cursor = String::new();
        while attempts.len() < count {
            let path = format!("/api/v1/tasks/{TASK}/attempts?limit=200{cursor}");
            let answer = self.call("GET", &path, "").await?;
            let page: Attempts = serde_json::from_slice(&answer).context("reading attempts")?;
            attempts.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        Ok(attempts)
    }

    pub(crate) async fn submitter(&self) -> Result<Remote> {
        let connection = Connection::open(self.address).await?;
        Ok(Remote { connection, sent: Vec::new(), body: String::new() })
    }

    pub(crate) async fn submitters(&self, count: u32) -> Result<Vec<Remote>> {
        let mut submitters = Vec::new();
        for _ in 0..count {
            submitters.push(self.submitter().await?);
        }
        Ok(submitters)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data is thrown away: it need not end politely.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that was free a moment ago; the server itself cannot say which one it was given.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a free port")?;
    Ok(listener.local_addr()?)
}

/// Calls over a kept connection, and remembers which job was submitted when.
#[derive(Debug)]
pub(crate) struct Remote {
    connection: Connection,
    pub(crate) sent: Vec<(JobId, u64)>,
    body: String,
}

fn write_job(body: &mut String, stamp: Stamp) {
    use std::fmt::Write;
    // The probes take nothing that they do not know, so the stamp is the payload of the no-op only.
    let (name, value) = if stamp.ms > 0 { ("ms", stamp.ms) } else { ("t", stamp.at_us) };
    let _ = write!(body, r#"{{"task":"{TASK}","payload":{{"{name}":{value}}}}}"#);
}

impl Submitter for Remote {
    async fn submit(&mut self, stamp: Stamp) -> Result<()> {
        self.body.clear();
        write_job(&mut self.body, stamp);
        let answer = self.connection.call("POST", "/api/v1/jobs", self.body.as_bytes()).await?;
        self.sent.push((read_id(answer)?, stamp.at_us));
        Ok(())
    }

    async fn submit_many(&mut self, stamps: Vec<Stamp>) -> Result<()> {
        self.body.clear();
        self.body.push_str(r#"{"jobs":["#);
        let count = stamps.len();
        for (index, stamp) in stamps.into_iter().enumerate() {
            if index > 0 {
                self.body.push(',');
            }
            write_job(&mut self.body, stamp);
        }
        self.body.push_str("]}");
        let answer = self.connection.call("POST", "/api/v1/jobs/batch", self.body.as_bytes()).await?;
        let stored = String::from_utf8_lossy(answer).matches(r#""id":"#).count();
        anyhow::ensure!(stored == count, "{stored} of {count} jobs of a batch were stored");
        Ok(())
    }
}

/// Without reading the rest of the receipt.
fn read_id(answer: &[u8]) -> Result<JobId> {
    let text = std::str::from_utf8(answer)?;
    let id = text.split_once(r#""id":""#).and_then(|(_, rest)| rest.split_once('"'));
    Ok(id.with_context(|| format!("no id in {text}"))?.0.parse()?)
}
