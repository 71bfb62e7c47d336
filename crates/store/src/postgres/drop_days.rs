//! The history of a day, taken out of the tables and removed with all that belongs to its jobs.
//!
//! **Invariant:** whatever is done first leaves a database that is right. Keys go while their jobs are there (a key must not
//! point to nothing). Then both partitions leave their tables in one transaction that has seen that no job of the day is live,
//! and are renamed: from then on nobody finds the jobs, and nobody can take one up again. What belongs to them goes next, and
//! the tables last, because they say what that was. So an interrupted removal is found by the names of the tables and goes on.

use std::collections::BTreeSet;

use mainspring_model::JobId;

use crate::server::days::{Day, Part};
use crate::server::fault::Outcome;
use crate::server::params::params;
use crate::server::session::Session;
use crate::server::sql;

/// Jobs that one transaction sees to.
const STEP_JOBS: i64 = 1_000;
/// Pieces of output that one statement removes.
const STEP_OUTPUTS: i64 = 5_000;
/// Everybody waits while this waits for a partitioned table.
const LOCK_MAX_MS: i64 = 100;

/// Where the next step begins; what was met in the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) next: Option<JobId>,
    pub(crate) jobs: u64,
    pub(crate) attempts: u64,
}

impl Step {
    const NOTHING: Step = Step { next: None, jobs: 0, attempts: 0 };
}

/// Those that left the tables, and were not removed yet.
pub(crate) async fn begun(session: &mut Session) -> Outcome<BTreeSet<Day>> {
    let rows = session.rows(&sql::DAYS_DROPPED, &[]).await?;
    let words = rows.iter().map(|row| row.text(0)).collect::<Outcome<Vec<_>>>()?;
    Ok(words.into_iter().flatten().filter_map(Day::from_word).collect())
}

/// A job of the day that is not final.
pub(crate) async fn live(session: &mut Session, day: Day) -> Outcome<Option<JobId>> {
    let ids = params![day.first_id(), day.plus(1).first_id()];
    Ok(session.number(&sql::DAY_LIVE, &ids).await?.map(JobId))
}

/// The first job before this day that is in no partition of a day.
pub(crate) async fn in_default(session: &mut Session, before: Day) -> Outcome<Option<JobId>> {
    Ok(session.number(&sql::DEFAULT_HOLDS, &params![i64::MIN, before.first_id()]).await?.map(JobId))
}

/// One call at a time takes a step, until its transaction ends. `false`: another call has done this already.
async fn is_ours(session: &mut Session, part: Part) -> Outcome<bool> {
    session.rows(&sql::PARTITION_LOCK, &[]).await?;
    session.exists(&sql::TABLE_THERE, &params![part.in_text("async_task")]).await
}

/// Where the jobs from `from` on end that make one step: the first id of the next one. The last step reaches to the end of
/// the day.
pub(crate) async fn look(session: &mut Session, part: Part, day: Day, from: JobId) -> Outcome<Step> {
    let end = day.plus(1).first_id();
    let rows = session.rows_in(Some(part), &sql::DAY_STEP, &params![from, end, STEP_JOBS]).await?;
    let (mut last, mut jobs) = (None, 0);
    if let Some(row) = rows.first() {
        last = row.number(0)?;
        jobs = row.number(1)?.unwrap_or(0);
    }
    let next = last.filter(|_| jobs == STEP_JOBS).map(|last| JobId(last + 1));
    let range = params![from, next.unwrap_or(end)];
    let counted = session.rows_in(Some(part), &sql::DAY_ATTEMPTS, &range).await?;
    let attempts = counted.first().map_or(Ok(None), |row| row.number(0))?.unwrap_or(0);
    Ok(Step { next, jobs: jobs.unsigned_abs(), attempts: attempts.unsigned_abs() })
}

/// Of the jobs of one step.
pub(crate) async fn free_keys(session: &mut Session, day: Day, from: JobId) -> Outcome<Step> {
    let part = Part::Day(day);
    if !is_ours(session, part).await? {
        return Ok(Step::NOTHING);
    }
    let step = look(session, part, day, from).await?;
    let range = params![from, step.next.unwrap_or(day.plus(1).first_id())];
    session.run_in(Some(part), &sql::DAY_KEYS, &range).await?;
    Ok(step)
}

/// `Some`: a job is live after all, and the day stays.
pub(crate) async fn take_out(session: &mut Session, day: Day) -> Outcome<Option<JobId>> {
    if !is_ours(session, Part::Day(day)).await? {
        return Ok(None);
    }
    let word = day.word();
    // First the partitions: a person who takes up one of their jobs has them, or waits until it is gone.
    let lock = format!(
        "SET LOCAL lock_timeout = {LOCK_MAX_MS};
         LOCK TABLE async_task_{word}, task_execution_log_{word} IN ACCESS EXCLUSIVE MODE"
    );
    session.command(&lock).await?;
    if let Some(live) = live(session, day).await? {
        return Ok(Some(live));
    }
    let detach = |table: &str| {
        format!(
            "ALTER TABLE {table} DETACH PARTITION {table}_{word};
             ALTER TABLE {table}_{word} RENAME TO {table}_dropped_{word};"
        )
    };
    session.command(&(detach("async_task") + &detach("task_execution_log"))).await?;
    Ok(None)
}

/// What belongs to the jobs of one step.
pub(crate) async fn remove_belongings(session: &mut Session, day: Day, from: JobId) -> Outcome<Step> {
    let part = Part::Dropped(day);
    if !is_ours(session, part).await? {
        return Ok(Step::NOTHING);
    }
    let step = look(session, part, day, from).await?;
    let range = params![from, step.next.unwrap_or(day.plus(1).first_id())];
    session.run_in(Some(part), &sql::DAY_ATTACHMENTS, &range).await?;
    session.run(&sql::DAY_DEAD, &range).await?;
    session.run(&sql::DAY_ALERTS, &range).await?;
    Ok(step)
}

/// `true` while more may be left.
pub(crate) async fn remove_outputs(session: &mut Session, day: Day) -> Outcome<bool> {
    let some = params![day.first_id(), day.plus(1).first_id(), STEP_OUTPUTS];
    Ok(session.run(&sql::DAY_OUTPUTS, &some).await? == STEP_OUTPUTS.unsigned_abs())
}

/// Nothing points into them any more.
pub(crate) async fn remove_tables(session: &mut Session, day: Day) -> Outcome<()> {
    session.rows(&sql::PARTITION_LOCK, &[]).await?;
    let word = day.word();
    session.command(&format!("DROP TABLE IF EXISTS async_task_dropped_{word}, task_execution_log_dropped_{word}")).await
}
