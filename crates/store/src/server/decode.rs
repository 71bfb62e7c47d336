//! From rows to the model. A row that cannot be read is an error of that row, never a panic.

use std::sync::Arc;

use mainspring_model::job::{Fires, Lane, QueueEntry, QueueState, SkipReason};
use mainspring_model::task::{Task, TaskDefinition};
use mainspring_model::{
    Attempt, AttemptStatus, BizId, CalendarName, Every, Fence, HandlerName, Incarnation, Job, JobId, JobStatus,
    PoolName, Priority, RetryRule, Shard, Span, TaskCode, Trigger, Unique,
};

use super::fault::{Fault, Outcome};
use super::params::{Batch, Column, params};
use super::row::{Columns, Row, coded, count};
use super::session::Session;
use super::sql;
use crate::Page;
use crate::rules::lane_from;

/// A row of `job_read`, with what the record alone does not show.
#[derive(Debug)]
pub(super) struct JobRow {
    pub(super) job: Job,
    pub(super) unique: Unique,
    pub(super) payload_ref: Option<i64>,
    /// Of its queue row.
    pub(super) lane: Option<Lane>,
}

/// Of `job_read`; in `jobs_read` the id stands behind them.
const JOB_COLUMNS: usize = 37;

impl JobRow {
    fn decode(id: JobId, row: &Row) -> Outcome<JobRow> {
        let mut c = Columns::of(row);
        let job = Job {
            id,
            task: TaskCode::stored(c.text()?),
            biz_id: c.opt_text()?.map(BizId::stored),
            status: c.coded("status", JobStatus::from_code)?,
            retry_count: c.count()?,
            max_retry: c.count()?,
            lost_count: c.count()?,
            attempts: c.count()?,
            duplicates: c.count()?,
            last_duplicate: c.opt_time()?,
            fence: Fence(c.int()?),
            execute_time: c.time()?,
            next_retry_time: c.opt_time()?,
            start_time: c.opt_time()?,
            finish_time: c.opt_time()?,
            timeout_ms: c.opt_int()?,
            pool: PoolName::stored(c.text()?),
            priority: c.coded("priority", Priority::from_code)?,
            trigger: c.coded("trigger", Trigger::from_code)?,
            // The latest of its fire times stands here; the others have columns of their own.
            fires: c.opt_time()?.map(Fires::one),
            skip_reason: None,
            concurrency_key: None,
            shard: None,
            result_summary: c.opt_string()?,
            error_msg: c.opt_string()?,
            create_time: c.time()?,
            update_time: c.time()?,
            queue: queue_entry(&mut c)?,
            payload: None,
        };
        let payload_ref = c.opt_int()?;
        let payload = c.opt_text()?.map(Arc::from);
        let unique = c.coded("unique mode", Unique::from_code)?;
        let (first, number) = (c.opt_time()?, c.opt_int()?);
        let fires = match (job.fires, first, number) {
            (Some(fires), Some(first), Some(number)) => Some(Fires { first, count: count(number)?, ..fires }),
            (fires, ..) => fires,
        };
        let skip_reason = c.opt_int()?.map(|code| coded("skip reason", code, SkipReason::from_code)).transpose()?;
        let job = Job { payload, fires, skip_reason, concurrency_key: c.opt_string()?, ..job };
        let lane = lane(&mut c)?;
        let job = Job { shard: shard(&mut c)?, ..job };
        Ok(JobRow { job, unique, payload_ref, lane })
    }
}

fn queue_entry(c: &mut Columns<'_>) -> Outcome<Option<QueueEntry>> {
    let Some(state) = c.opt_int()? else {
        c.skip(2);
        return Ok(None);
    };
    let state = coded("queue state", state, QueueState::from_code)?;
    Ok(Some(QueueEntry { state, due: c.time()?, owner: c.opt_int()?.map(Incarnation) }))
}

/// The columns `shard_index` and `shard_total`.
pub(super) fn shard(c: &mut Columns<'_>) -> Outcome<Option<Shard>> {
    let (index, total) = (c.opt_count()?, c.opt_count()?);
    Ok(index.zip(total).map(|(index, total)| Shard { index, total }))
}

/// The lane that the columns `lane` and `concurrency_key` of a queue row name.
pub(super) fn lane(c: &mut Columns<'_>) -> Outcome<Option<Lane>> {
    let code = c.opt_int()?.unwrap_or(0);
    Ok(lane_from(code, c.opt_text()?))
}

/// The record of a job; a payload that is kept by reference is not fetched.
pub(super) async fn read_job(session: &mut Session, id: JobId) -> Outcome<Option<JobRow>> {
    let row = session.one(&sql::JOB_READ, &params![id]).await?;
    row.map(|row| JobRow::decode(id, &row)).transpose()
}

/// The records of a page, without payloads, in any order. One that cannot be read is shown in the log and left out.
pub(super) async fn read_jobs(session: &mut Session, ids: &[JobId]) -> Outcome<Vec<Job>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let columns = vec![Column::Ints(ids.iter().map(|id| Some(id.0)).collect())];
    let rows = session.rows(&sql::JOBS_READ, &params![Batch { columns }]).await?;
    readable(&rows, |row| {
        let id = row.number(JOB_COLUMNS)?.map(JobId).ok_or_else(|| Fault::Row("a job without an id".to_owned()))?;
        Ok(Job { payload: None, ..JobRow::decode(id, row)?.job })
    })
}

/// The text of an attachment.
pub(super) async fn read_attachment(session: &mut Session, id: i64) -> Outcome<String> {
    let row = session.one(&sql::ATTACHMENT_READ, &params![id]).await?;
    let bytes = row.as_ref().map_or(Ok(None), |row| row.bytes(0))?;
    bytes
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .map(str::to_owned)
        .ok_or_else(|| Fault::Row(format!("attachment {id} is missing or not text")))
}

pub(super) fn attempt(row: &Row) -> Outcome<Attempt> {
    let mut c = Columns::of(row);
    Ok(Attempt {
        job: JobId(c.int()?),
        fence: Fence(c.int()?),
        task: TaskCode::stored(c.text()?),
        number: c.count()?,
        node: c.opt_node()?.unwrap_or(0),
        status: c.coded("attempt status", AttemptStatus::from_code)?,
        execute_time: c.time()?,
        finish_time: c.opt_time()?,
        cost_ms: c.opt_int()?,
        result: c.opt_string()?,
        error_message: c.opt_string()?,
    })
}

pub(super) fn task(row: &Row) -> Outcome<Task> {
    let mut c = Columns::of(row);
    let code = TaskCode::stored(c.text()?);
    let name = c.string()?;
    let kind = c.word("task type")?;
    let handler = HandlerName::stored(c.text()?);
    let cron_expression = c.opt_string()?;
    let time_zone = c.opt_string()?;
    let switch = c.word("task status")?;
    let definition = TaskDefinition {
        name,
        kind,
        handler,
        cron_expression,
        time_zone,
        every: every(&mut c)?,
        start_at: c.opt_time()?,
        end_at: c.opt_time()?,
        calendar: c.opt_text()?.map(CalendarName::stored),
        param: c.opt_string()?,
        timeout_seconds: c.count()?,
        fail_strategy: c.word("fail strategy")?,
        retry: RetryRule { count: c.count()?, base_ms: c.int()?, cap_ms: c.int()? },
        pool: PoolName::stored(c.text()?),
        priority: c.coded("priority", Priority::from_code)?,
        overlap: c.word("overlap")?,
        max_running: c.opt_count()?,
        concurrency_key: c.opt_string()?,
        rate_limit: c.opt_word("rate")?,
        misfire: c.word("misfire")?,
        misfire_grace_seconds: c.count()?,
        max_catchup: c.count()?,
        start_deadline_seconds: c.opt_count()?,
        on_lost: c.word("on lost")?,
        owner: c.opt_string()?,
        tags: c.words("tags")?,
        description: c.opt_string()?,
        node_labels: c.words("node labels")?,
        broadcast: c.flag()?,
    };
    Ok(Task {
        id: c.int()?,
        code,
        switch,
        definition,
        next_fire_time: c.opt_time()?,
        prev_fire_time: c.opt_time()?,
        disabled_reason: c.opt_string()?,
        version: c.int()?,
        create_time: c.time()?,
        update_time: c.time()?,
    })
}

/// Both columns of an interval, or none.
fn every(c: &mut Columns<'_>) -> Outcome<Option<Every>> {
    let (ms, rhythm) = (c.opt_int()?, c.opt_word("rhythm")?);
    let span = |ms| u64::try_from(ms).map(Span::from_ms).map_err(|_| Fault::Row(format!("{ms} is not an interval")));
    ms.zip(rhythm).map(|(ms, rhythm)| Ok(Every { span: span(ms)?, rhythm })).transpose()
}

/// The readable ones of `limit` rows. One row more says that there is another page; it begins behind the last row that
/// could be read, so one that cannot be read ends no list.
pub(super) fn readable_page<T>(
    rows: &[Row],
    limit: u32,
    decode: impl Fn(&Row) -> Outcome<T>,
    cursor_of: impl Fn(&T) -> String,
) -> Outcome<Page<T>> {
    let limit = limit as usize;
    let items = readable(&rows[..rows.len().min(limit)], decode)?;
    let next = if rows.len() > limit { items.last().map(cursor_of) } else { None };
    Ok(Page { items, next })
}

/// Reads all rows that can be read; the others are shown in the log and stop nobody.
pub(super) fn readable<T>(rows: &[Row], decode: impl Fn(&Row) -> Outcome<T>) -> Outcome<Vec<T>> {
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        match decode(row) {
            Ok(item) => items.push(item),
            Err(Fault::Row(reason)) => tracing::error!(reason, "a row cannot be read and is left out"),
            Err(fault) => return Err(fault),
        }
    }
    Ok(items)
}
