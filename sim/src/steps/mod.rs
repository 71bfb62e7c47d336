//! One call of the store as one step: it is done, and what it answered and left behind is compared with the ghost.
//! Nothing comes in between, since the store answers within the poll.
//!
//! Each verb predicts the record after it from the record before it; `Desk::judge` names the invariant that a
//! difference breaks. Wherever the product can decide in more than one way, the check allows just these.

mod at_end;
mod at_end_schedule;
mod dispatch;
mod lanes;
mod nodes;
mod people;
mod plan;
mod schedule;
mod settle;
mod submit;
mod tasks;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::MutexGuard;
use std::task::{Context, Poll, Waker};

use mainspring_model::job::QueueEntry;
use mainspring_model::{Incarnation, JobId, QueueState, Timestamp};
use mainspring_store::StoreError;

use crate::ghost::{Ghost, GhostJob, Image};
use crate::locked;
use crate::world::World;

type Answer<T> = Result<T, StoreError>;

/// The embedded stores answer within the poll: whoever waits here waits for nobody.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(tokio::task::unconstrained(future));
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("an inline store answers within the poll"),
    }
}

pub(crate) struct Desk<'w> {
    pub(crate) world: &'w World,
    pub(crate) ghost: MutexGuard<'w, Ghost>,
    node: u32,
}

impl<'w> Desk<'w> {
    pub(crate) fn open(world: &'w World, node: u32) -> Desk<'w> {
        Desk { world, ghost: locked(&world.ghost), node }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.world.clock.elapsed_ms()
    }

    pub(crate) fn event(&mut self, event: std::fmt::Arguments<'_>) {
        let line = format!("node {} {event}", self.node);
        let at_ms = self.now_ms();
        self.ghost.trace.add(at_ms, &line);
    }

    pub(crate) fn violate(&mut self, invariant: &'static str, detail: String) {
        let at_ms = self.now_ms();
        self.ghost.violate(at_ms, invariant, detail);
    }

    /// The real store never refuses by itself here: an error of it is a fault of ours.
    fn sound<T>(&mut self, verb: &str, answer: Answer<T>) -> Answer<T> {
        if let Err(error) = &answer {
            self.violate("STORE", format!("{verb} failed without a simulated fault: {error}"));
        }
        answer
    }

    fn read_image(&self, id: JobId) -> Option<Image> {
        at_once(self.world.store.job(id)).ok().flatten().as_ref().map(Image::of)
    }

    /// Compares the record with what it must be now, and takes it as seen.
    fn judge(&mut self, verb: &'static str, id: JobId, expected: Image) {
        if let Some(before) = self.ghost.jobs.get(&id).map(|job| job.image.clone()) {
            self.judge_since(verb, id, &before, &expected);
        }
    }

    /// The same for a call that may have touched the job more than once since it was as `before`.
    fn judge_since(&mut self, verb: &'static str, id: JobId, before: &Image, expected: &Image) {
        let Some(seen) = self.read_image(id) else {
            return self.violate("INV-1", format!("{verb}: job {id} is not in the store any more"));
        };
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            job.image = seen.clone();
        }
        if seen != *expected {
            let invariant = broken_by(verb, before, expected, &seen);
            let detail = format!("{verb}: job {id} was {before:?}, must be {expected:?}, is {seen:?}");
            self.violate(invariant, detail);
        }
    }

    fn images(&self, ids: impl Iterator<Item = JobId>) -> BTreeMap<JobId, Image> {
        ids.filter_map(|id| self.job(id).map(|job| (id, job.image.clone()))).collect()
    }

    /// The records are read when the whole batch has been followed: several of its rows may be of one job. What they
    /// must be is in the ghost by then.
    fn judge_all(&mut self, verb: &'static str, before: BTreeMap<JobId, Image>) {
        for (id, before) in before {
            if let Some(expected) = self.job(id).map(|job| job.image.clone()) {
                self.judge_since(verb, id, &before, &expected);
            }
        }
    }

    /// A call that must not have touched the job.
    fn judge_untouched(&mut self, verb: &'static str, id: JobId) {
        if let Some(expected) = self.ghost.jobs.get(&id).map(|job| job.image.clone()) {
            self.judge(verb, id, expected);
        }
    }

    fn job(&self, id: JobId) -> Option<&GhostJob> {
        self.ghost.jobs.get(&id)
    }
}

fn broken_by(verb: &str, before: &Image, expected: &Image, seen: &Image) -> &'static str {
    let due = Image::due;
    if seen.fence < before.fence {
        "INV-5"
    } else if before.status.is_final() && seen.status != before.status && verb != "operate" {
        "INV-8"
    } else if seen.status.is_final() == seen.queue.is_some() {
        "INV-24"
    } else if seen.retry_count != expected.retry_count || seen.lost_count != expected.lost_count {
        "INV-18"
    } else if due(seen) != due(expected) {
        if verb == "settle" { "INV-19" } else { "INV-16" }
    } else if seen.queue.and_then(|entry| entry.owner) != expected.queue.and_then(|entry| entry.owner) {
        "INV-10"
    } else {
        "INV-12"
    }
}

fn queued(due: Timestamp) -> Option<QueueEntry> {
    Some(QueueEntry { state: QueueState::Queued, due, owner: None })
}

fn claimed(due: Timestamp, owner: Incarnation) -> Option<QueueEntry> {
    Some(QueueEntry { state: QueueState::Claimed, due, owner: Some(owner) })
}
