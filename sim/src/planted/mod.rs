//! Faults built in on purpose between the checks and the real store. Each must be seen by the check that is named for
//! it: a check that nothing can fail proves nothing.

mod schedule;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use mainspring_model::decide::Next;
use mainspring_model::operations::JobOperation;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{Fence, Incarnation, JobId, JobStatus, TaskCode, Timestamp, Unique};
use mainspring_store::{
    Beat, Claim, ClaimRequest, Claimed, GiveBack, Held, Joined, NewJob, NewNode, Operate, Operated, Settled,
    Settlement, Started, Store, StoreError, Submitted,
};

use crate::locked;
use crate::steps::at_once;

type Answer<T> = Result<T, StoreError>;

macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident $invariant:literal,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug { $($(#[$doc])* $bug,)+ }

        impl Bug {
            pub const ALL: &'static [Bug] = &[$(Bug::$bug),+];

            /// The invariant whose check must see it.
            pub const fn breaks(self) -> &'static str { match self { $(Bug::$bug => $invariant),+ } }
        }
    };
}

bugs! {
    /// A submit is acknowledged and was never written.
    AckBeforeCommit "INV-1",
    /// An unknown outcome is told as "nothing was stored": the caller sends its job again.
    UnknownToldAsRefused "INV-1",
    /// A key for ever is not looked at.
    KeyForgotten "INV-2",
    /// A key is not freed with the end of its job.
    KeyNeverFreed "INV-3",
    /// A claim brings more than there is room for.
    ClaimTooMany "INV-4",
    /// The fence begins anew after a release.
    FenceReset "INV-5",
    /// A settlement that was accepted is accepted again when it is repeated.
    SettledTwice "INV-6",
    /// A settlement writes under whatever fence the job has now.
    SettleIgnoresFence "INV-7",
    /// A late settlement opens a final job again.
    FinalRewritten "INV-8",
    /// The start of a body is never refused.
    StartUnfenced "INV-9",
    /// The heartbeat takes over what this node itself holds.
    LiveTakenOver "INV-10",
    /// A claim is given out twice.
    ClaimTwice "INV-11",
    /// A job ends failed, and no person is told.
    DeadInSilence "INV-12",
    /// Jobs are claimed and told to be due an hour early.
    ClaimEarly "INV-16",
    /// A disabled task takes jobs.
    DisabledTakesJobs "INV-17",
    /// Claimed jobs that have not started are not counted against their lane.
    ClaimedNotCounted "INV-20",
    /// What is given back still counts against its lane.
    LaneKept "INV-20",
    /// Nobody of a lane goes on after one of its jobs was given back or cancelled.
    LaneStuck "LIV-1",
    /// Those that catch up start side by side.
    CatchUpAtOnce "INV-20",
    /// A rate counts anew in every period of the clock.
    RateTumbles "RATE",
    /// The next fire time is computed from now.
    NextFromNow "INV-15",
    /// The next fire of a fixed delay follows from the beginning of its job.
    DelayFromStart "INV-15",
    /// A clock that went back far changes no fire time.
    ReplanNever "INV-15",
    /// A fire time that has a record fires again.
    FireKeyForgotten "INV-13",
    /// The next fire time is written, the job waits in memory to be written.
    FireInMemoryOnly "INV-14",
    /// What the misfire policy skips leaves no record.
    MisfireUnrecorded "INV-14",
    /// A fire does not look whether its task was changed.
    FireUnguarded "INV-17",
    /// A fire writes back all that it has read of the task, its switch too.
    WholeRowWritten "INV-17",
    /// A fire joins whatever is live.
    OverlapIgnored "POLICY",
    /// A job that is replaced keeps its fence.
    ReplaceKeepsFence "INV-5",
    /// Failures are not counted.
    RetryWithoutBudget "INV-18",
    /// What ran on a dead node is released, its loss is not counted.
    LossNotCounted "INV-18",
    /// A retry is due at once.
    RetryAtOnce "INV-19",
    /// A late settlement in a batch makes the whole batch late.
    OneLateAllLate "INV-22",
    /// A claim is lost on its way into memory.
    ClaimForgotten "LIV-1",
    /// One pool is left out of every claim.
    PoolStarved "LIV-4",
    /// The store never answers a node that leaves.
    StopHangs "LIV-5",
}

/// The bug of this run, and what it has to remember.
#[derive(Debug)]
pub(crate) struct Planted {
    bug: Option<Bug>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    calls: u32,
    /// The true fence behind the one that was shown.
    fences: BTreeMap<JobId, Fence>,
    last_claim: Option<Claim>,
    /// Lanes, by task and key, that never go on.
    stuck: BTreeSet<(TaskCode, Option<String>)>,
}

impl Planted {
    pub(crate) fn new(bug: Option<Bug>) -> Planted {
        Planted { bug, memory: Mutex::default() }
    }

    pub(crate) fn is(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Every so many calls: a bug that strikes always would be too easy.
    fn strikes(&self, bug: Bug, every: u32) -> bool {
        if !self.is(bug) {
            return false;
        }
        let mut memory = locked(&self.memory);
        memory.calls += 1;
        memory.calls.is_multiple_of(every)
    }

    /// What the node hears of a submit.
    pub(crate) fn retell(&self, answer: Answer<Vec<Submitted>>) -> Answer<Vec<Submitted>> {
        match answer {
            Err(StoreError::Unknown { verb, kind, reason }) if self.is(Bug::UnknownToldAsRefused) => {
                Err(StoreError::NotApplied { verb, kind, reason })
            }
            answer => answer,
        }
    }

    /// What the node hears of a claim.
    pub(crate) fn retell_claim(&self, answer: Answer<Claimed>) -> Answer<Claimed> {
        let mut claimed = answer?;
        if self.strikes(Bug::ClaimForgotten, 4) {
            claimed.jobs.pop();
        }
        if self.is(Bug::ClaimTwice) {
            let mut memory = locked(&self.memory);
            let asked = |last: &Claim| claimed.next_due.iter().any(|(pool, _)| *pool == last.pool);
            let again = memory.last_claim.take().filter(asked);
            memory.last_claim = claimed.jobs.last().cloned();
            claimed.jobs.extend(again);
        }
        self.forget_stuck(&mut claimed);
        Ok(claimed)
    }

    pub(crate) fn submit(&self, store: &dyn Store, owner: Incarnation, jobs: &[NewJob]) -> Answer<Vec<Submitted>> {
        if self.strikes(Bug::AckBeforeCommit, 20) {
            let stored = |job: &NewJob| Submitted::Stored { claimed: job.claim, replaced: Vec::new() };
            return Ok(jobs.iter().map(stored).collect());
        }
        let mut jobs = jobs.to_vec();
        if self.is(Bug::KeyForgotten) {
            jobs.iter_mut().filter(|job| job.unique == Unique::Always).for_each(|job| job.biz_id = None);
        }
        if self.is(Bug::DisabledTakesJobs)
            && let Some(first) = jobs.first()
            && let Ok(Some(task)) = at_once(store.task(&first.task))
            && task.switch == TaskSwitch::Disabled
        {
            let (code, now) = (first.task.clone(), first.create_time);
            at_once(store.switch_task(code.clone(), TaskSwitch::Enabled, None, "bug".to_owned(), now))?;
            let answer = at_once(store.submit(owner, jobs));
            at_once(store.switch_task(code, TaskSwitch::Disabled, None, "bug".to_owned(), now))?;
            return answer;
        }
        at_once(store.submit(owner, jobs))
    }

    pub(crate) fn claim(&self, store: &dyn Store, request: &ClaimRequest) -> Answer<Claimed> {
        let mut request = request.clone();
        if self.is(Bug::ClaimEarly) {
            request.due_until = request.due_until.plus_ms(3_600_000);
        }
        if self.is(Bug::ClaimTooMany) {
            request.rooms.iter_mut().for_each(|room| room.jobs_max += 3);
        }
        if self.is(Bug::PoolStarved) {
            request.rooms.retain(|room| room.pool.as_str() != crate::workload::QUIET_POOL);
        }
        self.tumbling(&mut request);
        let mut claimed = at_once(store.claim(request.clone()))?;
        self.overclaim(store, &mut claimed)?;
        let mut memory = locked(&self.memory);
        for claim in &mut claimed.jobs {
            match self.bug {
                Some(Bug::ClaimEarly) => claim.due = claim.due.plus_ms(-3_600_000),
                Some(Bug::RetryWithoutBudget) => claim.retry_count = 0,
                Some(Bug::FenceReset) => {
                    memory.fences.insert(claim.id, claim.fence);
                    claim.fence = Fence(1);
                }
                _ => {}
            }
        }
        Ok(claimed)
    }

    pub(crate) fn give_back(&self, store: &dyn Store, held: &[Held], how: GiveBack, now: Timestamp) -> Answer<()> {
        held.iter().for_each(|held| self.lane_sticks(store, held.id));
        let mut held: Vec<Held> = held.iter().map(|held| self.true_held(*held)).collect();
        if self.is(Bug::LaneKept) {
            held.retain(|held| !is_in_lane(store, held.id));
        }
        at_once(store.give_back(held, how, now))
    }

    pub(crate) fn mark_started(&self, store: &dyn Store, started: &[Started]) -> Answer<Vec<bool>> {
        let started =
            started.iter().map(|start| Started { held: self.true_held(start.held), ..start.clone() }).collect();
        let answers = at_once(store.mark_started(started))?;
        Ok(answers.into_iter().map(|holds| holds || self.is(Bug::StartUnfenced)).collect())
    }

    pub(crate) fn settle(&self, store: &dyn Store, settlements: &[Settlement], now: Timestamp) -> Answer<Vec<Settled>> {
        let mut settlements = settlements.to_vec();
        for settlement in &mut settlements {
            settlement.held = self.true_held(settlement.held);
            self.distort(store, settlement, now);
            self.distort_end(settlement);
        }
        let ids: Vec<JobId> = settlements.iter().map(|settlement| settlement.held.id).collect();
        if self.is(Bug::OneLateAllLate) && settlements.iter().any(|one| !is_held(store, one.held)) {
            return Ok(vec![Settled::Lost; settlements.len()]);
        }
        let mut settled = at_once(store.settle(settlements, now))?;
        for (id, settled) in ids.into_iter().zip(&mut settled) {
            match (self.bug, *settled) {
                (Some(Bug::SettledTwice), Settled::AlreadyApplied) => *settled = Settled::Applied,
                (Some(Bug::FinalRewritten), Settled::Lost) => reopen(store, id, now),
                _ => {}
            }
        }
        Ok(settled)
    }

    fn distort(&self, store: &dyn Store, settlement: &mut Settlement, now: Timestamp) {
        let next = &mut settlement.decision.next;
        match (self.bug, next) {
            (Some(Bug::KeyNeverFreed), _) => settlement.live_key = None,
            (Some(Bug::SettleIgnoresFence), _) => {
                if let Ok(Some(job)) = at_once(store.job(settlement.held.id)) {
                    settlement.held.fence = job.fence;
                }
            }
            (Some(Bug::DeadInSilence), Next::Final { dead, .. }) => *dead = None,
            (Some(Bug::RetryAtOnce), Next::Again { due, .. }) => *due = now,
            _ => {}
        }
    }

    pub(crate) fn join(&self, store: &dyn Store, node: NewNode, now: Timestamp) -> Answer<Joined> {
        if self.is(Bug::LossNotCounted) {
            for other in at_once(store.nodes())? {
                at_once(store.leave(other.incarnation, now))?;
            }
        }
        at_once(store.join(node, now))
    }

    pub(crate) fn heartbeat(&self, store: &dyn Store, incarnation: Incarnation, lease_ms: i64) -> Answer<Beat> {
        if self.is(Bug::LiveTakenOver) {
            let held = at_once(store.held(incarnation))?;
            at_once(store.give_back(held, GiveBack::Release, at_once(store.now())?))?;
        }
        at_once(store.heartbeat(incarnation, lease_ms))
    }

    pub(crate) fn operate(&self, store: &dyn Store, operate: &Operate) -> Answer<Operated> {
        self.lane_sticks(store, operate.id);
        at_once(store.operate(operate.clone()))
    }

    fn true_held(&self, held: Held) -> Held {
        match locked(&self.memory).fences.get(&held.id) {
            Some(fence) if held.fence == Fence(1) => Held { fence: *fence, ..held },
            _ => held,
        }
    }
}

fn is_in_lane(store: &dyn Store, id: JobId) -> bool {
    let job = at_once(store.job(id)).ok().flatten();
    let task = job.and_then(|job| at_once(store.task(&job.task)).ok().flatten());
    task.is_some_and(|task| crate::crons::lane_limit(&task.definition).is_some())
}

fn is_held(store: &dyn Store, held: Held) -> bool {
    let job = at_once(store.job(held.id)).ok().flatten();
    job.is_some_and(|job| job.fence == held.fence && job.queue.is_some_and(|entry| entry.owner.is_some()))
}

fn reopen(store: &dyn Store, id: JobId, now: Timestamp) {
    let Ok(Some(job)) = at_once(store.job(id)) else { return };
    if job.status == JobStatus::Cancelled {
        let (seen_status, seen_fence) = (job.status, job.fence);
        let by = "bug".to_owned();
        let _ =
            at_once(store.operate(Operate { id, operation: JobOperation::Retry, seen_status, seen_fence, now, by }));
    }
}
