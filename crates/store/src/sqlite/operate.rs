//! What a person does to a job, guarded by what the person saw, with its audit row in the same transaction.

use mainspring_model::job::{DeadCause, QueueState};
use mainspring_model::{BizId, Job, JobId, JobStatus, Unique};
use rusqlite::{Connection, params};

use super::decode::{JobRow, read_job};
use super::fault::{Fault, Outcome};
use super::jobs;
use super::settle::{free_key, write_audit, write_death};
use super::sql;
use crate::rules::{Change, alert_text, attempt_after, judge, operation_message};
use crate::{Held, Operate, Operated};

pub(super) fn operate(conn: &Connection, operate: &Operate) -> Outcome<Operated> {
    let Some(row) = read_job(conn, operate.id)? else { return Ok(Operated::Missing) };
    let object = format!("job:{}", operate.id);
    let Some(change) = judge(&row.job, operate) else {
        let words = params![operate.now.as_ms(), operate.by, operate.operation.as_str(), object];
        let is_repeated = conn.prepare_cached(sql::AUDIT_RECENT)?.exists(words)?;
        return if is_repeated { done(conn, operate.id) } else { Ok(Operated::Moved) };
    };
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
        Change::End(status) => end(conn, &row, status, operate)?,
        Change::Release => release(conn, &row.job, operate)?,
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
    conn.prepare_cached(sql::JOB_REOPEN)?.execute([job.id.0, now])?;
    conn.prepare_cached(sql::QUEUE_INSERT)?.execute(params![
        job.id.0,
        job.task.as_str(),
        job.pool.as_str(),
        job.priority.code(),
        now,
        job.fence.0,
        None::<i64>,
        QueueState::Queued.code(),
    ])?;
    conn.prepare_cached(sql::DEAD_CLOSE)?.execute(params![job.id.0, now, operate.by])?;
    Ok(())
}

fn end(conn: &Connection, row: &JobRow, status: JobStatus, operate: &Operate) -> Outcome<()> {
    let job = &row.job;
    let message = operation_message(operate);
    conn.prepare_cached(sql::QUEUE_DELETE)?.execute([job.id.0])?;
    let record = params![job.id.0, status.code(), job.fence.next().0, operate.now.as_ms(), message];
    conn.prepare_cached(sql::JOB_END_BY_PERSON)?.execute(record)?;
    end_attempt(conn, job, operate, &message)?;
    let held = Held { id: job.id, fence: job.fence };
    let live_key: Option<&BizId> = job.biz_id.as_ref().filter(|_| row.unique == Unique::Live);
    free_key(conn, held, &job.task, live_key)?;
    if status == JobStatus::Failed {
        let text = alert_text(DeadCause::MarkedFailed.as_str(), Some(&message));
        write_death(conn, held, &job.task, DeadCause::MarkedFailed, &text, operate.now)?;
    }
    Ok(())
}

fn release(conn: &Connection, job: &Job, operate: &Operate) -> Outcome<()> {
    let fence = job.fence.next().0;
    conn.prepare_cached(sql::QUEUE_RELEASE)?.execute([job.id.0, fence])?;
    conn.prepare_cached(sql::JOB_RELEASE)?.execute([job.id.0, fence, operate.now.as_ms()])?;
    end_attempt(conn, job, operate, &operation_message(operate))
}

fn end_attempt(conn: &Connection, job: &Job, operate: &Operate, message: &str) -> Outcome<()> {
    let status = attempt_after(operate.operation).code();
    let row = params![job.id.0, job.fence.0, status, operate.now.as_ms(), message];
    conn.prepare_cached(sql::ATTEMPT_END_BY_PERSON)?.execute(row)?;
    Ok(())
}
