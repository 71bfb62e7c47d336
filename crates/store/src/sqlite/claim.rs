//! Dispatch: claiming due jobs as far as their lanes and rates admit them, giving them back, parking them.

use std::sync::Arc;

use mainspring_model::{
    BizId, Fence, Incarnation, JobId, JobStatus, PoolName, Priority, QueueState, TaskCode, Timestamp, Trigger, Unique,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::decode::{Columns, read_attachment, shard};
use super::fault::{Fault, Outcome};
use super::lanes::{self, Admission, Gate};
use super::rates::{self, PoolLimits, Ring};
use super::sql;
use crate::rules::{CLAIM_ROUNDS_MAX, PRIORITIES, Window, split};
use crate::{Claim, ClaimRequest, Claimed, GiveBack, Held, PoolRoom};

/// `turn` counts the claims: see `rules::split`.
pub(super) fn claim(conn: &Connection, request: &ClaimRequest, turn: u64) -> Outcome<Claimed> {
    let window = Window::of(request);
    rates::open(conn, window.until)?;
    let mut taker = Taker {
        conn,
        request,
        window,
        read: conn.prepare_cached(sql::CLAIM_READ)?,
        claim: conn.prepare_cached(sql::QUEUE_CLAIM)?,
        gate: Gate::new(conn),
        jobs: Vec::new(),
    };
    let mut limits = Vec::with_capacity(request.rooms.len());
    for room in &request.rooms {
        let of_pool = PoolLimits::of(conn, &room.pool)?;
        let left = of_pool.room(conn, room)?;
        taker.fill(room, left, of_pool.ring.as_ref(), turn)?;
        limits.push(of_pool);
    }
    let mut claimed = Claimed { jobs: taker.jobs, next_due: Vec::with_capacity(limits.len()) };
    let opening = rates::next_opening(conn)?;
    for (room, limits) in request.rooms.iter().zip(limits) {
        let is_full = limits.room(conn, &PoolRoom { jobs_max: 1, ..room.clone() })? == 0;
        // Whoever gives a place of a full pool back wakes the others.
        let due = if is_full { None } else { earliest_due(conn, &room.pool, &request.excluded)? };
        let mut next = [due, opening].into_iter().flatten().min();
        if let (Some(due), Some(ring)) = (next, limits.ring) {
            // Not before its rate opens, so that nobody asks in vain.
            let opens = ring.opens(window)?.filter(|opens| *opens > request.now);
            next = Some(opens.map_or(due, |opens| due.max(opens)));
        }
        claimed.next_due.push((room.pool.clone(), next));
    }
    Ok(claimed)
}

fn choose(conn: &Connection, room: &PoolRoom, jobs_max: u32, request: &ClaimRequest, turn: u64) -> Outcome<Vec<JobId>> {
    let (pool, until) = (room.pool.as_str(), request.due_until.as_ms());
    let excluded = excluded_json(&request.excluded);
    let mut due = conn.prepare_cached(if excluded.is_some() { sql::QUEUE_DUE_EXCEPT } else { sql::QUEUE_DUE })?;
    let mut waiting: [Vec<JobId>; PRIORITIES] = Default::default();
    for (ids, priority) in waiting.iter_mut().zip(Priority::ALL) {
        let mut rows = match &excluded {
            None => due.query(params![pool, priority.code(), until, jobs_max])?,
            Some(excluded) => due.query(params![pool, priority.code(), until, jobs_max, excluded])?,
        };
        while let Some(row) = rows.next()? {
            ids.push(JobId(row.get(0)?));
        }
    }
    let counts = std::array::from_fn(|at| u32::try_from(waiting[at].len()).unwrap_or(u32::MAX));
    let taken = split(jobs_max, counts, turn);
    Ok(waiting.iter().zip(taken).flat_map(|(ids, taken)| ids.iter().take(taken as usize).copied()).collect())
}

/// `None`: nothing is excluded, and the statement need not look at tasks.
fn excluded_json(tasks: &[TaskCode]) -> Option<String> {
    let codes = || tasks.iter().map(TaskCode::as_str).collect::<serde_json::Value>();
    (!tasks.is_empty()).then(|| codes().to_string())
}

/// Statements are looked up once per claim, not once per job.
struct Taker<'c, 'r> {
    conn: &'c Connection,
    request: &'r ClaimRequest,
    window: Window,
    read: CachedStatement<'c>,
    claim: CachedStatement<'c>,
    gate: Gate<'c>,
    jobs: Vec<Claim>,
}

/// What became of a chosen job.
enum Taken {
    Claimed(Claim),
    /// It waits elsewhere now, and another one may have its place.
    SetAside,
    /// The pool's rate is used up: it stays where it is.
    PoolClosed,
}

impl Taker<'_, '_> {
    /// Chooses again as long as jobs had to be set aside: they must not hide those behind them.
    fn fill(&mut self, room: &PoolRoom, mut left: u32, ring: Option<&Ring<'_>>, turn: u64) -> Outcome<()> {
        for _ in 0..CLAIM_ROUNDS_MAX {
            let mut is_any_set_aside = false;
            for id in choose(self.conn, room, left, self.request, turn)? {
                match self.take(id, ring) {
                    Ok(Taken::Claimed(claim)) => {
                        self.jobs.push(claim);
                        left -= 1;
                    }
                    Ok(Taken::SetAside) => is_any_set_aside = true,
                    Ok(Taken::PoolClosed) => return Ok(()),
                    Err(Fault::Row(reason)) => {
                        tracing::error!(job = %id, reason, "a job cannot be read and is set aside");
                        self.park(id)?;
                        is_any_set_aside = true;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            if left == 0 || !is_any_set_aside {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, id: JobId, ring: Option<&Ring<'_>>) -> Outcome<Taken> {
        let mut rows = self.read.query([id.0])?;
        let row = rows.next()?.ok_or_else(|| Fault::Row("it has no record".to_owned()))?;
        let (mut claim, attachment) = decode(id, self.request.owner, row)?;
        let opens = ring.map(|ring| ring.opens(self.window)).transpose()?.flatten();
        let Some(mut start) = self.window.start(claim.due, opens) else { return Ok(Taken::PoolClosed) };
        if let Some(lane) = &claim.lane {
            let state = match self.gate.admit(&claim.task, lane, start, self.window)? {
                Admission::At(admitted) => {
                    start = admitted;
                    None
                }
                Admission::Full => Some(QueueState::Limited),
                Admission::TooSoon => Some(QueueState::Throttled),
            };
            if let Some(state) = state {
                self.conn.prepare_cached(sql::QUEUE_WAIT)?.execute([id.0, state.code()])?;
                return Ok(Taken::SetAside);
            }
        }
        claim.due = self.window.shown_due(claim.due, start);
        if let Some(attachment) = attachment {
            claim.payload = Some(read_attachment(self.conn, attachment)?.into());
        }
        self.claim.execute([id.0, self.request.owner.0])?;
        if let Some(lane) = &claim.lane {
            self.gate.count(&claim.task, lane, start)?;
        }
        if let Some(ring) = ring {
            ring.start(start)?;
        }
        Ok(Taken::Claimed(claim))
    }

    /// Whoever waits for its lane must not wait for one that nobody can read.
    fn park(&mut self, id: JobId) -> Outcome<()> {
        self.conn.prepare_cached(sql::QUEUE_SET_ASIDE)?.execute([id.0])?;
        match lanes::of_job(self.conn, id) {
            Ok(Some((task, lane))) => lanes::go_on(self.conn, &task, &lane).map(drop),
            Ok(None) | Err(Fault::Row(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }
}

fn decode(id: JobId, owner: Incarnation, row: &Row<'_>) -> Outcome<(Claim, Option<i64>)> {
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
        owner,
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
        shard: None,
        lane: None,
    };
    // A status of a newer version: this one does not know what running the job would mean.
    c.coded("status", JobStatus::from_code)?;
    let lane = lanes::decode(&mut c)?;
    Ok((Claim { lane, shard: shard(&mut c)?, ..claim }, attachment))
}

pub(super) fn earliest_due(conn: &Connection, pool: &PoolName, excluded: &[TaskCode]) -> Outcome<Option<Timestamp>> {
    let (pool, excluded) = (pool.as_str(), excluded_json(excluded));
    let statement = if excluded.is_some() { sql::QUEUE_NEXT_DUE_EXCEPT } else { sql::QUEUE_NEXT_DUE };
    let mut next = conn.prepare_cached(statement)?;
    let mut earliest: Option<i64> = None;
    for priority in Priority::ALL {
        let due = match &excluded {
            None => next.query_row(params![pool, priority.code()], |row| row.get(0)).optional()?,
            Some(excluded) => next.query_row(params![pool, priority.code(), excluded], |row| row.get(0)).optional()?,
        };
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
        let mut rows = give_back.query([held.id.0, held.fence.0, state.code(), held.owner.0])?;
        let lane = rows.next()?.map(lanes::decode_of_task).transpose()?.flatten();
        drop(rows);
        if let Some((task, lane)) = lane {
            lanes::go_on(conn, &task, &lane)?;
        }
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
