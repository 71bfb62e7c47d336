//! What a person does to a job, guarded by what the person saw, with its audit row in the same transaction.
//!
//! **Locks:** the task, the queue row, the record, in this order; what is decided by is read after that.

use mainspring_model::decide::expired_text;
use mainspring_model::job::{DeadCause, QueueState, SkipReason};
use mainspring_model::{AttemptStatus, BizId, Fence, Job, JobId, JobStatus, Timestamp, Unique, limits};

use super::audit::{By, write_audit};
use super::decode::{JobRow, read_job};
use super::ends::{free_key, write_death};
use super::fault::{Fault, Outcome};
use super::lanes::{self, Hold, Tasks, key_of};
use super::nodes::no_cluster;
use super::params::{Batch, Column, params};
use super::row::Columns;
use super::schedule::after_end;
use super::session::Session;
use super::submit::{Wanted, insert_keys};
use super::{jobs, sql};
use crate::rules::{
    Change, Place, alert_text, attempt_after, judge, lane_code, lane_of, operation_message, replaced_text,
};
use crate::{Expiry, Operate, Operated, ReplacedJob};

pub(super) async fn operate(session: &mut Session, operate: &Operate) -> Outcome<Operated> {
    let Some(seen) = read_job(session, operate.id).await? else { return Ok(Operated::Missing) };
    let mut tasks = Tasks::default();
    tasks.load(session, [&seen.job.task], Hold::Change).await?;
    let Some(row) = lock_job(session, operate.id).await? else { return Ok(Operated::Missing) };
    let object = format!("job:{}", operate.id);
    let Some(change) = judge(&row.job, operate) else {
        let words = params![operate.now, operate.by.as_str(), operate.operation.as_str(), object];
        let is_repeated = session.exists(&sql::AUDIT_RECENT, &words).await?;
        return if is_repeated { done(session, operate.id).await } else { Ok(Operated::Moved) };
    };
    let message = operation_message(operate);
    let attempt = attempt_after(operate.operation);
    let ending = |status| Ending { status, attempt, message: &message, now: operate.now };
    match change {
        Change::Reopen => {
            if let Some(taken_by) = retake_key(session, &row).await? {
                return Ok(Operated::KeyTaken(taken_by));
            }
            reopen(session, &mut tasks, &row.job, operate).await?;
        }
        Change::DueNow => {
            let at = params![operate.id, operate.now];
            session.run(&sql::QUEUE_DUE_NOW, &at).await?;
            session.run(&sql::JOB_DUE_NOW, &at).await?;
        }
        Change::End(status) => end(session, &row, &ending(status)).await?,
        Change::Release => release(session, &row, &ending(row.job.status)).await?,
    }
    let by = By { who: operate.by.clone(), now: operate.now };
    write_audit(session, &by, operate.operation.as_str(), &object, row.job.task.as_str()).await?;
    done(session, operate.id).await
}

/// The job as it is and stays until the end of the transaction. Whoever claims, starts or settles it locks its queue row
/// first, so that comes before its record.
async fn lock_job(session: &mut Session, id: JobId) -> Outcome<Option<JobRow>> {
    session.rows(&sql::QUEUE_LOCK, &params![id]).await?;
    session.rows(&sql::JOB_LOCK, &params![id]).await?;
    read_job(session, id).await
}

async fn done(session: &mut Session, id: JobId) -> Outcome<Operated> {
    let job = jobs::job(session, id).await?;
    job.map(Operated::Done).ok_or_else(|| Fault::Row(format!("job {id} is gone within its own transaction")))
}

/// The job that has the key instead, if there is one. A key for the record's life was never freed.
async fn retake_key(session: &mut Session, row: &JobRow) -> Outcome<Option<JobId>> {
    let (Some(biz_id), Unique::Live) = (&row.job.biz_id, row.unique) else { return Ok(None) };
    let wanted = Wanted { key: biz_id, task: &row.job.task, job: row.job.id, unique: Unique::Live };
    if insert_keys(session, &[wanted]).await? == 1 {
        return Ok(None);
    }
    let holder = session.number(&sql::KEY_READ, &params![biz_id.as_str(), row.job.task.as_str()]).await?;
    let holder = holder.map(JobId).ok_or_else(|| Fault::again("the key became free just now"))?;
    Ok(Some(holder).filter(|holder| *holder != row.job.id))
}

async fn reopen(session: &mut Session, tasks: &mut Tasks, job: &Job, operate: &Operate) -> Outcome<()> {
    session.run(&sql::JOB_REOPEN, &params![job.id, operate.now]).await?;
    let floor = session.number(&sql::FENCE_FLOOR, &[]).await?.ok_or_else(no_cluster)?;
    // It grows, so that a cancel that was meant for the generation before does not reach this one.
    let fence = job.fence.next().max(Fence(floor));
    let task = tasks.readable(session, &job.task).await?;
    let definition = task.as_ref().map(|task| &task.definition);
    let lane = lane_of(definition, Place::of_known(job, false), job.concurrency_key.as_deref());
    let int = |number| Column::Ints(vec![number]);
    let columns = vec![
        int(Some(job.id.0)),
        Column::Texts(vec![Some(job.task.as_str().into())]),
        Column::Texts(vec![Some(job.pool.as_str().into())]),
        int(Some(job.priority.code())),
        int(Some(operate.now.as_ms())),
        int(Some(fence.0)),
        int(None),
        int(Some(QueueState::Queued.code())),
        int(Some(lane_code(lane.as_ref()))),
        Column::Texts(vec![lane.as_ref().map(|lane| key_of(lane).into())]),
    ];
    session.run(&sql::QUEUE_INSERT_LANE, &params![Batch { columns }]).await?;
    session.run(&sql::DEAD_CLOSE, &params![job.id, operate.now, operate.by.as_str()]).await.map(drop)
}

/// How a job ends that no settlement ends.
struct Ending<'a> {
    status: JobStatus,
    /// Of its running attempt, if it has one.
    attempt: AttemptStatus,
    message: &'a str,
    now: Timestamp,
}

async fn end(session: &mut Session, row: &JobRow, ending: &Ending<'_>) -> Outcome<()> {
    let job = &row.job;
    session.run(&sql::QUEUE_DELETE, &params![job.id]).await?;
    let record = params![job.id, ending.status.code(), job.fence.next(), ending.now, ending.message];
    session.run(&sql::JOB_END_BY_PERSON, &record).await?;
    end_attempt(session, job, ending).await?;
    let live_key: Option<&BizId> = job.biz_id.as_ref().filter(|_| row.unique == Unique::Live);
    free_key(session, job.id, &job.task, live_key).await?;
    if ending.status == JobStatus::Failed {
        let text = alert_text(DeadCause::MarkedFailed.as_str(), Some(ending.message));
        write_death(session, job.id, &job.task, DeadCause::MarkedFailed, &text, ending.now).await?;
    }
    if let Some(lane) = &row.lane {
        lanes::go_on(session, &job.task, lane).await?;
    }
    after_end(session, &job.task, job.trigger, ending.now, ending.now).await
}

/// Cancels live jobs in favour of a new one. The caller holds their task.
pub(super) async fn replace(
    session: &mut Session,
    ids: &[JobId],
    by: JobId,
    now: Timestamp,
) -> Outcome<Vec<ReplacedJob>> {
    let message = replaced_text(by);
    let ending = Ending { status: JobStatus::Cancelled, attempt: AttemptStatus::Cancelled, message: &message, now };
    let mut replaced = Vec::with_capacity(ids.len());
    for id in ids {
        let row = lock_job(session, *id).await?.ok_or_else(|| Fault::Row(format!("job {id} has no record")))?;
        if row.job.queue.is_none() {
            continue; // it has ended just now
        }
        end(session, &row, &ending).await?;
        let (fence, pool) = (row.job.fence.next(), row.job.pool);
        replaced.push(ReplacedJob { id: *id, fence, pool, error: message.clone() });
    }
    Ok(replaced)
}

/// Fired jobs that nobody has begun in time.
pub(super) async fn expire(session: &mut Session, expiries: &[Expiry], now: Timestamp) -> Outcome<Vec<JobId>> {
    Tasks::default().load(session, expiries.iter().map(|expiry| &expiry.task), Hold::Change).await?;
    let mut expired = Vec::new();
    for expiry in expiries {
        let of_task = params![expiry.task.as_str(), expiry.before, limits::FLUSH_JOBS_MAX as i64];
        for row in session.rows(&sql::QUEUE_UNBEGUN, &of_task).await? {
            let id = JobId(Columns::of(&row).int()?);
            match expire_one(session, id, now).await {
                Ok(true) => expired.push(id),
                Ok(false) => {}
                Err(Fault::Row(reason)) => tracing::error!(job = %id, reason, "an expired job cannot be read"),
                Err(fault) => return Err(fault),
            }
        }
    }
    Ok(expired)
}

async fn expire_one(session: &mut Session, id: JobId, now: Timestamp) -> Outcome<bool> {
    let row = lock_job(session, id).await?.ok_or_else(|| Fault::Row("it has no record".to_owned()))?;
    if row.job.queue.is_none_or(|queue| queue.owner.is_some()) {
        return Ok(false);
    }
    let message = expired_text(now.ms_since(row.job.create_time));
    let ending = Ending { status: JobStatus::Skipped, attempt: AttemptStatus::Skipped, message: &message, now };
    end(session, &row, &ending).await?;
    session.run(&sql::JOB_SKIP, &params![id, SkipReason::Expired.code()]).await?;
    Ok(true)
}

async fn release(session: &mut Session, row: &JobRow, ending: &Ending<'_>) -> Outcome<()> {
    let job = &row.job;
    let fence = job.fence.next();
    session.run(&sql::QUEUE_RELEASE, &params![job.id, fence]).await?;
    session.run(&sql::JOB_RELEASE, &params![job.id, fence, ending.now]).await?;
    if let Some(lane) = &row.lane {
        lanes::go_on(session, &job.task, lane).await?;
    }
    end_attempt(session, job, ending).await
}

async fn end_attempt(session: &mut Session, job: &Job, ending: &Ending<'_>) -> Outcome<()> {
    let row = params![job.id, job.fence, ending.attempt.code(), ending.now, ending.message];
    session.run(&sql::ATTEMPT_END_BY_PERSON, &row).await.map(drop)
}
