//! Numbers for people, and the invariants that can be seen in the database.

use std::collections::BTreeMap;

use mainspring_model::{PoolName, QueueState, TaskCode, Timestamp, limits};

use super::fault::Outcome;
use super::params::{Param, params};
use super::row::{Columns, count};
use super::session::Session;
use super::statement::Statement;
use super::{sql, tasks};
use crate::{LiveCount, LiveJobs, PoolBacklog, Violation};

pub(super) async fn live_jobs_of_task(session: &mut Session, code: &TaskCode, cap: u32) -> Outcome<LiveCount> {
    Ok(capped(tasks::live_jobs(session, code, cap).await?, cap))
}

pub(super) async fn live_jobs(session: &mut Session, cap: u32) -> Outcome<LiveJobs> {
    let mut by_task = BTreeMap::new();
    for row in session.rows(&sql::LIVE_JOBS, &params![cap]).await? {
        let mut c = Columns::of(&row);
        by_task.insert(TaskCode::stored(c.text()?), u64::from(c.count()?));
    }
    let seen: u64 = by_task.values().sum();
    Ok(LiveJobs { by_task, capped: seen >= u64::from(cap) })
}

fn capped(jobs: u32, cap: u32) -> LiveCount {
    LiveCount { jobs: jobs.into(), capped: jobs >= cap }
}

/// What waits, what is written down as running, what is set apart. Jobs in a node's memory are the node's to count.
pub(super) async fn backlog(session: &mut Session, cap: u32) -> Outcome<Vec<PoolBacklog>> {
    let mut backlog = Vec::new();
    let mut pool_before = String::new();
    while let Some(row) = session.one(&sql::QUEUE_NEXT_POOL, &params![&pool_before]).await? {
        let name = Columns::of(&row).string()?;
        let jobs = count(session.number(&sql::QUEUE_COUNT, &params![&name, cap]).await?.unwrap_or(0))?;
        let oldest_due = session.number(&sql::QUEUE_OLDEST_DUE, &params![&name]).await?.map(Timestamp::from_ms);
        let pool = PoolName::stored(&name);
        backlog.push(PoolBacklog { pool, state: QueueState::Queued, jobs: capped(jobs, cap), oldest_due });
        pool_before = name;
    }
    for state in [QueueState::Started, QueueState::Parked, QueueState::Limited, QueueState::Throttled] {
        for row in session.rows(&sql::QUEUE_SET_APART, &params![state.code(), cap]).await? {
            let mut c = Columns::of(&row);
            let pool = PoolName::stored(c.text()?);
            backlog.push(PoolBacklog { pool, state, jobs: capped(c.count()?, cap), oldest_due: c.opt_time()? });
        }
    }
    backlog.sort_by(|a, b| (&a.pool, a.state).cmp(&(&b.pool, b.state)));
    Ok(backlog)
}

static CHECKS: [(&str, &Statement); 12] = [
    ("INV-2", &sql::VERIFY_INV_2),
    ("INV-3", &sql::VERIFY_INV_3),
    ("INV-5", &sql::VERIFY_INV_5),
    ("INV-8", &sql::VERIFY_INV_8),
    ("INV-9", &sql::VERIFY_RUNNING),
    ("INV-13", &sql::VERIFY_INV_13),
    ("INV-18", &sql::VERIFY_INV_18),
    ("INV-24", &sql::VERIFY_INV_24),
    ("INV-24", &sql::VERIFY_HELD),
    ("INV-27", &sql::VERIFY_INV_27),
    ("LANE", &sql::VERIFY_LANE),
    ("LANE", &sql::VERIFY_RATE),
];

/// In one state of the database: other nodes go on meanwhile.
pub(super) async fn verify(session: &mut Session) -> Outcome<Vec<Violation>> {
    let mut violations = Vec::new();
    for (invariant, check) in &CHECKS {
        violations.extend(details(session, invariant, check, &[]).await?);
    }
    let lost_max = params![limits::LOST_COUNT_MAX];
    violations.extend(details(session, "INV-18", &sql::VERIFY_INV_18_LOST, &lost_max).await?);
    Ok(violations)
}

async fn details(
    session: &mut Session,
    invariant: &'static str,
    check: &'static Statement,
    params: &[Param<'_>],
) -> Outcome<Vec<Violation>> {
    let rows = session.rows(check, params).await?;
    rows.iter().map(|row| Ok(Violation { invariant, detail: Columns::of(row).string()? })).collect()
}
