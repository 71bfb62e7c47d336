//! What the cases share: a store with one task, a node, and short words for its verbs.

use std::sync::Arc;

use mainspring_model::decide::{Budget, Decision, Next};
use mainspring_model::job::{DeadCause, OnLive, QueueState};
use mainspring_model::operations::JobOperation;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{
    Attempt, AttemptId, AttemptStatus, BizId, HandlerName, Incarnation, Job, JobId, JobStatus, PoolName, Priority,
    TaskCode, TaskDefinition, Timestamp, Trigger, Unique,
};

use super::Subject;
use crate::{
    Claim, ClaimRequest, Claimed, Held, Joined, NewJob, NewNode, Operate, Operated, PoolRoom, Replaces, Settled,
    Settlement, Started, Store, Submitted, TaskChange,
};

/// The instant at which every case begins.
pub(crate) const T0: Timestamp = Timestamp::from_ms(1_790_000_000_000);
pub(crate) const NODE: Incarnation = Incarnation(11);
pub(crate) const TASK: &str = "mail.send";

#[derive(Debug)]
pub struct World {
    pub(crate) store: Arc<dyn Store>,
}

impl World {
    pub async fn new(subject: &Subject) -> World {
        let world = World { store: Arc::clone(&subject.store) };
        world.create(TASK, definition()).await;
        world.join(NODE, T0).await;
        world
    }

    /// Without the task and the node: the store has been used before.
    pub fn of(subject: &Subject) -> World {
        World { store: Arc::clone(&subject.store) }
    }

    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// A history: of each ten jobs one fails, one waits for its retry, one runs, one is left in the queue.
    pub async fn fill(&self, jobs: i64) {
        self.submit_plain(1..=jobs).await;
        let room = u32::try_from(jobs * 9 / 10).expect("few");
        let claims = self.claim(room, T0).await.jobs;
        for (row, claim) in claims.iter().enumerate() {
            match row % 10 {
                0 => drop(self.settle(settlement(claim, failed(false))).await),
                1 => drop(self.settle(settlement(claim, again(AttemptStatus::Failed, at(99), Budget::Failure))).await),
                2 => drop(self.start(claim, at(5)).await),
                _ => drop(self.settle(settlement(claim, done(Some("ok")))).await),
            }
        }
    }

    pub async fn try_submit(&self, ids: std::ops::RangeInclusive<i64>) -> Result<(), crate::StoreError> {
        self.store.submit(NODE, ids.map(new_job).collect()).await.map(|_| ())
    }

    pub async fn submit_plain(&self, ids: std::ops::RangeInclusive<i64>) {
        self.stored(ids.map(new_job).collect()).await;
    }

    pub async fn claim_ids(&self, jobs_max: u32) -> Vec<i64> {
        self.claim(jobs_max, T0).await.jobs.iter().map(|claim| claim.id.0).collect()
    }

    pub async fn all_jobs(&self) -> Vec<Job> {
        let (mut jobs, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.store.jobs(crate::JobFilter::default(), 1_000, cursor).await.expect("reads");
            jobs.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return jobs;
            }
        }
    }

    pub async fn listed_ids(&self) -> Vec<i64> {
        self.all_jobs().await.iter().map(|job| job.id.0).collect()
    }

    pub(crate) async fn create(&self, code: &str, definition: TaskDefinition) {
        self.create_firing(code, definition, None).await;
    }

    pub(crate) async fn create_firing(&self, code: &str, definition: TaskDefinition, next_fire: Option<Timestamp>) {
        let by = "ann".to_owned();
        let change = self
            .store
            .create_task(task(code), definition, TaskSwitch::Enabled, next_fire, by, T0)
            .await
            .expect("creates");
        assert!(matches!(change, TaskChange::Written(_)), "{change:?}");
    }

    pub(crate) async fn join(&self, incarnation: Incarnation, now: Timestamp) -> Joined {
        self.store.join(new_node(incarnation, Replaces::Everyone), now).await.expect("joins")
    }

    pub(crate) async fn submit(&self, jobs: Vec<NewJob>) -> Vec<Submitted> {
        self.store.submit(NODE, jobs).await.expect("submits")
    }

    /// Stores jobs and insists on it.
    pub(crate) async fn stored(&self, jobs: Vec<NewJob>) {
        let answers = self.submit(jobs).await;
        assert!(answers.iter().all(|answer| matches!(answer, Submitted::Stored { .. })), "{answers:?}");
    }

    pub(crate) async fn claim(&self, jobs_max: u32, due_until: Timestamp) -> Claimed {
        self.claim_as(NODE, jobs_max, due_until).await
    }

    pub(crate) async fn claim_as(&self, owner: Incarnation, jobs_max: u32, due_until: Timestamp) -> Claimed {
        self.claim_by(claim_request(owner, jobs_max, due_until, due_until)).await
    }

    pub(crate) async fn claim_by(&self, request: ClaimRequest) -> Claimed {
        self.store.claim(request).await.expect("claims")
    }

    /// A stored and claimed job.
    pub(crate) async fn claimed(&self, job: NewJob) -> Claim {
        let id = job.id;
        self.stored(vec![job]).await;
        let mut claims = self.claim(100, T0).await.jobs;
        let at = claims.iter().position(|claim| claim.id == id).expect("the job is due");
        claims.swap_remove(at)
    }

    pub(crate) async fn start(&self, claim: &Claim, at: Timestamp) -> bool {
        self.store.mark_started(vec![started(claim, at)]).await.expect("starts")[0]
    }

    pub(crate) async fn settle(&self, settlement: Settlement) -> Settled {
        let now = settlement.finish_time;
        self.store.settle(vec![settlement], now).await.expect("settles")[0]
    }

    pub(crate) async fn job(&self, id: i64) -> Job {
        self.store.job(JobId(id)).await.expect("reads").expect("the job is stored")
    }

    pub(crate) async fn attempt(&self, held: Held) -> Option<Attempt> {
        self.store.attempt(AttemptId { job: held.id, fence: held.fence }).await.expect("reads")
    }

    /// As a person who has just read the job.
    pub(crate) async fn operate(&self, id: i64, operation: JobOperation, now: Timestamp) -> Operated {
        let job = self.job(id).await;
        self.store.operate(operate(&job, operation, now)).await.expect("operates")
    }

    pub(crate) async fn queue_state(&self, id: i64) -> Option<QueueState> {
        self.job(id).await.queue.map(|entry| entry.state)
    }
}

pub(crate) fn task(code: &str) -> TaskCode {
    TaskCode::stored(code)
}

pub(crate) fn definition() -> TaskDefinition {
    TaskDefinition::new("Send a mail", HandlerName::stored("mail"))
}

pub(crate) const fn at(ms: i64) -> Timestamp {
    T0.plus_ms(ms)
}

/// Due at once, without a key. Ids are those of the instant.
pub(crate) fn new_job(id: i64) -> NewJob {
    NewJob {
        id: JobId(id),
        task: task(TASK),
        biz_id: None,
        unique: Unique::Always,
        payload: Some(Arc::from(format!("{{\"n\":{id}}}"))),
        execute_time: T0,
        priority: Priority::Normal,
        max_retry: 3,
        timeout_ms: Some(5_000),
        pool: PoolName::default_pool(),
        trigger: Trigger::Submit,
        fires: None,
        create_time: T0,
        claim: false,
        on_live: OnLive::Join,
        concurrency_key: None,
        serial: false,
        shard: None,
    }
}

pub(crate) const LEASE_MS: i64 = 15_000;

pub(crate) fn new_node(incarnation: Incarnation, replaces: Replaces) -> NewNode {
    NewNode {
        incarnation,
        host: "here".to_owned(),
        pid: 7,
        version: "1".to_owned(),
        lease_ms: LEASE_MS,
        labels: vec!["gpu".to_owned()],
        handlers: vec!["mail".to_owned(), "report".to_owned()],
        replaces,
    }
}

pub(crate) fn stored() -> Submitted {
    Submitted::Stored { claimed: false, replaced: Vec::new() }
}

/// Of the default pool.
pub(crate) fn claim_request(owner: Incarnation, jobs_max: u32, due_until: Timestamp, now: Timestamp) -> ClaimRequest {
    let rooms = vec![PoolRoom { pool: PoolName::default_pool(), jobs_max }];
    ClaimRequest { owner, now, due_until, rooms, excluded: Vec::new() }
}

pub(crate) fn keyed(id: i64, biz_id: &str, unique: Unique) -> NewJob {
    NewJob { biz_id: Some(BizId::stored(biz_id)), unique, ..new_job(id) }
}

pub(crate) fn held(claim: &Claim) -> Held {
    claim.held()
}

pub(crate) fn started(claim: &Claim, start_time: Timestamp) -> Started {
    Started { held: held(claim), task: claim.task.clone(), attempt: claim.attempts + 1, node: 1, start_time }
}

pub(crate) fn settlement(claim: &Claim, decision: Decision) -> Settlement {
    Settlement {
        held: held(claim),
        task: claim.task.clone(),
        attempt: claim.attempts + 1,
        node: 1,
        start_time: at(10),
        finish_time: at(30),
        decision,
        live_key: claim.biz_id.clone().filter(|_| claim.unique == Unique::Live),
        start_written: false,
        lane: claim.lane.clone(),
        trigger: claim.trigger,
    }
}

pub(crate) fn done(result: Option<&str>) -> Decision {
    Decision {
        attempt: AttemptStatus::Success,
        next: Next::Final { status: JobStatus::Success, dead: None, stop_task: false },
        result: result.map(str::to_owned),
        error: None,
    }
}

pub(crate) fn failed(stop_task: bool) -> Decision {
    Decision {
        attempt: AttemptStatus::Failed,
        next: Next::Final { status: JobStatus::Failed, dead: Some(DeadCause::RetriesSpent), stop_task },
        result: None,
        error: Some("no such host".to_owned()),
    }
}

pub(crate) fn again(attempt: AttemptStatus, due: Timestamp, spends: Budget) -> Decision {
    let next = Next::Again { due, spends };
    Decision { attempt, next, result: None, error: Some("not yet".to_owned()) }
}

pub(crate) fn operate(job: &Job, operation: JobOperation, now: Timestamp) -> Operate {
    Operate { id: job.id, operation, seen_status: job.status, seen_fence: job.fence, now, by: "ann".to_owned() }
}
