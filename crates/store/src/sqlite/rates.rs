//! Limits on rates: never more than so many starts in any period of that length.
//!
//! Each rate has a ring of its last starts. The next start takes the slot of the one that lies `count` starts back, and
//! may do so a period after it. A job that comes too soon is throttled; the ring then knows when it opens, and the claim
//! that comes after that lets as many go on as may start.

use mainspring_model::{JobId, PoolName, RateLimit, TaskCode, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::decode::time;
use super::fault::{Fault, Outcome};
use super::lanes::Tasks;
use super::sql;
use crate::PoolRoom;
use crate::rules::{RINGS_OPENED_MAX, Window, opening, opens_at, pool_scope, slot, slot_after, task_scope};

#[derive(Debug)]
pub(super) struct Ring<'c> {
    conn: &'c Connection,
    scope: String,
    key: String,
    limit: RateLimit,
}

/// The limits of a pool that hold in all nodes together.
#[derive(Debug, Default)]
pub(super) struct PoolLimits<'c> {
    pub(super) ring: Option<Ring<'c>>,
    pub(super) held_max: Option<u32>,
}

impl<'c> PoolLimits<'c> {
    /// A rate that cannot be read is shown in the log and stops nobody.
    pub(super) fn of(conn: &'c Connection, pool: &PoolName) -> Outcome<PoolLimits<'c>> {
        let row: Option<(Option<String>, Option<u32>)> = conn
            .prepare_cached(sql::POOL_LIMITS)?
            .query_row([pool.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((rate, held_max)) = row else { return Ok(PoolLimits::default()) };
        let limit: Option<RateLimit> = rate.and_then(|text| match text.parse() {
            Ok(limit) => Some(limit),
            Err(_) => {
                tracing::error!(%pool, rate = text, "the rate of a pool cannot be read");
                None
            }
        });
        let ring = limit.map(|limit| Ring { conn, scope: pool_scope(pool), key: String::new(), limit });
        Ok(PoolLimits { ring, held_max })
    }

    /// Of the room that a node has for the pool, what all nodes together leave it.
    pub(super) fn room(&self, conn: &Connection, room: &PoolRoom) -> Outcome<u32> {
        let Some(max) = self.held_max else { return Ok(room.jobs_max) };
        let row = params![room.pool.as_str(), max];
        let held: u32 = conn.prepare_cached(sql::QUEUE_HELD_IN_POOL)?.query_row(row, |row| row.get(0))?;
        Ok(room.jobs_max.min(max.saturating_sub(held)))
    }
}

impl<'c> Ring<'c> {
    pub(super) fn of_task(conn: &'c Connection, code: &TaskCode, key: &str, limit: RateLimit) -> Ring<'c> {
        Ring { conn, scope: task_scope(code), key: key.to_owned(), limit }
    }

    /// When the next start may be. `None`: at any time.
    pub(super) fn opens(&self, window: Window) -> Outcome<Option<Timestamp>> {
        Ok(opens_at(self.next()?.1, self.limit, window.until))
    }

    pub(super) fn start(&self, at: Timestamp) -> Outcome<()> {
        let (slot, _) = self.next()?;
        let of_ring = (self.scope.as_str(), self.key.as_str());
        self.conn.prepare_cached(sql::RING_START)?.execute(params![of_ring.0, of_ring.1, slot, at.as_ms()])?;
        let next = slot_after(slot, self.limit);
        self.conn.prepare_cached(sql::RING_TURN)?.execute(params![of_ring.0, of_ring.1, next])?;
        Ok(())
    }

    /// Somebody waits until then.
    pub(super) fn wait(&self, opens: Timestamp) -> Outcome<()> {
        let row = params![self.scope, self.key, opens.as_ms()];
        self.conn.prepare_cached(sql::RING_WAIT)?.execute(row)?;
        Ok(())
    }

    /// The next slot, and the start that it holds.
    fn next(&self) -> Outcome<(u32, Option<Timestamp>)> {
        let row: Option<(u32, Option<i64>)> = self
            .conn
            .prepare_cached(sql::RING_READ)?
            .query_row(params![self.scope, self.key, self.limit.count], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(row.map_or((0, None), |(next, start)| (slot(next, self.limit), start.map(time))))
    }

    fn start_in(&self, slot: u32) -> Outcome<Option<Timestamp>> {
        let row = params![self.scope, self.key, slot];
        let start: Option<i64> =
            self.conn.prepare_cached(sql::RING_SLOT)?.query_row(row, |row| row.get(0)).optional()?;
        Ok(start.map(time))
    }

    /// What its slots hold from the next one on, as far as `jobs` starts need them.
    fn oldest_starts(&self, jobs: usize) -> Outcome<Vec<Option<Timestamp>>> {
        let (mut at, _) = self.next()?;
        let mut starts = Vec::with_capacity(jobs);
        for _ in 0..jobs {
            starts.push(self.start_in(at)?);
            at = slot_after(at, self.limit);
        }
        Ok(starts)
    }
}

/// Lets go on what waited for a rate that opens until then: before jobs are chosen, so that they take part.
pub(super) fn open(conn: &Connection, until: Timestamp) -> Outcome<()> {
    let most = i64::try_from(RINGS_OPENED_MAX).unwrap_or(i64::MAX);
    let mut statement = conn.prepare_cached(sql::RINGS_OPEN)?;
    let rows = statement.query_map(params![until.as_ms(), most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rings: Vec<(String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    let mut tasks = Tasks::new(conn);
    for (scope, key) in rings {
        open_one(conn, &mut tasks, &scope, &key, until)?;
    }
    Ok(())
}

fn open_one(conn: &Connection, tasks: &mut Tasks<'_>, scope: &str, key: &str, until: Timestamp) -> Outcome<()> {
    let code = TaskCode::stored(scope.strip_prefix("task:").unwrap_or(scope));
    let limit = tasks.readable(&code)?.and_then(|task| task.definition.rate_limit);
    let most = limit.map_or(i64::MAX, |limit| i64::from(limit.count) + 1);
    let mut statement = conn.prepare_cached(sql::LANE_THROTTLED)?;
    let rows = statement.query_map(params![code.as_str(), key, most], |row| row.get(0).map(JobId))?;
    let waiting: Vec<JobId> = rows.collect::<rusqlite::Result<_>>()?;
    let (mut jobs, mut then) = (waiting.len(), None);
    if let Some(limit) = limit {
        let ring = Ring::of_task(conn, &code, key, limit);
        let opening = opening(ring.oldest_starts(waiting.len().min(limit.count as usize))?, limit, until);
        jobs = jobs.min(opening.jobs as usize);
        then = Some(opening.then).filter(|_| jobs < waiting.len());
    }
    let mut admit = conn.prepare_cached(sql::QUEUE_ADMIT)?;
    for id in &waiting[..jobs] {
        admit.execute([id.0])?;
    }
    conn.prepare_cached(sql::RING_OPEN)?.execute(params![scope, key, then.map(Timestamp::as_ms)])?;
    Ok(())
}

/// When the next job that waits for a rate may go on, in whatever pool it is.
pub(super) fn next_opening(conn: &Connection) -> Outcome<Option<Timestamp>> {
    let next: Option<i64> = conn.prepare_cached(sql::RINGS_NEXT)?.query_row([], |row| row.get(0)).optional()?;
    Ok::<_, Fault>(next.map(time))
}

/// Whoever waits for a rate is judged anew.
pub(super) fn judge_anew(conn: &Connection) -> Outcome<()> {
    conn.prepare_cached(sql::QUEUE_JUDGE_RATES)?.execute([])?;
    conn.prepare_cached(sql::RINGS_CLOSE)?.execute([])?;
    Ok(())
}

/// The rates of a task begin anew.
pub(super) fn forget(conn: &Connection, code: &TaskCode) -> Outcome<()> {
    let scope = task_scope(code);
    conn.prepare_cached(sql::RINGS_DELETE)?.execute([&scope])?;
    conn.prepare_cached(sql::RINGS_DELETE_STARTS)?.execute([&scope])?;
    Ok(())
}
