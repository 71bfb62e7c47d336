//! What much in the tables costs: memory, start-up, lists, idle processors.

use std::time::{Duration, Instant};

use anyhow::Result;
use mainspring::{JobStatus, TaskCode};
use mainspring_store::JobFilter;

use super::Spec;
use super::submit::PATIENCE;
use crate::figures::Figures;
use crate::host::{Host, TASK};
use crate::latency::{Latencies, now_us};
use crate::meter::Meter;
use crate::procfs;
use crate::tables::RARE_TASK;

const REST: Duration = Duration::from_secs(3);
/// How long a backlog is worked on before the highest memory is read.
const BACKLOG: Duration = Duration::from_secs(10);
const PAGE_JOBS: u32 = 50;
/// One list is read this far, page by page, and as often from its beginning.
const PAGES: u32 = 100;

fn memory_mib(which: &str) -> Result<f64> {
    procfs::memory_mib(std::process::id(), which)
}

pub(super) async fn memory_at_rest(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(REST).await;
    let mut figures = Figures::default();
    figures.set("idle_mib", memory_mib("VmRSS")?);
    host.stop().await?;
    Ok(figures)
}

pub(super) async fn memory_under_backlog(spec: &Spec) -> Result<Figures> {
    let meter = Meter::open(&spec.place, &[])?;
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(BACKLOG).await;
    let mut figures = Figures::default();
    meter.close()?.tell(&mut figures);
    figures.set("peak_mib", memory_mib("VmHWM")?);
    figures.set("starts", host.witness.starts() as f64);
    host.stop().await?;
    Ok(figures)
}

/// The file is in the page cache, as it is after a restart of the process.
pub(super) async fn startup(spec: &Spec) -> Result<Figures> {
    let meter = Meter::open(&spec.place, &[])?;
    let (began, began_us) = (Instant::now(), now_us());
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    let open_s = began.elapsed().as_secs_f64();
    host.started(1, PATIENCE).await?;
    let mut figures = Figures::default();
    meter.close()?.tell(&mut figures);
    figures.set("open_s", open_s);
    figures.set("first_start_s", host.witness.first_us().saturating_sub(began_us) as f64 / 1e6);
    host.stop().await?;
    Ok(figures)
}

pub(super) async fn idle(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(REST).await;
    let meter = Meter::open(&spec.place, &[])?;
    tokio::time::sleep(Duration::from_secs(spec.sizes.seconds)).await;
    let spent = meter.close()?;
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    figures.set("cpu_percent", 100.0 * spent.cpu_s / spent.wall_s);
    figures.set("rss_mib", memory_mib("VmRSS")?);
    anyhow::ensure!(host.witness.starts() == 0, "a job of another day was started");
    host.stop().await?;
    Ok(figures)
}

pub(super) async fn pages(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    let meter = Meter::open(&spec.place, &[])?;
    let (mut figures, mut all) = (Figures::default(), Latencies::default());
    let engine = host.jobs.engine();
    let mut read_by_name = Vec::new();
    for (name, filter) in lists()? {
        let calls = read(async |cursor| Ok(engine.jobs(filter.clone(), PAGE_JOBS, cursor).await?.next)).await?;
        read_by_name.push((name, calls));
    }
    let (code, rare) = (TaskCode::new(TASK)?, TaskCode::new(RARE_TASK)?);
    let attempts = async |cursor| Ok(engine.store().attempts_of_task(&code, PAGE_JOBS, cursor).await?.next);
    read_by_name.push(("attempts_of_task", read(attempts).await?));
    let dead = async |cursor| Ok(engine.store().dead_jobs(None, PAGE_JOBS, cursor).await?.next);
    read_by_name.push(("dead", read(dead).await?));
    let dead = async |cursor| Ok(engine.store().dead_jobs(Some(rare.clone()), PAGE_JOBS, cursor).await?.next);
    read_by_name.push(("dead_of_rare_task", read(dead).await?));
    let mut worst_ms = 0.0_f64;
    for (name, calls) in read_by_name {
        for (which, calls) in [("first", &calls.first), ("deep", &calls.deep)] {
            figures.set(&format!("{name}_{which}_p50_ms"), calls.quantile_ms(0.5));
            figures.set(&format!("{name}_{which}_p99_ms"), calls.quantile_ms(0.99));
            all.merge(calls);
        }
        let mut both = calls.first;
        both.merge(&calls.deep);
        worst_ms = worst_ms.max(both.quantile_ms(0.99));
    }
    figures.set("worst_list_p99_ms", worst_ms);
    meter.close()?.tell(&mut figures);
    all.tell(&mut figures, "page_");
    host.stop().await?;
    Ok(figures)
}

/// What the console and people ask for. The filters that few jobs pass are the hard ones.
fn lists() -> Result<Vec<(&'static str, JobFilter)>> {
    let task = |code: &str| anyhow::Ok(Some(TaskCode::new(code)?));
    let failed = || vec![JobStatus::Failed];
    let of_status = |status| JobFilter { status: vec![status], ..JobFilter::default() };
    Ok(vec![
        ("pending", of_status(JobStatus::Pending)),
        ("executing", of_status(JobStatus::Executing)),
        ("all", JobFilter::default()),
        ("of_task", JobFilter { task: task(TASK)?, ..JobFilter::default() }),
        ("of_rare_task", JobFilter { task: task(RARE_TASK)?, ..JobFilter::default() }),
        ("failed", JobFilter { status: failed(), ..JobFilter::default() }),
        ("failed_of_rare_task", JobFilter { status: failed(), task: task(RARE_TASK)?, ..JobFilter::default() }),
    ])
}

/// How long its pages took: the first one again and again, and the others one after another.
#[derive(Debug, Default)]
struct Read {
    first: Latencies,
    deep: Latencies,
}

async fn read(page: impl AsyncFn(Option<String>) -> Result<Option<String>>) -> Result<Read> {
    let mut read = Read::default();
    let mut cursor = None;
    for number in 0..PAGES * 2 {
        let calls = if cursor.is_none() { &mut read.first } else { &mut read.deep };
        let start = Instant::now();
        let next = page(cursor).await?;
        calls.record(start.elapsed());
        cursor = if number < PAGES { next } else { None };
    }
    Ok(read)
}
