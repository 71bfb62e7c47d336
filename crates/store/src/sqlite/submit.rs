//! Submit: the record, the queue row and the key of each new job.

use mainspring_model::{BizId, Code, Incarnation, JobId, JobStatus, QueueState, TaskCode, Unique, limits};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::command::answer_each;
use super::decode::{coded, read_attachment, time};
use super::fault::{Fault, Outcome};
use super::sql;
use crate::rules::{refused_task, refused_unreadable};
use crate::{NewJob, Submitted};

pub(super) fn submit(conn: &Connection, owner: Incarnation, jobs: &[NewJob]) -> Outcome<Vec<Submitted>> {
    let mut batch = Batch {
        conn,
        owner,
        job_insert: conn.prepare_cached(sql::JOB_INSERT)?,
        queue_insert: conn.prepare_cached(sql::QUEUE_INSERT)?,
        key_insert: conn.prepare_cached(sql::KEY_INSERT)?,
        tasks: Vec::new(),
    };
    answer_each(
        conn,
        jobs,
        |job| batch.store(job),
        |job, reason| {
            tracing::error!(job = %job.id, task = %job.task, reason, "a submit met a job that cannot be read");
            Submitted::Refused(refused_unreadable(&job.task, job.biz_id.as_ref()))
        },
    )
}

/// Statements are looked up once per batch, and so are tasks.
struct Batch<'c, 'j> {
    conn: &'c Connection,
    owner: Incarnation,
    job_insert: CachedStatement<'c>,
    queue_insert: CachedStatement<'c>,
    key_insert: CachedStatement<'c>,
    /// `None`: takes jobs. A batch has few tasks.
    tasks: Vec<(&'j TaskCode, Option<Code>)>,
}

impl<'j> Batch<'_, 'j> {
    fn store(&mut self, job: &'j NewJob) -> Outcome<Submitted> {
        if let Some(code) = self.refusal(&job.task)? {
            // A job that an earlier try stored stays stored, whatever happened to its task since.
            let known = self.conn.prepare_cached(sql::JOB_EXISTS)?.exists([job.id.0])?;
            return Ok(if known { Submitted::Stored } else { Submitted::Refused(refused_task(code, &job.task)) });
        }
        if let Some(biz_id) = &job.biz_id
            && let Some(answer) = self.take_key(job, biz_id)?
        {
            return Ok(answer);
        }
        let attachment = match &job.payload {
            Some(payload) if payload.len() > limits::PAYLOAD_INLINE_BYTES_MAX => {
                self.conn.prepare_cached(sql::ATTACHMENT_INSERT)?.execute(params!["payload", payload.as_bytes()])?;
                Some(self.conn.last_insert_rowid())
            }
            _ => None,
        };
        if self.insert_record(job, attachment)? {
            self.insert_queue_row(job)?;
        } else {
            self.undo(job, attachment)?;
        }
        Ok(Submitted::Stored)
    }

    fn refusal(&mut self, task: &'j TaskCode) -> Outcome<Option<Code>> {
        if let Some((_, refusal)) = self.tasks.iter().find(|(code, _)| *code == task) {
            return Ok(*refusal);
        }
        let status: Option<String> =
            self.conn.prepare_cached(sql::TASK_SWITCH)?.query_row([task.as_str()], |row| row.get(0)).optional()?;
        let refusal = match status.as_deref() {
            None => Some(Code::TaskNotFound),
            Some("ENABLED") => None,
            Some(_) => Some(Code::TaskDisabled),
        };
        self.tasks.push((task, refusal));
        Ok(refusal)
    }

    /// `None` when the key is this job's now.
    fn take_key(&mut self, job: &NewJob, biz_id: &BizId) -> Outcome<Option<Submitted>> {
        let while_live = job.unique == Unique::Live;
        let key = params![biz_id.as_str(), job.task.as_str(), job.id.0, while_live];
        if self.key_insert.execute(key)? == 1 {
            return Ok(None);
        }
        let first: i64 = self
            .conn
            .prepare_cached(sql::KEY_READ)?
            .query_row(params![biz_id.as_str(), job.task.as_str()], |row| row.get(0))?;
        // Stored by an earlier try: it has the key still, or has ended and freed it for another one.
        if first == job.id.0 || self.conn.prepare_cached(sql::JOB_EXISTS)?.exists([job.id.0])? {
            return Ok(Some(Submitted::Stored));
        }
        let duplicate = first_job(self.conn, JobId(first), job.payload.as_deref())?;
        let counted = match &duplicate {
            Some(_) => (sql::JOB_DUPLICATE, params![first, job.create_time.as_ms()]),
            None => (sql::KEY_MOVE, key),
        };
        self.conn.prepare_cached(counted.0)?.execute(counted.1)?;
        Ok(duplicate)
    }

    /// `false` when the id is stored already.
    fn insert_record(&mut self, job: &NewJob, attachment: Option<i64>) -> Outcome<bool> {
        let inline = if attachment.is_some() { None } else { job.payload.as_deref() };
        let rows = self.job_insert.execute(params![
            job.id.0,
            job.task.as_str(),
            job.pool.as_str(),
            job.trigger.code(),
            job.priority.code(),
            job.unique.code(),
            job.biz_id.as_ref().map(BizId::as_str),
            job.max_retry,
            i64::from(job.claim),
            job.execute_time.as_ms(),
            job.timeout_ms,
            job.fire_time.map(|time| time.as_ms()),
            attachment,
            job.create_time.as_ms(),
            inline,
        ])?;
        Ok(rows == 1)
    }

    fn insert_queue_row(&mut self, job: &NewJob) -> Outcome<()> {
        let state = if job.claim { QueueState::Claimed } else { QueueState::Queued };
        self.queue_insert.execute(params![
            job.id.0,
            job.task.as_str(),
            job.pool.as_str(),
            job.priority.code(),
            job.execute_time.as_ms(),
            i64::from(job.claim),
            job.claim.then_some(self.owner.0),
            state.code(),
        ])?;
        Ok(())
    }

    /// The job was stored by an earlier try and has freed its key since: what this try inserted is taken back.
    fn undo(&mut self, job: &NewJob, attachment: Option<i64>) -> Outcome<()> {
        if let Some(biz_id) = &job.biz_id {
            self.conn.prepare_cached(sql::KEY_DELETE)?.execute(params![biz_id.as_str(), job.task.as_str()])?;
        }
        if let Some(id) = attachment {
            self.conn.prepare_cached(sql::ATTACHMENT_DELETE)?.execute([id])?;
        }
        Ok(())
    }
}

/// The job that has the key; `None` when its record is gone.
fn first_job(conn: &Connection, id: JobId, payload: Option<&str>) -> Outcome<Option<Submitted>> {
    let mut statement = conn.prepare_cached(sql::JOB_FIRST)?;
    let row = statement
        .query_row([id.0], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, Option<String>>(2)?,
                row.get::<_, Option<i64>>(3)?,
            ))
        })
        .optional()?;
    let Some((status, execute_time, inline, attachment)) = row else { return Ok(None) };
    let status = coded("status", status, JobStatus::from_code)?;
    let payload_differs = match attachment.map(|attachment| read_attachment(conn, attachment)) {
        None => inline.as_deref() != payload,
        Some(Ok(stored)) => Some(&*stored) != payload,
        Some(Err(Fault::Row(reason))) => {
            tracing::error!(job = %id, reason, "the payload of a stored job cannot be read");
            true
        }
        Some(Err(fault)) => return Err(fault),
    };
    Ok(Some(Submitted::Duplicate { id, status, execute_time: time(execute_time), payload_differs }))
}
