//! Rows for the database servers: whole tables at once, from numbers that the server makes itself.

use anyhow::{Context, Result};
use mainspring::{JobStatus, Priority};
use mainspring_model::AttemptStatus;
use mainspring_model::job::DeadCause;

use super::{DEAD_INCARNATION, ID_BITS, Piece, RARE_TASK, Span, in_portions};
use crate::args::StoreKind;
use crate::host::{POOL, TASK};
use crate::place::Place;

pub(super) fn fill(place: &Place, pieces: &[Piece]) -> Result<()> {
    for piece in pieces {
        let tables = match piece {
            Piece::Finished(_) => [finished_jobs, finished_attempts],
            Piece::Queued { .. } => [queued_jobs, queue],
        };
        // Each table by a session of its own.
        std::thread::scope(|scope| {
            let filling = tables.map(|statement| scope.spawn(move || write(place, piece, statement)));
            filling.into_iter().try_for_each(|table| table.join().expect("it fills or says why not"))
        })?;
        if matches!(piece, Piece::Finished(_)) {
            failures(place)?;
        }
    }
    Ok(())
}

/// Which rows: `i`, the number; `id`; and `t`, the time of its id.
type Statement = fn(&Piece, &str) -> String;

fn write(place: &Place, piece: &Piece, statement: Statement) -> Result<()> {
    let span = piece.span();
    let Span { from_ms, first_id, id_step, .. } = span;
    // It is thrown away if the machine stops now.
    let quickly = if place.store == StoreKind::Postgres { "SET synchronous_commit = off;" } else { "" };
    in_portions(span.rows, |from, to| {
        let last = to - 1;
        let numbers = match place.store {
            StoreKind::Postgres => format!("generate_series({from}::bigint, {last}::bigint) AS n (i)"),
            _ => format!("(SELECT CAST(seq AS SIGNED) AS i FROM seq_{from}_to_{last}) n"),
        };
        let rows = format!(
            "(SELECT i, {first_id} + i * {id_step} AS id, {from_ms} + ((i * {id_step}) >> {ID_BITS}) AS t
              FROM {numbers}) j"
        );
        place.sql(&format!("{quickly}{}", statement(piece, &rows))).map(drop)
    })
}

impl Piece {
    fn span(&self) -> Span {
        match self {
            Piece::Finished(span) | Piece::Queued { span, .. } => *span,
        }
    }

    fn queued(&self) -> (i64, i64) {
        match self {
            Piece::Finished(_) => (0, 0),
            Piece::Queued { due_ms, held, .. } => (*due_ms, *held),
        }
    }
}

fn finished_jobs(_: &Piece, rows: &str) -> String {
    let (success, failed) = (JobStatus::Success.code(), JobStatus::Failed.code());
    let priority = Priority::Normal.code();
    format!(
        "INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry,
            attempts, fence, execute_time, start_time, finish_time, create_time, update_time, error_msg, payload)
        SELECT id, CASE WHEN i % 100 = 0 THEN '{RARE_TASK}' ELSE '{TASK}' END,
            CASE WHEN i % 1000 = 0 THEN {failed} ELSE {success} END, '{POOL}', 0, {priority}, 0, 3, 1, 1,
            t, t + 1, t + 2, t, t + 2, CASE WHEN i % 1000 = 0 THEN 'refused' END, '{{\"t\":1}}'
        FROM {rows}"
    )
}

fn finished_attempts(_: &Piece, rows: &str) -> String {
    let (ended, ended_badly) = (AttemptStatus::Success.code(), AttemptStatus::Failed.code());
    format!(
        "INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, finish_time,
            execute_status, cost_ms, create_time)
        SELECT id, 1, CASE WHEN i % 100 = 0 THEN '{RARE_TASK}' ELSE '{TASK}' END, 1, 1, t + 1, t + 2,
            CASE WHEN i % 1000 = 0 THEN {ended_badly} ELSE {ended} END, 1, t + 1
        FROM {rows}"
    )
}

/// What follows from failures.
fn failures(place: &Place) -> Result<()> {
    let (failed, cause) = (JobStatus::Failed.code(), DeadCause::FailedForGood.code());
    let statements = format!(
        "INSERT INTO dead_job (job_id, task_code, cause, time)
            SELECT id, task_code, {cause}, finish_time FROM async_task WHERE closed_status = {failed};
        INSERT INTO alert_event (kind, job_id, task_code, text, create_time)
            SELECT 'JOB_FAILED', id, task_code, error_msg, finish_time FROM async_task WHERE closed_status = {failed}"
    );
    place.sql(&statements).map(drop).context("filling in what follows from failures")
}

fn queued_jobs(piece: &Piece, rows: &str) -> String {
    let ((due_ms, held), priority) = (piece.queued(), Priority::Normal.code());
    let pending = JobStatus::Pending.code();
    format!(
        "INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry,
            fence, execute_time, create_time, update_time, payload)
        SELECT id, '{TASK}', {pending}, '{POOL}', 0, {priority}, 0, 3, CASE WHEN i < {held} THEN 1 ELSE 0 END,
            {due_ms} + floor(i / 100), t, t, '{{\"t\":1}}'
        FROM {rows}"
    )
}

fn queue(piece: &Piece, rows: &str) -> String {
    let ((due_ms, held), priority) = (piece.queued(), Priority::Normal.code());
    format!(
        "INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state)
        SELECT id, '{TASK}', '{POOL}', {priority}, {due_ms} + floor(i / 100), CASE WHEN i < {held} THEN 1 ELSE 0 END,
            CASE WHEN i < {held} THEN {DEAD_INCARNATION} END, CASE WHEN i < {held} THEN 1 ELSE 0 END
        FROM {rows}"
    )
}
