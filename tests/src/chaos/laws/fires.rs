//! Each fire time has one record: run, or skipped with its reason.

use std::collections::BTreeMap;

use super::{Index, Verdict};
use crate::chaos::history::{Job, Ms, Schedule};

pub(super) fn judge(index: &Index<'_>, verdict: &mut Verdict) {
    for task in index.tasks.values() {
        let Some(schedule) = task.schedule else { continue };
        let mut records: BTreeMap<Ms, Vec<&Job>> = BTreeMap::new();
        for job in index.jobs.values().filter(|job| job.task == task.code) {
            for time in times_of(job, schedule.every_ms) {
                records.entry(time).or_default().push(job);
            }
        }
        for time in due(schedule) {
            verdict.count("fire times");
            if !records.contains_key(&time) {
                verdict.breach("a fire is missing", None, format!("{} at {time}", task.code));
            }
        }
        for (time, jobs) in records.iter().filter(|(_, jobs)| jobs.len() > 1) {
            let what = format!("{} at {time}: {jobs:?}", task.code);
            verdict.breach("fired twice", Some(&jobs[1].id), what);
        }
    }
}

fn times_of(job: &Job, every_ms: Ms) -> impl Iterator<Item = Ms> {
    let last = job.fire_ms;
    let first = job.first_fire_ms.or(last).unwrap_or(0);
    std::iter::successors(last, move |time| Some(time - every_ms)).take_while(move |time| *time >= first)
}

fn due(schedule: Schedule) -> impl Iterator<Item = Ms> {
    let Schedule { every_ms, from_ms, to_ms } = schedule;
    let first = (from_ms / every_ms + 1) * every_ms;
    std::iter::successors(Some(first), move |time| Some(time + every_ms)).take_while(move |time| *time <= to_ms)
}
