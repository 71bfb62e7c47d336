//! Jobs that join whatever is live, with one statement per table for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring_model::{Code, Incarnation, JobId, JobStatus, PoolName, Task, TaskCode, Timestamp};

use super::one::{One, again};
use super::rows::{Beginning, NewRow, Taken, Wanted, count_duplicates, insert, stored, take_keys};
use super::unreadable;
use crate::rules::{Place, claims_at_insert, lane_of, refused_task, takes};
use crate::server::decode::read_attachment;
use crate::server::fault::{Fault, Outcome};
use crate::server::lanes::Tasks;
use crate::server::params::{Batch, Column, params};
use crate::server::rates::limited_pools;
use crate::server::row::{Columns, coded};
use crate::server::session::Session;
use crate::server::sql;
use crate::{NewJob, Submitted};

/// `None`: an id is stored already or comes twice, so there is a repetition.
pub(super) async fn submit(
    session: &mut Session,
    owner: Incarnation,
    tasks: &mut Tasks,
    jobs: &[&NewJob],
) -> Outcome<Option<Vec<Submitted>>> {
    let ids: BTreeSet<JobId> = jobs.iter().map(|job| job.id).collect();
    if ids.len() < jobs.len() {
        return Ok(None);
    }
    let mut answers: Vec<Option<Submitted>> = vec![None; jobs.len()];
    let mut welcome: Vec<(usize, Arc<Task>)> = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        let code = match tasks.get(session, &job.task).await {
            Ok(Some(task)) if takes(&task, job) => {
                welcome.push((at, task));
                continue;
            }
            Ok(Some(_)) => Code::TaskDisabled,
            Ok(None) => Code::TaskNotFound,
            Err(Fault::Row(reason)) => {
                answers[at] = Some(unreadable(job, &reason));
                continue;
            }
            Err(fault) => return Err(fault),
        };
        // A job that an earlier try stored stays stored, whatever happened to its task since.
        let made = One::new(owner).made(session, job).await?;
        let refused = || Submitted::Refused(refused_task(code, &job.task));
        answers[at] = Some(made.map_or_else(refused, |made| again(&made)));
    }
    let wanted = welcome.iter().filter_map(|(at, _)| Wanted::by(jobs[*at])).collect();
    let Some(taken) = take_keys(session, wanted).await? else {
        return Err(Fault::again("a key became free just now"));
    };
    let mut duplicates = Vec::new();
    if !taken.is_empty() {
        let found = answer_duplicates(session, jobs, taken).await?;
        let Some(found) = found else { return Ok(None) };
        let at_of: BTreeMap<JobId, usize> = jobs.iter().enumerate().map(|(at, job)| (job.id, at)).collect();
        for (id, answer) in found {
            if let (Submitted::Duplicate { id: first, .. }, at) = (&answer, at_of[&id]) {
                duplicates.push((at, *first, jobs[at].create_time));
            }
            answers[at_of[&id]] = Some(answer);
        }
        welcome.retain(|(at, _)| answers[*at].is_none());
    }
    let mut rows = beginnings(session, jobs, &welcome).await?;
    if !insert(session, owner, &mut rows).await? {
        return Ok(None);
    }
    duplicates.sort_unstable_by_key(|(at, ..)| *at);
    count_duplicates(session, duplicates.into_iter().map(|(_, first, time)| (first, time))).await?;
    for ((at, _), row) in welcome.iter().zip(&rows) {
        answers[*at] = Some(stored(row.is_claimed()));
    }
    Ok(Some(answers.into_iter().flatten().collect()))
}

/// Who of those that are welcome is this node's at once.
async fn beginnings<'j>(
    session: &mut Session,
    jobs: &[&'j NewJob],
    welcome: &[(usize, Arc<Task>)],
) -> Outcome<Vec<NewRow<'j>>> {
    let lane =
        |job: &NewJob, task: &Task| lane_of(Some(&task.definition), Place::of_new(job), job.concurrency_key.as_deref());
    let mut limited = BTreeSet::<PoolName>::new();
    let mut live = BTreeMap::new();
    if welcome.iter().any(|(at, _)| jobs[*at].claim) {
        limited = limited_pools(session).await?;
        let asks = |(at, task): &&(usize, Arc<Task>)| {
            jobs[*at].claim && task.definition.rate_limit.is_none() && lane(jobs[*at], task).is_some()
        };
        let asked = welcome.iter().filter(asks).map(|(_, task)| (&task.code, 1)).collect();
        live = live_of_tasks(session, &asked).await?;
    }
    let mut rows = Vec::with_capacity(welcome.len());
    for (at, task) in welcome {
        let job = jobs[*at];
        let lane = lane(job, task);
        let live = live.get_mut(&task.code);
        let so_far = live.as_ref().map_or(0, |live: &&mut Live| live.jobs);
        let may_claim = claims_at_insert(lane.as_ref(), task.definition.rate_limit, so_far);
        let claimed = job.claim && may_claim && !limited.contains(&job.pool);
        if let Some(live) = live {
            live.jobs += 1;
        }
        rows.push(NewRow::new(job, Beginning::Queued { lane, claimed }));
    }
    Ok(rows)
}

/// What is live of a task, up to what was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::server) struct Live {
    pub(in crate::server) jobs: u32,
}

/// Live jobs of tasks whose jobs are all in lanes. Asked for 1, a task answers whether there are any; asked for more, it
/// answers all that there are.
pub(in crate::server) async fn live_of_tasks(
    session: &mut Session,
    asked: &BTreeMap<&TaskCode, u32>,
) -> Outcome<BTreeMap<TaskCode, Live>> {
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    let columns = vec![
        Column::Texts(asked.keys().map(|code| Some(code.as_str().into())).collect()),
        Column::Ints(asked.values().map(|jobs| Some((*jobs).into())).collect()),
    ];
    let rows = session.rows(&sql::LANES_LIVE, &params![Batch { columns }]).await?;
    let decode = |row| {
        let mut c = Columns::of(row);
        Ok((TaskCode::stored(c.text()?), Live { jobs: c.count()? }))
    };
    rows.iter().map(decode).collect()
}

/// The answer of each job whose key is another's. `None`: one of them was stored by an earlier try, or the record of a
/// key's job is gone.
async fn answer_duplicates(
    session: &mut Session,
    jobs: &[&NewJob],
    taken: Vec<Taken>,
) -> Outcome<Option<Vec<(JobId, Submitted)>>> {
    let by_id: BTreeMap<JobId, &NewJob> = jobs.iter().map(|job| (job.id, *job)).collect();
    let mut answers = Vec::with_capacity(taken.len());
    for taken in taken {
        let job = by_id[&taken.by];
        let answer = match taken.record {
            _ if taken.is_stored => return Ok(None),
            Some(record) => match coded("status", record.status, JobStatus::from_code) {
                Ok(status) => {
                    let stored = Stored { payload: record.payload, attachment: record.attachment };
                    let payload_differs = stored.differs(session, taken.holder, job.payload.as_deref()).await?;
                    duplicate(taken.holder, status, record.execute_time, payload_differs)
                }
                Err(Fault::Row(reason)) => unreadable(job, &reason),
                Err(fault) => return Err(fault),
            },
            // It is one of this batch, and not written yet.
            None => match by_id.get(&taken.holder) {
                Some(first) => {
                    let differs = first.payload != job.payload;
                    duplicate(first.id, JobStatus::Pending, first.execute_time, differs)
                }
                None => return Ok(None),
            },
        };
        answers.push((taken.by, answer));
    }
    Ok(Some(answers))
}

fn duplicate(id: JobId, status: JobStatus, execute_time: Timestamp, payload_differs: bool) -> Submitted {
    Submitted::Duplicate { id, status, execute_time, payload_differs }
}

/// The payload of a stored job.
pub(super) struct Stored {
    pub(super) payload: Option<String>,
    pub(super) attachment: Option<i64>,
}

impl Stored {
    /// Also when it is lost: then nobody can say that it is the same.
    pub(super) async fn differs(self, session: &mut Session, id: JobId, payload: Option<&str>) -> Outcome<bool> {
        let Some(attachment) = self.attachment else { return Ok(self.payload.as_deref() != payload) };
        match read_attachment(session, attachment).await {
            Ok(stored) => Ok(Some(&*stored) != payload),
            Err(Fault::Row(reason)) => {
                tracing::error!(job = %id, reason, "the payload of a stored job cannot be read");
                Ok(true)
            }
            Err(fault) => Err(fault),
        }
    }
}
