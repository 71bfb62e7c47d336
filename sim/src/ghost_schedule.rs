//! What must be true of schedules and limits, kept outside of the product: the next fire time of each task, who has
//! fired, since when it is enabled under which definition, and what was handed out under a rate.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_model::task::TaskDefinition;
use mainspring_model::{CalendarName, Fence, JobId, PoolName, RateLimit, TaskCode, Timestamp};

use crate::ghost::{Ghost, GhostJob};
use crate::oracle::Oracle;

#[derive(Debug, Default)]
pub(crate) struct Schedules {
    /// Each fire time that has a record: run, or skipped with its reason.
    pub(crate) fired: BTreeMap<(TaskCode, Timestamp), JobId>,
    pub(crate) spans: BTreeMap<TaskCode, Vec<EnabledSpan>>,
    /// The newest last.
    pub(crate) calendars: BTreeMap<CalendarName, Vec<CalendarVersion>>,
    /// What was ever declared, by its words.
    pub(crate) declared: BTreeSet<(TaskCode, String)>,
    /// Hand-outs by task and key, or by pool, since their rate was set; in the order of time.
    pub(crate) starts: BTreeMap<(String, String), Vec<Timestamp>>,
    /// When the first backfill of a task began that has not been answered.
    pub(crate) backfills: BTreeMap<TaskCode, u64>,
    /// Small steps back of the wall clock since the node started: so long a task may be silent.
    pub(crate) silent_ms: i64,
    /// Missed times, from the first to the last, of which the last had fired before its clock went back: no job is made
    /// for them, and no record.
    pub(crate) overtaken: Vec<(TaskCode, Timestamp, Timestamp)>,
    pub(crate) completed: BTreeMap<TaskCode, u64>,
    pub(crate) stopped: BTreeMap<TaskCode, u64>,
}

/// Fire times after `from`, and before `until` when it is over, belong to this definition.
#[derive(Debug, Clone)]
pub(crate) struct EnabledSpan {
    pub(crate) definition: TaskDefinition,
    /// The calendar that it was planned with may be any of those from here on.
    pub(crate) from: Timestamp,
    pub(crate) until: Option<Timestamp>,
    pub(crate) is_open: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct CalendarVersion {
    pub(crate) rests: BTreeSet<i64>,
    /// Somebody was told that this one holds: those before it do not any more.
    pub(crate) acknowledged: bool,
}

impl Schedules {
    /// The days on which a task may rest: more than one choice while a change is under way.
    pub(crate) fn rests(&self, definition: &TaskDefinition) -> Vec<BTreeSet<i64>> {
        let versions = definition.calendar.as_ref().and_then(|name| self.calendars.get(name));
        let Some(versions) = versions else { return vec![BTreeSet::new()] };
        let first = versions.iter().rposition(|version| version.acknowledged).unwrap_or(0);
        versions[first..].iter().map(|version| version.rests.clone()).collect()
    }

    pub(crate) fn oracles(&self, definition: &TaskDefinition) -> Vec<Oracle> {
        self.rests(definition).into_iter().filter_map(|rests| Oracle::of(definition, rests)).collect()
    }

    /// Counts one more start at `start`. `Some`: so many were handed out within one period around it.
    pub(crate) fn start(&mut self, scope: String, key: String, limit: RateLimit, start: Timestamp) -> Option<usize> {
        let starts = self.starts.entry((scope, key)).or_default();
        let at = starts.partition_point(|other| *other <= start);
        starts.insert(at, start);
        let end = |first: &Timestamp| first.plus(limit.period.0);
        let most = starts.iter().enumerate().map(|(at, first)| {
            let within = starts[at..].iter().take_while(|other| **other < end(first)).count();
            (within, *first)
        });
        let most = most.filter(|(_, first)| *first <= start && start < end(first)).map(|(within, _)| within).max()?;
        (most > limit.count as usize).then_some(most)
    }

    /// After a step of the wall clock. What lies ahead of it was handed out by another clock, and may be forgotten.
    pub(crate) fn clock_is_at(&mut self, now: Timestamp) {
        self.starts.values_mut().for_each(|starts| starts.retain(|start| *start <= now));
    }

    pub(crate) fn forget_starts(&mut self, scope: &str) {
        self.starts.retain(|(of, _), _| of != scope);
    }

    pub(crate) fn open_span(&mut self, code: &TaskCode, definition: &TaskDefinition, from: Timestamp) {
        let span = EnabledSpan { definition: definition.clone(), from, until: None, is_open: true };
        self.spans.entry(code.clone()).or_default().push(span);
    }

    /// Fire times from `pending` on, the one that was planned, belong to it no more.
    pub(crate) fn close_span(&mut self, code: &TaskCode, pending: Option<Timestamp>) {
        if let Some(span) = self.spans.get_mut(code).and_then(|spans| spans.last_mut()).filter(|span| span.is_open) {
            (span.until, span.is_open) = (pending, false);
        }
    }
}

pub(crate) fn task_scope(code: &TaskCode) -> String {
    format!("task {code}")
}

pub(crate) fn pool_scope(pool: &PoolName) -> String {
    format!("pool {pool}")
}

impl Ghost {
    pub(crate) fn live_of(&self, code: &TaskCode) -> Vec<JobId> {
        let live = self.jobs.iter().filter(|(_, job)| job.task == *code && !job.image.status.is_final());
        live.map(|(id, _)| *id).collect()
    }
}

/// Bodies that run now, and how many their claims allowed.
#[derive(Debug, Default)]
struct Running {
    bodies: u32,
    serial: u32,
    /// `None`: one of them was claimed without a limit.
    limit: Option<u32>,
}

impl Ghost {
    /// INV-20 for bodies. A body on a dead node, of a settled attempt (a zombie) or of a claim that was taken away does
    /// not count.
    pub(crate) fn lane_of_body(&self, id: JobId, fence: Fence, node: u32) -> Option<(&'static str, String)> {
        let job = self.jobs.get(&id)?;
        job.limits.get(&fence)?;
        let mut running = Running { limit: Some(0), ..Running::default() };
        let of_lane = |other: &&GhostJob| other.task == job.task && other.key == job.key;
        for other in self.jobs.values().filter(of_lane) {
            for (fence, body) in &other.bodies {
                let is_over = body.ended_ms.is_some() || body.node != node;
                if is_over || other.settled.contains_key(fence) || other.revoked.contains(fence) {
                    continue;
                }
                running.bodies += 1;
                running.serial += u32::from(other.serial);
                let limit = other.limits.get(fence).copied().flatten();
                running.limit = running.limit.zip(limit).map(|(most, limit)| most.max(limit));
            }
        }
        let too_many = running.limit.is_some_and(|limit| running.bodies > limit) || running.serial > 1;
        let detail = || format!("with {id}-{fence} the lane {} {:?} runs {running:?}", job.task, job.key);
        too_many.then(|| ("INV-20", detail()))
    }
}
