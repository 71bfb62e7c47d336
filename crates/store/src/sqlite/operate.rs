//! What a person does to a job, guarded by what the person saw, with its audit row in the same transaction.

use mainspring_model::decide::expired_text;
use mainspring_model::job::{DeadCause, QueueState, SkipReason};
use mainspring_model::{AttemptStatus, BizId, Job, JobId, JobStatus, Timestamp, Unique, limits};
use rusqlite::{Connection, params};

use super::decode::{JobRow, read_job};
use super::fault::{Fault, Outcome};
use super::lanes::{self, Tasks, key_of};
use super::schedule::after_end;
use super::settle::{free_key, write_audit, write_death};
use super::{jobs, nodes, sql};
use crate::rules::{
    Change, Place, alert_text, attempt_after, judge, lane_code, lane_of, operation_message, replaced_text,
};
use crate::{Expiry, Operate, Operated, ReplacedJob};

pub(super) fn operate(conn: &Connection, operate: &Operate) -> Outcome<Operated> {
    let Some(row) = read_job(conn, operate.id)? else { return Ok(Operated::Missing) };
    let object = format!("job:{}", operate.id);
    let Some(change) = judge(&row.job, operate) else {
        let words = params![operate.now.as_ms(), operate.by, operate.operation.as_str(), object];
        let is_repeated = conn.prepare_cached(sql::AUDIT_RECENT)?.exists(words)?;
        return if is_repeated { done(conn, operate.id) } else { Ok(Operated::Moved) };
    };
    let message = operation_message(operate);
    let attempt = attempt_after(operate.operation);
    let ending = |status| Ending { status, attempt, message: &message, now: operate.now };
    match change {
        Change::Reopen => {
            if let Some(taken_by) = retake_key(conn, &row)? {
                return Ok(Operated::KeyTaken(taken_by));
            }
            reopen(conn, &row.job, operate)?;
        }
        Change::DueNow => {
            let at = [operate.id.0, operate.now.as_ms()];
            conn.prepare_cached(sql::QUEUE_DUE_NOW)?.execute(at)?;
            conn.prepare_cached(sql::JOB_DUE_NOW)?.execute(at)?;
        }
        Change::End(status) => end(conn, &row, &ending(status))?,
        Change::Release => release(conn, &row, &ending(row.job.status))?,
    }
    write_audit(conn, operate.now, &operate.by, operate.operation.as_str(), &object, row.job.task.as_str())?;
    done(conn, operate.id)
}

fn done(conn: &Connection, id: JobId) -> Outcome<Operated> {
    jobs::job(conn, id)?
        .map(Operated::Done)
        .ok_or_else(|| Fault::Row(format!("job {id} is gone within its own transaction")))
}

/// The job that has the key instead, if there is one. A key for the record's life was never freed.
fn retake_key(conn: &Connection, row: &JobRow) -> Outcome<Option<JobId>> {
    let (Some(biz_id), Unique::Live) = (&row.job.biz_id, row.unique) else { return Ok(None) };
    let task = row.job.task.as_str();
    let taken = conn.prepare_cached(sql::KEY_INSERT)?.execute(params![biz_id.as_str(), task, row.job.id.0, true])? == 1;
    if taken {
        return Ok(None);
    }
    let holder: i64 =
        conn.prepare_cached(sql::KEY_READ)?.query_row(params![biz_id.as_str(), task], |row| row.get(0))?;
    Ok(Some(JobId(holder)).filter(|holder| *holder != row.job.id))
}

fn reopen(conn: &Connection, job: &Job, operate: &Operate) -> Outcome<()> {
    let now = operate.now.as_ms();
    // It grows, so that a cancel that was meant for the generation before does not reach this one.
    let fence = job.fence.next().0;
    conn.prepare_cached(sql::JOB_REOPEN)?.execute([job.id.0, now])?;
    let task = Tasks::new(conn).readable(&job.task)?;
    let definition = task.as_ref().map(|task| &task.definition);
    let lane = lane_of(definition, Place::of_known(job, false), job.concurrency_key.as_deref());
    let (task, pool, priority) = (job.task.as_str(), job.pool.as_str(), job.priority.code());
    let (owner, state) = (None::<i64>, QueueState::Queued.code());
    match &lane {
        None => {
            let row = params![job.id.0, task, pool, priority, now, fence, owner, state];
            conn.prepare_cached(sql::QUEUE_INSERT)?.execute(row)?;
        }
        Some(lane) => {
            let code = lane_code(Some(lane));
            let row = params![job.id.0, task, pool, priority, now, fence, owner, state, code, key_of(lane)];
            conn.prepare_cached(sql::QUEUE_INSERT_LANE)?.execute(row)?;
        }
    }
    conn.prepare_cached(sql::DEAD_CLOSE)?.execute(params![job.id.0, now, operate.by])?;
    if job.shard.is_some() {
        // Its node may be gone, and nobody looks for the dead while one process owns the file.
        nodes::reroute(conn)?;
    }
    Ok(())
}

/// How a job ends that no settlement ends.
struct Ending<'a> {
    status: JobStatus,
    /// Of its running attempt, if it has one.
    attempt: AttemptStatus,
    message: &'a str,
    now: Timestamp,
}

fn end(conn: &Connection, row: &JobRow, ending: &Ending<'_>) -> Outcome<()> {
    let job = &row.job;
    let now = ending.now.as_ms();
    conn.prepare_cached(sql::QUEUE_DELETE)?.execute([job.id.0])?;
    let record = params![job.id.0, ending.status.code(), job.fence.next().0, now, ending.message];
    conn.prepare_cached(sql::JOB_END_BY_PERSON)?.execute(record)?;
    end_attempt(conn, job, ending)?;
    let live_key: Option<&BizId> = job.biz_id.as_ref().filter(|_| row.unique == Unique::Live);
    free_key(conn, job.id, &job.task, live_key)?;
    if ending.status == JobStatus::Failed {
        let text = alert_text(DeadCause::MarkedFailed.as_str(), Some(ending.message));
        write_death(conn, job.id, &job.task, DeadCause::MarkedFailed, &text, ending.now)?;
    }
    if let Some(lane) = &row.lane {
        lanes::go_on(conn, &job.task, lane)?;
    }
    after_end(conn, &job.task, job.trigger, ending.now, ending.now)
}

/// Cancels live jobs in favour of a new one.
pub(super) fn replace(conn: &Connection, ids: &[JobId], by: JobId, now: Timestamp) -> Outcome<Vec<ReplacedJob>> {
    let message = replaced_text(by);
    let ending = Ending { status: JobStatus::Cancelled, attempt: AttemptStatus::Cancelled, message: &message, now };
    let mut replaced = Vec::with_capacity(ids.len());
    for id in ids {
        let row = read_job(conn, *id)?.ok_or_else(|| Fault::Row(format!("job {id} has no record")))?;
        end(conn, &row, &ending)?;
        let (fence, pool) = (row.job.fence.next(), row.job.pool);
        replaced.push(ReplacedJob { id: *id, fence, pool, error: message.clone() });
    }
    Ok(replaced)
}

/// Fired jobs that nobody has begun in time.
pub(super) fn expire(conn: &Connection, expiries: &[Expiry], now: Timestamp) -> Outcome<Vec<JobId>> {
    let mut unbegun = conn.prepare_cached(sql::QUEUE_UNBEGUN)?;
    let mut expired = Vec::new();
    for expiry in expiries {
        let of_task = params![expiry.task.as_str(), expiry.before.as_ms(), limits::FLUSH_JOBS_MAX as i64];
        let ids: Vec<i64> = unbegun.query_map(of_task, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for id in ids.into_iter().map(JobId) {
            match expire_one(conn, id, now) {
                Ok(()) => expired.push(id),
                Err(Fault::Row(reason)) => tracing::error!(job = %id, reason, "an expired job cannot be read"),
                Err(fault) => return Err(fault),
            }
        }
    }
    Ok(expired)
}

fn expire_one(conn: &Connection, id: JobId, now: Timestamp) -> Outcome<()> {
    let row = read_job(conn, id)?.ok_or_else(|| Fault::Row("it has no record".to_owned()))?;
    let message = expired_text(now.ms_since(row.job.create_time));
    let ending = Ending { status: JobStatus::Skipped, attempt: AttemptStatus::Skipped, message: &message, now };
    end(conn, &row, &ending)?;
    conn.prepare_cached(sql::JOB_SKIP)?.execute([id.0, SkipReason::Expired.code()])?;
    Ok(())
}

fn release(conn: &Connection, row: &JobRow, ending: &Ending<'_>) -> Outcome<()> {
    let job = &row.job;
    let fence = job.fence.next().0;
    conn.prepare_cached(sql::QUEUE_RELEASE)?.execute([job.id.0, fence])?;
    conn.prepare_cached(sql::JOB_RELEASE)?.execute([job.id.0, fence, ending.now.as_ms()])?;
    if let Some(lane) = &row.lane {
        lanes::go_on(conn, &job.task, lane)?;
    }
    end_attempt(conn, job, ending)
}

fn end_attempt(conn: &Connection, job: &Job, ending: &Ending<'_>) -> Outcome<()> {
    let row = params![job.id.0, job.fence.0, ending.attempt.code(), ending.now.as_ms(), ending.message];
    conn.prepare_cached(sql::ATTEMPT_END_BY_PERSON)?.execute(row)?;
    Ok(())
}
