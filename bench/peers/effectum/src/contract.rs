//! What mainspring-bench expects of a peer's driver:
//!
//! ```text
//! DRIVER setup                     make an empty schema
//! DRIVER submit N C                N no-op jobs one by one from C concurrent submitters
//! DRIVER bulk N BATCH              N no-op jobs, BATCH a call, one call under way
//! DRIVER latency RATE SECONDS      open loop, RATE jobs a second
//! DRIVER timers N SPAN LEAD        N jobs due at random instants in [now + LEAD, now + LEAD + SPAN] seconds
//! DRIVER worker                    execute until killed
//! ```
//!
//! A submit command prints one line of JSON. A worker prints `READY`, and every body appends 16 bytes (its start and its
//! stamp in microseconds, little endian) to `$REC_DIR/<pid>.bin`; the stamp is the instant of its submit, or when it
//! is due. `$DB`: the database. `$JOB_MS`: how long a body sleeps. `$INPROC_WORKER=1`: the worker runs in the process of
//! the submit command, which then does not end.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tokio::task::JoinHandle;

fn now_us() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
}

pub fn setting<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

pub fn argument(place: usize) -> Result<u64> {
    let value = std::env::args().nth(place).with_context(|| format!("argument {place} is missing"))?;
    value.parse().with_context(|| format!("argument {place} is `{value}`"))
}

pub fn ready() -> Result<()> {
    say("READY")
}

fn say(line: &str) -> Result<()> {
    let mut to = std::io::stdout().lock();
    writeln!(to, "{line}")?;
    Ok(to.flush()?)
}

static RECORDS: OnceLock<File> = OnceLock::new();
static BODY_MS: OnceLock<u64> = OnceLock::new();

fn records() -> Result<&'static File> {
    if let Some(file) = RECORDS.get() {
        return Ok(file);
    }
    let dir = std::env::var("REC_DIR").context("REC_DIR is not set")?;
    let file = OpenOptions::new().create(true).append(true).open(format!("{dir}/{}.bin", std::process::id()))?;
    Ok(RECORDS.get_or_init(|| file))
}

pub async fn body(at_us: u64) -> Result<()> {
    let mut record = [0; 16];
    record[..8].copy_from_slice(&now_us().to_le_bytes());
    record[8..].copy_from_slice(&at_us.to_le_bytes());
    // One write per record, and the file is appended to: bodies do not mix.
    records()?.write_all(&record)?;
    let body_ms = *BODY_MS.get_or_init(|| setting("JOB_MS", 0));
    if body_ms > 0 {
        tokio::time::sleep(Duration::from_millis(body_ms)).await;
    }
    Ok(())
}

fn tell(jobs: u64, began: Instant, mut calls_us: Vec<u64>, errors: u64) -> Result<()> {
    calls_us.sort_unstable();
    let elapsed_s = began.elapsed().as_secs_f64();
    let quantile = |q: f64| {
        let place = (calls_us.len().saturating_sub(1) as f64 * q) as usize;
        calls_us.get(place).map_or(0.0, |us| *us as f64 / 1_000.0)
    };
    let mean = calls_us.iter().sum::<u64>() as f64 / 1_000.0 / calls_us.len().max(1) as f64;
    say(&format!(
        "{{\"n\":{jobs},\"elapsed_s\":{elapsed_s:.4},\"mean_ms\":{mean:.3},\"p50_ms\":{:.3},\"p99_ms\":{:.3},\"errors\":{errors}}}",
        quantile(0.5),
        quantile(0.99),
    ))
}

async fn all(tasks: Vec<JoinHandle<Result<Vec<u64>>>>) -> Result<Vec<u64>> {
    let mut calls_us = Vec::new();
    for task in tasks {
        calls_us.extend(task.await??);
    }
    Ok(calls_us)
}

async fn timed(call: impl Future<Output = Result<()>>) -> Result<u64> {
    let start = Instant::now();
    call.await?;
    Ok(u64::try_from(start.elapsed().as_micros())?)
}

pub async fn submit<F, Fut>(jobs: u64, submitters: u64, call: F) -> Result<()>
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send,
{
    let (call, taken, errors) = (Arc::new(call), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let began = Instant::now();
    let tasks = (0..submitters).map(|_| {
        let (call, taken, errors) = (call.clone(), taken.clone(), errors.clone());
        tokio::spawn(async move {
            let mut calls_us = Vec::new();
            while taken.fetch_add(1, Ordering::Relaxed) < jobs {
                match timed(call(now_us())).await {
                    Ok(us) => calls_us.push(us),
                    Err(error) if errors.fetch_add(1, Ordering::Relaxed) == 0 => eprintln!("{error:#}"),
                    Err(_) => {}
                }
            }
            Ok(calls_us)
        })
    });
    let calls_us = all(tasks.collect()).await?;
    tell(calls_us.len() as u64, began, calls_us, errors.load(Ordering::Relaxed))
}

pub async fn bulk<F, Fut>(jobs: u64, per_call: u64, call: F) -> Result<()>
where
    F: Fn(Vec<u64>) -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let (began, mut left, mut calls_us) = (Instant::now(), jobs, Vec::new());
    while left > 0 {
        let portion = left.min(per_call);
        calls_us.push(timed(call(vec![now_us(); usize::try_from(portion)?])).await?);
        left -= portion;
    }
    tell(jobs, began, calls_us, 0)
}

pub async fn latency<F, Fut>(per_second: u64, seconds: u64, call: F) -> Result<()>
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send,
{
    let call = Arc::new(call);
    let mut pace = tokio::time::interval(Duration::from_micros(1_000_000 / per_second));
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..per_second * seconds {
        pace.tick().await;
        let call = call.clone();
        tasks.push(tokio::spawn(async move { Ok(vec![timed(call(now_us())).await?]) }));
    }
    tell(per_second * seconds, began, all(tasks).await?, 0)
}

/// The same sequence each time. 16 submitters.
pub async fn timers<F, Fut>(jobs: u64, span_s: u64, lead_s: u64, call: F) -> Result<()>
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send,
{
    let first_us = now_us() + lead_s * 1_000_000;
    let mut random: u64 = 0x9E37_79B9_7F4A_7C15;
    let dues: Vec<u64> = (0..jobs)
        .map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            first_us + random % (span_s * 1_000_000)
        })
        .collect();
    let (call, dues, taken) = (Arc::new(call), Arc::new(dues), Arc::new(AtomicU64::new(0)));
    let began = Instant::now();
    let tasks = (0..16).map(|_| {
        let (call, dues, taken) = (call.clone(), dues.clone(), taken.clone());
        tokio::spawn(async move {
            let mut calls_us = Vec::new();
            while let Some(due_us) = dues.get(usize::try_from(taken.fetch_add(1, Ordering::Relaxed))?) {
                calls_us.push(timed(call(*due_us)).await?);
            }
            Ok(calls_us)
        })
    });
    tell(jobs, began, all(tasks.collect()).await?, 0)
}
