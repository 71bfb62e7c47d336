//! Execute: what is written while a body runs.

use mainspring_model::{AttemptId, Timestamp};
use rusqlite::{Connection, params};

use super::decode::coded;
use super::fault::{Fault, Outcome};
use super::sql;
use crate::{Held, OutputChunk, Started, Stream};

pub(super) fn mark_started(conn: &Connection, started: &[Started]) -> Outcome<Vec<bool>> {
    let mut queue = conn.prepare_cached(sql::QUEUE_START)?;
    let mut job = conn.prepare_cached(sql::JOB_START)?;
    let mut attempt = conn.prepare_cached(sql::ATTEMPT_START)?;
    let mut answers = Vec::with_capacity(started.len());
    for start in started {
        let Held { id, fence, owner } = start.held;
        let held = queue.execute([id.0, fence.0, owner.0])? == 1;
        if held {
            let start_ms = start.start_time.as_ms();
            job.execute(params![id.0, start_ms, fence.0, start.attempt])?;
            attempt.execute(params![id.0, fence.0, start.task.as_str(), start.attempt, start.node, start_ms])?;
        }
        answers.push(held);
    }
    Ok(answers)
}

pub(super) fn append_output(conn: &Connection, chunks: &[OutputChunk]) -> Outcome<()> {
    let mut insert = conn.prepare_cached(sql::OUTPUT_INSERT)?;
    for chunk in chunks {
        let AttemptId { job, fence } = chunk.attempt;
        insert.execute(params![
            job.0,
            fence.0,
            chunk.seq,
            chunk.time.as_ms(),
            stream_code(chunk.stream),
            chunk.text
        ])?;
    }
    Ok(())
}

pub(super) fn output(conn: &Connection, id: AttemptId, after: Option<u32>, limit: u32) -> Outcome<Vec<OutputChunk>> {
    let mut read = conn.prepare_cached(sql::OUTPUT_READ)?;
    let after = after.map_or(-1, i64::from);
    let mut rows = read.query(params![id.job.0, id.fence.0, after, limit])?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.next()? {
        chunks.push(OutputChunk {
            attempt: id,
            seq: row.get(0)?,
            time: Timestamp::from_ms(row.get(1)?),
            stream: coded("stream", row.get(2)?, stream_of)?,
            text: row.get(3)?,
        });
    }
    Ok::<_, Fault>(chunks)
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
