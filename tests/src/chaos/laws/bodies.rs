//! The witness and the product tell the same, and no two bodies run at once without a reason.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Index, Verdict};
use crate::chaos::history::{Body, Ending, Keys, Ms};

/// From a fault to the last trace of it: a lease, the sweep after it, and a moment.
const AFTERMATH_MS: Ms = 25_000;

/// What a node takes for the database's time lies a little behind the witness's.
const CLOCKS_MS: Ms = 5;

pub(super) fn judge(index: &Index<'_>, verdict: &mut Verdict) {
    bodies_have_attempts(index, verdict);
    attempts_have_bodies(index, verdict);
    overlaps(index, verdict);
    none_after_the_end(index, verdict);
}

fn bodies_have_attempts(index: &Index<'_>, verdict: &mut Verdict) {
    let known: HashSet<(&str, i64)> =
        index.history.attempts.iter().map(|attempt| (attempt.job.as_str(), attempt.fence)).collect();
    let mut seen: HashSet<(&str, i64)> = HashSet::new();
    for body in &index.history.bodies {
        verdict.count("bodies");
        if body.ending == Ending::Never {
            verdict.breach("a body never ended", Some(&body.job), format!("{body:?}"));
        }
        if !seen.insert((&body.job, body.fence)) {
            verdict.breach("one claim ran twice", Some(&body.job), format!("{body:?}"));
        }
        if !index.jobs.contains_key(body.job.as_str()) {
            verdict.breach("lost", Some(&body.job), "a body of it ran, and it is not there".to_owned());
        }
        if known.contains(&(body.job.as_str(), body.fence)) {
            continue;
        }
        // It died before its start was written, or its outcome was never taken.
        let fault = index.fault_at(body.pid, body.start_ms - AFTERMATH_MS, body.end_ms + AFTERMATH_MS);
        match fault.is_some() || !index.words(&body.job).is_empty() {
            true => verdict.count("bodies without an attempt, for a fault"),
            false => verdict.breach("a body without an attempt", Some(&body.job), format!("{body:?}")),
        }
    }
}

fn attempts_have_bodies(index: &Index<'_>, verdict: &mut Verdict) {
    let seen: HashSet<(&str, i64)> = index.history.bodies.iter().map(|body| (body.job.as_str(), body.fence)).collect();
    for attempt in &index.history.attempts {
        verdict.count("attempts");
        let (job, end_ms) = (&attempt.job, attempt.finish_ms.unwrap_or(attempt.start_ms));
        let fault = || index.history.faults.iter().find(|fault| fault.meets(attempt.start_ms - AFTERMATH_MS, end_ms));
        match attempt.status.as_str() {
            "RUNNING" => verdict.breach("an attempt never ended", Some(job), format!("{attempt:?}")),
            "LOST" if fault().is_none() => {
                verdict.breach("lost without a fault", Some(job), format!("{attempt:?}"));
            }
            "LOST" => verdict.count("attempts lost to faults"),
            "DISCARDED" => verdict.count("late results refused"),
            _ => {}
        }
        if seen.contains(&(job.as_str(), attempt.fence)) {
            continue;
        }
        let has_verdict = matches!(attempt.status.as_str(), "SUCCESS" | "FAILED" | "TIMEOUT" | "DISCARDED");
        match !has_verdict && (fault().is_some() || !index.words(job).is_empty()) {
            true => verdict.count("attempts without a body, for a fault"),
            false => verdict.breach("an attempt without a body", Some(job), format!("{attempt:?}")),
        }
    }
}

/// What is final begins no more. A cancel may cross a start on another node.
fn none_after_the_end(index: &Index<'_>, verdict: &mut Verdict) {
    for job in index.jobs.values().filter(|job| index.words(&job.id).is_empty()) {
        let Some(finish_ms) = job.finish_ms else { continue };
        let is_late = |body: &&&Body| body.fence != job.fence && body.start_ms > finish_ms + CLOCKS_MS;
        for body in index.bodies(&job.id).iter().filter(is_late) {
            match index.stood_still(body, body.start_ms) {
                true => verdict.count("bodies that began after the end, for a pause right before"),
                false => verdict.breach("begun after the end", Some(&job.id), format!("{body:?}")),
            }
        }
    }
}

/// Bodies that must not run side by side: of one job, of one lane, of one live key.
fn overlaps(index: &Index<'_>, verdict: &mut Verdict) {
    let mut groups: BTreeMap<String, Vec<&Body>> = BTreeMap::new();
    for body in &index.history.bodies {
        groups.entry(format!("job {}", body.job)).or_default().push(body);
        let Some(job) = index.jobs.get(body.job.as_str()) else { continue };
        let Some(task) = index.tasks.get(job.task.as_str()) else { continue };
        if task.is_serial {
            let lane = job.lane.as_deref().unwrap_or_default();
            groups.entry(format!("lane {} {lane}", job.task)).or_default().push(body);
        }
        if task.keys == Keys::Live {
            let key = job.key.as_deref().unwrap_or_default();
            groups.entry(format!("key {} {key}", job.task)).or_default().push(body);
        }
    }
    for (group, mut bodies) in groups {
        bodies.sort_by_key(|body| (body.start_ms, body.end_ms));
        one_after_another(index, &group, &bodies, verdict);
    }
}

fn one_after_another(index: &Index<'_>, group: &str, bodies: &[&Body], verdict: &mut Verdict) {
    let mut open: HashMap<usize, &Body> = HashMap::new();
    for (at, newer) in bodies.iter().enumerate() {
        open.retain(|_, older| older.end_ms > newer.start_ms);
        for older in open.values() {
            // Another job of its key or lane: when it is the same job, its own group says so.
            if !group.starts_with("job ") && older.job == newer.job {
                continue;
            }
            if index.stood_still(older, newer.start_ms) {
                verdict.count("overlaps after a pause beyond the lease");
            } else if index.was_sent_away(older, newer.start_ms) {
                verdict.count("overlaps after a cancel");
            } else {
                let what = format!("{group}: {newer:?} began beside {older:?}");
                verdict.breach("two bodies at once", Some(&newer.job), what);
            }
        }
        open.insert(at, newer);
    }
}
