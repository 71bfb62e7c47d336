//! What must hold in the history of a run, whatever was done to it. Each law is a function of the history to breaches, and
//! `planted` shows of each that it can find one.

mod bodies;
mod fires;
mod outcomes;
#[cfg(test)]
mod planted;
mod times;

use std::collections::{BTreeMap, HashMap};

use super::history::{Attempt, Body, Fault, History, Job, Kind, Ms, Task, Verb, Word};

/// One thing that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    pub law: &'static str,
    pub job: Option<String>,
    pub what: String,
}

/// What the laws found, and how much they had to look at.
#[derive(Debug, Default)]
pub struct Verdict {
    pub breaches: Vec<Breach>,
    pub facts: BTreeMap<&'static str, u64>,
    /// From the kill to the next body of what was killed, where nothing else was wrong meanwhile.
    pub take_overs_ms: Vec<Ms>,
    /// From the return of the database to the next body on each node.
    pub resumptions_ms: Vec<Ms>,
}

impl Verdict {
    fn breach(&mut self, law: &'static str, job: Option<&str>, what: String) {
        self.breaches.push(Breach { law, job: job.map(str::to_owned), what });
    }

    fn count(&mut self, fact: &'static str) {
        *self.facts.entry(fact).or_default() += 1;
    }
}

pub(super) fn judge(history: &History) -> Verdict {
    let index = Index::of(history);
    let mut verdict = Verdict::default();
    for complaint in &history.complaints {
        verdict.breach("noticed while it ran", None, complaint.clone());
    }
    outcomes::judge(&index, &mut verdict);
    bodies::judge(&index, &mut verdict);
    times::judge(&index, &mut verdict);
    fires::judge(&index, &mut verdict);
    verdict
}

/// The history by job.
struct Index<'h> {
    history: &'h History,
    jobs: BTreeMap<&'h str, &'h Job>,
    tasks: HashMap<&'h str, &'h Task>,
    words: HashMap<&'h str, Vec<&'h Word>>,
    attempts: HashMap<&'h str, Vec<&'h Attempt>>,
    /// In the order of their starts.
    bodies: HashMap<&'h str, Vec<&'h Body>>,
}

impl<'h> Index<'h> {
    fn of(history: &'h History) -> Index<'h> {
        let mut bodies: HashMap<_, Vec<_>> = by(&history.bodies, |body| body.job.as_str());
        bodies.values_mut().for_each(|bodies| bodies.sort_by_key(|body| (body.start_ms, body.fence)));
        Index {
            history,
            jobs: history.jobs.iter().map(|job| (job.id.as_str(), job)).collect(),
            tasks: history.tasks.iter().map(|task| (task.code.as_str(), task)).collect(),
            words: by(&history.words, |word| word.job.as_str()),
            attempts: by(&history.attempts, |attempt| attempt.job.as_str()),
            bodies,
        }
    }

    fn words(&self, job: &str) -> &[&'h Word] {
        self.words.get(job).map_or(&[], Vec::as_slice)
    }

    fn attempts(&self, job: &str) -> &[&'h Attempt] {
        self.attempts.get(job).map_or(&[], Vec::as_slice)
    }

    fn bodies(&self, job: &str) -> &[&'h Body] {
        self.bodies.get(job).map_or(&[], Vec::as_slice)
    }

    /// A fault that can have cost this process its lease, or its answers.
    fn fault_at(&self, pid: u32, from_ms: Ms, to_ms: Ms) -> Option<&'h Fault> {
        let node = self.history.lives.iter().find(|life| life.pid == pid).map(|life| life.node);
        let concerns = |fault: &&Fault| fault.node.is_none() || fault.pid == Some(pid) || fault.node == node;
        self.history.faults.iter().filter(concerns).find(|fault| fault.meets(from_ms, to_ms))
    }

    /// A person ended the claim of this body: it may wind down while the next one begins.
    fn was_sent_away(&self, older: &Body, newer_start_ms: Ms) -> bool {
        let ended = |word: &&&Word| word.verb == Verb::Cancel && word.asked_ms <= newer_start_ms;
        self.words(&older.job).iter().filter(ended).any(|word| word.answered_ms >= older.start_ms)
    }

    /// Its process stood still, so nobody could stop it in time.
    fn stood_still(&self, body: &Body, at_ms: Ms) -> bool {
        let is_this = |fault: &&Fault| fault.kind == Kind::Pause && fault.pid == Some(body.pid);
        let covers = |fault: &Fault| fault.from_ms <= at_ms && at_ms <= fault.to_ms + WAKE_UP_MS;
        self.history.faults.iter().filter(is_this).any(covers)
    }
}

/// A process that goes on notices that its lease is over and stops its bodies.
const WAKE_UP_MS: Ms = 3_000;

fn by<'h, T, K: std::hash::Hash + Eq>(all: &'h [T], key: impl Fn(&'h T) -> K) -> HashMap<K, Vec<&'h T>> {
    let mut found: HashMap<K, Vec<&T>> = HashMap::new();
    for item in all {
        found.entry(key(item)).or_default().push(item);
    }
    found
}
