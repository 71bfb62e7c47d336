//! Nothing lost, nothing doubled, nothing settled twice.

use std::collections::{BTreeSet, HashMap};

use super::{Index, Verdict};
use crate::chaos::history::{Ending, Job, Keys, Verb, Word};

/// So many losses make a job dead.
const LOSS_LIMIT: u64 = 3;

pub(super) fn judge(index: &Index<'_>, verdict: &mut Verdict) {
    for asked in &index.history.asked {
        verdict.count("submits acknowledged");
        match index.jobs.get(asked.id.as_str()) {
            None => verdict.breach("lost", Some(&asked.id), "it was acknowledged and is not there".to_owned()),
            Some(job) if job.key.as_deref() != Some(&asked.key) => {
                verdict.breach("doubled", Some(&asked.id), format!("it answers for key {} and has another", asked.key));
            }
            Some(_) => {}
        }
    }
    doubled(index, verdict);
    for job in index.jobs.values() {
        verdict.count("jobs");
        outcome(index, job, verdict);
        settled_once(index, job, verdict);
        tries(index, job, verdict);
    }
    for seen in &index.history.sightings {
        let changed_by_hand = index.words(&seen.job).iter().any(|word| word.answered_ms >= seen.at_ms);
        let Some(job) = index.jobs.get(seen.job.as_str()).filter(|_| !changed_by_hand) else { continue };
        verdict.count("final states looked at twice");
        if (&job.status, job.finish_ms, job.fence) != (&seen.status, seen.finish_ms, seen.fence) {
            let what = format!("it was {} at {} and has changed since", seen.status, seen.at_ms);
            verdict.breach("settled twice", Some(&job.id), what);
        }
    }
}

/// One job per key, and none that nobody asked for.
fn doubled(index: &Index<'_>, verdict: &mut Verdict) {
    let mut acknowledged: HashMap<(&str, &str), BTreeSet<&str>> = HashMap::new();
    for asked in &index.history.asked {
        acknowledged.entry((&asked.task, &asked.key)).or_default().insert(&asked.id);
    }
    for job in index.jobs.values() {
        let Some(task) = index.tasks.get(job.task.as_str()).filter(|task| task.keys != Keys::Fires) else { continue };
        let key = job.key.as_deref().unwrap_or_default();
        let ids = acknowledged.get(&(job.task.as_str(), key));
        // A live key is free again when its job is final, so a submit that is repeated may find it free: the answer to the
        // first one was lost, and nobody heard its id.
        let is_known = ids.is_some_and(|ids| ids.contains(job.id.as_str()) || task.keys == Keys::Live);
        if !is_known {
            verdict.breach("doubled", Some(&job.id), format!("nobody was told of it: key {key} has {ids:?}"));
        }
    }
    let mut owners: HashMap<(&str, &str), &str> = HashMap::new();
    for asked in &index.history.asked {
        let is_always = index.tasks.get(asked.task.as_str()).is_some_and(|task| task.keys == Keys::Always);
        let first = *owners.entry((&asked.task, &asked.key)).or_insert(&asked.id);
        if is_always && first != asked.id {
            verdict.breach("doubled", Some(&asked.id), format!("key {} was answered with {first} before", asked.key));
        }
    }
}

fn outcome(index: &Index<'_>, job: &Job, verdict: &mut Verdict) {
    let last_word = index.words(&job.id).iter().rfind(|word| word.accepted);
    let expected = match (last_word, index.tasks.get(job.task.as_str())) {
        (Some(Word { verb: Verb::Cancel, .. }), _) => "CANCELLED",
        (_, Some(task)) => task.ends,
        (_, None) => return,
    };
    let is_skipped = job.status == "SKIPPED" && job.fire_ms.is_some();
    let is_poisoned = job.status == "FAILED" && job.losses >= LOSS_LIMIT;
    match job.status.as_str() {
        "FAILED" if is_poisoned => verdict.count("jobs dead after three losses"),
        "SKIPPED" if is_skipped => verdict.count("fires skipped with a reason"),
        status if status == expected => {}
        "PENDING" | "EXECUTING" | "WAITING" => {
            verdict.breach("lost", Some(&job.id), format!("it never ended: {}", job.status));
        }
        status => verdict.breach("wrong outcome", Some(&job.id), format!("{status} instead of {expected}")),
    }
}

fn settled_once(index: &Index<'_>, job: &Job, verdict: &mut Verdict) {
    let successes: Vec<_> =
        index.attempts(&job.id).iter().filter(|attempt| attempt.status == "SUCCESS").map(|a| a.fence).collect();
    let expected = usize::from(job.status == "SUCCESS");
    if successes.len() != expected {
        let what = format!("{} with {} attempts that succeeded: {successes:?}", job.status, successes.len());
        verdict.breach("settled twice", Some(&job.id), what);
    }
    for fence in successes {
        let body = index.bodies(&job.id).iter().find(|body| body.fence == fence);
        if body.is_none_or(|body| body.ending != Ending::Noted) {
            verdict.breach("success without a body", Some(&job.id), format!("claim {fence}: {body:?}"));
        }
        if fence != job.fence && job.status == "SUCCESS" {
            let what = format!("claim {fence} succeeded, the newest is {}", job.fence);
            verdict.breach("settled by an old claim", Some(&job.id), what);
        }
    }
}

fn tries(index: &Index<'_>, job: &Job, verdict: &mut Verdict) {
    let again = index.words(&job.id).iter().filter(|word| word.verb == Verb::Retry && word.accepted).count() as u64;
    let failures = index.attempts(&job.id).iter().filter(|attempt| attempt.status == "FAILED").count() as u64;
    let limit = (job.max_retry + 1) * (again + 1);
    if failures > limit || job.retries > job.max_retry {
        verdict.breach("too many tries", Some(&job.id), format!("{failures} failures, {limit} are allowed"));
    }
    let untouched = index.words(&job.id).is_empty() && job.losses < LOSS_LIMIT;
    if job.status == "FAILED" && untouched && failures < limit {
        verdict.breach("too few tries", Some(&job.id), format!("{failures} failures of {limit}"));
    }
}
