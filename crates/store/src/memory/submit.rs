//! New jobs: their key, what they do when jobs of their task are live, their record and their place in the queue.

use mainspring_model::job::{Lane, OnLive, QueueState};
use mainspring_model::{AttemptStatus, Code, Fence, Incarnation, Job, JobId, JobStatus, Task, TaskCode, Unique};

use super::admin::EndByOthers;
use super::{Data, Queued, Record};
use crate::rules::{self, Meeting, Place};
use crate::{NewJob, PoolSettings, ReplacedJob, Submitted};

impl Data {
    pub(super) fn submit(&mut self, owner: Incarnation, new: &NewJob) -> Submitted {
        if self.records.contains_key(&new.id) {
            // An earlier try, whatever has happened to its task and key since.
            return Submitted::Stored { claimed: self.is_claimed(owner, new), replaced: Vec::new() };
        }
        let refuse = |code| Submitted::Refused(rules::refused_task(code, &new.task));
        let task = match self.tasks.get(&new.task) {
            None => return refuse(Code::TaskNotFound),
            Some(task) if !rules::takes(task, new) => return refuse(Code::TaskDisabled),
            Some(task) => task.clone(),
        };
        let key = new.biz_id.clone().map(|biz_id| (biz_id, new.task.clone()));
        if let Some(first) = key.as_ref().and_then(|key| self.keys.get(key)).and_then(|id| self.records.get_mut(id)) {
            first.job.duplicates += 1;
            first.job.last_duplicate = Some(new.create_time);
            return Submitted::Duplicate {
                id: first.job.id,
                status: first.job.status,
                execute_time: first.job.execute_time,
                payload_differs: first.job.payload != new.payload,
            };
        }
        let Some(replaced) = self.make_way(new) else {
            return Submitted::Refused(rules::refused_running(&task));
        };
        if let Some(key) = key {
            self.keys.insert(key, new.id);
        }
        Submitted::Stored { claimed: self.store_new(owner, new, &task), replaced }
    }

    /// An earlier try claimed it for this node, by its own insert: a job that the node claimed later is known to it
    /// already, and so is one that has ended.
    pub(super) fn is_claimed(&self, owner: Incarnation, new: &NewJob) -> bool {
        let at_insert = self.records.get(&new.id).is_some_and(|record| record.job.fence == Fence(1));
        let is_ours = |queued: &Queued| {
            at_insert && queued.state == QueueState::Claimed && queued.owner == Some(owner) && queued.fence == Fence(1)
        };
        new.claim && self.queue.get(&new.id).is_some_and(is_ours)
    }

    /// Without the parts of broadcasts: their parents count for them.
    pub(super) fn live_of(&self, task: &TaskCode) -> Vec<JobId> {
        let counts = |(id, queued): &(&JobId, &Queued)| {
            queued.task == *task && self.records.get(*id).is_none_or(|record| record.job.shard.is_none())
        };
        self.queue.iter().filter(counts).map(|(id, _)| *id).collect()
    }

    /// `None`: it keeps away from the live jobs of its task. Otherwise those that were cancelled for it.
    pub(super) fn make_way(&mut self, new: &NewJob) -> Option<Vec<ReplacedJob>> {
        if new.on_live == OnLive::Join {
            return Some(Vec::new()); // without counting them
        }
        let live = self.live_of(&new.task);
        match rules::meet(new.on_live, count(&live)) {
            Meeting::Join => Some(Vec::new()),
            Meeting::KeepAway => None,
            Meeting::Replace => Some(live.into_iter().map(|id| self.replace(id, new)).collect()),
        }
    }

    fn replace(&mut self, id: JobId, new: &NewJob) -> ReplacedJob {
        let job = self.job(id).expect("a queue row has its record");
        let error = rules::replaced_text(new.id);
        self.end_by_others(
            &job,
            EndByOthers {
                status: JobStatus::Cancelled,
                attempt: AttemptStatus::Cancelled,
                message: error.clone(),
                now: new.create_time,
            },
        );
        ReplacedJob { id, fence: job.fence.next(), pool: job.pool, error }
    }

    /// Record and queue row. Is it its submitter's at once?
    pub(super) fn store_new(&mut self, owner: Incarnation, new: &NewJob, task: &Task) -> bool {
        let lane = rules::lane_of(Some(&task.definition), Place::of_new(new), new.concurrency_key.as_deref());
        let live = if lane.is_some() { count(&self.live_of(&new.task)) } else { 0 };
        // What such a pool holds, and its starts, are counted where jobs are claimed.
        let has_limit = |pool: &PoolSettings| pool.rate_limit.is_some() || pool.cluster_concurrency.is_some();
        let is_limited = self.pools.get(&new.pool).is_some_and(has_limit);
        let may_claim = rules::claims_at_insert(lane.as_ref(), task.definition.rate_limit, live);
        let claimed = new.claim && may_claim && !is_limited;
        self.enqueue(new, lane, claimed.then_some(owner));
        let job = Job { fence: Fence(i64::from(claimed)), ..new_record(new) };
        self.records.insert(new.id, Record { job, unique: new.unique, result: None });
        claimed
    }

    fn enqueue(&mut self, new: &NewJob, lane: Option<Lane>, owner: Option<Incarnation>) {
        let queued = Queued {
            task: new.task.clone(),
            due: new.execute_time,
            fence: Fence(i64::from(owner.is_some())),
            owner,
            state: if owner.is_some() { QueueState::Claimed } else { QueueState::Queued },
            suspect: false,
            lane,
        };
        self.queue.insert(new.id, queued);
    }

    /// Frees the key that a job holds while it is live.
    pub(super) fn free_live_key(&mut self, id: JobId) {
        let record = &self.records[&id];
        if let Some(biz_id) = record.job.biz_id.clone().filter(|_| record.unique == Unique::Live) {
            let key = (biz_id, record.job.task.clone());
            if self.keys.get(&key) == Some(&id) {
                self.keys.remove(&key);
            }
        }
    }
}

fn count(live: &[JobId]) -> u32 {
    u32::try_from(live.len()).unwrap_or(u32::MAX)
}

/// As a job that nobody has claimed.
pub(super) fn new_record(new: &NewJob) -> Job {
    Job {
        id: new.id,
        task: new.task.clone(),
        biz_id: new.biz_id.clone(),
        status: JobStatus::Pending,
        retry_count: 0,
        max_retry: new.max_retry,
        lost_count: 0,
        attempts: 0,
        duplicates: 0,
        last_duplicate: None,
        fence: Fence(0),
        execute_time: new.execute_time,
        next_retry_time: None,
        start_time: None,
        finish_time: None,
        timeout_ms: new.timeout_ms,
        pool: new.pool.clone(),
        priority: new.priority,
        trigger: new.trigger,
        fires: new.fires,
        skip_reason: None,
        concurrency_key: new.concurrency_key.as_deref().map(str::to_owned),
        shard: new.shard,
        payload: new.payload.clone(),
        result_summary: None,
        error_msg: None,
        create_time: new.create_time,
        update_time: new.create_time,
        queue: None,
    }
}
