//! What is done to the tables directly: a past and a future are written into them faster than any interface could,
//! and what is left in the queue is counted by somebody else than the one who is measured.
//!
//! Only while no engine has the database open.

use std::path::Path;

use anyhow::{Context, Result};
use mainspring::{JobId, JobStatus, Priority, Timestamp};
use mainspring_model::AttemptStatus;
use mainspring_model::job::DeadCause;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::host::{POOL, TASK};
use crate::latency::now_us;

/// A task that has one in a hundred of the finished jobs.
pub(crate) const RARE_TASK: &str = "bench.rare";

/// What a database is filled with beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fill {
    /// Finished jobs of the last two days with their attempts; one in a thousand failed.
    Finished,
    /// Jobs that are due from tomorrow on.
    Future,
    /// Both of them.
    PastAndFuture,
    /// Jobs that are due; the first ones were in the memory of a node that died.
    Waiting,
}

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Rows of one transaction.
const PORTION: i64 = 100_000;
const HELD_BY_DEAD_NODE: i64 = 2_000;
const DEAD_INCARNATION: i64 = 4_711;
/// Below the milliseconds in an id: node and sequence.
const ID_BITS: i64 = 22;

const NUMBERS: &str = "WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)";

pub(crate) fn fill(database: &Path, fill: Fill, rows: u64) -> Result<()> {
    let conn = Connection::open(database).context("opening the database to fill it")?;
    // It is thrown away if the machine stops now.
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA temp_store = MEMORY")?;
    let rows = i64::try_from(rows)?;
    let now_ms = i64::try_from(now_us() / 1_000)?;
    match fill {
        Fill::Finished => finished(&conn, rows, now_ms)?,
        Fill::Future => queued(&conn, rows, now_ms, now_ms + DAY_MS, 0)?,
        Fill::PastAndFuture => {
            finished(&conn, rows, now_ms)?;
            queued(&conn, rows, now_ms, now_ms + DAY_MS, 0)?;
        }
        Fill::Waiting => queued(&conn, rows, now_ms, now_ms - HOUR_MS, HELD_BY_DEAD_NODE)?,
    }
    conn.query_row("PRAGMA wal_checkpoint (TRUNCATE)", [], |_| Ok(())).context("copying the log into the file")?;
    drop(conn);
    std::fs::File::open(database)?.sync_all().context("syncing the database")
}

/// Ids as the product makes them: `first` of the first row, and the step to the next, so that all lie in the span.
fn ids(from_ms: i64, span_ms: i64, rows: i64) -> (i64, i64) {
    (JobId::first_at(Timestamp::from_ms(from_ms)).0, (span_ms << ID_BITS) / rows.max(1))
}

fn finished(conn: &Connection, rows: i64, now_ms: i64) -> Result<()> {
    let from_ms = now_ms - 2 * DAY_MS;
    let (first, step) = ids(from_ms, DAY_MS, rows);
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

fn queued(conn: &Connection, rows: i64, now_ms: i64, due_ms: i64, held: i64) -> Result<()> {
    // Created within the last hours but one, after all that is finished.
    let from_ms = now_ms - 3 * HOUR_MS;
    let (first, step) = ids(from_ms, HOUR_MS, rows);
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

fn in_portions(rows: i64, mut write: impl FnMut(i64, i64) -> Result<()>) -> Result<()> {
    let mut from = 0;
    while from < rows {
        let to = (from + PORTION).min(rows);
        write(from, to).with_context(|| format!("filling the rows {from} to {to}"))?;
        from = to;
    }
    Ok(())
}

/// Jobs that are due and not final.
pub(crate) fn left(database: &Path) -> Result<u64> {
    let conn = Connection::open(database).context("opening the database to count")?;
    let now_ms = i64::try_from(now_us() / 1_000)?;
    let count: i64 = conn.query_row("SELECT count(*) FROM job_queue WHERE due <= ?1", [now_ms], |row| row.get(0))?;
    Ok(u64::try_from(count)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, database};

    /// Rows that the product would not have written itself would measure something else.
    #[tokio::test]
    async fn filled_tables_keep_the_invariants_of_the_product() -> Result<()> {
        for (kind, expect_left) in [(Fill::Finished, 0), (Fill::PastAndFuture, 0), (Fill::Waiting, 3_000)] {
            let dir = tempfile::tempdir()?;
            Host::start(dir.path(), 1).await?.stop().await?;
            fill(&database(dir.path()), kind, 3_000)?;
            assert_eq!(left(&database(dir.path()))?, expect_left, "{kind:?}");
            let host = Host::start(dir.path(), 1).await?;
            host.pause().await?;
            let violations = host.jobs.engine().store().verify().await?;
            assert!(violations.is_empty(), "{kind:?}: {violations:?}");
            host.stop().await?;
        }
        Ok(())
    }
}
