//! A peer under the same load, through its driver (`bench/peers/effectum`), whose contract stands in its `contract.rs`:
//! submit commands print one JSON line, a worker prints READY, and every body appends its start and its stamp to a
//! file.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::args::Scenario;
use crate::figures::Figures;
use crate::host::until;
use crate::latency::{Latencies, us_since};
use crate::procfs;
use crate::scenarios::Spec;
use crate::window::Window;

const BURST: u64 = 5_000;
const PATIENCE: Duration = Duration::from_secs(300);
/// The setting with which it drains fastest, and the one for single jobs.
const SLOTS_DRAIN: &str = "500";
const SLOTS_LATENCY: &str = "64";

/// One million each, as `tables::fill` does it for us.
const HISTORY: &str = r#"
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?1)
INSERT INTO jobs (external_id, job_type, status, orig_run_at, payload, max_retries, backoff_multiplier,
    backoff_randomization, backoff_initial_interval, added_at, default_timeout, heartbeat_increment, started_at,
    finished_at, run_info)
SELECT randomblob(16), 'noop', 'succeeded', unixepoch() - i % 86400, '{"t":1}', 3, 2.0, 0.2, 20,
    unixepoch() - i % 86400, 300, 120, unixepoch() - i % 86400, unixepoch() - i % 86400,
    '[{"success":true,"start":1796076517,"end":1796076517,"info":null}]' FROM n"#;
const FUTURE: &str = r#"
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?1)
INSERT INTO jobs (external_id, job_type, orig_run_at, payload, max_retries, backoff_multiplier,
    backoff_randomization, backoff_initial_interval, added_at, default_timeout, heartbeat_increment)
SELECT randomblob(16), 'noop', unixepoch() + 86400 + i, '{"t":1}', 3, 2.0, 0.2, 20, unixepoch(), 300, 120 FROM n"#;
const ACTIVE: &str = "INSERT INTO active_jobs (job_id, priority, run_at)
    SELECT job_id, 0, orig_run_at FROM jobs WHERE orig_run_at > unixepoch() + 3600 AND ?1 > 0";

/// What a submit command of the driver prints.
#[derive(Debug, Deserialize)]
struct Told {
    n: u64,
    elapsed_s: f64,
    mean_ms: f64,
    p50_ms: f64,
    p99_ms: f64,
    errors: u64,
}

pub(crate) async fn measure(spec: &Spec) -> Result<Figures> {
    let driver = Driver { spec };
    fs::create_dir_all(driver.records_dir())?;
    driver.call(&["setup"])?;
    let sizes = &spec.sizes;
    let (jobs, submitters) = (sizes.jobs.to_string(), sizes.submitters.to_string());
    match spec.scenario {
        Scenario::W1 => driver.submit(&["submit", &jobs, &submitters]),
        Scenario::W1b => driver.submit(&["bulk", &jobs, "1000"]),
        Scenario::W2 | Scenario::W5 => driver.drain().await,
        Scenario::W3 => {
            let load = ["latency", "100", &sizes.seconds.to_string()];
            driver.with_worker(&load, 100 * sizes.seconds, SLOTS_LATENCY, "0").await
        }
        Scenario::W4 => driver.with_worker(&["submit", &BURST.to_string(), &submitters], BURST, SLOTS_DRAIN, "1").await,
        Scenario::W6 => {
            let span = (sizes.timers * 30 / 2_000).max(1).to_string();
            let load = ["timers", &sizes.timers.to_string(), &span, "5"];
            driver.with_worker(&load, sizes.timers, SLOTS_LATENCY, "0").await
        }
        Scenario::W7 => driver.at_rest().await,
        other => bail!("{} has no load for a peer", other.name()),
    }
}

struct Driver<'a> {
    spec: &'a Spec,
}

impl Driver<'_> {
    fn records_dir(&self) -> PathBuf {
        self.spec.dir.join("records")
    }

    fn database(&self) -> PathBuf {
        self.spec.dir.join("effectum.db")
    }

    fn command(&self, args: &[&str]) -> Result<Command> {
        let mut command = Command::new(self.spec.program()?);
        command.args(args).env("DB", self.database()).env("REC_DIR", self.records_dir()).stdin(Stdio::null());
        Ok(command)
    }

    fn call(&self, args: &[&str]) -> Result<String> {
        let output = self.command(args)?.output().context("starting the driver")?;
        anyhow::ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn submit(&self, args: &[&str]) -> Result<Figures> {
        let window = Window::open(&[])?;
        let said = self.call(args)?;
        let mut figures = Figures::default();
        window.close()?.tell(&mut figures);
        tell(&read_told(&said)?, &mut figures)?;
        Ok(figures)
    }

    fn start(&self, args: &[&str], slots: &str, more: &[(&str, &str)]) -> Result<Worker> {
        let log = self.spec.dir.join("driver.log");
        let output = File::create(&log)?;
        let mut command = self.command(args)?;
        command.env("CONC", slots).envs(more.iter().copied()).stdout(output.try_clone()?).stderr(output);
        Ok(Worker { process: command.spawn().context("starting the driver")?, log })
    }

    async fn drain(&self) -> Result<Figures> {
        let jobs = self.spec.sizes.jobs;
        if self.spec.scenario == Scenario::W5 {
            self.fill()?;
        }
        self.call(&["bulk", &jobs.to_string(), "1000"])?;
        let worker = self.start(&["worker"], SLOTS_DRAIN, &[])?;
        let first = || self.records().is_ok_and(|records| !records.is_empty());
        until(PATIENCE, first).await.context("no job was started")?;
        let window = Window::open(&[worker.process.id()])?;
        self.wait_for_records(jobs).await?;
        let spent = window.close()?;
        let mut figures = Figures::default();
        spent.tell(&mut figures);
        figures.set("cpu_us_per_job", spent.cpu_s * 1e6 / jobs as f64);
        figures.set("peak_mib", procfs::memory_mib(worker.process.id(), "VmHWM")?);
        let mut left = u64::MAX;
        let until_written = until(Duration::from_secs(10), || {
            left = self.left().unwrap_or(left);
            left == 0
        });
        let _ = until_written.await;
        figures.set("left", left as f64);
        let records = self.records()?;
        let starts: Vec<u64> = records.iter().map(|(start_us, _)| *start_us).collect();
        let (first, last) = (starts.iter().min().copied().unwrap_or(0), starts.iter().max().copied().unwrap_or(0));
        figures.set("rate_per_s", (jobs - 1) as f64 / (last.saturating_sub(first).max(1) as f64 / 1e6));
        figures.set("twice", (records.len() as u64).saturating_sub(jobs) as f64);
        Ok(figures)
    }

    /// Submitter and worker in one process, as it is meant to be used.
    async fn with_worker(&self, load: &[&str], jobs: u64, slots: &str, body_ms: &str) -> Result<Figures> {
        let worker = self.start(load, slots, &[("INPROC_WORKER", "1"), ("JOB_MS", body_ms)])?;
        worker.says("READY").await?;
        let window = Window::open(&[worker.process.id()])?;
        let told = read_told(&worker.says("{").await?)?;
        self.wait_for_records(jobs).await?;
        let mut figures = Figures::default();
        window.close()?.tell(&mut figures);
        tell(&told, &mut figures)?;
        figures.set("accept_s", told.elapsed_s);
        let records = self.records()?;
        let mut waits = Latencies::default();
        for (start_us, at_us) in &records {
            waits.record_us(us_since(*start_us, *at_us));
        }
        waits.tell(&mut figures, "start_");
        let last = records.iter().map(|(start_us, _)| *start_us).max().unwrap_or(0);
        let first = records.iter().map(|(_, at_us)| *at_us).min().unwrap_or(0);
        figures.set("last_start_s", last.saturating_sub(first) as f64 / 1e6);
        Ok(figures)
    }

    async fn at_rest(&self) -> Result<Figures> {
        let worker = self.start(&["worker"], SLOTS_LATENCY, &[])?;
        worker.says("READY").await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut figures = Figures::default();
        figures.set("idle_mib", procfs::memory_mib(worker.process.id(), "VmRSS")?);
        Ok(figures)
    }

    fn fill(&self) -> Result<()> {
        let conn = rusqlite::Connection::open(self.database())?;
        conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")?;
        for sql in [HISTORY, FUTURE, ACTIVE] {
            conn.execute(sql, [i64::try_from(self.spec.sizes.history)?]).context("filling the peer's tables")?;
        }
        conn.execute_batch("ANALYZE")?;
        Ok(())
    }

    fn left(&self) -> Result<u64> {
        let conn = rusqlite::Connection::open(self.database())?;
        let sql = "SELECT count(*) FROM active_jobs WHERE run_at <= unixepoch()";
        Ok(u64::try_from(conn.query_row(sql, [], |row| row.get::<_, i64>(0))?)?)
    }

    /// (start, stamp) of every body, in microseconds.
    fn records(&self) -> Result<Vec<(u64, u64)>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(self.records_dir())? {
            let bytes = fs::read(entry?.path())?;
            let (words, _) = bytes.as_chunks::<8>();
            records
                .extend(words.chunks_exact(2).map(|pair| (u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]))));
        }
        Ok(records)
    }

    async fn wait_for_records(&self, jobs: u64) -> Result<()> {
        let count = || {
            let sizes = fs::read_dir(self.records_dir()).into_iter().flatten().flatten();
            sizes.filter_map(|entry| entry.metadata().ok()).map(|file| file.len() / 16).sum::<u64>()
        };
        until(PATIENCE, || count() >= jobs).await.with_context(|| format!("{} of {jobs} jobs were started", count()))
    }
}

fn read_told(said: &str) -> Result<Told> {
    let line = said.lines().find(|line| line.starts_with('{')).context("the driver told no figures")?;
    serde_json::from_str(line).with_context(|| format!("reading `{line}`"))
}

fn tell(told: &Told, figures: &mut Figures) -> Result<()> {
    anyhow::ensure!(told.errors == 0, "{} submits of the peer failed", told.errors);
    figures.set("jobs", told.n as f64);
    figures.set("elapsed_s", told.elapsed_s);
    figures.set("rate_per_s", told.n as f64 / told.elapsed_s);
    figures.set("call_mean_ms", told.mean_ms);
    figures.set("call_p50_ms", told.p50_ms);
    figures.set("call_p99_ms", told.p99_ms);
    Ok(())
}

#[derive(Debug)]
struct Worker {
    process: Child,
    log: PathBuf,
}

impl Worker {
    /// Its first line that begins like this.
    async fn says(&self, beginning: &str) -> Result<String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            let whole = said.rfind('\n').map_or("", |end| &said[..end]);
            if let Some(line) = whole.lines().find(|line| line.starts_with(beginning)) {
                return Ok(line.to_owned());
            }
            anyhow::ensure!(Instant::now() < end, "the driver never said `{beginning}`: {said}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
