//! `mainspring bench`: how fast this machine takes jobs and ends them, with an embedded database on this disk.
//!
//! One number for one machine. Comparisons with bars are made by the repository's own `cargo xtask bench`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use mainspring_engine::{Context, Engine, Handler, JobRequest, Registry};
use mainspring_model::{HandlerName, TaskCode, TaskDefinition, Verdict};
use mainspring_store::clock::SystemClock;
use serde_json::json;

use crate::args::{Bench, Format};
use crate::failure::{Exit, Failure};
use crate::print;

/// Jobs in one call, as a client of the batch interface would send them.
const BATCH: u32 = 500;
const SINGLE_SUBMITTERS: u32 = 64;
const LOOK_EVERY: Duration = Duration::from_millis(5);

struct Nothing;

#[async_trait]
impl Handler for Nothing {
    async fn handle(&self, _: Context) -> Verdict {
        Verdict::done()
    }
}

/// Removed at its end, also when the measurement fails.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            print::complain(&format!("{} was not removed: {error}", self.0.display()));
        }
    }
}

struct Row {
    what: &'static str,
    jobs: u32,
    took: Duration,
}

pub(crate) async fn run(args: Bench, format: Format) -> Result<(), Failure> {
    let parent = args.data_dir.unwrap_or_else(std::env::temp_dir);
    let scratch = Scratch(parent.join(format!("mainspring-bench-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0)
        .map_err(|error| Failure::new(Exit::Configuration, format!("{}: {error}", scratch.0.display())))?;
    let rows = measure(&scratch, args.jobs).await?;
    let per_second = |row: &Row| f64::from(row.jobs) / row.took.as_secs_f64().max(1e-9);
    match format {
        Format::Json => {
            let items: Vec<_> = rows
                .iter()
                .map(|row| {
                    json!({ "what": row.what, "jobs": row.jobs, "ms": row.took.as_millis() as u64,
                                   "perSecond": per_second(row).round() })
                })
                .collect();
            print::json(&json!({ "items": items }))
        }
        Format::Table => {
            let rows = rows
                .iter()
                .map(|row| {
                    let seconds = format!("{:.2}", row.took.as_secs_f64());
                    vec![row.what.to_owned(), row.jobs.to_string(), seconds, format!("{:.0}", per_second(row))]
                })
                .collect();
            print::table(&["WHAT", "JOBS", "SECONDS", "PER SECOND"].map(str::to_owned), rows)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures the real machine in real time")]
async fn measure(scratch: &Scratch, jobs: u32) -> Result<Vec<Row>, Failure> {
    let url = format!("sqlite://{}", scratch.0.join("bench.db").display());
    let store = mainspring_store::open(&url, SystemClock::new()).await?;
    let mut registry = Registry::default();
    let name = HandlerName::stored("bench.nothing");
    registry.add(name.clone(), "async", "Does nothing", Arc::new(Nothing));
    let task = TaskCode::stored("bench");
    let builder = Engine::builder(store).handlers(registry).declare(task.clone(), TaskDefinition::new("bench", name));
    let failed = |error: mainspring_engine::Error| Failure::failed(error.to_string());
    let engine = builder.start().await.map_err(failed)?;

    let start = Instant::now();
    let mut left = jobs;
    while left > 0 {
        let count = left.min(BATCH);
        let requests = (0..count).map(|_| JobRequest::new(task.clone())).collect();
        for answer in engine.submit_many(requests).await {
            answer.map_err(failed)?;
        }
        left -= count;
    }
    let batched = Row { what: "submit in batches of 500", jobs, took: start.elapsed() };
    while engine.health().await.totals.settled < u64::from(jobs) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let drained = Row { what: "submit, run and write back", jobs, took: start.elapsed() };

    let each = (jobs / SINGLE_SUBMITTERS / 4).max(1);
    let start = Instant::now();
    let mut submitters = tokio::task::JoinSet::new();
    for _ in 0..SINGLE_SUBMITTERS {
        let (engine, task) = (engine.clone(), task.clone());
        submitters.spawn(async move {
            for _ in 0..each {
                engine.submit(JobRequest::new(task.clone())).await?;
            }
            Ok(())
        });
    }
    for ended in submitters.join_all().await {
        ended.map_err(failed)?;
    }
    let single = Row { what: "submit one by one, 64 callers", jobs: each * SINGLE_SUBMITTERS, took: start.elapsed() };
    engine.stop(Duration::from_secs(30)).await;
    Ok(vec![batched, drained, single])
}
