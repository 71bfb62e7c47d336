//! From rows to the model. A row that cannot be read is an error of that row, never a panic.

use std::sync::Arc;

use mainspring_model::job::{Fires, Lane, QueueEntry, QueueState, SkipReason};
use mainspring_model::task::{Task, TaskDefinition};
use mainspring_model::{
    Attempt, AttemptStatus, BizId, CalendarName, Every, Fence, HandlerName, Incarnation, Job, JobId, JobStatus,
    PoolName, Priority, RetryRule, Shard, Span, TaskCode, Timestamp, Trigger, Unique,
};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::{Fault, Outcome};
use super::{lanes, sql};
use crate::Page;

/// A closed set's value from its code.
pub(super) fn coded<T>(what: &str, code: i64, from: impl Fn(i64) -> Option<T>) -> Outcome<T> {
    from(code).ok_or_else(|| Fault::Row(format!("{what} {code} is not known to this version")))
}

fn word<T: std::str::FromStr>(what: &str, text: &str) -> Outcome<T> {
    text.parse().map_err(|_| Fault::Row(format!("{what} `{text}` is not known to this version")))
}

pub(super) fn time(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

/// Counts are never negative in a sound row.
pub(super) fn count(number: i64) -> Outcome<u32> {
    u32::try_from(number).map_err(|_| Fault::Row(format!("{number} is not a count")))
}

/// The columns `shard_index` and `shard_total`.
pub(super) fn shard(c: &mut Columns<'_, '_>) -> Outcome<Option<Shard>> {
    let (index, total) = (c.take::<Option<i64>>()?, c.take::<Option<i64>>()?);
    index.zip(total).map(|(index, total)| Ok(Shard { index: count(index)?, total: count(total)? })).transpose()
}

/// Reads the columns of a row in order.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Columns<'r, 's> {
    pub(super) fn of(row: &'r Row<'s>) -> Columns<'r, 's> {
        Columns::from(row, 0)
    }

    pub(super) fn from(row: &'r Row<'s>, first: usize) -> Columns<'r, 's> {
        Columns { row, next: first }
    }

    pub(super) fn take<T: FromSql>(&mut self) -> Outcome<T> {
        self.next += 1;
        Ok(self.row.get(self.next - 1)?)
    }

    pub(super) fn text(&mut self) -> Outcome<&'r str> {
        self.next += 1;
        let value = self.row.get_ref(self.next - 1)?;
        value.as_str().map_err(|error| Fault::Row(error.to_string()))
    }

    pub(super) fn opt_text(&mut self) -> Outcome<Option<&'r str>> {
        self.next += 1;
        let value = self.row.get_ref(self.next - 1)?;
        value.as_str_or_null().map_err(|error| Fault::Row(error.to_string()))
    }

    pub(super) fn time(&mut self) -> Outcome<Timestamp> {
        self.take().map(time)
    }

    pub(super) fn opt_time(&mut self) -> Outcome<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(time))
    }

    pub(super) fn count(&mut self) -> Outcome<u32> {
        count(self.take()?)
    }

    pub(super) fn coded<T>(&mut self, what: &str, from: impl Fn(i64) -> Option<T>) -> Outcome<T> {
        coded(what, self.take()?, from)
    }

    pub(super) fn word<T: std::str::FromStr>(&mut self, what: &str) -> Outcome<T> {
        word(what, self.text()?)
    }

    /// A list that is kept as JSON.
    pub(super) fn words(&mut self, what: &str) -> Outcome<Vec<String>> {
        serde_json::from_str(self.text()?).map_err(|error| Fault::Row(format!("{what}: {error}")))
    }

    pub(super) fn opt_word<T: std::str::FromStr>(&mut self, what: &str) -> Outcome<Option<T>> {
        self.opt_text()?.map(|text| word(what, text)).transpose()
    }
}

/// A row of `job_read`, with what the record alone does not show.
pub(super) struct JobRow {
    pub(super) job: Job,
    pub(super) unique: Unique,
    pub(super) payload_ref: Option<i64>,
    /// Of its queue row.
    pub(super) lane: Option<Lane>,
}

impl JobRow {
    fn decode(id: JobId, row: &Row<'_>) -> Outcome<JobRow> {
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
            fence: Fence(c.take()?),
            execute_time: c.time()?,
            next_retry_time: c.opt_time()?,
            start_time: c.opt_time()?,
            finish_time: c.opt_time()?,
            timeout_ms: c.take()?,
            pool: PoolName::stored(c.text()?),
            priority: c.coded("priority", Priority::from_code)?,
            trigger: c.coded("trigger", Trigger::from_code)?,
            // The latest of its fire times stands here; the others have columns of their own.
            fires: c.opt_time()?.map(Fires::one),
            skip_reason: None,
            concurrency_key: None,
            shard: None,
            result_summary: c.take()?,
            error_msg: c.take()?,
            create_time: c.time()?,
            update_time: c.time()?,
            queue: match c.take::<Option<i64>>()? {
                None => {
                    c.next += 2;
                    None
                }
                Some(state) => Some(QueueEntry {
                    state: coded("queue state", state, QueueState::from_code)?,
                    due: c.time()?,
                    owner: c.take::<Option<i64>>()?.map(Incarnation),
                }),
            },
            payload: None,
        };
        let payload_ref = c.take()?;
        let payload = c.opt_text()?.map(Arc::from);
        let unique = c.coded("unique mode", Unique::from_code)?;
        let (first, count) = (c.opt_time()?, c.take::<Option<i64>>()?);
        let fires = match (job.fires, first, count) {
            (Some(fires), Some(first), Some(number)) => Some(Fires { first, count: self::count(number)?, ..fires }),
            (fires, ..) => fires,
        };
        let skip_reason = c.take::<Option<i64>>()?;
        let skip_reason = skip_reason.map(|code| coded("skip reason", code, SkipReason::from_code)).transpose()?;
        let job = Job { payload, fires, skip_reason, concurrency_key: c.take()?, ..job };
        let lane = lanes::decode(&mut c)?;
        Ok(JobRow { job: Job { shard: shard(&mut c)?, ..job }, unique, payload_ref, lane })
    }
}

/// The record of a job; a payload that is kept by reference is not fetched.
pub(super) fn read_job(conn: &Connection, id: JobId) -> Outcome<Option<JobRow>> {
    let mut statement = conn.prepare_cached(sql::JOB_READ)?;
    let mut rows = statement.query([id.0])?;
    match rows.next()? {
        None => Ok(None),
        Some(row) => JobRow::decode(id, row).map(Some),
    }
}

/// The text of an attachment.
pub(super) fn read_attachment(conn: &Connection, id: i64) -> Outcome<String> {
    let bytes: Option<Vec<u8>> =
        conn.prepare_cached(sql::ATTACHMENT_READ)?.query_row([id], |row| row.get(0)).optional()?;
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| Fault::Row(format!("attachment {id} is missing or not text")))
}

pub(super) fn attempt(row: &Row<'_>) -> Outcome<Attempt> {
    let mut c = Columns::of(row);
    Ok(Attempt {
        job: JobId(c.take()?),
        fence: Fence(c.take()?),
        task: TaskCode::stored(c.text()?),
        number: c.count()?,
        node: c.take()?,
        status: c.coded("attempt status", AttemptStatus::from_code)?,
        execute_time: c.time()?,
        finish_time: c.opt_time()?,
        cost_ms: c.take()?,
        result: c.take()?,
        error_message: c.take()?,
    })
}

pub(super) fn task(row: &Row<'_>) -> Outcome<Task> {
    let mut c = Columns::of(row);
    let code = TaskCode::stored(c.text()?);
    let name = c.take()?;
    let kind = c.word("task type")?;
    let handler = HandlerName::stored(c.text()?);
    let cron_expression = c.take()?;
    let time_zone = c.take()?;
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
        param: c.take()?,
        timeout_seconds: c.count()?,
        fail_strategy: c.word("fail strategy")?,
        retry: RetryRule { count: c.count()?, base_ms: c.take()?, cap_ms: c.take()? },
        pool: PoolName::stored(c.text()?),
        priority: c.coded("priority", Priority::from_code)?,
        overlap: c.word("overlap")?,
        max_running: c.take()?,
        concurrency_key: c.take()?,
        rate_limit: c.opt_word("rate")?,
        misfire: c.word("misfire")?,
        misfire_grace_seconds: c.count()?,
        max_catchup: c.count()?,
        start_deadline_seconds: c.take()?,
        on_lost: c.word("on lost")?,
        owner: c.take()?,
        tags: c.words("tags")?,
        description: c.take()?,
        node_labels: c.words("node labels")?,
        broadcast: c.take()?,
    };
    Ok(Task {
        id: c.take()?,
        code,
        switch,
        definition,
        next_fire_time: c.opt_time()?,
        prev_fire_time: c.opt_time()?,
        disabled_reason: c.take()?,
        version: c.take()?,
        create_time: c.time()?,
        update_time: c.time()?,
    })
}

/// Both columns of an interval, or none.
fn every(c: &mut Columns<'_, '_>) -> Outcome<Option<Every>> {
    let (ms, rhythm) = (c.take::<Option<i64>>()?, c.opt_word("rhythm")?);
    let span = |ms| u64::try_from(ms).map(Span::from_ms).map_err(|_| Fault::Row(format!("{ms} is not an interval")));
    ms.zip(rhythm).map(|(ms, rhythm)| Ok(Every { span: span(ms)?, rhythm })).transpose()
}

/// The readable ones of `limit` rows. One row more says that there is another page; it begins behind the last row that
/// could be read, so one that cannot be read ends no list.
pub(super) fn readable_page<T>(
    rows: &mut rusqlite::Rows<'_>,
    limit: u32,
    decode: impl Fn(&Row<'_>) -> Outcome<T>,
    cursor_of: impl Fn(&T) -> String,
) -> Outcome<Page<T>> {
    let (mut items, mut seen) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if seen == limit {
            let next = items.last().map(cursor_of);
            return Ok(Page { items, next });
        }
        seen += 1;
        items.extend(shown(decode(row))?);
    }
    Ok(Page { items, next: None })
}

/// Reads all rows that can be read; the others are shown in the log and stop nobody.
pub(super) fn readable<T>(rows: &mut rusqlite::Rows<'_>, decode: impl Fn(&Row<'_>) -> Outcome<T>) -> Outcome<Vec<T>> {
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.extend(shown(decode(row))?);
    }
    Ok(items)
}

fn shown<T>(decoded: Outcome<T>) -> Outcome<Option<T>> {
    match decoded {
        Ok(item) => Ok(Some(item)),
        Err(Fault::Row(reason)) => {
            tracing::error!(reason, "a row cannot be read and is left out");
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}
