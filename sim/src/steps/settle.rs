//! Starts and outcomes: INV-6 one settlement per claim, INV-7 only from the newest claim, INV-9 the same for starts,
//! INV-12 consequences with the outcome and only then, INV-18 budgets, INV-19 the wait before a retry, INV-22 one late
//! settlement of a batch harms no other.

use mainspring_model::decide::{Budget, Next};
use mainspring_model::job::QueueEntry;
use mainspring_model::{AttemptStatus, JobId, JobStatus, QueueState, Timestamp, limits};
use mainspring_store::{Held, Settled, Settlement, Started};

use super::{Answer, Desk, at_once, queued};
use crate::ghost::Image;

impl Desk<'_> {
    pub(crate) fn mark_started(&mut self, started: Vec<Started>) -> Answer<Vec<bool>> {
        let answer = self.world.planted.mark_started(self.world.store.as_ref(), &started);
        let answers = self.sound("mark_started", answer)?;
        let before = self.images(started.iter().map(|start| start.held.id));
        for (start, accepted) in started.iter().zip(&answers) {
            let Held { id, fence, .. } = start.held;
            self.event(format_args!("marks {id}-{fence} started: {accepted}"));
            let holds = self.ghost.holds(start.held);
            if *accepted != holds {
                let newest = self.job(id).map(|job| job.newest_fence);
                let told = format!("start of {id}-{fence} answered {accepted}");
                self.violate("INV-9", format!("{told}, the newest claim is {newest:?}, held: {holds}"));
            }
            let Some(job) = self.ghost.jobs.get_mut(&id).filter(|_| holds) else { continue };
            if let Some(claim) = &mut job.claim {
                claim.start_written = true;
            }
            let queue = job.image.queue.map(|entry| QueueEntry { state: QueueState::Started, ..entry });
            let status = JobStatus::Executing;
            job.image = Image { status, attempts: start.attempt, queue, ..job.image.clone() };
        }
        self.judge_all("mark_started", before);
        Ok(answers)
    }

    /// The decision is older than this moment, however long the call takes to get through.
    pub(crate) fn settle_is_sent(&mut self, settlements: &[Settlement]) {
        let now_ms = self.now_ms();
        for settlement in settlements {
            if let Some(job) = self.ghost.jobs.get_mut(&settlement.held.id) {
                job.settle_sent_ms.entry(settlement.held.fence).or_insert(now_ms);
            }
        }
    }

    pub(crate) fn settle(&mut self, settlements: Vec<Settlement>, now: Timestamp) -> Answer<Vec<Settled>> {
        let answer = self.world.planted.settle(self.world.store.as_ref(), &settlements, now);
        let answers = self.sound("settle", answer)?;
        let before = self.images(settlements.iter().map(|settlement| settlement.held.id));
        let mut ended = Vec::new();
        for (settlement, settled) in settlements.iter().zip(&answers) {
            let Held { id, fence, .. } = settlement.held;
            self.event(format_args!("settles {id}-{fence} {:?}: {settled:?}", settlement.decision.next));
            let holds = self.ghost.holds(settlement.held);
            let before = self.job(id).and_then(|job| job.settled.get(&fence)).copied();
            match (settled, holds, before) {
                (Settled::Applied | Settled::AppliedAndFreed, true, None) => {
                    ended.extend(self.applied(settlement, now))
                }
                (Settled::Applied | Settled::AppliedAndFreed, _, Some(_)) => {
                    self.violate("INV-6", format!("{id}-{fence} was settled a second time"));
                }
                (Settled::Applied | Settled::AppliedAndFreed, false, None) => {
                    let newest = self.job(id).map(|job| job.newest_fence);
                    let detail = format!("{id}-{fence} was settled, the newest claim is {newest:?}, held: false");
                    self.violate("INV-7", detail);
                }
                (Settled::AlreadyApplied, _, Some(_)) => {}
                (Settled::AlreadyApplied, _, None) => {
                    self.violate("INV-6", format!("{id}-{fence} was never settled before"));
                }
                (Settled::Lost, true, None) => {
                    self.violate("INV-22", format!("the settlement of the newest claim {id}-{fence} was refused"));
                }
                (Settled::Unreadable, _, _) => {
                    self.violate("INV-7", format!("{id}-{fence} is discarded: nothing is damaged here"));
                }
                (Settled::Lost, _, _) => self.ghost.counts.late_settlements += 1,
            }
        }
        self.judge_all("settle", before);
        for (id, dead) in ended {
            self.check_dead(id, dead);
            if let Some(code) = self.job(id).map(|job| job.task.clone()) {
                self.check_task(&code, "INV-15");
            }
        }
        Ok(answers)
    }

    /// The job if it is final now, and whether it is decided to be dead.
    fn applied(&mut self, settlement: &Settlement, now: Timestamp) -> Option<(JobId, bool)> {
        let Held { id, fence, .. } = settlement.held;
        let decision = &settlement.decision;
        self.check_budgets(settlement);
        let job = self.ghost.jobs.get_mut(&id)?;
        job.settled.insert(fence, decision.attempt);
        job.claim = None;
        job.suspect = false;
        let before = job.image.clone();
        let attempts = settlement.attempt;
        let said_done = job.bodies.get(&fence).is_some_and(|body| body.said_done);
        let unfounded = decision.attempt == AttemptStatus::Success && !said_done;
        let next = match decision.next {
            Next::Final { status, dead, stop_task } => {
                job.image = Image { status, attempts, fence, queue: None, ..before };
                self.ghost.free_key(id);
                if stop_task {
                    self.stopped(&settlement.task, settlement.finish_time);
                }
                if status == JobStatus::Skipped {
                    self.check_expired(settlement);
                }
                self.after_end(id, settlement.finish_time.min(now));
                Some((id, dead.is_some()))
            }
            Next::Again { due, spends } => {
                let retry_count = before.retry_count + u32::from(spends == Budget::Failure);
                let lost_count = before.lost_count + u32::from(spends == Budget::Loss);
                let status = JobStatus::Pending;
                job.image = Image { status, attempts, fence, queue: queued(due), retry_count, lost_count };
                if spends == Budget::Failure {
                    self.check_gap(settlement, before.retry_count, due);
                }
                None
            }
        };
        if unfounded {
            self.violate("INV-12", format!("{id}-{fence} is a success, its body did not say so"));
        }
        next
    }

    /// INV-18: failures within retries, losses within the poison limit; a snooze spends nothing.
    pub(super) fn check_budgets(&mut self, settlement: &Settlement) {
        let (id, decision) = (settlement.held.id, &settlement.decision);
        let failed = matches!(decision.attempt, AttemptStatus::Failed | AttemptStatus::Timeout);
        let lost = decision.attempt == AttemptStatus::Lost;
        let spends = match decision.next {
            Next::Again { spends, .. } => Some(spends),
            Next::Final { .. } => None,
        };
        let spends_wrongly = spends.is_some_and(|spends| (spends == Budget::Failure) != failed);
        let Some(job) = self.ghost.jobs.get_mut(&id) else { return };
        job.failures += u32::from(failed);
        job.losses += u32::from(lost);
        let (failures, losses, max_retry) = (job.failures, job.losses, job.max_retry);
        if failures > max_retry + 1 || losses > limits::LOST_COUNT_MAX || spends_wrongly {
            let detail = format!(
                "job {id} failed {failures} times and was lost {losses} times, {max_retry} retries are allowed; {:?}",
                decision.next
            );
            self.violate("INV-18", detail);
        }
    }

    /// INV-12: a dead job in the list of dead jobs, and no other.
    pub(super) fn check_dead(&mut self, id: JobId, dead: bool) {
        let Some(job) = self.job(id) else { return };
        let (task, status) = (job.task.clone(), job.image.status);
        let failed = matches!(status, JobStatus::Failed | JobStatus::Timeout);
        let page = at_once(self.world.store.dead_jobs(Some(task), limits::PAGE_SIZE_MAX, None));
        let listed = page.is_ok_and(|page| page.items.iter().any(|dead| dead.id == id));
        if listed != failed || dead != failed {
            let detail = format!("job {id} is {status}, decided dead: {dead}, among the dead jobs: {listed}");
            self.violate("INV-12", detail);
        }
    }

    /// A fired job is skipped only past its start deadline, and only when no begin of it was ever written down: a body
    /// that nobody knows of may have begun on a node that died.
    fn check_expired(&mut self, settlement: &Settlement) {
        let Held { id, fence, .. } = settlement.held;
        let Some(job) = self.job(id) else { return };
        let deadline = self.ghost.tasks.get(&job.task).and_then(|task| task.definition.start_deadline_seconds);
        let waited_ms = settlement.start_time.ms_since(job.created);
        let is_due = deadline.is_none_or(|seconds| waited_ms > i64::from(seconds) * 1_000);
        let has_begun = job.bodies.contains_key(&fence) || settlement.attempt > 1;
        if job.fires.is_none() || has_begun || !is_due {
            let detail = format!("{id}-{fence} is skipped as expired after {waited_ms} ms, {deadline:?} s are allowed");
            self.violate("POLICY", detail);
        }
    }

    /// INV-19: base · 2ⁿ within a fifth, never before what the handler asked for.
    fn check_gap(&mut self, settlement: &Settlement, failures_before: u32, due: Timestamp) {
        let Held { id, fence, .. } = settlement.held;
        let Some(job) = self.job(id) else { return };
        let (Some(body), Some(sent_ms)) = (job.bodies.get(&fence), job.settle_sent_ms.get(&fence)) else { return };
        let Some(task) = self.ghost.tasks.get(&job.task) else { return };
        let rule = task.definition.retry;
        let step_ms = rule.base_ms.saturating_mul(1_i64 << failures_before.min(40)).min(rule.cap_ms);
        let (low, high) = self.world.clock.wall_range(body.ended_ms.unwrap_or(body.began_ms), *sent_ms);
        // What a body says after its deadline does not count.
        let asked_ms = body.not_before_ms.filter(|_| settlement.decision.attempt == AttemptStatus::Failed).unwrap_or(0);
        let earliest = low.plus_ms((step_ms * 4 / 5 - 1).max(asked_ms));
        let latest = high.plus_ms((step_ms * 6 / 5 + 1).max(asked_ms));
        if due < earliest || due > latest {
            let detail = format!("{id}-{fence} is tried again at {due:?}, allowed are {earliest:?} to {latest:?}");
            self.violate("INV-19", detail);
        }
    }
}
