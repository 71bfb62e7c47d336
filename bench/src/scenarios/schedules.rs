//! Schedules: do all fire times come, once, and how late; do they bear an instant that many share, and a flood beside
//! them; and what do tasks cost that fire another day.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mainspring::{Every, Rhythm, Span, TaskDefinition, Timestamp};
use mainspring_model::limits::FIRE_TASKS_MAX;
use rusqlite::Connection;

use super::Spec;
use super::submit::PATIENCE;
use crate::bed::{Bed, TICK, begun, sleep_until, tick};
use crate::figures::Figures;
use crate::fired::{self, Expected, judge};
use crate::host::POOL;
use crate::latency::{Latencies, now_us, us_since};
use crate::place::sqlite_file;
use crate::window::Window;
use crate::{limits, load, procfs};

const SECOND_MS: u64 = 1_000;
/// Time to define tasks in, and to come to rest: so many seconds, and one more for each thousand tasks.
const LEAD_S: u64 = 4;
/// Measuring begins this long before the first fire time, and ends so long after the last.
const MARGIN: Duration = Duration::from_millis(200);
const AFTERMATH: Duration = Duration::from_secs(2);
/// Nobody waits for the answer of a poll.
const POLL: Duration = Duration::from_millis(5);
const CRON_POOL: &str = "cron";
const ISOLATION_TASKS: u64 = 100;
const ISOLATION_S: u64 = 20;
const REST: Duration = Duration::from_secs(3);

/// Where the fire times of a second lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// All on the whole second, as `* * * * * *` has it.
    None,
    /// Evenly over the second.
    Even,
}

fn code(number: u64) -> String {
    format!("{TICK}.{number:05}")
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// The whole second at which the tasks that are now defined begin to fire.
fn first_ms(tasks: u64) -> u64 {
    (now_us() / 1_000_000 + 1 + LEAD_S + tasks / 1_000) * SECOND_MS
}

fn every(seconds: u64, start_ms: u64, pool: &str) -> Result<TaskDefinition> {
    let every = Some(Every { span: Span::from_ms(seconds * SECOND_MS), rhythm: Rhythm::FixedRate });
    Ok(TaskDefinition { every, ..at_cron(start_ms, pool)? })
}

fn at_cron(start_ms: u64, pool: &str) -> Result<TaskDefinition> {
    let tick = tick(pool)?;
    let cron = TaskDefinition::cron(TICK, tick.handler.clone(), "");
    Ok(TaskDefinition { cron_expression: None, start_at: Some(at(start_ms)), pool: tick.pool, ..cron })
}

/// `tasks` that fire every second from `first_ms` on.
async fn define_ticking(
    bed: &Bed,
    tasks: u64,
    first_ms: u64,
    spread: Spread,
    pool: &str,
) -> Result<BTreeMap<String, i64>> {
    let mut definitions = Vec::new();
    let mut first = BTreeMap::new();
    for number in 0..tasks {
        let (start_ms, definition) = match spread {
            Spread::None => {
                let cron_expression = Some("* * * * * *".to_owned());
                (first_ms, TaskDefinition { cron_expression, ..at_cron(first_ms, pool)? })
            }
            Spread::Even => {
                let start_ms = first_ms + number * SECOND_MS / tasks;
                (start_ms, every(1, start_ms, pool)?)
            }
        };
        first.insert(code(number), i64::try_from(start_ms)?);
        definitions.push((code(number), definition));
    }
    bed.define(definitions).await?;
    Ok(first)
}

pub(super) async fn fires(spec: &Spec, spread: Spread) -> Result<Figures> {
    let (tasks, seconds) = (spec.sizes.fire_tasks, spec.sizes.fire_seconds);
    let bed = Bed::start(&spec.dir, spec.sizes.slots, &[POOL]).await?;
    let begin_ms = first_ms(tasks);
    let first_ms = define_ticking(&bed, tasks, begin_ms, spread, POOL).await?;
    sleep_until(begin_ms * 1_000 - MARGIN.as_micros() as u64).await?;
    let window = Window::open(&[])?;
    tokio::time::sleep(MARGIN + Duration::from_secs(seconds)).await;
    let spent = window.close()?;
    tokio::time::sleep(AFTERMATH).await;
    let ticks = bed.ticks.clone();
    bed.stop().await?;
    let expected = Expected { step_ms: 1_000, fires: i64::try_from(seconds)?, first_ms };
    let (tally, late) = judge(&expected, &fired::jobs(&sqlite_file(&spec.dir))?, &ticks.take());
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    tally.tell(&mut figures);
    late.tell(&mut figures, "late_");
    figures.set("cpu_us_per_fire", spent.cpu_s * 1e6 / (tasks * seconds) as f64);
    Ok(figures)
}

/// Many tasks are due at one instant. Beside it, in the same minute: as many bare rows in transactions of the same size.
pub(super) async fn instant(spec: &Spec) -> Result<Figures> {
    let tasks = spec.sizes.due_tasks;
    let raw_s = limits::rows_s(&spec.dir, usize::try_from(tasks)?, FIRE_TASKS_MAX)?;
    let bed = Bed::start(&spec.dir, spec.sizes.slots, &[POOL]).await?;
    let due_ms = first_ms(tasks);
    let definition = every(86_400, due_ms, POOL)?;
    bed.define((0..tasks).map(|number| (code(number), definition.clone()))).await?;
    let path = sqlite_file(&spec.dir);
    sleep_until(due_ms * 1_000 - MARGIN.as_micros() as u64).await?;
    let window = Window::open(&[])?;
    let stored = tokio::task::spawn_blocking(move || all_stored(&path, tasks));
    let stored_us = stored.await??;
    begun(&bed.ticks, usize::try_from(tasks)?, PATIENCE).await?;
    let spent = window.close()?;
    tokio::time::sleep(AFTERMATH).await;
    let ticks = bed.ticks.clone();
    bed.stop().await?;
    let first_ms = (0..tasks).map(|number| Ok((code(number), i64::try_from(due_ms)?)));
    let expected = Expected { step_ms: 86_400_000, fires: 1, first_ms: first_ms.collect::<Result<_>>()? };
    let (tally, late) = judge(&expected, &fired::jobs(&sqlite_file(&spec.dir))?, &ticks.take());
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    tally.tell(&mut figures);
    late.tell(&mut figures, "late_");
    let durable_s = us_since(stored_us, due_ms * 1_000) as f64 / 1e6;
    figures.set("durable_s", durable_s);
    figures.set("last_start_s", late.quantile_ms(1.0) / 1e3);
    figures.set("raw_s", raw_s);
    figures.set("to_raw", durable_s / raw_s);
    Ok(figures)
}

/// When a look from outside, every few milliseconds, first finds a record of each task's fire.
fn all_stored(database: &std::path::Path, tasks: u64) -> Result<u64> {
    let conn = Connection::open(database).context("opening the database to look")?;
    let began = Instant::now();
    while fired::keys(&conn)? < tasks {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{} of {tasks} tasks have fired", fired::keys(&conn)?);
        std::thread::sleep(POLL);
    }
    Ok(now_us())
}

/// The same ticking tasks alone, and then beside a flood of other jobs in another pool.
pub(super) async fn isolation(spec: &Spec) -> Result<Figures> {
    let bed = Bed::start(&spec.dir, spec.sizes.slots, &[POOL, CRON_POOL]).await?;
    let begin_ms = first_ms(ISOLATION_TASKS);
    let first_ms = define_ticking(&bed, ISOLATION_TASKS, begin_ms, Spread::Even, CRON_POOL).await?;
    let flood_ms = begin_ms + ISOLATION_S * SECOND_MS;
    sleep_until(flood_ms * 1_000).await?;
    let window = Window::open(&[])?;
    let flooded = flood(&bed, spec).await?;
    let spent = window.close()?;
    tokio::time::sleep(AFTERMATH).await;
    let ticks = bed.ticks.clone();
    bed.stop().await?;
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    figures.set("flood_jobs", flooded as f64);
    figures.set("flood_per_s", flooded as f64 / spent.wall_s);
    let (jobs, starts) = (fired::jobs(&sqlite_file(&spec.dir))?, ticks.take());
    // Whole turns only: every task has the same share of both times.
    let flood_turns = (spent.wall_s as i64).max(1);
    let mut between = |from_ms: u64, fires: i64, prefix: &str| -> Result<Latencies> {
        let shift = i64::try_from(from_ms - begin_ms)?;
        let first_ms = first_ms.iter().map(|(task, first)| (task.clone(), first + shift)).collect();
        let (tally, late) = judge(&Expected { step_ms: 1_000, fires, first_ms }, &jobs, &starts);
        tally.tell(&mut figures);
        late.tell(&mut figures, prefix);
        Ok(late)
    };
    let alone = between(begin_ms, i64::try_from(ISOLATION_S)?, "alone_")?;
    let beside = between(flood_ms, flood_turns, "flood_")?;
    between(begin_ms, i64::try_from(ISOLATION_S)? + flood_turns, "both_")?;
    figures.set("more_p50_ms", beside.quantile_ms(0.5) - alone.quantile_ms(0.5));
    figures.set("more_p99_ms", beside.quantile_ms(0.99) - alone.quantile_ms(0.99));
    Ok(figures)
}

/// Jobs as fast as the interface takes them, again and again, and none left at the end.
async fn flood(bed: &Bed, spec: &Spec) -> Result<u64> {
    let began = Instant::now();
    let mut submitters = bed.submitters(spec.sizes.submitters);
    let mut jobs = 0;
    while began.elapsed() < Duration::from_secs(ISOLATION_S) {
        submitters = load::closed(submitters, spec.sizes.jobs, 0).await?.submitters;
        jobs += spec.sizes.jobs;
        begun(&bed.others, usize::try_from(jobs)?, PATIENCE).await?;
    }
    Ok(jobs)
}

/// Tasks that fire another day.
pub(super) async fn dormant(spec: &Spec) -> Result<Figures> {
    let tasks = spec.sizes.due_tasks;
    let before_mib = {
        let bed = Bed::start(&spec.dir, spec.sizes.slots, &[POOL]).await?;
        tokio::time::sleep(REST).await;
        let mib = procfs::memory_mib(std::process::id(), "VmRSS")?;
        bed.stop().await?;
        mib
    };
    let bed = Bed::start(&spec.dir, spec.sizes.slots, &[POOL]).await?;
    let cron_expression = Some("30 6 1 1 *".to_owned());
    let definition = TaskDefinition { cron_expression, ..at_cron(now_us() / 1_000, POOL)? };
    let began = Instant::now();
    bed.define((0..tasks).map(|number| (code(number), definition.clone()))).await?;
    let define_s = began.elapsed().as_secs_f64();
    bed.stop().await?;
    let began = Instant::now();
    let bed = Bed::start(&spec.dir, spec.sizes.slots, &[POOL]).await?;
    let open_s = began.elapsed().as_secs_f64();
    tokio::time::sleep(REST).await;
    let window = Window::open(&[])?;
    tokio::time::sleep(Duration::from_secs(spec.sizes.seconds)).await;
    let spent = window.close()?;
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    figures.set("cpu_percent", 100.0 * spent.cpu_s / spent.wall_s);
    let rss_mib = procfs::memory_mib(std::process::id(), "VmRSS")?;
    figures.set("rss_mib", rss_mib);
    figures.set("kib_per_task", (rss_mib - before_mib).max(0.0) * 1_024.0 / tasks as f64);
    figures.set("defined_per_s", tasks as f64 / define_s);
    figures.set("open_s", open_s);
    anyhow::ensure!(bed.ticks.count() == 0, "a task of another day has fired");
    bed.stop().await?;
    Ok(figures)
}
