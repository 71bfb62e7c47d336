//! What schedules did, from the tables and from the bodies, compared with what they should have done.
//!
//! The tables are read while no engine has them open: nobody's own counts are believed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use mainspring::JobStatus;
use rusqlite::Connection;

use crate::bed::Start;
use crate::figures::Figures;
use crate::latency::{Latencies, us_since};

/// A job that a schedule made: it stands for `count` fire times.
#[derive(Debug, Clone)]
pub(crate) struct FiredJob {
    id: i64,
    task: String,
    last_ms: i64,
    count: i64,
    is_skipped: bool,
}

/// The fire times that lie between two instants, for each task.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) step_ms: i64,
    /// Fire times per task.
    pub(crate) fires: i64,
    /// The first one of each task.
    pub(crate) first_ms: BTreeMap<String, i64>,
}

/// What became of the fire times.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    expected: i64,
    /// Without any record.
    lost: i64,
    /// Further records of one fire time, and further starts of one job.
    double: i64,
    /// Recorded as not run.
    skipped: i64,
    /// Run by a job that stands for several.
    merged: i64,
    /// Jobs that should have run and have not begun.
    not_started: i64,
}

pub(crate) fn jobs(database: &Path) -> Result<Vec<FiredJob>> {
    let conn = Connection::open(database).context("opening the database to count")?;
    let mut statement = conn.prepare(
        "SELECT id, task_code, fire_time, fire_count, task_status FROM async_task WHERE fire_time IS NOT NULL",
    )?;
    let jobs = statement.query_map([], |row| {
        Ok(FiredJob {
            id: row.get(0)?,
            task: row.get(1)?,
            last_ms: row.get(2)?,
            count: row.get(3)?,
            is_skipped: row.get::<_, i64>(4)? == JobStatus::Skipped.code(),
        })
    })?;
    jobs.collect::<rusqlite::Result<_>>().context("reading the jobs of schedules")
}

/// Jobs whose fire time has its record, while the engine is at work.
pub(crate) fn keys(conn: &Connection) -> Result<u64> {
    let count: i64 = conn.query_row("SELECT count(*) FROM job_key", [], |row| row.get(0))?;
    Ok(u64::try_from(count)?)
}

/// Compares, and says how late the starts were.
pub(crate) fn judge(expected: &Expected, jobs: &[FiredJob], starts: &[Start]) -> (Tally, Latencies) {
    let mut begun: HashMap<i64, (u64, i64)> = HashMap::with_capacity(starts.len());
    for start in starts {
        begun.entry(start.job).or_insert((start.at_us, 0)).1 += 1;
    }
    let tasks = i64::try_from(expected.first_ms.len()).unwrap_or(i64::MAX);
    let mut tally = Tally { expected: tasks * expected.fires, ..Tally::default() };
    let mut late = Latencies::default();
    let mut records: HashMap<(&str, i64), i64> = HashMap::with_capacity(jobs.len());
    for job in jobs {
        let Some(first_ms) = expected.first_ms.get(&job.task) else { continue };
        let turn = (job.last_ms - first_ms).div_euclid(expected.step_ms);
        let turns = (turn - job.count + 1..=turn).filter(|turn| (0..expected.fires).contains(turn));
        let mut fires = 0;
        for turn in turns {
            *records.entry((&job.task, turn)).or_default() += 1;
            fires += 1;
        }
        if fires == 0 {
            continue;
        }
        match (job.is_skipped, begun.get(&job.id)) {
            (true, began) => {
                tally.skipped += fires;
                tally.double += began.map_or(0, |(_, times)| *times);
            }
            (false, None) => tally.not_started += 1,
            (false, Some((at_us, times))) => {
                tally.merged += fires - 1;
                tally.double += times - 1;
                late.record_us(us_since(*at_us, u64::try_from(job.last_ms).unwrap_or(0) * 1_000));
            }
        }
    }
    tally.double += records.values().map(|times| times - 1).sum::<i64>();
    tally.lost = tally.expected - i64::try_from(records.len()).unwrap_or(i64::MAX);
    (tally, late)
}

impl Tally {
    pub(crate) fn tell(&self, figures: &mut Figures) {
        let all = [
            ("fires", self.expected),
            ("lost", self.lost),
            ("double", self.double),
            ("skipped", self.skipped),
            ("merged", self.merged),
            ("not_started", self.not_started),
        ];
        for (name, count) in all {
            figures.set(name, count as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fire_time_is_accounted_for() {
        let first_ms = BTreeMap::from([("a".to_owned(), 1_000), ("b".to_owned(), 1_500)]);
        let expected = Expected { step_ms: 1_000, fires: 4, first_ms };
        let job = |id, task: &str, last_ms, count, is_skipped| FiredJob {
            id,
            task: task.to_owned(),
            last_ms,
            count,
            is_skipped,
        };
        let jobs = [
            job(1, "a", 1_000, 1, false),
            job(2, "a", 2_000, 1, false),
            job(3, "a", 2_000, 1, false),
            job(4, "b", 3_500, 3, false),
            job(5, "b", 4_500, 1, true),
            job(6, "b", 5_500, 1, false),
        ];
        let start = |job, at_us| Start { job, at_us };
        let starts = [start(1, 1_002_000), start(1, 1_003_000), start(2, 2_001_000), start(4, 3_600_000)];
        let (tally, late) = judge(&expected, &jobs, &starts);
        let expect = Tally { expected: 8, lost: 2, double: 2, skipped: 1, merged: 2, not_started: 1 };
        assert_eq!(tally, expect);
        assert_eq!(late.count(), 3);
    }
}
