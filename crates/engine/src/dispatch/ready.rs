//! Claimed jobs that wait in memory for their instant and then for a slot.
//!
//! **Invariant:** a job leaves by `pop` only when it is due. Among due jobs the higher priority goes first, and every
//! sixteenth place goes to whoever is due longest, so that no priority is starved.

use std::collections::BTreeMap;

use mainspring_model::{Fence, JobId, Timestamp};
use mainspring_store::{Claim, Held};

type ByDue = BTreeMap<(Timestamp, JobId), Claim>;

const PRIORITIES: usize = 4;
const FAIR_EVERY: u32 = 16;

#[derive(Debug, Default)]
pub(crate) struct Ready {
    waiting: ByDue,
    due: [ByDue; PRIORITIES],
    picks: u32,
}

impl Ready {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.due.iter().map(BTreeMap::len).sum::<usize>()
    }

    pub(crate) fn push(&mut self, claim: Claim) {
        self.waiting.insert((claim.due, claim.id), claim);
    }

    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Claim> {
        self.ripen(now);
        self.picks = self.picks.wrapping_add(1);
        let place = if self.picks.is_multiple_of(FAIR_EVERY) { self.longest_due() } else { self.highest_priority() }?;
        self.due[place].pop_first().map(|(_, claim)| claim)
    }

    /// When the next job of those that wait becomes due.
    pub(crate) fn next_due(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.ripen(now);
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    pub(crate) fn remove(&mut self, id: JobId, before: Fence) -> Option<Claim> {
        for jobs in self.due.iter_mut().chain([&mut self.waiting]) {
            // A person asks for it: rare, and the queue is bounded.
            let is_older = |claim: &Claim| claim.id == id && claim.fence < before;
            let key = jobs.iter().find(|(_, claim)| is_older(claim)).map(|(key, _)| *key);
            if let Some(claim) = key.and_then(|key| jobs.remove(&key)) {
                return Some(claim);
            }
        }
        None
    }

    pub(crate) fn take_where(&mut self, is_wanted: impl Fn(&Claim) -> bool) -> Vec<Claim> {
        let mut taken = Vec::new();
        for jobs in self.due.iter_mut().chain([&mut self.waiting]) {
            taken.extend(jobs.extract_if(.., |_, claim| is_wanted(claim)).map(|(_, claim)| claim));
        }
        taken
    }

    pub(crate) fn drain(&mut self) -> Vec<Claim> {
        let due = self.due.iter_mut().flat_map(std::mem::take);
        due.chain(std::mem::take(&mut self.waiting)).map(|(_, claim)| claim).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Claim> {
        self.due.iter().chain([&self.waiting]).flat_map(BTreeMap::values)
    }

    pub(crate) fn holds(&self, held: &Held) -> bool {
        self.all().any(|claim| claim.id == held.id && claim.fence == held.fence)
    }

    fn ripen(&mut self, now: Timestamp) {
        while self.waiting.first_key_value().is_some_and(|((due, _), _)| *due <= now) {
            let Some((key, claim)) = self.waiting.pop_first() else { return };
            let place = usize::try_from(claim.priority.code()).unwrap_or(0).min(PRIORITIES - 1);
            self.due[place].insert(key, claim);
        }
    }

    fn highest_priority(&self) -> Option<usize> {
        self.due.iter().position(|jobs| !jobs.is_empty())
    }

    fn longest_due(&self) -> Option<usize> {
        let first_due = |place: &usize| self.due[*place].first_key_value().map(|(key, _)| *key);
        (0..PRIORITIES).filter(|place| first_due(place).is_some()).min_by_key(first_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::claim;
    use mainspring_model::Priority;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn nothing_leaves_before_it_is_due() {
        let mut ready = Ready::default();
        ready.push(claim(1, 500, Priority::Normal));
        assert_eq!(ready.pop(at(499)), None);
        assert_eq!(ready.next_due(at(499)), Some(at(500)));
        assert_eq!(ready.pop(at(500)).map(|claim| claim.id), Some(JobId(1)));
        assert_eq!(ready.len(), 0);
    }

    #[test]
    fn priority_goes_first_and_nobody_starves() {
        let mut ready = Ready::default();
        ready.push(claim(1, 0, Priority::Low));
        for id in 2..60 {
            ready.push(claim(id, id, Priority::Critical));
        }
        let order: Vec<i64> = std::iter::from_fn(|| ready.pop(at(1_000))).map(|claim| claim.id.0).collect();
        assert_eq!(order[0], 2);
        let low = order.iter().position(|id| *id == 1).expect("it left");
        assert!(low < 16, "the low one left at place {low}");
    }

    #[test]
    fn a_job_can_be_taken_out() {
        let mut ready = Ready::default();
        ready.push(claim(1, 0, Priority::Normal));
        ready.push(claim(2, 900, Priority::Normal));
        assert_eq!(ready.remove(JobId(1), Fence(1)), None, "it was claimed anew");
        assert_eq!(ready.remove(JobId(1), Fence(2)).map(|claim| claim.id), Some(JobId(1)));
        assert_eq!(ready.remove(JobId(2), Fence(2)).map(|claim| claim.id), Some(JobId(2)));
        assert_eq!(ready.remove(JobId(2), Fence(2)), None);
    }
}
