//! effectum behind the contract of `contract.rs`. Every setting that is not its default is said here.
//!
//! - It syncs with its own default durability; 0.7.0 asks for WAL with a pragma that SQLite does not know (`journal`),
//!   so its database stays in rollback-journal mode. Both are left as they are.
//! - `autoheartbeat(false)`: a no-op needs none, and without it the drain is faster.
//! - `CONC` is the worker's `max_concurrency`; `min_concurrency`, below which it fetches more, is half of it.

mod contract;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use contract::{argument, setting};
use effectum::{Job, JobRunner, Queue, RunningJob, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Stamp {
    t: u64,
}

async fn noop(job: RunningJob, (): ()) -> Result<(), String> {
    let stamp: Stamp = job.json_payload().map_err(|error| error.to_string())?;
    contract::body(stamp.t).await.map_err(|error| error.to_string())
}

fn job(at_us: u64) -> Result<Job> {
    Ok(Job::builder("noop").json_payload(&Stamp { t: at_us })?.build())
}

fn job_due(due_us: u64) -> Result<Job> {
    let due = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(due_us) * 1_000)?;
    Ok(Job::builder("noop").json_payload(&Stamp { t: due_us })?.run_at(due).build())
}

async fn start_worker(queue: &Queue) -> Result<Worker> {
    let slots: u16 = setting("CONC", 500);
    Worker::builder(queue, ())
        .jobs([JobRunner::builder("noop", noop).autoheartbeat(false).build()])
        .max_concurrency(slots)
        .min_concurrency((slots / 2).max(1))
        .build()
        .await
        .map_err(|error| anyhow!("starting the worker: {error}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    let command = std::env::args().nth(1).context("no command: see contract.rs")?;
    let path: String = setting("DB", "effectum.db".to_owned());
    let queue = Queue::new(Path::new(&path)).await.map_err(|error| anyhow!("opening {path}: {error}"))?;
    let queue = Arc::new(queue);
    let with_worker = command == "worker" || setting("INPROC_WORKER", 0) == 1;
    let worker = if with_worker { Some(start_worker(&queue).await?) } else { None };
    if with_worker {
        contract::ready()?;
        // Whoever watches notes the memory of a worker at rest.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let add = {
        let queue = queue.clone();
        move |job: Result<Job>| {
            let queue = queue.clone();
            async move { queue.add_job(job?).await.map(drop).map_err(|error| anyhow!("{error}")) }
        }
    };
    match command.as_str() {
        "setup" | "worker" => {}
        "submit" => contract::submit(argument(2)?, argument(3)?, move |at_us| add(job(at_us))).await?,
        "latency" => contract::latency(argument(2)?, argument(3)?, move |at_us| add(job(at_us))).await?,
        "timers" => {
            contract::timers(argument(2)?, argument(3)?, argument(4)?, move |due_us| add(job_due(due_us))).await?;
        }
        "bulk" => {
            let add_many = move |stamps: Vec<u64>| {
                let queue = queue.clone();
                async move {
                    let jobs = stamps.into_iter().map(job).collect::<Result<Vec<_>>>()?;
                    queue.add_jobs(jobs).await.map(drop).map_err(|error| anyhow!("{error}"))
                }
            };
            contract::bulk(argument(2)?, argument(3)?, add_many).await?;
        }
        unknown => anyhow::bail!("unknown command {unknown}"),
    }
    if worker.is_some() {
        std::future::pending::<()>().await;
    }
    Ok(())
}
