//! Rows for SQLite.

use std::path::Path;

use anyhow::{Context, Result};
use mainspring::{JobStatus, Priority};
use mainspring_model::AttemptStatus;
use mainspring_model::job::DeadCause;
use rusqlite::{Connection, params};

use super::{DEAD_INCARNATION, ID_BITS, Piece, RARE_TASK, Span, in_portions};
use crate::host::{POOL, TASK};

const NUMBERS: &str = "WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)";

pub(super) fn fill(database: &Path, pieces: &[Piece]) -> Result<()> {
    let conn = Connection::open(database).context("opening the database to fill it")?;
    // It is thrown away if the machine stops now.
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA temp_store = MEMORY")?;
    for piece in pieces {
        match piece {
            Piece::Finished(span) => finished(&conn, *span)?,
            Piece::Queued { span, due_ms, held } => queued(&conn, *span, *due_ms, *held)?,
        }
    }
    conn.query_row("PRAGMA wal_checkpoint (TRUNCATE)", [], |_| Ok(())).context("copying the log into the file")?;
    drop(conn);
    std::fs::File::open(database)?.sync_all().context("syncing the database")
}

fn finished(conn: &Connection, span: Span) -> Result<()> {
    let Span { rows, from_ms, first_id: first, id_step: step } = span;
    let (success, failed) = (JobStatus::Success.code(), JobStatus::Failed.code());
    let jobs = format!(
        "{NUMBERS}, j AS (SELECT i, ?3 + i * ?4 AS id, ?5 + ((i * ?4) >> {ID_BITS}) AS t FROM n)
        INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry,
            attempts, fence, execute_time, start_time, finish_time, create_time, update_time, error_msg, payload)
        SELECT id, iif(i % 100 = 0, '{RARE_TASK}', '{TASK}'), iif(i % 1000 = 0, {failed}, {success}), '{POOL}', 0,
            {priority}, 0, 3, 1, 1, t, t + 1, t + 2, t, t + 2, iif(i % 1000 = 0, 'refused', NULL), '{{\"t\":1}}'
        FROM j",
        priority = Priority::Normal.code()
    );
    let (ended, ended_badly) = (AttemptStatus::Success.code(), AttemptStatus::Failed.code());
    let attempts = format!(
        "{NUMBERS}, j AS (SELECT i, ?3 + i * ?4 AS id, ?5 + ((i * ?4) >> {ID_BITS}) AS t FROM n)
        INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, finish_time,
            execute_status, cost_ms, create_time)
        SELECT id, 1, iif(i % 100 = 0, '{RARE_TASK}', '{TASK}'), 1, 1, t + 1, t + 2,
            iif(i % 1000 = 0, {ended_badly}, {ended}), 1, t + 1
        FROM j"
    );
    in_portions(rows, |from, to| {
        let transaction = conn.unchecked_transaction()?;
        for sql in [&jobs, &attempts] {
            transaction.prepare_cached(sql)?.execute(params![from, to, first, step, from_ms])?;
        }
        Ok(transaction.commit()?)
    })?;
    let cause = DeadCause::FailedForGood.code();
    let failures = format!(
        "INSERT INTO dead_job (job_id, task_code, cause, time)
            SELECT id, task_code, {cause}, finish_time FROM async_task WHERE task_status = {failed};
        INSERT INTO alert_event (kind, job_id, task_code, text, create_time)
            SELECT 'JOB_FAILED', id, task_code, error_msg, finish_time FROM async_task WHERE task_status = {failed}"
    );
    conn.execute_batch(&failures).context("filling in what follows from failures")
}

fn queued(conn: &Connection, span: Span, due_ms: i64, held: i64) -> Result<()> {
    let Span { rows, from_ms, first_id: first, id_step: step } = span;
    let priority = Priority::Normal.code();
    let jobs = format!(
        "{NUMBERS}, j AS (SELECT i, ?3 + i * ?4 AS id, ?5 + ((i * ?4) >> {ID_BITS}) AS t FROM n)
        INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry,
            fence, execute_time, create_time, update_time, payload)
        SELECT id, '{TASK}', {pending}, '{POOL}', 0, {priority}, 0, 3, i < ?7, ?6 + i / 100, t, t, '{{\"t\":1}}'
        FROM j",
        pending = JobStatus::Pending.code()
    );
    let queue = format!(
        "{NUMBERS}
        INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state)
        SELECT ?3 + i * ?4, '{TASK}', '{POOL}', {priority}, ?6 + i / 100, i < ?7,
            iif(i < ?7, {DEAD_INCARNATION}, NULL), i < ?7
        FROM n WHERE ?5 > 0"
    );
    in_portions(rows, |from, to| {
        let transaction = conn.unchecked_transaction()?;
        for sql in [&jobs, &queue] {
            transaction.prepare_cached(sql)?.execute(params![from, to, first, step, from_ms, due_ms, held])?;
        }
        Ok(transaction.commit()?)
    })
}
