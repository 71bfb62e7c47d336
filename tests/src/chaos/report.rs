//! What a run has to say: what was done, what was seen, how long things took, and each breach with its evidence.

use std::collections::BTreeMap;
use std::fmt;

use super::history::{History, Kind, Ms};
use super::laws::{Breach, Verdict};

/// More of them say the same again.
const BREACHES_SHOWN: usize = 20;

#[derive(Debug)]
pub struct Report {
    pub title: String,
    pub faults: BTreeMap<Kind, u64>,
    pub commits_cut: BTreeMap<Kind, u64>,
    pub repeats: u64,
    pub verdict: Verdict,
    /// Of each breach that has a job.
    evidence: Vec<Vec<String>>,
}

impl Report {
    pub(super) fn new(title: String, history: &History, verdict: Verdict) -> Report {
        let mut faults = BTreeMap::new();
        for fault in &history.faults {
            *faults.entry(fault.kind).or_default() += 1;
        }
        let shown = verdict.breaches.iter().take(BREACHES_SHOWN);
        let evidence =
            shown.map(|breach| breach.job.as_deref().map_or(Vec::new(), |job| history.of_job(job))).collect();
        Report { title, faults, commits_cut: BTreeMap::new(), repeats: 0, verdict, evidence }
    }

    pub fn breaches(&self) -> &[Breach] {
        &self.verdict.breaches
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}", self.title)?;
        for (kind, count) in &self.faults {
            let cut = self.commits_cut.get(kind).map_or(String::new(), |cut| format!(" ({cut} commits)"));
            writeln!(f, "{count:>8}  {kind:?}{cut}")?;
        }
        writeln!(f, "{:>8}  requests repeated, for their answer was unknown", self.repeats)?;
        for (fact, count) in &self.verdict.facts {
            writeln!(f, "{count:>8}  {fact}")?;
        }
        times(f, "from a kill to the next body of what was killed", &self.verdict.take_overs_ms)?;
        times(f, "from the return of the database to a node's next body", &self.verdict.resumptions_ms)?;
        for (breach, evidence) in self.verdict.breaches.iter().zip(&self.evidence) {
            let job = breach.job.as_ref().map_or(String::new(), |job| format!(" (job {job})"));
            writeln!(f, "\nBREACH {}{job}: {}", breach.law, breach.what)?;
            evidence.iter().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        writeln!(f, "\n{} breaches", self.verdict.breaches.len())
    }
}

fn times(f: &mut fmt::Formatter<'_>, what: &str, times_ms: &[Ms]) -> fmt::Result {
    let mut sorted = times_ms.to_vec();
    sorted.sort_unstable();
    let Some(worst) = sorted.last() else { return writeln!(f, "       0  {what}: not measured") };
    let middle = sorted[sorted.len() / 2];
    writeln!(f, "{:>8}  {what}: {middle} ms in the middle, {worst} ms at worst", sorted.len())
}
