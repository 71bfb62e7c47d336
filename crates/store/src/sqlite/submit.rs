//! Submit: the record, the queue row and the key of each new job.

use std::collections::BTreeMap;
use std::rc::Rc;

use mainspring_model::job::{Lane, OnLive, SkipReason};
use mainspring_model::{
    BizId, Code, Incarnation, JobId, JobStatus, PoolName, QueueState, Task, Timestamp, Unique, limits,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::command::answer_each;
use super::decode::{Columns, coded, read_attachment, time};
use super::fault::{Fault, Outcome};
use super::lanes::{self, Tasks, key_of};
use super::rates::PoolLimits;
use super::{operate, sql};
use crate::rules::{
    Meeting, Place, claims_at_insert, lane_code, lane_of, meet, refused_running, refused_task, refused_unreadable,
    takes,
};
use crate::{NewJob, ReplacedJob, Submitted};

pub(super) fn submit(conn: &Connection, owner: Incarnation, jobs: &[NewJob]) -> Outcome<Vec<Submitted>> {
    let mut batch = Batch::new(conn, owner)?;
    answer_each(
        conn,
        jobs,
        |job| batch.submit(job),
        |job, reason| {
            tracing::error!(job = %job.id, task = %job.task, reason, "a submit met a job that cannot be read");
            Submitted::Refused(refused_unreadable(&job.task, job.biz_id.as_ref()))
        },
    )
}

/// Statements are looked up once per batch, and so are tasks and pools.
pub(super) struct Batch<'c> {
    conn: &'c Connection,
    owner: Incarnation,
    job_insert: CachedStatement<'c>,
    queue_insert: CachedStatement<'c>,
    key_insert: CachedStatement<'c>,
    /// Of jobs with fire times or keys, and of jobs in lanes: looked up when the first one comes.
    fired_insert: Option<CachedStatement<'c>>,
    lane_insert: Option<CachedStatement<'c>>,
    tasks: Tasks<'c>,
    /// Pools that were looked at, and whether they have a limit that holds in all nodes together.
    limited: BTreeMap<PoolName, bool>,
}

/// What became of a job that met the live ones of its task.
pub(super) enum Joining {
    Stored { claimed: bool, replaced: Vec<ReplacedJob> },
    KeptAway,
}

/// What an earlier try stored.
pub(super) struct Made {
    /// The code of the reason why it was skipped.
    pub(super) skip: Option<i64>,
    /// Claimed by its own insert, for this node, and still so.
    pub(super) is_ours: bool,
}

/// How a record begins.
#[derive(Clone, Copy)]
enum Beginning<'a> {
    Queued { claimed: bool },
    Skipped { reason: SkipReason, words: &'a str },
}

impl<'c> Batch<'c> {
    pub(super) fn new(conn: &'c Connection, owner: Incarnation) -> Outcome<Batch<'c>> {
        Ok(Batch {
            conn,
            owner,
            job_insert: conn.prepare_cached(sql::JOB_INSERT)?,
            queue_insert: conn.prepare_cached(sql::QUEUE_INSERT)?,
            key_insert: conn.prepare_cached(sql::KEY_INSERT)?,
            fired_insert: None,
            lane_insert: None,
            tasks: Tasks::new(conn),
            limited: BTreeMap::new(),
        })
    }

    fn submit(&mut self, job: &NewJob) -> Outcome<Submitted> {
        let task = match self.task_that_takes(job)? {
            Ok(task) => task,
            Err(code) => {
                // A job that an earlier try stored stays stored, whatever happened to its task since.
                let made = self.made(job)?;
                let refused = || Submitted::Refused(refused_task(code, &job.task));
                return Ok(made.map_or_else(refused, |made| again(&made)));
            }
        };
        if let Some(biz_id) = &job.biz_id
            && let Some(answer) = self.take_key(job, biz_id)?
        {
            return Ok(answer);
        }
        // It would meet itself among the live jobs.
        if job.on_live != OnLive::Join
            && let Some(made) = self.made(job)?
        {
            self.free_key(job)?;
            return Ok(again(&made));
        }
        match self.join(&task, job)? {
            Joining::Stored { claimed, replaced } => Ok(Submitted::Stored { claimed, replaced }),
            Joining::KeptAway => {
                self.free_key(job)?;
                Ok(Submitted::Refused(refused_running(&task)))
            }
        }
    }

    fn task_that_takes(&mut self, job: &NewJob) -> Outcome<Result<Rc<Task>, Code>> {
        Ok(match self.tasks.get(&job.task)? {
            None => Err(Code::TaskNotFound),
            Some(task) if takes(&task, job) => Ok(task),
            Some(_) => Err(Code::TaskDisabled),
        })
    }

    /// What is stored under the id of the job: it was made by an earlier try of the same call.
    pub(super) fn made(&mut self, job: &NewJob) -> Outcome<Option<Made>> {
        let mut statement = self.conn.prepare_cached(sql::JOB_MADE)?;
        let mut rows = statement.query([job.id.0])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let mut c = Columns::of(row);
        let skip = c.take()?;
        let fence: i64 = c.take()?;
        let state: Option<i64> = c.take()?;
        let owner: Option<i64> = c.take()?;
        let claimed_at_insert = fence == 1 && c.take::<Option<i64>>()? == Some(1);
        // A job that was claimed later is known to this node, or is given back as one that it does not know.
        let is_ours =
            job.claim && claimed_at_insert && state == Some(QueueState::Claimed.code()) && owner == Some(self.owner.0);
        Ok(Some(Made { skip, is_ours }))
    }

    /// Stores a job whose key is its own, unless the live jobs of its task keep it away.
    pub(super) fn join(&mut self, task: &Task, job: &NewJob) -> Outcome<Joining> {
        let lane = lane_of(Some(&task.definition), Place::of_new(job), job.concurrency_key.as_deref());
        let asks_to_claim = job.claim && lane.is_some();
        let counted = match job.on_live {
            OnLive::JoinBelow(jobs) => jobs.max(1),
            OnLive::Replace => 1,
            OnLive::Join => u32::from(asks_to_claim),
        };
        let mut live = if counted == 0 { 0 } else { lanes::live_of_task(self.conn, task, counted)? };
        let mut replaced = Vec::new();
        match meet(job.on_live, live) {
            Meeting::Join => {}
            Meeting::KeepAway => return Ok(Joining::KeptAway),
            Meeting::Replace => {
                let ids = lanes::live_ids(self.conn, task)?;
                replaced = operate::replace(self.conn, &ids, job.id, job.create_time)?;
                live = 0;
            }
        }
        let may_claim = claims_at_insert(lane.as_ref(), task.definition.rate_limit, live);
        let claimed = job.claim && may_claim && !self.is_limited(&job.pool)?;
        let claimed = self.store(job, lane.as_ref(), claimed)?;
        Ok(Joining::Stored { claimed, replaced })
    }

    /// What such a pool holds, and its starts, are counted where jobs are claimed.
    fn is_limited(&mut self, pool: &PoolName) -> Outcome<bool> {
        if let Some(is_limited) = self.limited.get(pool) {
            return Ok(*is_limited);
        }
        let limits = PoolLimits::of(self.conn, pool)?;
        let is_limited = limits.ring.is_some() || limits.held_max.is_some();
        self.limited.insert(pool.clone(), is_limited);
        Ok(is_limited)
    }

    /// Is it this node's now?
    fn store(&mut self, job: &NewJob, lane: Option<&Lane>, claimed: bool) -> Outcome<bool> {
        let attachment = self.attach(job)?;
        if self.insert_record(job, attachment, Beginning::Queued { claimed })? {
            self.insert_queue_row(job, lane, claimed)?;
            return Ok(claimed);
        }
        // The job was stored by an earlier try and has freed its key since: what this try inserted is taken back.
        self.free_key(job)?;
        if let Some(id) = attachment {
            self.conn.prepare_cached(sql::ATTACHMENT_DELETE)?.execute([id])?;
        }
        Ok(self.made(job)?.is_some_and(|made| made.is_ours))
    }

    /// Only the record of a fire time that is not run.
    pub(super) fn skip(&mut self, job: &NewJob, reason: SkipReason, words: &str) -> Outcome<()> {
        let attachment = self.attach(job)?;
        self.insert_record(job, attachment, Beginning::Skipped { reason, words })?;
        Ok(())
    }

    /// `false`: the fire time has its record, for ever.
    pub(super) fn take_fire(&mut self, job: &NewJob, key: &BizId) -> Outcome<bool> {
        Ok(self.key_insert.execute(params![key.as_str(), job.task.as_str(), job.id.0, false])? == 1)
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
        if let Some(made) = self.made(job)? {
            return Ok(Some(again(&made)));
        }
        let duplicate = first_job(self.conn, JobId(first), job.payload.as_deref())?;
        let counted = match &duplicate {
            Some(_) => (sql::JOB_DUPLICATE, params![first, job.create_time.as_ms()]),
            None => (sql::KEY_MOVE, key),
        };
        self.conn.prepare_cached(counted.0)?.execute(counted.1)?;
        Ok(duplicate)
    }

    /// Takes back a key that was inserted for the job.
    fn free_key(&self, job: &NewJob) -> Outcome<()> {
        if let Some(biz_id) = &job.biz_id {
            self.conn.prepare_cached(sql::KEY_DELETE)?.execute(params![biz_id.as_str(), job.task.as_str()])?;
        }
        Ok(())
    }

    fn attach(&self, job: &NewJob) -> Outcome<Option<i64>> {
        match &job.payload {
            Some(payload) if payload.len() > limits::PAYLOAD_INLINE_BYTES_MAX => {
                self.conn.prepare_cached(sql::ATTACHMENT_INSERT)?.execute(params!["payload", payload.as_bytes()])?;
                Ok(Some(self.conn.last_insert_rowid()))
            }
            _ => Ok(None),
        }
    }

    /// `false` when the id is stored already.
    fn insert_record(&mut self, job: &NewJob, attachment: Option<i64>, beginning: Beginning<'_>) -> Outcome<bool> {
        let inline = if attachment.is_some() { None } else { job.payload.as_deref() };
        let biz_id = job.biz_id.as_ref().map(BizId::as_str);
        let (pool, trigger, priority, unique) =
            (job.pool.as_str(), job.trigger.code(), job.priority.code(), job.unique.code());
        let (due, made) = (job.execute_time.as_ms(), job.create_time.as_ms());
        let rows = match beginning {
            Beginning::Queued { claimed } if is_plain(job) => self.job_insert.execute(params![
                job.id.0,
                job.task.as_str(),
                pool,
                trigger,
                priority,
                unique,
                biz_id,
                job.max_retry,
                i64::from(claimed),
                due,
                job.timeout_ms,
                attachment,
                made,
                inline,
            ])?,
            beginning => {
                let (status, fence, skip) = match beginning {
                    Beginning::Queued { claimed } => (JobStatus::Pending, i64::from(claimed), None),
                    Beginning::Skipped { reason, words } => (JobStatus::Skipped, 0, Some((reason, words))),
                };
                let (last, first) = (job.fires.map(|fires| fires.last), job.fires.map(|fires| fires.first));
                prepared(&mut self.fired_insert, self.conn, sql::JOB_INSERT_FIRED)?.execute(params![
                    job.id.0,
                    job.task.as_str(),
                    pool,
                    trigger,
                    priority,
                    unique,
                    biz_id,
                    job.max_retry,
                    fence,
                    due,
                    job.timeout_ms,
                    attachment,
                    made,
                    inline,
                    job.concurrency_key.as_deref(),
                    last.map(Timestamp::as_ms),
                    first.map(Timestamp::as_ms),
                    job.fires.map(|fires| fires.count),
                    status.code(),
                    skip.map(|(reason, _)| reason.code()),
                    skip.map(|_| made),
                    skip.map(|(_, words)| words),
                    job.shard.map(|shard| shard.index),
                    job.shard.map(|shard| shard.total),
                ])?
            }
        };
        Ok(rows == 1)
    }

    fn insert_queue_row(&mut self, job: &NewJob, lane: Option<&Lane>, claimed: bool) -> Outcome<()> {
        let state = if claimed { QueueState::Claimed } else { QueueState::Queued };
        let (owner, fence) = (claimed.then_some(self.owner.0), i64::from(claimed));
        let (task, pool) = (job.task.as_str(), job.pool.as_str());
        let (priority, due) = (job.priority.code(), job.execute_time.as_ms());
        match lane {
            None => {
                self.queue_insert.execute(params![job.id.0, task, pool, priority, due, fence, owner, state.code()])?;
            }
            Some(lane) => {
                let place = (lane_code(Some(lane)), key_of(lane));
                prepared(&mut self.lane_insert, self.conn, sql::QUEUE_INSERT_LANE)?.execute(params![
                    job.id.0,
                    task,
                    pool,
                    priority,
                    due,
                    fence,
                    owner,
                    state.code(),
                    place.0,
                    place.1,
                ])?;
            }
        }
        Ok(())
    }
}

/// Most are: their statement has the fewest columns.
fn is_plain(job: &NewJob) -> bool {
    job.fires.is_none() && job.concurrency_key.is_none() && job.shard.is_none()
}

fn prepared<'s, 'c>(
    slot: &'s mut Option<CachedStatement<'c>>,
    conn: &'c Connection,
    statement: &str,
) -> Outcome<&'s mut CachedStatement<'c>> {
    match slot {
        Some(known) => Ok(known),
        None => Ok(slot.insert(conn.prepare_cached(statement)?)),
    }
}

/// The answer of the first try, without the names of those that it replaced.
fn again(made: &Made) -> Submitted {
    Submitted::Stored { claimed: made.is_ours, replaced: Vec::new() }
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
