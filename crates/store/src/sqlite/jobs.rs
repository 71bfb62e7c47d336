//! Jobs for people: one, a list, how it ended.
//!
//! A list is made from streams of ids, newest first, each from an index. What no index serves is tested row by row, on
//! at most `PAGE_SCAN_ROWS_MAX` rows a page; then the page ends early and says where to go on.

use std::collections::VecDeque;

use mainspring_model::{Job, JobId, JobStatus, Trigger, limits};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::decode::{Columns, coded, read_attachment, read_job};
use super::fault::{Fault, Outcome};
use super::sql;
use crate::rules::{ListedJob, id_range, matches};
use crate::{JobEnd, JobFilter, Page};

/// Rows that a stream fetches at once.
const CHUNK_ROWS: u32 = 256;

pub(super) fn job(conn: &Connection, id: JobId) -> Outcome<Option<Job>> {
    let Some(row) = read_job(conn, id)? else { return Ok(None) };
    let mut job = row.job;
    if let Some(attachment) = row.payload_ref {
        job.payload = Some(read_attachment(conn, attachment)?.into());
    }
    Ok(Some(job))
}

pub(super) fn job_end(conn: &Connection, id: JobId) -> Outcome<Option<JobEnd>> {
    let mut statement = conn.prepare_cached(sql::JOB_END_READ)?;
    let row = statement
        .query_row([id.0], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?, row.get(3)?)))
        .optional()?;
    let Some((status, summary, attachment, error)) = row else { return Ok(None) };
    let status = coded("status", status, JobStatus::from_code)?;
    if !status.is_final() {
        return Ok(None);
    }
    let result = match attachment {
        Some(attachment) => Some(read_attachment(conn, attachment)?),
        None => summary,
    };
    Ok(Some(JobEnd { status, result, error }))
}

pub(super) fn jobs(conn: &Connection, filter: &JobFilter, limit: u32, cursor: Option<&str>) -> Outcome<Page<Job>> {
    let (first, before) = id_range(filter, cursor);
    let mut streams = streams(filter, before);
    let mut page = Page { items: Vec::new(), next: None };
    let (mut looked_at, mut last) = (0, before);
    while let Some(row) = next_row(conn, &mut streams, first, last)? {
        let full = page.items.len() >= limit as usize;
        if full || looked_at >= limits::PAGE_SCAN_ROWS_MAX {
            page.next = Some(last.to_string());
            break;
        }
        looked_at += 1;
        last = row.id;
        if row.matches(filter) {
            match read_job(conn, row.id) {
                Ok(Some(found)) => page.items.push(Job { payload: None, ..found.job }),
                Ok(None) => {}
                Err(Fault::Row(reason)) => tracing::error!(job = %row.id, reason, "a job cannot be read"),
                Err(fault) => return Err(fault),
            }
        }
    }
    Ok(page)
}

struct Stream {
    sql: &'static str,
    /// What the statement binds after the range and the limit.
    by: Vec<Value>,
    buffer: VecDeque<Listed>,
    /// Ids at and past it have been fetched.
    before: JobId,
    ended: bool,
}

struct Listed {
    id: JobId,
    task: String,
    status: i64,
    pool: String,
    trigger: i64,
}

impl Listed {
    /// A row of a newer version is in no list of this one.
    fn matches(&self, filter: &JobFilter) -> bool {
        match (JobStatus::from_code(self.status), Trigger::from_code(self.trigger)) {
            (Some(status), Some(trigger)) => {
                matches(filter, &ListedJob { task: &self.task, status, pool: &self.pool, trigger })
            }
            _ => false,
        }
    }
}

/// The indexes that together hold every row of the filter.
fn streams(filter: &JobFilter, before: JobId) -> Vec<Stream> {
    let text = |text: &str| Value::Text(text.to_owned());
    let task = filter.task.as_ref().map(|task| text(task.as_str()));
    let mut sources: Vec<(&'static str, Vec<Value>)> = Vec::new();
    let by_task_or = |otherwise: &'static str| match &task {
        Some(task) => (sql::JOBS_BY_TASK, vec![task.clone()]),
        None => (otherwise, Vec::new()),
    };
    if let Some(biz_id) = &filter.biz_id {
        sources.push((sql::JOBS_BY_KEY, vec![text(biz_id.as_str())]));
    } else if filter.status.is_empty() {
        sources.push(by_task_or(sql::JOBS_ALL));
    } else {
        for status in &filter.status {
            let code = Value::Integer(status.code());
            sources.push(match status {
                JobStatus::Failed | JobStatus::Timeout | JobStatus::Cancelled | JobStatus::Skipped => match &task {
                    Some(task) => (sql::JOBS_BY_STATUS_TASK, vec![code, task.clone()]),
                    None => (sql::JOBS_BY_STATUS, vec![code]),
                },
                JobStatus::Executing => (sql::JOBS_EXECUTING, Vec::new()),
                JobStatus::Pending | JobStatus::Waiting => by_task_or(sql::JOBS_LIVE),
                JobStatus::Success => by_task_or(sql::JOBS_ALL),
            });
        }
    }
    // A stream that holds all rows makes the others needless.
    if let Some(widest) = sources.iter().find(|(sql, _)| [sql::JOBS_ALL, sql::JOBS_BY_TASK].contains(sql)).cloned() {
        sources = vec![widest];
    }
    sources.dedup();
    sources.into_iter().map(|(sql, by)| Stream { sql, by, buffer: VecDeque::new(), before, ended: false }).collect()
}

/// The newest row before `last` of all streams, once.
fn next_row(conn: &Connection, streams: &mut [Stream], first: JobId, last: JobId) -> Outcome<Option<Listed>> {
    let mut newest: Option<usize> = None;
    for at in 0..streams.len() {
        streams[at].fill(conn, first, last)?;
        let id = |at: usize| streams[at].buffer.front().map(|row| row.id);
        if id(at) > newest.and_then(id) {
            newest = Some(at);
        }
    }
    Ok(newest.and_then(|at| streams[at].buffer.pop_front()))
}

impl Stream {
    /// Makes the front of the buffer the newest row before `last`, when there is one.
    fn fill(&mut self, conn: &Connection, first: JobId, last: JobId) -> Outcome<()> {
        while self.buffer.front().is_some_and(|row| row.id >= last) {
            self.buffer.pop_front();
        }
        if !self.buffer.is_empty() || self.ended {
            return Ok(());
        }
        let range = [first.0, self.before.0.min(last.0), CHUNK_ROWS.into()].map(Value::Integer);
        let mut statement = conn.prepare_cached(self.sql)?;
        let mut rows = statement.query(params_from_iter(range.into_iter().chain(self.by.iter().cloned())))?;
        let mut fetched = 0;
        while let Some(row) = rows.next()? {
            let listed = Listed::decode(row)?;
            self.before = listed.id;
            self.buffer.push_back(listed);
            fetched += 1;
        }
        self.ended = fetched < CHUNK_ROWS;
        Ok(())
    }
}

impl Listed {
    fn decode(row: &Row<'_>) -> Outcome<Listed> {
        let mut c = Columns::of(row);
        Ok(Listed { id: JobId(c.take()?), task: c.take()?, status: c.take()?, pool: c.take()?, trigger: c.take()? })
    }
}
