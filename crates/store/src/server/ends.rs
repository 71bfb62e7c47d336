//! What follows from the end of a job, whoever ended it: its key is free, and people are told of a dead job.

use mainspring_model::job::DeadCause;
use mainspring_model::{BizId, JobId, TaskCode, Timestamp};

use super::fault::Outcome;
use super::params::params;
use super::session::Session;
use super::sql;

pub(super) async fn free_key(
    session: &mut Session,
    id: JobId,
    task: &TaskCode,
    live_key: Option<&BizId>,
) -> Outcome<()> {
    match live_key {
        Some(key) => session.run(&sql::KEY_FREE, &params![key.as_str(), task.as_str(), id]).await.map(drop),
        None => Ok(()),
    }
}

/// The job waits for a person, and people are told: with the outcome or not at all.
pub(super) async fn write_death(
    session: &mut Session,
    id: JobId,
    task: &TaskCode,
    cause: DeadCause,
    text: &str,
    now: Timestamp,
) -> Outcome<()> {
    session.run(&sql::DEAD_INSERT, &params![id, task.as_str(), cause.code(), now]).await?;
    alert(session, "JOB_FAILED", Some(id), task, text, now).await
}

pub(super) async fn alert(
    session: &mut Session,
    kind: &str,
    job: Option<JobId>,
    task: &TaskCode,
    text: &str,
    now: Timestamp,
) -> Outcome<()> {
    session.run(&sql::ALERT_INSERT, &params![kind, job, task.as_str(), text, now]).await.map(drop)
}
