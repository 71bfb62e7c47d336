//! Attempts, their output, and dead jobs, for people.

use std::borrow::Cow;

use mainspring_model::job::DeadCause;
use mainspring_model::{Attempt, AttemptId, JobId, TaskCode};

use super::decode::{self, readable_page};
use super::fault::Outcome;
use super::params::{Batch, Column, params};
use super::row::{Columns, Row};
use super::session::Session;
use super::sql;
use crate::rules::cursor_parts;
use crate::{DeadJob, OutputChunk, Page, Stream};

pub(super) async fn of_job(
    session: &mut Session,
    id: JobId,
    limit: u32,
    cursor: Option<&str>,
) -> Outcome<Page<Attempt>> {
    let [before] = cursor_parts(cursor);
    let rows = session.rows(&sql::ATTEMPTS_OF_JOB, &params![id, before, limit.saturating_add(1)]).await?;
    readable_page(&rows, limit, decode::attempt, |attempt| attempt.fence.to_string())
}

pub(super) async fn of_task(
    session: &mut Session,
    code: &TaskCode,
    limit: u32,
    cursor: Option<&str>,
) -> Outcome<Page<Attempt>> {
    let [time, job, fence] = cursor_parts(cursor);
    let asked = params![code.as_str(), time, job, fence, limit.saturating_add(1)];
    let rows = session.rows(&sql::ATTEMPTS_OF_TASK, &asked).await?;
    readable_page(&rows, limit, decode::attempt, |attempt| {
        format!("{}:{}:{}", attempt.execute_time.as_ms(), attempt.job, attempt.fence)
    })
}

pub(super) async fn attempt(session: &mut Session, id: AttemptId) -> Outcome<Option<Attempt>> {
    let row = session.one(&sql::ATTEMPT, &params![id.job, id.fence]).await?;
    row.as_ref().map(decode::attempt).transpose()
}

pub(super) async fn dead_jobs(
    session: &mut Session,
    task: Option<&TaskCode>,
    limit: u32,
    cursor: Option<&str>,
) -> Outcome<Page<DeadJob>> {
    let [time, job] = cursor_parts(cursor);
    let rows_max = limit.saturating_add(1);
    let rows = match task {
        None => session.rows(&sql::DEAD_JOBS, &params![time, job, rows_max]).await?,
        Some(task) => session.rows(&sql::DEAD_JOBS_OF_TASK, &params![time, job, rows_max, task.as_str()]).await?,
    };
    readable_page(&rows, limit, dead_job, |dead| format!("{}:{}", dead.time.as_ms(), dead.id))
}

fn dead_job(row: &Row) -> Outcome<DeadJob> {
    let mut c = Columns::of(row);
    Ok(DeadJob {
        id: JobId(c.int()?),
        task: TaskCode::stored(c.text()?),
        cause: c.coded("cause", DeadCause::from_code)?,
        time: c.time()?,
    })
}

/// Each statement is its own transaction: a chunk is kept once, however often it is said.
pub(super) async fn append_output(session: &mut Session, chunks: &[OutputChunk]) -> Outcome<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    let ints = |number: fn(&OutputChunk) -> i64| Column::Ints(chunks.iter().map(|chunk| Some(number(chunk))).collect());
    let texts = chunks.iter().map(|chunk| Some(Cow::Borrowed(chunk.text.as_str()))).collect();
    let columns = vec![
        ints(|chunk| chunk.attempt.job.0),
        ints(|chunk| chunk.attempt.fence.0),
        ints(|chunk| chunk.seq.into()),
        ints(|chunk| chunk.time.as_ms()),
        ints(|chunk| stream_code(chunk.stream)),
        Column::Texts(texts),
    ];
    session.run_batch(&sql::OUTPUT_INSERT, Batch { columns }, &[]).await.map(drop)
}

pub(super) async fn output(
    session: &mut Session,
    id: AttemptId,
    after: Option<u32>,
    limit: u32,
) -> Outcome<Vec<OutputChunk>> {
    let after = after.map_or(-1, i64::from);
    let rows = session.rows(&sql::OUTPUT_READ, &params![id.job, id.fence, after, limit]).await?;
    let decode = |row| {
        let mut c = Columns::of(row);
        Ok(OutputChunk {
            attempt: id,
            seq: c.count()?,
            time: c.time()?,
            stream: c.coded("stream", stream_of)?,
            text: c.string()?,
        })
    };
    rows.iter().map(decode).collect()
}

const fn stream_code(stream: Stream) -> i64 {
    match stream {
        Stream::Log => 0,
        Stream::Stdout => 1,
        Stream::Stderr => 2,
        Stream::Progress => 3,
    }
}

const fn stream_of(code: i64) -> Option<Stream> {
    match code {
        0 => Some(Stream::Log),
        1 => Some(Stream::Stdout),
        2 => Some(Stream::Stderr),
        3 => Some(Stream::Progress),
        _ => None,
    }
}
