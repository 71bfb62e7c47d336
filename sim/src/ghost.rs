//! What must be true, kept outside of the product: every job with its claims and bodies, who owns which key, what was
//! answered to whom.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_model::job::{Fires, QueueEntry};
use mainspring_model::operations::JobOperation;
use mainspring_model::{
    AttemptStatus, BizId, Fence, Incarnation, Job, JobId, JobStatus, PoolName, QueueState, RateLimit, TaskCode,
    TaskDefinition, Timestamp, Trigger, Unique, limits,
};
use mainspring_store::{Held, PoolSettings, WhenFull};

use crate::ghost_schedule::Schedules;
use crate::trace::Trace;

/// A broken promise, named as in the list of invariants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: &'static str,
    pub detail: String,
}

/// After this many the run has told enough.
const VIOLATIONS_MAX: usize = 20;

#[derive(Debug)]
pub(crate) struct Ghost {
    pub(crate) jobs: BTreeMap<JobId, GhostJob>,
    pub(crate) keys: BTreeMap<(TaskCode, BizId), JobId>,
    pub(crate) tasks: BTreeMap<TaskCode, GhostTask>,
    pub(crate) schedules: Schedules,
    /// Whether the incarnation is live.
    pub(crate) nodes: BTreeMap<Incarnation, bool>,
    /// By the number of the wish in the workload.
    pub(crate) wishes: BTreeMap<u32, Wish>,
    pub(crate) acks: Vec<Ack>,
    pub(crate) ceilings: BTreeMap<PoolName, Ceiling>,
    pub(crate) pool_rates: BTreeMap<PoolName, RateLimit>,
    /// Bodies by node and pool.
    pub(crate) running: BTreeMap<(u32, PoolName), u32>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) trace: Trace,
    pub(crate) counts: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) refused_calls: u64,
    pub(crate) unknown: u64,
    pub(crate) crashes: u64,
    pub(crate) pauses: u64,
    pub(crate) stops: u64,
    pub(crate) clock_steps: u64,
    pub(crate) outages: u64,
    pub(crate) operations: u64,
    pub(crate) bodies: u64,
    pub(crate) repeated_bodies: u64,
    pub(crate) lost: u64,
    pub(crate) late_settlements: u64,
    pub(crate) fires: u64,
    pub(crate) skipped_fires: u64,
    pub(crate) replans: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GhostTask {
    pub(crate) enabled: bool,
    pub(crate) definition: TaskDefinition,
    pub(crate) version: i64,
    pub(crate) next: Option<Timestamp>,
}

/// The most that a pool may hold and run, whatever its settings were since.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ceiling {
    pub(crate) concurrency: u32,
    pub(crate) capacity: u32,
    /// Submitters are slots too: the number of bodies is not bounded by the pool.
    pub(crate) callers_run: bool,
}

#[derive(Debug)]
pub(crate) struct GhostJob {
    pub(crate) image: Image,
    pub(crate) stored_ms: u64,
    pub(crate) task: TaskCode,
    pub(crate) pool: PoolName,
    pub(crate) biz_id: Option<BizId>,
    pub(crate) unique: Unique,
    pub(crate) max_retry: u32,
    /// Who holds it now.
    pub(crate) claim: Option<GhostClaim>,
    /// The highest fence that was ever given to a claim.
    pub(crate) newest_fence: Fence,
    /// It was in the memory of a node that died, and has not been settled since.
    pub(crate) suspect: bool,
    pub(crate) trigger: Trigger,
    pub(crate) fires: Option<Fires>,
    pub(crate) created: Timestamp,
    /// By what the limits of its task count it.
    pub(crate) key: String,
    /// One of those that catch up, one after another.
    pub(crate) serial: bool,
    /// How many bodies its lane allowed when it was claimed.
    pub(crate) limits: BTreeMap<Fence, Option<u32>>,
    /// Claims that somebody took away: their bodies may run on for a while.
    pub(crate) revoked: BTreeSet<Fence>,
    /// Accepted settlements.
    pub(crate) settled: BTreeMap<Fence, AttemptStatus>,
    /// When a settlement was first sent.
    pub(crate) settle_sent_ms: BTreeMap<Fence, u64>,
    /// Failed bodies and losses of this generation: a person's retry begins a new one.
    pub(crate) failures: u32,
    pub(crate) losses: u32,
    pub(crate) bodies: BTreeMap<Fence, Body>,
    /// What people did to it: the same again is answered as before and changes nothing.
    pub(crate) operations: Vec<(JobOperation, Fence, Timestamp)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct GhostClaim {
    pub(crate) fence: Fence,
    pub(crate) owner: Incarnation,
    pub(crate) since_ms: u64,
    pub(crate) start_written: bool,
    /// When it may begin, where that is later than the job is due.
    pub(crate) due: Timestamp,
}

impl GhostClaim {
    pub(crate) fn new(fence: Fence, owner: Incarnation, since_ms: u64) -> GhostClaim {
        GhostClaim { fence, owner, since_ms, start_written: false, due: Timestamp::default() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) node: u32,
    pub(crate) began_ms: u64,
    pub(crate) ended_ms: Option<u64>,
    pub(crate) said_done: bool,
    pub(crate) not_before_ms: Option<i64>,
}

/// The part of a job's record that decides what happens to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Image {
    pub(crate) status: JobStatus,
    pub(crate) retry_count: u32,
    pub(crate) lost_count: u32,
    pub(crate) attempts: u32,
    pub(crate) fence: Fence,
    pub(crate) queue: Option<QueueEntry>,
}

impl Image {
    pub(crate) fn of(job: &Job) -> Image {
        Image {
            status: job.status,
            retry_count: job.retry_count,
            lost_count: job.lost_count,
            attempts: job.attempts,
            fence: job.fence,
            queue: job.queue.map(as_waiting),
        }
    }

    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.queue.map(|entry| entry.due)
    }
}

/// What a job waits for in the store is checked where it is handed out, and by its end.
fn as_waiting(entry: QueueEntry) -> QueueEntry {
    match entry.state {
        QueueState::Limited | QueueState::Throttled => QueueEntry { state: QueueState::Queued, ..entry },
        _ => entry,
    }
}

/// One job that somebody wanted, however often it was asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
    pub(crate) stored: Vec<JobId>,
    /// What the asker knows for certain.
    pub(crate) told: Told,
    /// It may be stored again after its end: its key is free then.
    pub(crate) repeatable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Told {
    #[default]
    NothingYet,
    /// Every answer said that nothing was stored.
    Refused,
    /// Some answer left it open.
    Unknown,
    Stored,
}

#[derive(Debug, Clone)]
pub(crate) struct Ack {
    pub(crate) id: JobId,
    pub(crate) task: TaskCode,
    pub(crate) wish: u32,
    pub(crate) duplicate: bool,
}

impl Ghost {
    pub(crate) fn new(trace: Trace) -> Ghost {
        Ghost {
            jobs: BTreeMap::new(),
            keys: BTreeMap::new(),
            tasks: BTreeMap::new(),
            schedules: Schedules::default(),
            nodes: BTreeMap::new(),
            wishes: BTreeMap::new(),
            acks: Vec::new(),
            ceilings: BTreeMap::new(),
            pool_rates: BTreeMap::new(),
            running: BTreeMap::new(),
            violations: Vec::new(),
            trace,
            counts: Counts::default(),
        }
    }

    pub(crate) fn violate(&mut self, at_ms: u64, invariant: &'static str, detail: String) {
        self.trace.add(at_ms, &format!("VIOLATION {invariant} {detail}"));
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation { invariant, detail });
        }
    }

    /// The claim is the newest one and nothing has ended it.
    pub(crate) fn holds(&self, held: Held) -> bool {
        self.jobs.get(&held.id).and_then(|job| job.claim).is_some_and(|claim| claim.fence == held.fence)
    }

    /// A job has become final: a key for its life is free.
    pub(crate) fn free_key(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        if let (Some(biz_id), Unique::Live) = (&job.biz_id, job.unique) {
            let key = (job.task.clone(), biz_id.clone());
            if self.keys.get(&key) == Some(&id) {
                self.keys.remove(&key);
            }
        }
    }

    pub(crate) fn allow(&mut self, pool: &PoolSettings) {
        let ceiling = self.ceilings.entry(pool.name.clone()).or_default();
        ceiling.concurrency = ceiling.concurrency.max(pool.concurrency);
        // Urgent jobs have a few places more.
        let places = pool.queue_capacity + limits::urgent_places(pool.queue_capacity);
        ceiling.capacity = ceiling.capacity.max(places);
        ceiling.callers_run |= pool.when_full == WhenFull::CallerRuns;
    }

    pub(crate) fn live_jobs(&self) -> usize {
        self.jobs.values().filter(|job| !job.image.status.is_final()).count()
    }
}
