//! What all stores decide alike, as functions of values: who gets a place in a claim, what a person's operation
//! changes, how a loss is settled, which filters an index serves. Lanes and schedules have files of their own.

mod lanes;
mod schedule;

use mainspring_model::decide::{Ended, Facts, decide};
use mainspring_model::job::{Job, JobStatus, Lane};
use mainspring_model::lifecycle::{JobEvent, next};
use mainspring_model::operations::{JobOperation, on_job};
use mainspring_model::task::{FailStrategy, OnLost, TaskDefinition, TaskSwitch};
use mainspring_model::{
    AttemptStatus, BizId, Code, Incarnation, JobId, PoolName, Priority, Refused, RetryRule, Task, TaskCode, Timestamp,
    Trigger, broadcast, limits, text,
};

pub(crate) use lanes::*;
pub(crate) use schedule::*;

use crate::{Held, JobFilter, NewJob, NextFireChange, Operate, Settlement};

/// The lowest number that no live node has.
pub(crate) fn free_node_number(taken: &[u16]) -> u16 {
    (1..).find(|number| !taken.contains(number)).expect("nodes are fewer than numbers")
}

pub(crate) const PRIORITIES: usize = Priority::ALL.len();
/// The part of a claim that each priority gets at least, when it has that much.
const GUARANTEED_PART: u32 = 16;

/// How many of each priority's `waiting` jobs a claim of `room` jobs takes: the more urgent first, but each gets its
/// guaranteed part. Where the room is too small for parts, `turn` (the number of the claim) gives every sixteenth
/// claim to the least urgent.
pub(crate) fn split(room: u32, waiting: [u32; PRIORITIES], turn: u64) -> [u32; PRIORITIES] {
    let part = room.div_ceil(GUARANTEED_PART);
    let mut taken = [0; PRIORITIES];
    let mut left = room;
    if room as usize >= PRIORITIES {
        for (taken, waiting) in taken.iter_mut().zip(waiting) {
            *taken = waiting.min(part);
            left -= *taken;
        }
    } else if turn % u64::from(GUARANTEED_PART) == u64::from(GUARANTEED_PART) - 1
        && let Some(lowest) = waiting.iter().rposition(|jobs| *jobs > 0)
    {
        taken[lowest] = waiting[lowest].min(left);
        left -= taken[lowest];
    }
    for (taken, waiting) in taken.iter_mut().zip(waiting) {
        let more = (waiting - *taken).min(left);
        *taken += more;
        left -= more;
    }
    taken
}

/// Why an incarnation that was declared gone does not join: its jobs are others', and its number may be.
pub(crate) fn gone_for_ever(incarnation: Incarnation) -> String {
    format!("incarnation {incarnation} was declared gone: join under another one")
}

/// Refuses a filter that would have to read the whole history to find its rows.
pub fn check_filter(filter: &JobFilter) -> Result<(), Refused> {
    let narrowed = filter.task.is_some() || filter.biz_id.is_some() || !filter.status.is_empty();
    let wide = match (&filter.pool, filter.trigger) {
        (Some(_), _) => "pool",
        (None, Some(_)) => "trigger",
        (None, None) => return Ok(()),
    };
    if narrowed {
        return Ok(());
    }
    Err(Refused::new(Code::FilterNotIndexed, format!("no index serves a filter by {wide} alone"))
        .hint("add a task, a status or a bizId"))
}

/// What is left to test when an index has narrowed the rows.
pub(crate) fn matches(filter: &JobFilter, row: &ListedJob) -> bool {
    (filter.status.is_empty() || filter.status.contains(&row.status))
        && filter.task.as_ref().is_none_or(|task| task.as_str() == row.task)
        && filter.pool.as_ref().is_none_or(|pool| pool.as_str() == row.pool)
        && filter.trigger.is_none_or(|trigger| trigger == row.trigger)
}

pub(crate) struct ListedJob<'a> {
    pub(crate) task: &'a str,
    pub(crate) status: JobStatus,
    pub(crate) pool: &'a str,
    pub(crate) trigger: Trigger,
}

/// The ids that a list may show: from the first to before the second.
pub(crate) fn id_range(filter: &JobFilter, cursor: Option<&str>) -> (JobId, JobId) {
    let first = filter.from.map_or(JobId(0), JobId::first_at);
    let end = filter.to.map_or(JobId(i64::MAX), JobId::first_at);
    let before = cursor.and_then(|text| text.parse().ok()).unwrap_or(JobId(i64::MAX));
    (first, end.min(before))
}

/// The parts of an opaque cursor `a:b:c`. One that is not ours begins at the newest.
pub(crate) fn cursor_parts<const N: usize>(cursor: Option<&str>) -> [i64; N] {
    let mut parts = [i64::MAX; N];
    if let Some(text) = cursor {
        let numbers: Option<Vec<i64>> = text.split(':').map(|part| part.parse().ok()).collect();
        if let Some(numbers) = numbers.filter(|numbers| numbers.len() == N) {
            parts.copy_from_slice(&numbers);
        }
    }
    parts
}

/// What a person's operation comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Reopen,
    DueNow,
    End(JobStatus),
    Release,
}

/// `None`: the job is not as the person saw it, or does not allow it any more.
pub(crate) fn judge(job: &Job, operate: &Operate) -> Option<Change> {
    let as_seen = job.status == operate.seen_status && job.fence == operate.seen_fence;
    if !as_seen || !on_job(job, operate.now).allows(operate.operation) {
        return None;
    }
    match operate.operation {
        JobOperation::Retry if job.status.is_final() => next(job.status, JobEvent::Reopened).map(|_| Change::Reopen),
        JobOperation::Retry => Some(Change::DueNow),
        JobOperation::Cancel => next(job.status, JobEvent::Cancelled).map(Change::End),
        JobOperation::Fail => next(job.status, JobEvent::FailedForGood).map(Change::End),
        JobOperation::Release => next(job.status, JobEvent::Requeued).map(|_| Change::Release),
    }
}

/// The words that the job, its attempt and the alert show.
pub(crate) fn operation_message(operate: &Operate) -> String {
    let done = match operate.operation {
        JobOperation::Retry => "retried",
        JobOperation::Cancel => "cancelled",
        JobOperation::Fail => "marked failed",
        JobOperation::Release => "released",
    };
    text::excerpt(&format!("{done} by {}", operate.by), limits::ERROR_CHARS_MAX)
}

pub(crate) fn attempt_after(operation: JobOperation) -> AttemptStatus {
    match operation {
        JobOperation::Cancel => AttemptStatus::Cancelled,
        JobOperation::Fail => AttemptStatus::Failed,
        JobOperation::Retry | JobOperation::Release => AttemptStatus::Lost,
    }
}

/// A started job whose node is gone, as its record and its task tell.
#[derive(Debug)]
pub(crate) struct Orphan {
    pub(crate) held: Held,
    pub(crate) task: TaskCode,
    pub(crate) attempt: u32,
    pub(crate) node: u16,
    pub(crate) start_time: Timestamp,
    pub(crate) live_key: Option<BizId>,
    pub(crate) lane: Option<Lane>,
    pub(crate) trigger: Trigger,
    pub(crate) facts: Facts,
}

/// How a body ended that nobody can ask any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeEnd {
    /// The node died: the loss is counted.
    Crash,
    /// The node stopped politely and gave the body up at its limit: nothing is spent.
    Leave,
}

impl Orphan {
    pub(crate) fn settlement(self, end: NodeEnd, now: Timestamp) -> Settlement {
        let ended = match end {
            NodeEnd::Crash => Ended::Lost,
            NodeEnd::Leave => Ended::GivenUp,
        };
        let decision = decide(ended, &self.facts, now, 0);
        Settlement {
            held: self.held,
            task: self.task,
            attempt: self.attempt,
            node: self.node,
            start_time: self.start_time,
            finish_time: now,
            decision,
            live_key: self.live_key,
            start_written: true,
            lane: self.lane,
            trigger: self.trigger,
        }
    }
}

/// The facts that a task adds; without the task its defaults.
pub(crate) fn facts(
    retry_count: u32,
    max_retry: u32,
    lost_count: u32,
    rules: Option<(RetryRule, FailStrategy, OnLost)>,
    pool: &PoolName,
) -> Facts {
    let (retry, fail_strategy, on_lost) = rules.unwrap_or((RetryRule::default(), FailStrategy::Retry, OnLost::Rerun));
    let on_lost = broadcast::on_lost(pool, on_lost);
    Facts { retry_count, max_retry, lost_count, retry, fail_strategy, on_lost }
}

/// The words of an alert event. (The reference keeps no words.)
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn alert_text(cause: &str, error: Option<&str>) -> String {
    text::excerpt(&format!("{cause}: {}", error.unwrap_or("no message")), limits::ERROR_CHARS_MAX)
}

/// What lists show of a result, and whether the whole of it must be kept elsewhere.
pub(crate) fn summary(result: &str) -> (String, bool) {
    let short = text::excerpt(result, limits::RESULT_SUMMARY_CHARS_MAX);
    let cut = short.len() != result.len() || short != result;
    (short, cut)
}

/// A repeated change answers as the first one did: it is recognised by what it left behind.
pub(crate) fn is_repeated_update(stored: &Task, version: i64, definition: &TaskDefinition) -> bool {
    stored.version == version + 1 && stored.definition == *definition
}

/// A settlement that comes again after an unknown outcome finds its own attempt row.
/// A person may have ended it alike in the same millisecond, but not with the same words.
pub(crate) fn is_own_end(
    status: AttemptStatus,
    finish_time: Option<Timestamp>,
    error: Option<&str>,
    settlement: &Settlement,
) -> bool {
    status == settlement.decision.attempt
        && finish_time == Some(settlement.finish_time)
        && error == settlement.decision.error.as_deref()
}

/// What a declaration that is written over a stored task does to its next fire.
pub(crate) fn declared_fire(stored: &Task, definition: &TaskDefinition, next: Option<Timestamp>) -> NextFireChange {
    if stored.definition.same_schedule(definition) { NextFireChange::Keep } else { NextFireChange::Set(next) }
}

/// Does the task take this job? A part belongs to a job that was taken before.
pub(crate) fn takes(task: &Task, job: &NewJob) -> bool {
    task.switch == TaskSwitch::Enabled || job.shard.is_some()
}

pub(crate) fn refused_task(code: Code, task: &TaskCode) -> Refused {
    match code {
        Code::TaskDisabled => {
            Refused::new(code, format!("task `{task}` is disabled")).hint("enable it and submit again")
        }
        _ => Refused::new(Code::TaskNotFound, format!("there is no task `{task}`")),
    }
}

/// The first job is there, so a second one would be wrong, and what it has become cannot be told.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn refused_unreadable(task: &TaskCode, biz_id: Option<&BizId>) -> Refused {
    let detail = match biz_id {
        Some(biz_id) => format!("task `{task}` has a job of the key `{biz_id}`, and its row cannot be read"),
        None => format!("what is stored of a job of task `{task}` cannot be read"),
    };
    Refused::new(Code::JobUnreadable, detail)
        .hint("nothing was stored: have the server's log and `mainspring verify` looked at before you submit again")
}

/// Ends of a page: the cursor after its last item, when more may follow.
pub(crate) fn next_cursor<T>(items: &mut Vec<T>, limit: u32, cursor_of: impl Fn(&T) -> String) -> Option<String> {
    let limit = limit as usize;
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last().map(cursor_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urgent_go_first_and_nobody_starves() {
        let check = |room, waiting, turn, expect| assert_eq!(split(room, waiting, turn), expect, "{room} {waiting:?}");
        check(32, [100, 100, 100, 100], 0, [26, 2, 2, 2]);
        check(32, [0, 0, 100, 1], 0, [0, 0, 31, 1]);
        check(10, [3, 0, 2, 0], 0, [3, 0, 2, 0]);
        check(4, [9, 9, 9, 9], 0, [1, 1, 1, 1]);
        check(3, [9, 9, 9, 9], 0, [3, 0, 0, 0]);
        check(3, [9, 9, 9, 9], 15, [0, 0, 0, 3]);
        check(3, [9, 9, 1, 0], 31, [2, 0, 1, 0]);
        check(0, [9, 9, 9, 9], 0, [0, 0, 0, 0]);
    }

    #[test]
    fn a_filter_needs_an_index() {
        let check = |filter: JobFilter, expect: bool| assert_eq!(check_filter(&filter).is_ok(), expect, "{filter:?}");
        let pool = Some(PoolName::default_pool());
        check(JobFilter::default(), true);
        check(JobFilter { pool: pool.clone(), ..JobFilter::default() }, false);
        check(JobFilter { trigger: Some(Trigger::Cron), ..JobFilter::default() }, false);
        check(JobFilter { pool, status: vec![JobStatus::Failed], ..JobFilter::default() }, true);
    }
}
