//! Fires: INV-13 a fire time has one record, INV-14 it has one at all, INV-15 the next one follows from it, INV-16 never
//! early, INV-17 nothing fires that a person has changed since; POLICY what `misfire` and `overlap` promise.

use mainspring_model::job::SkipReason;
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Misfire, Overlap, TaskDefinition};
use mainspring_model::{Incarnation, JobId, JobStatus, TaskCode, Timestamp, Trigger};
use mainspring_store::{Expiry, Fire, FireEnd, FireEntry, Fired, NewJob, ReplacedJob, Replan};

use super::{Answer, Desk, at_once};
use crate::ghost::GhostTask;

/// A call that is insisted on is as old as this at most: patience, stalls and pauses.
const CALL_AGE_MS: u64 = 60_000;

impl Desk<'_> {
    pub(crate) fn fire(&mut self, owner: Incarnation, fires: &[Fire], now: Timestamp) -> Answer<Vec<Fired>> {
        let answer = self.world.planted.fire(self.world.store.as_ref(), owner, fires, now);
        let answers = self.sound("fire", answer)?;
        for (fire, fired) in fires.iter().zip(&answers) {
            self.event(format_args!("fires {} due {} now {now}: {fired:?}", fire.task, fire.due));
            let as_seen =
                |task: &&GhostTask| task.enabled && task.version == fire.version && task.next == Some(fire.due);
            let task = self.ghost.tasks.get(&fire.task).filter(as_seen).cloned();
            let is_repeated = fire.entries.iter().any(|entry| self.job(entry.job.id).is_some());
            match (fired, task) {
                (Fired::Done(ends), Some(task)) => self.fired(owner, fire, &task, ends, now),
                (Fired::Moved, Some(_)) => {
                    self.violate("INV-14", format!("{} was as it had been seen, its fire was refused", fire.task));
                }
                (Fired::Done(_), None) if is_repeated => {
                    let ids = fire.entries.iter().map(|entry| entry.job.id);
                    let known: Vec<JobId> = ids.filter(|id| self.job(*id).is_some()).collect();
                    known.into_iter().for_each(|id| self.judge_untouched("fire", id));
                }
                (Fired::Moved, None) if is_repeated => {
                    self.violate("INV-14", format!("a repeated fire of {} was told that it moved", fire.task));
                }
                (Fired::Done(ends), None) if ends.is_empty() => {}
                (Fired::Done(_), None) => {
                    let now_is = self.ghost.tasks.get(&fire.task).map(|task| (task.enabled, task.version, task.next));
                    let detail = format!("{} fired {} of version {}", fire.task, fire.due, fire.version);
                    self.violate("INV-17", format!("{detail}, it is {now_is:?}"));
                }
                (Fired::Moved, None) => {}
            }
            self.check_task(&fire.task, "INV-15");
        }
        Ok(answers)
    }

    fn fired(&mut self, owner: Incarnation, fire: &Fire, task: &GhostTask, ends: &[FireEnd], now: Timestamp) {
        let now_ms = self.now_ms();
        let (_, latest) = self.world.clock.wall_range(now_ms.saturating_sub(CALL_AGE_MS), now_ms);
        if fire.due > now || now > latest {
            self.violate("INV-16", format!("{} fires {} at {now}, it is {latest}", fire.task, fire.due));
        }
        let choices = self.ghost.schedules.oracles(&task.definition);
        let judged: Vec<_> =
            choices.iter().map(|oracle| super::plan::judge(&task.definition, oracle, fire, now)).collect();
        // While a calendar changes, any of its versions may have been planned with.
        if !judged.iter().any(Option::is_none)
            && let Some((invariant, detail)) = judged.into_iter().flatten().next()
        {
            self.violate(invariant, format!("{}: {detail}", fire.task));
        }
        let mut is_any_stored = false;
        for (entry, end) in fire.entries.iter().zip(ends) {
            is_any_stored |= matches!(end, FireEnd::Stored { .. });
            self.entry(owner, entry, end, &task.definition);
        }
        let next = match fire.next {
            NextFire::AfterEnd if !is_any_stored => self.next_of(&task.definition, now),
            next => next.time(),
        };
        if fire.next == NextFire::Never || (fire.next == NextFire::AfterEnd && !is_any_stored && next.is_none()) {
            self.completes(&fire.task);
        }
        if next.is_some_and(|next| next <= fire.due) {
            self.violate("INV-15", format!("{} goes on from {} to {next:?}", fire.task, fire.due));
        }
        if let Some(task) = self.ghost.tasks.get_mut(&fire.task) {
            task.next = next;
        }
    }

    fn entry(&mut self, owner: Incarnation, entry: &FireEntry, end: &FireEnd, definition: &TaskDefinition) {
        let job = &entry.job;
        let Some(fires) = job.fires else {
            return self.violate("INV-14", format!("job {} of a fire has no fire time", job.id));
        };
        let key = (job.task.clone(), fires.last);
        let first = self.ghost.schedules.fired.get(&key).copied();
        match (end, first) {
            (FireEnd::Duplicate, Some(_)) => {
                self.ghost.schedules.overtaken.push((job.task.clone(), fires.first, fires.last));
                return self.must_be_absent(job.id);
            }
            (FireEnd::Duplicate, None) => {
                let detail = format!("{} was told that {} has its record, it has none", job.task, fires.last);
                return self.violate("INV-14", detail);
            }
            (_, Some(first)) => {
                let detail =
                    format!("{} fires {} with job {}, job {first} was before it", job.task, fires.last, job.id);
                self.violate("INV-13", detail);
            }
            (_, None) => {}
        }
        self.ghost.schedules.fired.insert(key, job.id);
        let live = self.ghost.live_of(&job.task);
        let expected = match (entry.skip, on_live(job, definition)) {
            (Some(reason), _) => Expected::Skipped(reason),
            (None, Meets::JoinsBelow(jobs)) if live.len() >= jobs => Expected::Skipped(SkipReason::Overlap),
            (None, Meets::Replaces) => Expected::Stored(live),
            (None, Meets::Joins | Meets::JoinsBelow(_)) => Expected::Stored(Vec::new()),
        };
        let told = match end {
            FireEnd::Skipped(reason) => Expected::Skipped(*reason),
            FireEnd::Stored { replaced, .. } => Expected::Stored(replaced.iter().map(|job| job.id).collect()),
            FireEnd::Duplicate => return,
        };
        if told != expected {
            let detail = format!("job {} of {} is {told:?}, it must be {expected:?}", job.id, job.task);
            self.violate("POLICY", detail);
        }
        match end {
            FireEnd::Stored { claimed, replaced } => {
                self.ghost.counts.fires += 1;
                self.replaced(replaced, job.create_time);
                self.put_job(owner, job, *claimed);
            }
            _ => {
                self.ghost.counts.skipped_fires += 1;
                self.put_skipped(job);
            }
        }
        if self.read_image(job.id).is_none() {
            self.violate("INV-14", format!("fire time {} of {} has no record", fires.last, job.task));
        }
    }

    /// Jobs that were cancelled for another one: as if a person had done it.
    pub(super) fn replaced(&mut self, replaced: &[ReplacedJob], now: Timestamp) {
        for job in replaced {
            let Some(known) = self.job(job.id) else { continue };
            let (before, newest) = (known.image.clone(), known.newest_fence);
            if job.fence <= newest {
                let detail =
                    format!("job {} was replaced with fence {}, a claim of it has {newest}", job.id, job.fence);
                self.violate("INV-5", detail);
            }
            self.ended(job.id, before, JobStatus::Cancelled, None, now);
        }
    }

    /// The next fire of a fixed delay, and of any other schedule that is planned anew at `now`.
    pub(super) fn next_of(&self, definition: &TaskDefinition, now: Timestamp) -> Option<Timestamp> {
        self.ghost.schedules.oracles(definition).first().and_then(|oracle| oracle.next(now))
    }

    /// The final end of a job: where the next fire follows from that, it is planned now.
    pub(super) fn after_end(&mut self, id: JobId, finish: Timestamp) {
        let Some(job) = self.job(id) else { return };
        let (code, trigger) = (job.task.clone(), job.trigger);
        let Some(task) = self.ghost.tasks.get(&code) else { return };
        let fired = matches!(trigger, Trigger::Cron | Trigger::Misfire);
        if !fired || !task.enabled || task.next.is_some() || !crate::crons::is_delay(&task.definition) {
            return;
        }
        let next = self.next_of(&task.definition.clone(), finish);
        if next.is_none() {
            self.completes(&code);
        }
        if let Some(task) = self.ghost.tasks.get_mut(&code) {
            task.next = next;
        }
    }

    fn completes(&mut self, code: &TaskCode) {
        *self.ghost.schedules.completed.entry(code.clone()).or_default() += 1;
    }

    /// POLICY only what nobody holds and has not begun, and not before its deadline.
    pub(crate) fn expire(&mut self, expiries: &[Expiry], now: Timestamp) -> Answer<Vec<JobId>> {
        let answer = at_once(self.world.store.expire(expiries.to_vec(), now));
        let expired = self.sound("expire", answer)?;
        for id in &expired {
            self.event(format_args!("expires {id}"));
            let Some(job) = self.job(*id) else { continue };
            let (before, code, created) = (job.image.clone(), job.task.clone(), job.created);
            let deadline = self.ghost.tasks.get(&code).and_then(|task| task.definition.start_deadline_seconds);
            let is_due = deadline.is_none_or(|seconds| now.ms_since(created) > i64::from(seconds) * 1_000);
            if job.fires.is_none() || job.claim.is_some() || before.attempts > 0 || !is_due {
                let detail = format!("job {id} is skipped as expired at {now}, {deadline:?} s are allowed: {before:?}");
                self.violate("POLICY", detail);
            }
            self.ended(*id, before, JobStatus::Skipped, None, now);
            self.check_task(&code, "INV-15");
        }
        Ok(expired)
    }

    pub(crate) fn replan(&mut self, replans: &[Replan], now: Timestamp) -> Answer<Vec<bool>> {
        let answer = self.world.planted.replan(self.world.store.as_ref(), replans, now);
        let answers = self.sound("replan", answer)?;
        for (replan, done) in replans.iter().zip(&answers) {
            self.event(format_args!("replans {} from {:?} to {:?}: {done}", replan.task, replan.from, replan.to));
            let Some(task) = self.ghost.tasks.get(&replan.task).cloned() else { continue };
            let as_seen = task.enabled && task.version == replan.version && task.next == replan.from;
            if as_seen {
                let choices = self.ghost.schedules.oracles(&task.definition);
                let is_right = choices.iter().any(|oracle| oracle.next(now) == replan.to);
                // A later one passes over nothing only when days were taken out of its calendar.
                let passes_over =
                    task.definition.calendar.is_none() && replan.to > replan.from && replan.from.is_some();
                if !is_right || passes_over {
                    let detail = format!("{} is planned anew from {:?} to {:?}", replan.task, replan.from, replan.to);
                    self.violate("INV-15", detail);
                }
                self.ghost.counts.replans += 1;
                self.plans(&replan.task, replan.to, now);
            }
            if as_seen && !done {
                self.violate("INV-15", format!("{} was as it had been seen, its replan was refused", replan.task));
            }
            self.check_task(&replan.task, "INV-15");
        }
        Ok(answers)
    }

    /// From `now` on the task fires as it is defined, first at `next`.
    pub(super) fn plans(&mut self, code: &TaskCode, next: Option<Timestamp>, now: Timestamp) {
        let Some(task) = self.ghost.tasks.get_mut(code) else { return };
        let (pending, definition) = (task.next, task.definition.clone());
        task.next = next;
        self.ghost.schedules.close_span(code, pending);
        if next.is_some() {
            self.ghost.schedules.open_span(code, &definition, now);
        }
    }
}

#[derive(Debug, PartialEq)]
enum Expected {
    Stored(Vec<JobId>),
    Skipped(SkipReason),
}

enum Meets {
    Joins,
    JoinsBelow(usize),
    Replaces,
}

/// As the manual says it.
fn on_live(job: &NewJob, definition: &TaskDefinition) -> Meets {
    let below = match definition.overlap {
        // Those that catch up wait for each other.
        _ if job.serial => return Meets::Joins,
        Overlap::Allow => return Meets::Joins,
        Overlap::Replace => return Meets::Replaces,
        Overlap::Forbid => 1,
        Overlap::QueueOne => 2,
    };
    match definition.misfire {
        Misfire::FireAll => Meets::JoinsBelow(below.max(definition.max_catchup as usize)),
        Misfire::FireOnce | Misfire::Skip => Meets::JoinsBelow(below),
    }
}
