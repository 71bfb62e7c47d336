//! An application that embeds Mainspring: one task, whose body notes when it starts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mainspring::{Item, Mainspring, PoolSettings};
use mainspring_store::clock::SystemClock;
use serde::{Deserialize, Serialize};

use crate::latency::{Latencies, now_us, us_since};
use crate::load::Submitter;
use crate::place::Place;

pub(crate) const TASK: &str = "bench.noop";
pub(crate) const POOL: &str = "bench";

/// Each look at the health writes something.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The payload: when the job was submitted (or is due), and how long its body lasts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Stamp {
    #[serde(rename = "t")]
    pub(crate) at_us: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field so")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

/// What the bodies have seen. Costs each of them well below a microsecond, and no memory.
#[derive(Debug)]
pub(crate) struct Witness {
    starts: AtomicU64,
    first_us: AtomicU64,
    last_us: AtomicU64,
    waits: Mutex<Latencies>,
}

impl Witness {
    fn new() -> Witness {
        Witness {
            starts: AtomicU64::new(0),
            first_us: AtomicU64::new(u64::MAX),
            last_us: AtomicU64::new(0),
            waits: Mutex::default(),
        }
    }

    fn started(&self, stamp: Stamp) {
        let now = now_us();
        self.first_us.fetch_min(now, Ordering::Relaxed);
        self.last_us.fetch_max(now, Ordering::Relaxed);
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).record_us(us_since(now, stamp.at_us));
        self.starts.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn starts(&self) -> u64 {
        self.starts.load(Ordering::Acquire)
    }

    pub(crate) fn first_us(&self) -> u64 {
        self.first_us.load(Ordering::Relaxed)
    }

    pub(crate) fn last_us(&self) -> u64 {
        self.last_us.load(Ordering::Relaxed)
    }

    /// From the stamp to the start.
    pub(crate) fn waits(&self) -> Latencies {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) jobs: Mainspring,
    pub(crate) witness: Arc<Witness>,
}

impl Host {
    pub(crate) async fn start(place: &Place, slots: u32) -> Result<Host> {
        let witness = Arc::new(Witness::new());
        let seen = witness.clone();
        let body = move |_: mainspring::Context, stamp: Stamp| {
            seen.started(stamp);
            async move {
                if stamp.ms > 0 {
                    tokio::time::sleep(Duration::from_millis(stamp.ms)).await;
                }
            }
        };
        let store = mainspring_store::open(&place.url, SystemClock::new()).await.context("opening the store")?;
        let builder = Mainspring::on(store).handler(TASK, body).pool(POOL, slots);
        let jobs = builder.task(TASK, |task| task.pool(POOL)).start().await.context("starting the engine")?;
        Ok(Host { jobs, witness })
    }

    async fn change_pool(&self, change: impl FnOnce(PoolSettings) -> PoolSettings) -> Result<()> {
        let pools = self.jobs.engine().pools().await?;
        let pool = pools.into_iter().find(|pool| pool.settings.name.as_str() == POOL).context("the pool is missing")?;
        self.jobs.engine().put_pool(change(pool.settings), "bench").await?;
        Ok(())
    }

    /// Kept in the database: also the next process begins with a paused pool.
    pub(crate) async fn pause(&self) -> Result<()> {
        self.change_pool(|pool| PoolSettings { paused: true, ..pool }).await
    }

    pub(crate) async fn resume(&self) -> Result<()> {
        self.change_pool(|pool| PoolSettings { paused: false, ..pool }).await
    }

    pub(crate) async fn started(&self, jobs: u64, limit: Duration) -> Result<()> {
        until(limit, || self.witness.starts() >= jobs)
            .await
            .with_context(|| format!("{} of {jobs} jobs were started", self.witness.starts()))
    }

    /// Their outcomes are committed.
    pub(crate) async fn settled(&self, jobs: u64, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            let settled = self.jobs.engine().health().await.totals.settled;
            if settled >= jobs {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("{settled} of {jobs} jobs were settled within {} s", limit.as_secs());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub(crate) async fn stop(self) -> Result<()> {
        let report = self.jobs.stop(Duration::from_secs(10)).await;
        anyhow::ensure!(report.unwritten == 0, "{} outcomes were not written", report.unwritten);
        Ok(())
    }

    pub(crate) fn submitter(&self) -> Embedded {
        Embedded { jobs: self.jobs.clone() }
    }

    pub(crate) fn submitters(&self, count: u32) -> Vec<Embedded> {
        (0..count).map(|_| self.submitter()).collect()
    }
}

pub(crate) async fn until(limit: Duration, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let end = Instant::now() + limit;
    while !is_so() {
        if Instant::now() > end {
            bail!("it took longer than {} s", limit.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Calls the library.
#[derive(Debug)]
pub(crate) struct Embedded {
    jobs: Mainspring,
}

impl Submitter for Embedded {
    async fn submit(&mut self, stamp: Stamp) -> Result<()> {
        self.jobs.submit(TASK, &stamp).await?;
        Ok(())
    }

    async fn submit_many(&mut self, stamps: Vec<Stamp>) -> Result<()> {
        let items = stamps.iter().map(Item::new).collect::<Result<Vec<_>, _>>()?;
        for answer in self.jobs.submit_many(TASK, items).await? {
            answer?;
        }
        Ok(())
    }
}
