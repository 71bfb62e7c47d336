//! What limits cost: jobs of a task with a limit for each of many keys, jobs of a task with a rate, and jobs of another
//! task beside a lane that is full. Each as a share of the same jobs without limits, drained in the same run.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mainspring::TaskDefinition;
use mainspring_model::HandlerName;
use rusqlite::Connection;

use super::Spec;
use super::submit::{PATIENCE, SETTLE};
use crate::bed::{Bed, OTHER, Work, begun, tick};
use crate::figures::Figures;
use crate::host::POOL;
use crate::place::sqlite_file;
use crate::window::Window;

const LIMITED: &str = "bench.limited";
const KEYS: u64 = 1_000;
/// A rate that these jobs do not reach: what it costs to ask.
const RATE_NEVER_REACHED: &str = "10000/1s";
/// One that they do: how much of it is used.
const RATE_REACHED: u64 = 1_000;
const RATED_S: u64 = 4;
/// A body of the full lane: it moves on all the time.
const FULL_BODY_MS: u64 = 5;
const POLL: Duration = Duration::from_millis(20);

pub(super) async fn lanes(spec: &Spec) -> Result<Figures> {
    let mut figures = Figures::default();
    let window = Window::open(&[])?;
    let by_key = |definition| TaskDefinition { concurrency_key: Some("/key".to_owned()), ..definition };
    let plain = drained(spec, "plain", limited()?, OTHER).await?;
    plain.tell(&mut figures, "plain", &plain);
    let max_running = Some(1);
    let keyed = by_key(TaskDefinition { max_running, ..limited()? });
    drained(spec, "keyed", keyed, LIMITED).await?.tell(&mut figures, "keyed", &plain);
    let rate_limit = Some(RATE_NEVER_REACHED.parse()?);
    let rated = by_key(TaskDefinition { rate_limit, ..limited()? });
    drained(spec, "rated", rated, LIMITED).await?.tell(&mut figures, "rated", &plain);
    figures.set("rate_used", rate_used(spec).await?);
    beside_a_full_lane(spec, &mut figures, &plain).await?;
    window.close()?.tell(&mut figures);
    Ok(figures)
}

/// A task of the handler that is counted.
fn limited() -> Result<TaskDefinition> {
    let definition = tick(POOL)?;
    Ok(TaskDefinition { handler: HandlerName::new(OTHER)?, ..definition })
}

#[derive(Debug, Clone, Copy)]
struct Drained {
    per_s: f64,
    cpu_us: f64,
}

impl Drained {
    fn tell(&self, figures: &mut Figures, prefix: &str, plain: &Drained) {
        figures.set(&format!("{prefix}_per_s"), self.per_s);
        figures.set(&format!("{prefix}_cpu_us"), self.cpu_us);
        figures.set(&format!("{prefix}_share"), self.per_s / plain.per_s);
    }
}

async fn bed_in(spec: &Spec, place: &str) -> Result<(Bed, std::path::PathBuf)> {
    let dir = spec.dir.join(place);
    std::fs::create_dir_all(&dir)?;
    let bed = Bed::start(&dir, spec.sizes.slots, &[POOL]).await?;
    tokio::time::sleep(SETTLE).await;
    Ok((bed, dir))
}

async fn drained(spec: &Spec, place: &str, definition: TaskDefinition, task: &str) -> Result<Drained> {
    let (bed, _) = bed_in(spec, place).await?;
    bed.define([(LIMITED.to_owned(), definition)]).await?;
    let drained = drain(&bed, task, spec.sizes.jobs).await?;
    bed.stop().await?;
    Ok(drained)
}

/// Jobs of random keys, always the same ones, gather while the pool is paused.
async fn drain(bed: &Bed, task: &str, jobs: u64) -> Result<Drained> {
    bed.pause(POOL).await?;
    let mut random = fastrand::Rng::with_seed(3);
    bed.submit(task, (0..jobs).map(|_| Work { ms: 0, key: random.u64(..KEYS) })).await?;
    let window = Window::open(&[])?;
    bed.resume(POOL).await?;
    begun(&bed.others, usize::try_from(jobs)?, PATIENCE).await?;
    let spent = window.close()?;
    let starts = bed.others.take();
    let (first, last) = (starts.first().context("none began")?.at_us, starts.last().context("none began")?.at_us);
    let per_s = (jobs - 1) as f64 / ((last - first) as f64 / 1e6);
    Ok(Drained { per_s, cpu_us: spent.cpu_s * 1e6 / jobs as f64 })
}

/// Starts in the time that a rate was asked for, as a share of those that it allows; more than 1 would be a fault.
async fn rate_used(spec: &Spec) -> Result<f64> {
    let (bed, _) = bed_in(spec, "reached").await?;
    let rate_limit = Some(format!("{RATE_REACHED}/1s").parse()?);
    bed.define([(LIMITED.to_owned(), TaskDefinition { rate_limit, ..limited()? })]).await?;
    let jobs = RATE_REACHED * (RATED_S + 1);
    bed.submit(LIMITED, (0..jobs).map(|_| Work::default())).await?;
    begun(&bed.others, usize::try_from(jobs)?, PATIENCE).await?;
    let starts = bed.others.take();
    bed.stop().await?;
    // The first second's worth may begin at once; each of those that follow has a second of its own.
    let last_us = starts.last().context("none began")?.at_us - starts.first().context("none began")?.at_us;
    Ok(RATED_S as f64 / (last_us as f64 / 1e6))
}

/// One key has all the jobs of a task and one of them at a time: the others wait, and nobody else for them.
async fn beside_a_full_lane(spec: &Spec, figures: &mut Figures, plain: &Drained) -> Result<()> {
    let (bed, dir) = bed_in(spec, "full").await?;
    let full = TaskDefinition { max_running: Some(1), concurrency_key: Some("/key".to_owned()), ..tick(POOL)? };
    bed.define([(LIMITED.to_owned(), full)]).await?;
    let began = Instant::now();
    bed.submit(LIMITED, (0..spec.sizes.jobs).map(|_| Work { ms: FULL_BODY_MS, key: 1 })).await?;
    let path = sqlite_file(&dir);
    tokio::task::spawn_blocking(move || all_aside(&path)).await??;
    figures.set("aside_s", began.elapsed().as_secs_f64());
    let before = bed.ticks.count();
    let began = Instant::now();
    drain(&bed, OTHER, spec.sizes.jobs).await?.tell(figures, "beside", plain);
    figures.set("full_lane_per_s", (bed.ticks.count() - before) as f64 / began.elapsed().as_secs_f64());
    bed.stop().await
}

/// No job of the full lane stands in the way of others any more.
fn all_aside(database: &std::path::Path) -> Result<()> {
    let conn = Connection::open(database).context("opening the database to look")?;
    let began = Instant::now();
    let mut in_the_way = conn.prepare("SELECT count(*) FROM job_queue WHERE owner IS NULL AND state = 0")?;
    // One of them is on its way into the lane.
    while in_the_way.query_row([], |row| row.get::<_, i64>(0))? > 1 {
        anyhow::ensure!(began.elapsed() < PATIENCE, "jobs of a full lane stand in the way of others");
        std::thread::sleep(POLL);
    }
    Ok(())
}
