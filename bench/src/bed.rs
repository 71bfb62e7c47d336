//! An application with many tasks: all name one of two handlers, whose bodies note which job began, and when.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mainspring::{Item, Mainspring, PoolSettings, TaskCode, TaskDefinition, TaskSwitch};
use mainspring_model::{HandlerName, PoolName};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::host::{Stamp, until};
use crate::latency::now_us;
use crate::load::Submitter;
use crate::place::sqlite_file;

/// The handler of what is measured.
pub(crate) const TICK: &str = "bench.tick";
/// The handler of what goes on beside it. It has a task of its own name, without limits.
pub(crate) const OTHER: &str = "bench.other";
/// Definitions under way at one time: they share commits.
const DEFINED_AT_ONCE: usize = 64;
const PER_CALL: usize = 1_000;

/// The payload of jobs that bring one: how long the body lasts, and a key for limits. Others are no-ops.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    #[serde(default)]
    pub(crate) ms: u64,
    #[serde(default)]
    pub(crate) key: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) job: i64,
    pub(crate) at_us: u64,
}

/// In the order in which bodies began.
#[derive(Debug, Default)]
pub(crate) struct Starts(Mutex<Vec<Start>>);

impl Starts {
    fn note(&self, job: i64) {
        let start = Start { job, at_us: now_us() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(start);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn take(&self) -> Vec<Start> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) jobs: Mainspring,
    pub(crate) ticks: Arc<Starts>,
    pub(crate) others: Arc<Starts>,
}

impl Bed {
    /// The task of `OTHER` is in the first of the pools.
    pub(crate) async fn start(dir: &Path, slots: u32, pools: &[&str]) -> Result<Bed> {
        let (ticks, others) = (Arc::<Starts>::default(), Arc::<Starts>::default());
        let noting = |starts: &Arc<Starts>| {
            let starts = starts.clone();
            move |context: mainspring::Context, work: Option<Work>| {
                starts.note(context.job_id().0);
                async move {
                    if let Some(work) = work.filter(|work| work.ms > 0) {
                        tokio::time::sleep(Duration::from_millis(work.ms)).await;
                    }
                }
            }
        };
        let mut builder =
            Mainspring::sqlite(sqlite_file(dir)).handler(TICK, noting(&ticks)).handler(OTHER, noting(&others));
        for pool in pools {
            builder = builder.pool(pool, slots);
        }
        let first = pools.first().copied().context("no pool is named")?;
        let jobs = builder.task(OTHER, |task| task.pool(first)).start().await.context("starting the engine")?;
        Ok(Bed { jobs, ticks, others })
    }

    pub(crate) async fn define(&self, tasks: impl IntoIterator<Item = (String, TaskDefinition)>) -> Result<()> {
        let mut under_way = JoinSet::new();
        for (code, definition) in tasks {
            let (engine, code) = (self.jobs.engine().clone(), TaskCode::new(&code)?);
            under_way.spawn(async move { engine.create_task(code, definition, TaskSwitch::Enabled, "bench").await });
            if under_way.len() >= DEFINED_AT_ONCE {
                under_way.join_next().await.context("definitions are under way")??.context("defining a task")?;
            }
        }
        while let Some(defined) = under_way.join_next().await {
            defined?.context("defining a task")?;
        }
        Ok(())
    }

    /// One job for each piece of work, `PER_CALL` a call.
    pub(crate) async fn submit(&self, task: &str, work: impl Iterator<Item = Work>) -> Result<()> {
        let items = work.map(|work| Item::new(&work)).collect::<Result<Vec<_>, _>>()?;
        for portion in items.chunks(PER_CALL) {
            for answer in self.jobs.submit_many(task, portion.iter().cloned()).await? {
                answer?;
            }
        }
        Ok(())
    }

    pub(crate) async fn pause(&self, pool: &str) -> Result<()> {
        self.change_pool(pool, |pool| PoolSettings { paused: true, ..pool }).await
    }

    pub(crate) async fn resume(&self, pool: &str) -> Result<()> {
        self.change_pool(pool, |pool| PoolSettings { paused: false, ..pool }).await
    }

    async fn change_pool(&self, name: &str, change: impl FnOnce(PoolSettings) -> PoolSettings) -> Result<()> {
        let pools = self.jobs.engine().pools().await?;
        let pool = pools.into_iter().find(|pool| pool.settings.name.as_str() == name).context("the pool is missing")?;
        self.jobs.engine().put_pool(change(pool.settings), "bench").await?;
        Ok(())
    }

    pub(crate) async fn stop(self) -> Result<()> {
        let report = self.jobs.stop(Duration::from_secs(10)).await;
        anyhow::ensure!(report.unwritten == 0, "{} outcomes were not written", report.unwritten);
        Ok(())
    }

    pub(crate) fn submitters(&self, count: u32) -> Vec<Beside> {
        (0..count).map(|_| Beside { jobs: self.jobs.clone() }).collect()
    }
}

/// So many bodies have begun.
pub(crate) async fn begun(starts: &Starts, count: usize, limit: Duration) -> Result<()> {
    until(limit, || starts.count() >= count)
        .await
        .with_context(|| format!("{} of {count} jobs were started", starts.count()))
}

/// A definition of `TICK` in a pool. What else it is, its maker says.
pub(crate) fn tick(pool: &str) -> Result<TaskDefinition> {
    let definition = TaskDefinition::new(TICK, HandlerName::new(TICK)?);
    Ok(TaskDefinition { pool: PoolName::new(pool)?, ..definition })
}

/// Until an instant of the wall clock; it must not have passed.
pub(crate) async fn sleep_until(at_us: u64) -> Result<()> {
    let Some(left) = at_us.checked_sub(now_us()) else { bail!("the preparation took too long") };
    tokio::time::sleep_until((Instant::now() + Duration::from_micros(left)).into()).await;
    Ok(())
}

/// Submits jobs of `OTHER`.
#[derive(Debug)]
pub(crate) struct Beside {
    jobs: Mainspring,
}

impl Submitter for Beside {
    async fn submit(&mut self, stamp: Stamp) -> Result<()> {
        self.jobs.submit(OTHER, &stamp).await?;
        Ok(())
    }

    async fn submit_many(&mut self, stamps: Vec<Stamp>) -> Result<()> {
        let items = stamps.iter().map(Item::new).collect::<Result<Vec<_>, _>>()?;
        for answer in self.jobs.submit_many(OTHER, items).await? {
            answer?;
        }
        Ok(())
    }
}
