//! What people read: lists, ends, numbers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mainspring_model::job::QueueState;
use mainspring_model::{Attempt, AttemptId, Fence, Job, JobId, PoolName, TaskCode, Timestamp};

use super::Data;
use crate::rules::{ListedJob, cursor_parts, id_range, matches, next_cursor};
use crate::{DeadJob, JobEnd, JobFilter, LiveCount, LiveJobs, NodeRow, OutputChunk, Page, PoolBacklog};

impl Data {
    pub(super) fn nodes(&self) -> Vec<NodeRow> {
        let mut nodes: Vec<NodeRow> = self.nodes.values().cloned().collect();
        nodes.sort_by_key(|node| (Reverse(node.heartbeat_at), node.incarnation));
        nodes
    }

    pub(super) fn jobs(&self, filter: &JobFilter, limit: u32, cursor: Option<&str>) -> Page<Job> {
        let (first, before) = id_range(filter, cursor);
        let listed = self.records.range(first..before.max(first)).rev().filter(|(_, record)| {
            let job = &record.job;
            let row = ListedJob {
                task: job.task.as_str(),
                status: job.status,
                pool: job.pool.as_str(),
                trigger: job.trigger,
            };
            let by_key = filter.biz_id.as_ref().is_none_or(|biz_id| job.biz_id.as_ref() == Some(biz_id));
            matches(filter, &row) && by_key
        });
        let mut items: Vec<Job> = listed
            .take(limit as usize + 1)
            .filter_map(|(id, _)| self.job(*id))
            .map(|job| Job { payload: None, ..job })
            .collect();
        let next = next_cursor(&mut items, limit, |job: &Job| job.id.to_string());
        Page { items, next }
    }

    pub(super) fn job_end(&self, id: JobId) -> Option<JobEnd> {
        let record = self.records.get(&id).filter(|record| record.job.status.is_final())?;
        let job = &record.job;
        Some(JobEnd { status: job.status, result: record.result.clone(), error: job.error_msg.clone() })
    }

    pub(super) fn attempts_of_job(&self, id: JobId, limit: u32, cursor: Option<&str>) -> Page<Attempt> {
        let [before] = cursor_parts(cursor);
        let of_job = AttemptId { job: id, fence: Fence(i64::MIN) }..AttemptId { job: id, fence: Fence(before) };
        let rows = self.attempts.range(of_job).rev().take(limit as usize + 1);
        let mut items = rows.map(|(_, attempt)| attempt.clone()).collect();
        let next = next_cursor(&mut items, limit, |attempt: &Attempt| attempt.fence.to_string());
        Page { items, next }
    }

    pub(super) fn attempts_of_task(&self, code: &TaskCode, limit: u32, cursor: Option<&str>) -> Page<Attempt> {
        let before: [i64; 3] = cursor_parts(cursor);
        let place = |attempt: &Attempt| [attempt.execute_time.as_ms(), attempt.job.0, attempt.fence.0];
        let mut items: Vec<Attempt> =
            self.attempts.values().filter(|row| row.task == *code && place(row) < before).cloned().collect();
        items.sort_by_key(|attempt| Reverse(place(attempt)));
        let next = next_cursor(&mut items, limit, |attempt: &Attempt| {
            let [time, job, fence] = place(attempt);
            format!("{time}:{job}:{fence}")
        });
        Page { items, next }
    }

    pub(super) fn output(&self, id: AttemptId, after: Option<u32>, limit: u32) -> Vec<OutputChunk> {
        let chunks = self.output.range((id, 0)..=(id, u32::MAX)).map(|((_, seq), chunk)| (*seq, chunk));
        let wanted = chunks.filter(|(seq, _)| after.is_none_or(|after| *seq > after));
        wanted.take(limit as usize).map(|(_, chunk)| chunk.clone()).collect()
    }

    pub(super) fn dead_jobs(&self, task: Option<&TaskCode>, limit: u32, cursor: Option<&str>) -> Page<DeadJob> {
        let before: [i64; 2] = cursor_parts(cursor);
        let open = self.dead.iter().filter(|(_, dead)| dead.open && task.is_none_or(|task| dead.task == *task));
        let mut items: Vec<DeadJob> = open
            .map(|(id, dead)| DeadJob { id: *id, task: dead.task.clone(), cause: dead.cause, time: dead.time })
            .filter(|dead| [dead.time.as_ms(), dead.id.0] < before)
            .collect();
        items.sort_by_key(|dead| Reverse((dead.time, dead.id)));
        let next = next_cursor(&mut items, limit, |dead: &DeadJob| format!("{}:{}", dead.time.as_ms(), dead.id));
        Page { items, next }
    }

    pub(super) fn live_jobs_of_task(&self, code: &TaskCode, cap: u32) -> LiveCount {
        capped(self.queue.values().filter(|queued| queued.task == *code).count(), cap)
    }

    pub(super) fn live_jobs(&self, cap: u32) -> LiveJobs {
        let mut live = LiveJobs { by_task: BTreeMap::new(), capped: self.queue.len() >= cap as usize };
        for queued in self.queue.values().take(cap as usize) {
            *live.by_task.entry(queued.task.clone()).or_default() += 1;
        }
        live
    }

    pub(super) fn backlog(&self, cap: u32) -> Vec<PoolBacklog> {
        let mut groups: BTreeMap<(&PoolName, QueueState), (usize, Timestamp)> = BTreeMap::new();
        for (id, queued) in self.queue.iter().filter(|(_, queued)| queued.state != QueueState::Claimed) {
            let group = groups.entry((&self.records[id].job.pool, queued.state)).or_insert((0, Timestamp::MAX));
            *group = (group.0 + 1, group.1.min(queued.due));
        }
        let row = |((pool, state), (jobs, oldest)): ((&PoolName, QueueState), (usize, Timestamp))| PoolBacklog {
            pool: pool.clone(),
            state,
            jobs: capped(jobs, cap),
            oldest_due: Some(oldest),
        };
        groups.into_iter().map(row).collect()
    }
}

fn capped(jobs: usize, cap: u32) -> LiveCount {
    let jobs = (jobs as u64).min(cap.into());
    LiveCount { jobs, capped: jobs >= u64::from(cap) }
}
