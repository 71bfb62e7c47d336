//! The schedule: fire times become records, and the next one is planned, in one step.

use mainspring_model::job::{Fires, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{Incarnation, Job, JobStatus, Task, TaskCode, Timestamp, Trigger, Unique};

use super::submit::new_record;
use super::{Alert, Data, Record};
use crate::rules::{self, AnyStored};
use crate::{Fire, FireEnd, FireEntry, Fired, NewJob, Replan};

impl Data {
    pub(super) fn fire(&mut self, owner: Incarnation, fire: &Fire, now: Timestamp) -> Fired {
        let is_as_seen = |task: &&Task| {
            task.version == fire.version && task.switch == TaskSwitch::Enabled && task.next_fire_time == Some(fire.due)
        };
        let Some(task) = self.tasks.get(&fire.task).filter(is_as_seen).cloned() else {
            return self.fired_before(owner, fire);
        };
        let ends: Vec<FireEnd> = fire.entries.iter().map(|entry| self.fire_entry(owner, entry, &task)).collect();
        let is_any_stored = match ends.iter().any(|end| matches!(end, FireEnd::Stored { .. })) {
            true => AnyStored::Yes,
            false => AnyStored::No,
        };
        let latest = fire.entries.iter().filter_map(|entry| entry.job.fires).map(|fires| fires.last).max();
        let stored = self.tasks.get_mut(&fire.task).expect("it was read under this lock");
        stored.prev_fire_time = latest.max(stored.prev_fire_time);
        // After the entries: the end of a job that was replaced sets no fire time of its own.
        self.set_next_fire(&fire.task, rules::next_of_fire(fire.next, is_any_stored, &task.definition, now));
        Fired::Done(ends)
    }

    /// A repetition finds what the first call stored.
    fn fired_before(&self, owner: Incarnation, fire: &Fire) -> Fired {
        let is_planned = || self.tasks.get(&fire.task).is_some_and(|task| task.next_fire_time == fire.next.time());
        let is_repeated = match fire.entries.is_empty() {
            true => is_planned(),
            false => fire.entries.iter().any(|entry| self.records.contains_key(&entry.job.id)),
        };
        if !is_repeated {
            return Fired::Moved;
        }
        let end = |entry: &FireEntry| match self.records.get(&entry.job.id).map(|record| &record.job) {
            None => FireEnd::Duplicate,
            Some(Job { status: JobStatus::Skipped, skip_reason: Some(reason), .. }) => FireEnd::Skipped(*reason),
            Some(_) => FireEnd::Stored { claimed: self.is_claimed(owner, &entry.job), replaced: Vec::new() },
        };
        Fired::Done(fire.entries.iter().map(end).collect())
    }

    fn fire_entry(&mut self, owner: Incarnation, entry: &FireEntry, task: &Task) -> FireEnd {
        let fires = entry.job.fires.unwrap_or(Fires::one(entry.job.execute_time));
        let key = fires.key();
        let new = NewJob { biz_id: Some(key.clone()), unique: Unique::Always, ..entry.job.clone() };
        let key = (key, new.task.clone());
        if self.keys.contains_key(&key) {
            return FireEnd::Duplicate;
        }
        self.keys.insert(key, new.id);
        if let Some(reason) = entry.skip {
            self.skip(&new, reason, rules::skip_text(reason, &fires, &task.definition, None));
            return FireEnd::Skipped(reason);
        }
        let first_live = self.live_of(&new.task).first().copied();
        let Some(replaced) = self.make_way(&new) else {
            let reason = SkipReason::Overlap;
            self.skip(&new, reason, rules::skip_text(reason, &fires, &task.definition, first_live));
            return FireEnd::Skipped(reason);
        };
        FireEnd::Stored { claimed: self.store_new(owner, &new, task), replaced }
    }

    fn skip(&mut self, new: &NewJob, reason: SkipReason, words: String) {
        let job = Job {
            status: JobStatus::Skipped,
            skip_reason: Some(reason),
            error_msg: Some(words),
            finish_time: Some(new.create_time),
            ..new_record(new)
        };
        self.records.insert(new.id, Record { job, unique: new.unique, result: None });
    }

    fn set_next_fire(&mut self, code: &TaskCode, next: NextFire) {
        if let Some(task) = self.tasks.get_mut(code) {
            task.next_fire_time = next.time();
        }
        if next == NextFire::Never {
            self.alerts.push(Alert { kind: "TASK_COMPLETED", job: None });
        }
    }

    /// What a final end means for the next fire time.
    pub(super) fn after_end(&mut self, code: &TaskCode, trigger: Trigger, finish: Timestamp) {
        let task = self.tasks.get(code);
        if let Some(next) = task.and_then(|task| rules::next_after_end(task, trigger, finish)) {
            self.set_next_fire(code, next);
        }
    }

    pub(super) fn replan(&mut self, replan: &Replan) -> bool {
        let Some(task) = self.tasks.get_mut(&replan.task) else { return false };
        let is_as_seen =
            task.version == replan.version && task.switch == TaskSwitch::Enabled && task.next_fire_time == replan.from;
        if is_as_seen {
            task.next_fire_time = replan.to;
        }
        task.next_fire_time == replan.to
    }
}
