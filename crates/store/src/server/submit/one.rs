//! One job for itself, step by step: those that look at the live jobs of their task, and repetitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring_model::job::{OnLive, SkipReason};
use mainspring_model::{BizId, Code, Incarnation, JobId, JobStatus, PoolName, QueueState, Task, Unique};

use super::many::Stored;
use super::rows::{Beginning, NewRow, Wanted, count_duplicates, detach, insert, insert_keys};
use crate::rules::{Meeting, Place, claims_at_insert, lane_of, meet, refused_running, refused_task, takes};
use crate::server::fault::{Fault, Outcome};
use crate::server::lanes::{self, Tasks};
use crate::server::params::{Batch, Column, params};
use crate::server::rates::limited_pools;
use crate::server::row::{Columns, coded};
use crate::server::session::Session;
use crate::server::{operate, sql};
use crate::{NewJob, ReplacedJob, Submitted};

/// The tasks of the batch, which the caller has read and holds, and what is looked up once for all its jobs.
#[derive(Debug)]
pub(in crate::server) struct One {
    owner: Incarnation,
    pub(in crate::server) tasks: Tasks,
    limited: Option<BTreeSet<PoolName>>,
}

/// What became of a job that met the live ones of its task.
#[derive(Debug)]
pub(in crate::server) enum Joining {
    Stored { claimed: bool, replaced: Vec<ReplacedJob> },
    KeptAway,
}

/// What an earlier try stored.
#[derive(Debug)]
pub(in crate::server) struct Made {
    /// The code of the reason why it was skipped.
    pub(in crate::server) skip: Option<i64>,
    /// Claimed by its own insert, for this node, and still so.
    pub(in crate::server) is_ours: bool,
}

impl One {
    pub(in crate::server) fn new(owner: Incarnation) -> One {
        One { owner, tasks: Tasks::default(), limited: None }
    }

    pub(super) async fn submit(&mut self, session: &mut Session, job: &NewJob) -> Outcome<Submitted> {
        let task = match self.task_that_takes(session, job).await? {
            Ok(task) => task,
            Err(code) => {
                // A job that an earlier try stored stays stored, whatever happened to its task since.
                let made = self.made(session, job).await?;
                let refused = || Submitted::Refused(refused_task(code, &job.task));
                return Ok(made.map_or_else(refused, |made| again(&made)));
            }
        };
        if let Some(biz_id) = &job.biz_id
            && let Some(answer) = self.take_key(session, job, biz_id).await?
        {
            return Ok(answer);
        }
        // It would meet itself among the live jobs.
        if job.on_live != OnLive::Join
            && let Some(made) = self.made(session, job).await?
        {
            free_key(session, job).await?;
            return Ok(again(&made));
        }
        match self.join(session, &task, job).await? {
            Joining::Stored { claimed, replaced } => Ok(Submitted::Stored { claimed, replaced }),
            Joining::KeptAway => {
                free_key(session, job).await?;
                Ok(Submitted::Refused(refused_running(&task)))
            }
        }
    }

    async fn task_that_takes(&mut self, session: &mut Session, job: &NewJob) -> Outcome<Result<Arc<Task>, Code>> {
        Ok(match self.tasks.get(session, &job.task).await? {
            None => Err(Code::TaskNotFound),
            Some(task) if takes(&task, job) => Ok(task),
            Some(_) => Err(Code::TaskDisabled),
        })
    }

    /// What is stored under the id of the job: it was made by an earlier try of the same call.
    pub(in crate::server) async fn made(&self, session: &mut Session, job: &NewJob) -> Outcome<Option<Made>> {
        Ok(made_of(session, self.owner, &[job]).await?.remove(&job.id))
    }

    /// Stores a job whose key is its own, unless the live jobs of its task keep it away.
    pub(in crate::server) async fn join(
        &mut self,
        session: &mut Session,
        task: &Task,
        job: &NewJob,
    ) -> Outcome<Joining> {
        let lane = lane_of(Some(&task.definition), Place::of_new(job), job.concurrency_key.as_deref());
        let asks_to_claim = job.claim && lane.is_some();
        let counted = match job.on_live {
            OnLive::JoinBelow(jobs) => jobs.max(1),
            OnLive::Replace => 1,
            OnLive::Join => u32::from(asks_to_claim),
        };
        let mut live = if counted == 0 { 0 } else { lanes::live_of_task(session, task, counted).await? };
        let mut replaced = Vec::new();
        match meet(job.on_live, live) {
            Meeting::Join => {}
            Meeting::KeepAway => return Ok(Joining::KeptAway),
            Meeting::Replace => {
                let ids = lanes::live_ids(session, task).await?;
                replaced = operate::replace(session, &ids, job.id, job.create_time).await?;
                live = 0;
            }
        }
        let may_claim = claims_at_insert(lane.as_ref(), task.definition.rate_limit, live);
        let claimed = job.claim && may_claim && !self.is_limited(session, &job.pool).await?;
        let claimed = self.store(session, job, Beginning::Queued { lane, claimed }).await?;
        Ok(Joining::Stored { claimed, replaced })
    }

    /// What such a pool holds, and its starts, are counted where jobs are claimed.
    async fn is_limited(&mut self, session: &mut Session, pool: &PoolName) -> Outcome<bool> {
        if self.limited.is_none() {
            self.limited = Some(limited_pools(session).await?);
        }
        Ok(self.limited.as_ref().is_some_and(|limited| limited.contains(pool)))
    }

    /// Is it this node's now?
    async fn store(&mut self, session: &mut Session, job: &NewJob, beginning: Beginning) -> Outcome<bool> {
        let mut row = [NewRow::new(job, beginning)];
        if insert(session, self.owner, &mut row).await? {
            return Ok(row[0].is_claimed());
        }
        // The job was stored by an earlier try and has freed its key since: what this try inserted is taken back.
        free_key(session, job).await?;
        detach(session, &row[0]).await?;
        Ok(self.made(session, job).await?.is_some_and(|made| made.is_ours))
    }

    /// Only the record of a fire time that is not run.
    pub(in crate::server) async fn skip(
        &mut self,
        session: &mut Session,
        job: &NewJob,
        reason: SkipReason,
        words: String,
    ) -> Outcome<()> {
        let mut row = [NewRow::new(job, Beginning::Skipped { reason, words })];
        insert(session, self.owner, &mut row).await.map(drop)
    }

    /// `false`: the fire time has its record, for ever.
    pub(in crate::server) async fn take_fire(&self, session: &mut Session, job: &NewJob, key: &BizId) -> Outcome<bool> {
        let holder = holder_of(session, job, key).await?;
        Ok(holder.is_none())
    }

    /// `None` when the key is this job's now.
    async fn take_key(&self, session: &mut Session, job: &NewJob, biz_id: &BizId) -> Outcome<Option<Submitted>> {
        let Some(first) = holder_of(session, job, biz_id).await? else { return Ok(None) };
        // Stored by an earlier try: it has the key still, or has ended and freed it for another one.
        if let Some(made) = self.made(session, job).await? {
            return Ok(Some(again(&made)));
        }
        let duplicate = first_job(session, first, job.payload.as_deref()).await?;
        match &duplicate {
            Some(_) => count_duplicates(session, [(first, job.create_time)]).await?,
            None => {
                let moved = params![biz_id.as_str(), job.task.as_str(), job.id, job.unique == Unique::Live];
                session.run(&sql::KEY_MOVE, &moved).await?;
            }
        }
        Ok(duplicate)
    }
}

/// Who had the key already. `None`: nobody, and it is this job's now.
async fn holder_of(session: &mut Session, job: &NewJob, key: &BizId) -> Outcome<Option<JobId>> {
    if insert_keys(session, &[Wanted { key, task: &job.task, job: job.id, unique: job.unique }]).await? == 1 {
        return Ok(None);
    }
    let holder = session.number(&sql::KEY_READ, &params![key.as_str(), job.task.as_str()]).await?;
    // It was freed just now.
    holder.map(|id| Some(JobId(id))).ok_or_else(|| Fault::again("a key became free just now"))
}

/// What earlier tries of the same call made of jobs.
pub(in crate::server) async fn made_of(
    session: &mut Session,
    owner: Incarnation,
    jobs: &[&NewJob],
) -> Outcome<BTreeMap<JobId, Made>> {
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let claiming: BTreeSet<JobId> = jobs.iter().filter(|job| job.claim).map(|job| job.id).collect();
    let columns = vec![Column::Ints(jobs.iter().map(|job| Some(job.id.0)).collect())];
    let rows = session.rows(&sql::JOBS_MADE, &params![Batch { columns }]).await?;
    let decode = |row| {
        let mut c = Columns::of(row);
        let (id, skip, fence) = (JobId(c.int()?), c.opt_int()?, c.int()?);
        let (state, holder) = (c.opt_int()?, c.opt_int()?);
        let claimed_at_insert = fence == 1 && c.opt_int()? == Some(1);
        // A job that was claimed later is known to this node, or is given back as one that it does not know.
        let is_ours = claiming.contains(&id)
            && claimed_at_insert
            && state == Some(QueueState::Claimed.code())
            && holder == Some(owner.0);
        Ok((id, Made { skip, is_ours }))
    };
    rows.iter().map(decode).collect()
}

/// Takes back a key that was inserted for the job.
async fn free_key(session: &mut Session, job: &NewJob) -> Outcome<()> {
    if let Some(biz_id) = &job.biz_id {
        session.run(&sql::KEY_DELETE, &params![biz_id.as_str(), job.task.as_str()]).await?;
    }
    Ok(())
}

/// The answer of the first try, without the names of those that it replaced.
pub(super) fn again(made: &Made) -> Submitted {
    Submitted::Stored { claimed: made.is_ours, replaced: Vec::new() }
}

/// The job that has the key; `None` when its record is gone.
async fn first_job(session: &mut Session, id: JobId, payload: Option<&str>) -> Outcome<Option<Submitted>> {
    let Some(row) = session.one(&sql::JOB_FIRST, &params![id]).await? else { return Ok(None) };
    let mut c = Columns::of(&row);
    let status = coded("status", c.int()?, JobStatus::from_code)?;
    let execute_time = c.time()?;
    let stored = Stored { payload: c.opt_string()?, attachment: c.opt_int()? };
    let payload_differs = stored.differs(session, id, payload).await?;
    Ok(Some(Submitted::Duplicate { id, status, execute_time, payload_differs }))
}
