//! Never early; taken over in time; back in time after an outage.

use super::{Index, Verdict};
use crate::chaos::history::{Attempt, Body, Ending, Fault, Job, Keys, Kind, Life, Ms, Verb};

/// A lease of 15 s and the sweep every third of it.
const TAKE_OVER_MS: Ms = 20_000;
/// For so long a job on its last chance is alone, and waits as long for those that began before.
const ALONE_MS: Ms = 3_500;
const RESUME_MS: Ms = 10_000;

pub(super) fn judge(index: &Index<'_>, verdict: &mut Verdict) {
    for job in index.jobs.values() {
        never_early(index, job, verdict);
    }
    for body in index.history.bodies.iter().filter(|body| body.ending == Ending::WithProcess) {
        taken_over(index, body, verdict);
    }
    for outage in index.history.faults.iter().filter(|fault| fault.kind.is_database()) {
        resumed(index, outage, verdict);
    }
}

fn never_early(index: &Index<'_>, job: &Job, verdict: &mut Verdict) {
    let bodies = index.bodies(&job.id);
    let due_ms = job.due_ms.max(job.fire_ms.unwrap_or(0));
    // A person who retries a job wants it now.
    let hurried = |body: &Body| {
        let mut words = index.words(&job.id).iter();
        words.any(|word| word.verb == Verb::Retry && word.accepted && word.asked_ms <= body.start_ms)
    };
    for body in bodies.iter().filter(|body| body.start_ms < due_ms && !hurried(body)) {
        let what = format!("{} ms before its time: {body:?}", due_ms - body.start_ms);
        verdict.breach("started early", Some(&job.id), what);
    }
    let Some(task) = index.tasks.get(job.task.as_str()).filter(|_| index.words(&job.id).is_empty()) else { return };
    // The failure has the database's time; what follows it has the witness's.
    let failed_at = |body: &Body| {
        let mut attempts = index.attempts(&job.id).iter();
        attempts.find(|attempt| attempt.fence == body.fence && attempt.status == "FAILED")?.finish_ms
    };
    let mut back_off_ms = task.retry_base_ms * 8 / 10;
    for (body, next) in bodies.iter().zip(bodies.iter().skip(1)) {
        let Some(failed_ms) = failed_at(body) else { continue };
        if next.start_ms < failed_ms + back_off_ms {
            let what = format!("{} ms after a failure, {back_off_ms} at least", next.start_ms - failed_ms);
            verdict.breach("retried early", Some(&job.id), what);
        }
        back_off_ms *= 2;
    }
}

/// What was killed runs again in time, counted from the last thing that was wrong.
fn taken_over(index: &Index<'_>, body: &Body, verdict: &mut Verdict) {
    let killed = |fault: &&Fault| fault.kind == Kind::Kill && fault.pid == Some(body.pid);
    let Some(kill) = index.history.faults.iter().find(killed) else { return };
    let Some(job) = index.jobs.get(body.job.as_str()) else { return };
    // A lane, a live key and a person may keep it waiting; so may the care for a job that was lost before.
    let waits = index.tasks.get(job.task.as_str()).is_none_or(|task| task.is_serial || task.keys == Keys::Live);
    if waits || losses_before(index, body) > 0 || !index.words(&body.job).is_empty() {
        return;
    }
    let Some(next) = index.bodies(&body.job).iter().find(|next| next.start_ms >= kill.from_ms) else { return };
    let cared_for_ms = care_for_others(index, next, kill.from_ms);
    let mut deadline_ms = kill.from_ms + TAKE_OVER_MS + cared_for_ms;
    let mut disturbed = cared_for_ms > 0;
    let mut others: Vec<&Fault> = index.history.faults.iter().filter(|fault| fault.pid != Some(body.pid)).collect();
    others.sort_by_key(|fault| fault.from_ms);
    for other in others {
        if other.meets(kill.from_ms, deadline_ms.min(next.start_ms)) {
            deadline_ms = deadline_ms.max(other.to_ms + TAKE_OVER_MS + cared_for_ms);
            disturbed = true;
        }
    }
    verdict.count("killed bodies that ran again");
    if !disturbed {
        verdict.take_overs_ms.push(next.start_ms - kill.from_ms);
    }
    if next.start_ms > deadline_ms {
        let what = format!(
            "killed at {}, again at {}: {} ms too late",
            kill.from_ms,
            next.start_ms,
            next.start_ms - deadline_ms
        );
        verdict.breach("taken over late", Some(&body.job), what);
    }
}

fn losses_before(index: &Index<'_>, body: &Body) -> usize {
    let lost = |attempt: &&&Attempt| attempt.fence < body.fence && attempt.status == "LOST";
    index.attempts(&body.job).iter().filter(lost).count()
}

/// A job on its last chance begins without another suspect beside it. Those that were killed with it wait meanwhile.
fn care_for_others(index: &Index<'_>, next: &Body, killed_ms: Ms) -> Ms {
    let alone = |body: &&Body| {
        let meanwhile = killed_ms <= body.start_ms && body.start_ms <= next.start_ms;
        body.pid == next.pid && meanwhile && losses_before(index, body) >= 2
    };
    match index.history.bodies.iter().filter(alone).count() {
        0 => 0,
        count => ALONE_MS * (count as Ms + 1),
    }
}

/// Each node that was well otherwise begins a body soon after the database is back.
fn resumed(index: &Index<'_>, outage: &Fault, verdict: &mut Verdict) {
    let (back_ms, limit_ms) = (outage.to_ms, outage.to_ms + RESUME_MS);
    if limit_ms > index.history.load_end_ms {
        return;
    }
    let was_there = |life: &&Life| {
        life.ready_ms.is_some_and(|ready| ready < outage.from_ms) && life.died_ms.is_none_or(|died| died > limit_ms)
    };
    for life in index.history.lives.iter().filter(was_there) {
        let disturbs = |fault: &&Fault| !std::ptr::eq(*fault, outage) && fault.meets(back_ms, limit_ms);
        let concerns = |fault: &&Fault| fault.node.is_none_or(|node| node == life.node);
        if index.history.faults.iter().filter(disturbs).any(|fault| concerns(&fault)) {
            continue;
        }
        let of_it = index.history.bodies.iter().filter(|body| body.pid == life.pid && body.start_ms >= back_ms);
        let first = of_it.map(|body| body.start_ms - back_ms).min();
        verdict.resumptions_ms.extend(first);
        if first.is_none_or(|after| after > RESUME_MS) {
            let what = format!("node {} (process {}): first body {first:?} ms after {outage:?}", life.node, life.pid);
            verdict.breach("resumed late", None, what);
        }
    }
}
