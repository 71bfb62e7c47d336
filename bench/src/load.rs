//! Load: closed (each submitter waits for its answer) and open (jobs come at their own pace).

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::figures::Figures;
use crate::host::Stamp;
use crate::latency::{Latencies, now_us};

/// One caller; it has one call under way at a time. `Ok` means that the jobs are committed.
pub(crate) trait Submitter: Send + 'static {
    fn submit(&mut self, stamp: Stamp) -> impl Future<Output = Result<()>> + Send;
    fn submit_many(&mut self, stamps: Vec<Stamp>) -> impl Future<Output = Result<()>> + Send;
}

#[derive(Debug)]
pub(crate) struct Sent<S> {
    /// They come back: some remember what they sent.
    pub(crate) submitters: Vec<S>,
    pub(crate) jobs: u64,
    pub(crate) elapsed_s: f64,
    /// Of single calls.
    pub(crate) calls: Latencies,
    /// How late the generator of an open load was itself.
    lag: Latencies,
}

impl<S> Sent<S> {
    pub(crate) fn tell(&self, figures: &mut Figures) {
        figures.set("jobs", self.jobs as f64);
        figures.set("elapsed_s", self.elapsed_s);
        figures.set("rate_per_s", self.jobs as f64 / self.elapsed_s);
        self.calls.tell(figures, "call_");
        self.lag.tell(figures, "generator_lag_");
    }
}

/// `jobs` jobs, one call each, from all submitters at once.
pub(crate) async fn closed<S: Submitter>(submitters: Vec<S>, jobs: u64, body_ms: u64) -> Result<Sent<S>> {
    let taken = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = submitters
        .into_iter()
        .map(|mut submitter| {
            let taken = taken.clone();
            tokio::spawn(async move {
                let mut calls = Latencies::default();
                while taken.fetch_add(1, Ordering::Relaxed) < jobs {
                    let start = Instant::now();
                    submitter.submit(Stamp { at_us: now_us(), ms: body_ms }).await?;
                    calls.record(start.elapsed());
                }
                anyhow::Ok((submitter, calls, Latencies::default()))
            })
        })
        .collect();
    gather(tasks, began, jobs).await
}

/// `per_second` jobs a second for `seconds`, whatever the answers do: submitters take turns, so that a slow answer
/// delays nobody else's job.
pub(crate) async fn open<S: Submitter>(
    submitters: Vec<S>,
    per_second: u64,
    seconds: u64,
    body_ms: u64,
) -> Result<Sent<S>> {
    let jobs = per_second * seconds;
    let count = submitters.len();
    let began = Instant::now();
    let instant_of = move |job: u64| began + Duration::from_micros(job * 1_000_000 / per_second);
    let tasks: Vec<_> = (0_u64..)
        .zip(submitters)
        .map(|(turn, mut submitter)| {
            tokio::spawn(async move {
                let (mut calls, mut lag) = (Latencies::default(), Latencies::default());
                for job in (turn..jobs).step_by(count) {
                    tokio::time::sleep_until(instant_of(job).into()).await;
                    lag.record(instant_of(job).elapsed());
                    let start = Instant::now();
                    submitter.submit(Stamp { at_us: now_us(), ms: body_ms }).await?;
                    calls.record(start.elapsed());
                }
                anyhow::Ok((submitter, calls, lag))
            })
        })
        .collect();
    gather(tasks, began, jobs).await
}

type Caller<S> = tokio::task::JoinHandle<Result<(S, Latencies, Latencies)>>;

async fn gather<S>(tasks: Vec<Caller<S>>, began: Instant, jobs: u64) -> Result<Sent<S>> {
    let mut submitters = Vec::with_capacity(tasks.len());
    let (mut calls, mut lag) = (Latencies::default(), Latencies::default());
    for task in tasks {
        let (submitter, of_calls, of_lag) = task.await??;
        submitters.push(submitter);
        calls.merge(&of_calls);
        lag.merge(&of_lag);
    }
    Ok(Sent { submitters, jobs, elapsed_s: began.elapsed().as_secs_f64(), calls, lag })
}

/// `jobs` jobs, `per_call` in one call, one call under way.
pub(crate) async fn bulk<S: Submitter>(mut submitter: S, jobs: u64, per_call: u64) -> Result<Sent<S>> {
    let mut calls = Latencies::default();
    let began = Instant::now();
    let mut left = jobs;
    while left > 0 {
        let portion = left.min(per_call);
        let start = Instant::now();
        let stamp = Stamp { at_us: now_us(), ms: 0 };
        submitter.submit_many(vec![stamp; usize::try_from(portion)?]).await?;
        calls.record(start.elapsed());
        left -= portion;
    }
    let elapsed_s = began.elapsed().as_secs_f64();
    Ok(Sent { submitters: vec![submitter], jobs, elapsed_s, calls, lag: Latencies::default() })
}
