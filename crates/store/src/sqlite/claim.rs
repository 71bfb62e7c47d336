//! Dispatch: claiming due jobs, giving them back, parking them.

use std::sync::Arc;

use mainspring_model::{
    BizId, Fence, Incarnation, JobId, JobStatus, PoolName, Priority, QueueState, TaskCode, Timestamp, Trigger, Unique,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::decode::{Columns, read_attachment};
use super::fault::{Fault, Outcome};
use super::sql;
use crate::rules::{PRIORITIES, split};
use crate::{Claim, ClaimRequest, Claimed, GiveBack, Held, PoolRoom};

/// `turn` counts the claims: see `rules::split`.
pub(super) fn claim(conn: &Connection, request: &ClaimRequest, turn: u64) -> Outcome<Claimed> {
    let mut taker = Taker {
        conn,
        owner: request.owner,
        read: conn.prepare_cached(sql::CLAIM_READ)?,
        claim: conn.prepare_cached(sql::QUEUE_CLAIM)?,
    };
    let mut claimed = Claimed::default();
    for room in &request.rooms {
        for id in choose(conn, room, request.due_until, turn)? {
            match taker.take(id) {
                Ok(claim) => claimed.jobs.push(claim),
                Err(Fault::Row(reason)) => {
                    tracing::error!(job = %id, reason, "a job cannot be read and is set aside");
                    conn.prepare_cached(sql::QUEUE_SET_ASIDE)?.execute([id.0])?;
                }
                Err(fault) => return Err(fault),
            }
        }
        claimed.next_due.push((room.pool.clone(), earliest_due(conn, &room.pool)?));
    }
    Ok(claimed)
}

fn choose(conn: &Connection, room: &PoolRoom, until: Timestamp, turn: u64) -> Outcome<Vec<JobId>> {
    let mut due = conn.prepare_cached(sql::QUEUE_DUE)?;
    let mut waiting: [Vec<JobId>; PRIORITIES] = Default::default();
    for (ids, priority) in waiting.iter_mut().zip(Priority::ALL) {
        let mut rows = due.query(params![room.pool.as_str(), priority.code(), until.as_ms(), room.jobs_max])?;
        while let Some(row) = rows.next()? {
            ids.push(JobId(row.get(0)?));
        }
    }
    let counts = std::array::from_fn(|at| u32::try_from(waiting[at].len()).unwrap_or(u32::MAX));
    let taken = split(room.jobs_max, counts, turn);
    Ok(waiting.iter().zip(taken).flat_map(|(ids, taken)| ids.iter().take(taken as usize).copied()).collect())
}

/// Statements are looked up once per claim, not once per job.
struct Taker<'c> {
    conn: &'c Connection,
    owner: Incarnation,
    read: CachedStatement<'c>,
    claim: CachedStatement<'c>,
}

impl Taker<'_> {
    fn take(&mut self, id: JobId) -> Outcome<Claim> {
        let mut rows = self.read.query([id.0])?;
        let row = rows.next()?.ok_or_else(|| Fault::Row("it has no record".to_owned()))?;
        let (mut claim, attachment) = decode(id, row)?;
        if let Some(attachment) = attachment {
            claim.payload = Some(read_attachment(self.conn, attachment)?.into());
        }
        self.claim.execute([id.0, self.owner.0])?;
        Ok(claim)
    }
}

fn decode(id: JobId, row: &Row<'_>) -> Outcome<(Claim, Option<i64>)> {
    let mut c = Columns::of(row);
    let fence = Fence(c.take()?).next();
    let due = c.time()?;
    let suspect = c.take::<i64>()? != 0;
    let task = TaskCode::stored(c.text()?);
    let pool = PoolName::stored(c.text()?);
    let priority = c.coded("priority", Priority::from_code)?;
    let attempts = c.count()?;
    let retry_count = c.count()?;
    let max_retry = c.count()?;
    let lost_count = c.count()?;
    let timeout_ms = c.take()?;
    let payload = c.opt_text()?.map(Arc::from);
    let attachment = c.take()?;
    let claim = Claim {
        id,
        fence,
        task,
        pool,
        priority,
        due,
        attempts,
        retry_count,
        max_retry,
        lost_count,
        suspect,
        timeout_ms,
        payload,
        biz_id: c.opt_text()?.map(BizId::stored),
        unique: c.coded("unique mode", Unique::from_code)?,
        trigger: c.coded("trigger", Trigger::from_code)?,
        fire_time: c.opt_time()?,
        create_time: c.time()?,
    };
    // A status of a newer version: this one does not know what running the job would mean.
    c.coded("status", JobStatus::from_code)?;
    Ok((claim, attachment))
}

pub(super) fn earliest_due(conn: &Connection, pool: &PoolName) -> Outcome<Option<Timestamp>> {
    let mut next = conn.prepare_cached(sql::QUEUE_NEXT_DUE)?;
    let mut earliest: Option<i64> = None;
    for priority in Priority::ALL {
        let due = next.query_row(params![pool.as_str(), priority.code()], |row| row.get(0)).optional()?;
        earliest = [earliest, due].into_iter().flatten().min();
    }
    Ok(earliest.map(Timestamp::from_ms))
}

pub(super) fn give_back(conn: &Connection, held: &[Held], how: GiveBack) -> Outcome<()> {
    let state = match how {
        GiveBack::Release => QueueState::Queued,
        GiveBack::Park => QueueState::Parked,
    };
    let mut give_back = conn.prepare_cached(sql::QUEUE_GIVE_BACK)?;
    for held in held {
        give_back.execute([held.id.0, held.fence.0, state.code()])?;
    }
    Ok(())
}

pub(super) fn unpark(conn: &Connection, tasks: &[TaskCode]) -> Outcome<u64> {
    let mut unpark = conn.prepare_cached(sql::QUEUE_UNPARK)?;
    let mut jobs = 0;
    for task in tasks {
        jobs += unpark.execute([task.as_str()])? as u64;
    }
    Ok(jobs)
}
