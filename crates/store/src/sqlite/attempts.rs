//! Attempts and dead jobs, for people.

use mainspring_model::job::DeadCause;
use mainspring_model::{Attempt, AttemptId, JobId, TaskCode};
use rusqlite::{Connection, params};

use super::decode::{self, Columns, readable_page};
use super::fault::Outcome;
use super::sql;
use crate::rules::cursor_parts;
use crate::{DeadJob, Page};

pub(super) fn of_job(conn: &Connection, id: JobId, limit: u32, cursor: Option<&str>) -> Outcome<Page<Attempt>> {
    let [before] = cursor_parts(cursor);
    let mut statement = conn.prepare_cached(sql::ATTEMPTS_OF_JOB)?;
    let mut rows = statement.query(params![id.0, before, limit.saturating_add(1)])?;
    readable_page(&mut rows, limit, decode::attempt, |attempt| attempt.fence.to_string())
}

pub(super) fn of_task(conn: &Connection, code: &TaskCode, limit: u32, cursor: Option<&str>) -> Outcome<Page<Attempt>> {
    let [time, job, fence] = cursor_parts(cursor);
    let mut statement = conn.prepare_cached(sql::ATTEMPTS_OF_TASK)?;
    let mut rows = statement.query(params![code.as_str(), time, job, fence, limit.saturating_add(1)])?;
    readable_page(&mut rows, limit, decode::attempt, |attempt| {
        format!("{}:{}:{}", attempt.execute_time.as_ms(), attempt.job, attempt.fence)
    })
}

pub(super) fn attempt(conn: &Connection, id: AttemptId) -> Outcome<Option<Attempt>> {
    let mut statement = conn.prepare_cached(sql::ATTEMPT)?;
    let mut rows = statement.query([id.job.0, id.fence.0])?;
    rows.next()?.map(decode::attempt).transpose()
}

pub(super) fn dead_jobs(
    conn: &Connection,
    task: Option<&TaskCode>,
    limit: u32,
    cursor: Option<&str>,
) -> Outcome<Page<DeadJob>> {
    let [time, job] = cursor_parts(cursor);
    let rows_max = limit.saturating_add(1);
    let page =
        |mut rows| readable_page(&mut rows, limit, dead_job, |dead| format!("{}:{}", dead.time.as_ms(), dead.id));
    match task {
        None => page(conn.prepare_cached(sql::DEAD_JOBS)?.query(params![time, job, rows_max])?),
        Some(task) => {
            page(conn.prepare_cached(sql::DEAD_JOBS_OF_TASK)?.query(params![time, job, rows_max, task.as_str()])?)
        }
    }
}

fn dead_job(row: &rusqlite::Row<'_>) -> Outcome<DeadJob> {
    let mut c = Columns::of(row);
    Ok(DeadJob {
        id: JobId(c.take()?),
        task: TaskCode::stored(c.text()?),
        cause: c.coded("cause", DeadCause::from_code)?,
        time: c.time()?,
    })
}
