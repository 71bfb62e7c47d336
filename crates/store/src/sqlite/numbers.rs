//! Numbers for people, and the invariants that can be seen in the database.

use std::collections::BTreeMap;

use mainspring_model::{PoolName, QueueState, TaskCode, Timestamp, limits};
use rusqlite::{Connection, OptionalExtension, params};

use super::claim::earliest_due;
use super::fault::Outcome;
use super::{sql, tasks};
use crate::{LiveCount, LiveJobs, PoolBacklog, Violation};

pub(super) fn live_jobs_of_task(conn: &Connection, code: &TaskCode, cap: u32) -> Outcome<LiveCount> {
    Ok(capped(tasks::live_jobs(conn, code, cap)?, cap))
}

pub(super) fn live_jobs(conn: &Connection, cap: u32) -> Outcome<LiveJobs> {
    let mut statement = conn.prepare_cached(sql::LIVE_JOBS)?;
    let mut rows = statement.query([cap])?;
    let (mut counts, mut seen) = (BTreeMap::<String, u64>::new(), 0);
    while let Some(row) = rows.next()? {
        let task = row.get_ref(0)?.as_str().unwrap_or_default();
        match counts.get_mut(task) {
            Some(count) => *count += 1,
            None => drop(counts.insert(task.to_owned(), 1)),
        }
        seen += 1;
    }
    let by_task = counts.into_iter().map(|(task, jobs)| (TaskCode::stored(&task), jobs)).collect();
    Ok(LiveJobs { by_task, capped: seen >= cap })
}

fn capped(jobs: u32, cap: u32) -> LiveCount {
    LiveCount { jobs: jobs.into(), capped: jobs >= cap }
}

/// What waits, what is written down as running, what is set apart. Jobs in a node's memory are the node's to count.
pub(super) fn backlog(conn: &Connection, cap: u32) -> Outcome<Vec<PoolBacklog>> {
    let mut backlog = Vec::new();
    let mut pool_before = String::new();
    let mut next_pool = conn.prepare_cached(sql::QUEUE_NEXT_POOL)?;
    while let Some(name) = next_pool.query_row([&pool_before], |row| row.get::<_, String>(0)).optional()? {
        let jobs = conn.prepare_cached(sql::QUEUE_COUNT)?.query_row(params![name, cap], |row| row.get(0))?;
        let pool = PoolName::stored(&name);
        let oldest_due = earliest_due(conn, &pool, &[])?;
        backlog.push(PoolBacklog { pool, state: QueueState::Queued, jobs: capped(jobs, cap), oldest_due });
        pool_before = name;
    }
    let mut apart = conn.prepare_cached(sql::QUEUE_SET_APART)?;
    for state in [QueueState::Started, QueueState::Parked, QueueState::Limited, QueueState::Throttled] {
        let mut rows = apart.query(params![state.code(), cap])?;
        while let Some(row) = rows.next()? {
            backlog.push(PoolBacklog {
                pool: PoolName::stored(row.get_ref(0)?.as_str().unwrap_or_default()),
                state,
                jobs: capped(row.get(1)?, cap),
                oldest_due: row.get::<_, Option<i64>>(2)?.map(Timestamp::from_ms),
            });
        }
    }
    backlog.sort_by(|a, b| (&a.pool, a.state).cmp(&(&b.pool, b.state)));
    Ok(backlog)
}

const CHECKS: &[(&str, &str)] = &[
    ("INV-2", sql::VERIFY_INV_2),
    ("INV-3", sql::VERIFY_INV_3),
    ("INV-5", sql::VERIFY_INV_5),
    ("INV-8", sql::VERIFY_INV_8),
    ("INV-9", sql::VERIFY_RUNNING),
    ("INV-13", sql::VERIFY_INV_13),
    ("INV-18", sql::VERIFY_INV_18),
    ("INV-24", sql::VERIFY_INV_24),
    ("INV-24", sql::VERIFY_HELD),
    ("INV-27", sql::VERIFY_INV_27),
    ("LANE", sql::VERIFY_LANE),
    ("LANE", sql::VERIFY_RATE),
];

pub(super) fn verify(conn: &Connection) -> Outcome<Vec<Violation>> {
    let mut violations = Vec::new();
    let mut found = |invariant, details: Vec<String>| {
        violations.extend(details.into_iter().map(|detail| Violation { invariant, detail }));
    };
    let quick_check = details(conn, "PRAGMA quick_check(20)", [])?;
    found("FILE", quick_check.into_iter().filter(|line| line != "ok").collect());
    for (invariant, check) in CHECKS {
        found(invariant, details(conn, check, [])?);
    }
    found("INV-18", details(conn, sql::VERIFY_INV_18_LOST, [limits::LOST_COUNT_MAX])?);
    Ok(violations)
}

fn details(conn: &Connection, check: &str, params: impl rusqlite::Params) -> Outcome<Vec<String>> {
    let mut statement = conn.prepare(check)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
