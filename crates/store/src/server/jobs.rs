//! Jobs for people: one, a list, how it ended.
//!
//! A list is made from streams of ids, newest first, each from an index. What no index serves is tested row by row, on
//! at most `PAGE_SCAN_ROWS_MAX` rows a page; then the page ends early and says where to go on.

use std::collections::VecDeque;

use mainspring_model::{Job, JobId, JobStatus, Trigger, limits};

use super::decode::{read_attachment, read_job, read_jobs};
use super::fault::Outcome;
use super::params::{Param, params};
use super::row::{Columns, Row, coded};
use super::session::Session;
use super::sql;
use super::statement::Statement;
use crate::rules::{ListedJob, id_range, matches};
use crate::{JobEnd, JobFilter, Page};

/// Rows that a stream fetches at once.
const CHUNK_ROWS: u32 = 256;
/// How far back the first look of a list goes, where days are partitions: from the newest, which is made two weeks ahead.
/// Each further look goes twice as far.
const LOOK_DAYS: i64 = 16;

pub(super) async fn job(session: &mut Session, id: JobId) -> Outcome<Option<Job>> {
    let Some(row) = read_job(session, id).await? else { return Ok(None) };
    let mut job = row.job;
    if let Some(attachment) = row.payload_ref {
        job.payload = Some(read_attachment(session, attachment).await?.into());
    }
    Ok(Some(job))
}

pub(super) async fn job_end(session: &mut Session, id: JobId) -> Outcome<Option<JobEnd>> {
    let Some(row) = session.one(&sql::JOB_END_READ, &params![id]).await? else { return Ok(None) };
    let mut c = Columns::of(&row);
    let status = coded("status", c.int()?, JobStatus::from_code)?;
    if !status.is_final() {
        return Ok(None);
    }
    let (summary, attachment, error) = (c.opt_string()?, c.opt_int()?, c.opt_string()?);
    let result = match attachment {
        Some(attachment) => Some(read_attachment(session, attachment).await?),
        None => summary,
    };
    Ok(Some(JobEnd { status, result, error }))
}

pub(super) async fn jobs(
    session: &mut Session,
    filter: &JobFilter,
    limit: u32,
    cursor: Option<&str>,
) -> Outcome<Page<Job>> {
    let (first, before) = id_range(filter, cursor);
    let mut streams = streams(filter, before);
    let (mut found, mut next) = (Vec::new(), None);
    let (mut looked_at, mut last) = (0, before);
    while let Some(row) = next_row(session, &mut streams, first, last).await? {
        let full = found.len() >= limit as usize;
        if full || looked_at >= limits::PAGE_SCAN_ROWS_MAX {
            next = Some(last.to_string());
            break;
        }
        looked_at += 1;
        last = row.id;
        if row.matches(filter) {
            found.push(row.id);
        }
    }
    let mut items = read_jobs(session, &found).await?;
    items.sort_unstable_by_key(|job| std::cmp::Reverse(job.id));
    Ok(Page { items, next })
}

struct Stream<'f> {
    statement: &'static Statement,
    /// What the statement binds after the range and the limit.
    by: Vec<Param<'f>>,
    buffer: VecDeque<Listed>,
    /// Ids at and past it have been fetched.
    before: JobId,
    /// How far back the next look goes.
    days: i64,
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
    fn decode(row: &Row) -> Outcome<Listed> {
        let mut c = Columns::of(row);
        Ok(Listed { id: JobId(c.int()?), task: c.string()?, status: c.int()?, pool: c.string()?, trigger: c.int()? })
    }

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

type Source<'f> = (&'static Statement, Vec<Param<'f>>);

/// The indexes that together hold every row of the filter.
fn streams(filter: &JobFilter, before: JobId) -> Vec<Stream<'_>> {
    let task = filter.task.as_ref().map(|task| Param::from(task.as_str()));
    let mut sources: Vec<Source<'_>> = Vec::new();
    let by_task_or = |otherwise: &'static Statement| -> Source<'_> {
        match &task {
            Some(task) => (&sql::JOBS_BY_TASK, vec![task.clone()]),
            None => (otherwise, Vec::new()),
        }
    };
    if let Some(biz_id) = &filter.biz_id {
        sources.push((&sql::JOBS_BY_KEY, vec![Param::from(biz_id.as_str())]));
    } else if filter.status.is_empty() {
        sources.push(by_task_or(&sql::JOBS_ALL));
    } else {
        for status in &filter.status {
            let code = Param::from(status.code());
            sources.push(match status {
                JobStatus::Failed | JobStatus::Timeout | JobStatus::Cancelled | JobStatus::Skipped => match &task {
                    Some(task) => (&sql::JOBS_BY_STATUS_TASK, vec![code, task.clone()]),
                    None => (&sql::JOBS_BY_STATUS, vec![code]),
                },
                JobStatus::Executing => (&sql::JOBS_EXECUTING, Vec::new()),
                JobStatus::Pending | JobStatus::Waiting => by_task_or(&sql::JOBS_LIVE),
                JobStatus::Success => by_task_or(&sql::JOBS_ALL),
            });
        }
    }
    // A stream that holds all rows makes the others needless.
    let is_widest = |statement: &Statement| [sql::JOBS_ALL.name, sql::JOBS_BY_TASK.name].contains(&statement.name);
    if let Some(widest) = sources.iter().find(|(statement, _)| is_widest(statement)).cloned() {
        sources = vec![widest];
    }
    sources.dedup_by(|a, b| a.0.name == b.0.name && a.1 == b.1);
    let stream =
        |(statement, by)| Stream { statement, by, buffer: VecDeque::new(), before, days: LOOK_DAYS, ended: false };
    sources.into_iter().map(stream).collect()
}

/// The newest row before `last` of all streams, once.
async fn next_row(
    session: &mut Session,
    streams: &mut [Stream<'_>],
    first: JobId,
    last: JobId,
) -> Outcome<Option<Listed>> {
    let mut newest: Option<usize> = None;
    for at in 0..streams.len() {
        streams[at].fill(session, first, last).await?;
        let id = |at: usize| streams[at].buffer.front().map(|row| row.id);
        if id(at) > newest.and_then(id) {
            newest = Some(at);
        }
    }
    Ok(newest.and_then(|at| streams[at].buffer.pop_front()))
}

impl Stream<'_> {
    /// Makes the front of the buffer the newest row before `last`, when there is one.
    async fn fill(&mut self, session: &mut Session, first: JobId, last: JobId) -> Outcome<()> {
        while self.buffer.front().is_some_and(|row| row.id >= last) {
            self.buffer.pop_front();
        }
        if !self.buffer.is_empty() || self.ended {
            return Ok(());
        }
        while self.buffer.is_empty() && !self.ended {
            let before = self.before.min(last);
            // Days are partitions: a look that names few of them leaves the others alone.
            let from = session.back_from(before, self.days).filter(|from| *from > first);
            let mut asked = params![from.unwrap_or(first), before, CHUNK_ROWS].to_vec();
            asked.extend(self.by.iter().cloned());
            let rows = session.rows(self.statement, &asked).await?;
            for row in &rows {
                let listed = Listed::decode(row)?;
                self.before = listed.id;
                self.buffer.push_back(listed);
            }
            if rows.len() < CHUNK_ROWS as usize {
                self.ended = from.is_none();
                self.before = from.unwrap_or(first);
                self.days *= 2;
            }
        }
        Ok(())
    }
}
