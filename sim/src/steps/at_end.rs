//! The whole store against the whole ghost: now and then, and when all is over.

use std::collections::BTreeSet;

use mainspring_model::{Job, JobId, JobStatus, QueueState, TaskCode, limits};
use mainspring_store::JobFilter;

use super::{Desk, at_once};
use crate::ghost::{Image, Told};

impl Desk<'_> {
    /// Nothing changed behind the back of the steps.
    pub(crate) fn sweep(&mut self) -> Vec<Job> {
        let mut stored = BTreeSet::new();
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let page = at_once(self.world.store.jobs(JobFilter::default(), limits::PAGE_SIZE_MAX, cursor));
            let Ok(page) = page else {
                self.violate("STORE", "jobs cannot be listed".to_owned());
                break;
            };
            for job in &page.items {
                if !stored.insert(job.id) {
                    self.violate("INV-24", format!("job {} is listed twice", job.id));
                }
                self.compare(job.id, Image::of(job));
            }
            listed.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let missing: Vec<JobId> = self.ghost.jobs.keys().filter(|id| !stored.contains(id)).copied().collect();
        if !missing.is_empty() {
            self.violate("INV-24", format!("accepted and not listed: {missing:?}"));
        }
        self.check_waiting(&listed);
        let codes: Vec<TaskCode> = self.ghost.tasks.keys().cloned().collect();
        for code in codes {
            self.check_task(&code, "INV-15");
        }
        listed
    }

    /// Only jobs in lanes wait for them, and not when nobody is left who could let them go on.
    fn check_waiting(&mut self, jobs: &[Job]) {
        let mut limited = BTreeSet::new();
        let mut moving = BTreeSet::new();
        let mut broken = Vec::new();
        for job in jobs {
            let Some(entry) = job.queue else { continue };
            let lane = (job.task.clone(), job.concurrency_key.clone().unwrap_or_default());
            let definition = self.ghost.tasks.get(&job.task).map(|task| &task.definition);
            let serial = self.job(job.id).is_some_and(|known| known.serial);
            let in_lane = serial || definition.is_some_and(crate::crons::is_guarded);
            match entry.state {
                QueueState::Limited | QueueState::Throttled if !in_lane => {
                    broken.push(("LANE", format!("job {} of a task without limits is {}", job.id, entry.state)));
                }
                QueueState::Limited => drop(limited.insert(lane)),
                QueueState::Queued | QueueState::Claimed | QueueState::Started | QueueState::Throttled => {
                    moving.insert(lane);
                }
                QueueState::Parked => {}
            }
        }
        for (code, key) in limited.difference(&moving) {
            broken.push(("LANE", format!("jobs of lane {code} {key:?} wait, and nobody lets them go on")));
        }
        for (invariant, detail) in broken {
            self.violate(invariant, detail);
        }
    }

    fn compare(&mut self, id: JobId, seen: Image) {
        let Some(job) = self.ghost.jobs.get_mut(&id) else {
            return self.violate("INV-4", format!("job {id} is stored, nobody was told so"));
        };
        if job.image != seen {
            let before = std::mem::replace(&mut job.image, seen.clone());
            let broken = super::broken_by("sweep", &before, &before, &seen);
            self.violate(broken, format!("job {id} changed by itself from {before:?} to {seen:?}"));
        }
    }

    /// INV-1: what was acknowledged is there once, what was refused is not, and the store finds no fault with itself.
    pub(crate) fn check_end(&mut self) {
        let jobs = self.sweep();
        self.check_fire_times(&jobs);
        for ack in self.ghost.acks.clone() {
            match self.job(ack.id) {
                Some(job) if job.task == ack.task => {}
                _ => self.violate("INV-1", format!("job {} of wish {} was acknowledged and is lost", ack.id, ack.wish)),
            }
        }
        let told = |wish: &u32, acks: &[crate::ghost::Ack]| acks.iter().any(|ack| ack.wish == *wish && !ack.duplicate);
        let mut broken = Vec::new();
        for (number, wish) in &self.ghost.wishes {
            let jobs = wish.stored.len();
            if jobs > 1 && !wish.repeatable {
                broken.push(("INV-1", format!("wish {number} is stored {jobs} times: {:?}", wish.stored)));
            }
            if jobs > 0 && wish.told == Told::Refused {
                broken.push(("INV-4", format!("wish {number} was refused and is stored: {:?}", wish.stored)));
            }
            if jobs == 0 && told(number, &self.ghost.acks) {
                broken.push(("INV-1", format!("wish {number} was acknowledged and is not stored")));
            }
        }
        let dead = self.dead_jobs();
        for (id, job) in &self.ghost.jobs {
            let failed = matches!(job.image.status, JobStatus::Failed | JobStatus::Timeout);
            if failed != dead.contains(id) {
                let listed = dead.contains(id);
                broken.push(("INV-12", format!("job {id} is {}, among the dead jobs: {listed}", job.image.status)));
            }
        }
        for (invariant, detail) in broken {
            self.violate(invariant, detail);
        }
        match at_once(self.world.store.verify()) {
            Ok(found) => {
                for violation in found {
                    self.violate(violation.invariant, format!("verify: {}", violation.detail));
                }
            }
            Err(error) => self.violate("STORE", format!("verify failed: {error}")),
        }
    }

    fn dead_jobs(&self) -> BTreeSet<JobId> {
        let mut dead = BTreeSet::new();
        let mut cursor = None;
        while let Ok(page) = at_once(self.world.store.dead_jobs(None, limits::PAGE_SIZE_MAX, cursor)) {
            dead.extend(page.items.iter().map(|job| job.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        dead
    }
}
