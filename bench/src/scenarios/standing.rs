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
use crate::procfs;
use crate::tables::RARE_TASK;
use crate::window::Window;

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
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    tokio::time::sleep(REST).await;
    let mut figures = Figures::default();
    figures.set("idle_mib", memory_mib("VmRSS")?);
    host.stop().await?;
    Ok(figures)
}

pub(super) async fn memory_under_backlog(spec: &Spec) -> Result<Figures> {
    let window = Window::open(&[])?;
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    tokio::time::sleep(BACKLOG).await;
    let mut figures = Figures::default();
    window.close()?.tell(&mut figures);
    figures.set("peak_mib", memory_mib("VmHWM")?);
    figures.set("starts", host.witness.starts() as f64);
    host.stop().await?;
    Ok(figures)
}

/// The file is in the page cache, as it is after a restart of the process.
pub(super) async fn startup(spec: &Spec) -> Result<Figures> {
    let window = Window::open(&[])?;
    let (began, began_us) = (Instant::now(), now_us());
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    let open_s = began.elapsed().as_secs_f64();
    host.started(1, PATIENCE).await?;
    let mut figures = Figures::default();
    window.close()?.tell(&mut figures);
    figures.set("open_s", open_s);
    figures.set("first_start_s", host.witness.first_us().saturating_sub(began_us) as f64 / 1e6);
    host.stop().await?;
    Ok(figures)
}

pub(super) async fn idle(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    tokio::time::sleep(REST).await;
    let window = Window::open(&[])?;
    tokio::time::sleep(Duration::from_secs(spec.sizes.seconds)).await;
    let spent = window.close()?;
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    figures.set("cpu_percent", 100.0 * spent.cpu_s / spent.wall_s);
    figures.set("rss_mib", memory_mib("VmRSS")?);
    anyhow::ensure!(host.witness.starts() == 0, "a job of another day was started");
    host.stop().await?;
    Ok(figures)
}

pub(super) async fn pages(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    let window = Window::open(&[])?;
    let (mut figures, mut all) = (Figures::default(), Latencies::default());
    for (name, filter) in lists()? {
        let calls = read_list(&host, filter).await?;
        figures.set(&format!("{name}_p99_ms"), calls.quantile_ms(0.99));
        all.merge(&calls);
    }
    let calls = read_attempts(&host).await?;
    figures.set("attempts_of_task_p99_ms", calls.quantile_ms(0.99));
    all.merge(&calls);
    window.close()?.tell(&mut figures);
    all.tell(&mut figures, "page_");
    host.stop().await?;
    Ok(figures)
}

/// What the console and people ask for. The filters that few jobs pass are the hard ones.
fn lists() -> Result<Vec<(&'static str, JobFilter)>> {
    let task = |code: &str| anyhow::Ok(Some(TaskCode::new(code)?));
    let failed = || vec![JobStatus::Failed];
    Ok(vec![
        ("all", JobFilter::default()),
        ("of_task", JobFilter { task: task(TASK)?, ..JobFilter::default() }),
        ("of_rare_task", JobFilter { task: task(RARE_TASK)?, ..JobFilter::default() }),
        ("failed", JobFilter { status: failed(), ..JobFilter::default() }),
        ("failed_of_rare_task", JobFilter { status: failed(), task: task(RARE_TASK)?, ..JobFilter::default() }),
    ])
}

async fn read_list(host: &Host, filter: JobFilter) -> Result<Latencies> {
    let mut calls = Latencies::default();
    let mut cursor = None;
    for page in 0..PAGES * 2 {
        let start = Instant::now();
        let answer = host.jobs.engine().jobs(filter.clone(), PAGE_JOBS, cursor).await?;
        calls.record(start.elapsed());
        cursor = if page < PAGES { answer.next } else { None };
    }
    Ok(calls)
}

async fn read_attempts(host: &Host) -> Result<Latencies> {
    let code = TaskCode::new(TASK)?;
    let mut calls = Latencies::default();
    let mut cursor = None;
    for page in 0..PAGES * 2 {
        let start = Instant::now();
        let answer = host.jobs.engine().store().attempts_of_task(&code, PAGE_JOBS, cursor).await?;
        calls.record(start.elapsed());
        cursor = if page < PAGES { answer.next } else { None };
    }
    Ok(calls)
}
