//! Limits on rates: never more than so many starts in any period of that length.
//!
//! Each rate has a ring of its last starts. The next start takes the slot of the one that lies `count` starts back, and
//! may do so a period after it. A job that comes too soon is throttled; the ring then knows when it opens, and the claim
//! that comes after that lets as many go on as may start.
//!
//! **Invariant:** whoever looks at a ring in order to start, holds its task or its pool until the end of its transaction.

use std::collections::BTreeSet;

use mainspring_model::{JobId, PoolName, RateLimit, TaskCode, Timestamp};

use super::fault::Outcome;
use super::lanes::{Hold, Tasks};
use super::params::params;
use super::row::{Columns, count};
use super::session::Session;
use super::sql;
use crate::PoolRoom;
use crate::rules::{RINGS_OPENED_MAX, Window, opening, opens_at, pool_scope, slot, slot_after, task_scope};

#[derive(Debug)]
pub(super) struct Ring {
    scope: String,
    key: String,
    limit: RateLimit,
}

/// The limits of a pool that hold in all nodes together.
#[derive(Debug, Default)]
pub(super) struct PoolLimits {
    pub(super) ring: Option<Ring>,
    pub(super) held_max: Option<u32>,
}

impl PoolLimits {
    /// Only read: for those who want to know whether there are any.
    pub(super) async fn of(session: &mut Session, pool: &PoolName) -> Outcome<PoolLimits> {
        let row = session.one(&sql::POOL_LIMITS, &params![pool.as_str()]).await?;
        row.map_or(Ok(PoolLimits::default()), |row| PoolLimits::decode(pool, &mut Columns::of(&row)))
    }

    /// Where there are any, nobody else claims of the pool, or changes it, until the end of the transaction. Several pools
    /// are asked for in the order of their names, after all tasks.
    pub(super) async fn hold(session: &mut Session, pool: &PoolName) -> Outcome<PoolLimits> {
        let limits = PoolLimits::of(session, pool).await?;
        if !limits.are_there() {
            return Ok(limits);
        }
        let row = session.one(&sql::POOL_LIMITS_LOCK, &params![pool.as_str()]).await?;
        row.map_or(Ok(PoolLimits::default()), |row| PoolLimits::decode(pool, &mut Columns::of(&row)))
    }

    /// A rate that cannot be read is shown in the log and stops nobody.
    fn decode(pool: &PoolName, c: &mut Columns<'_>) -> Outcome<PoolLimits> {
        let (rate, held_max) = (c.opt_text()?, c.opt_count()?);
        let limit: Option<RateLimit> = rate.and_then(|text| match text.parse() {
            Ok(limit) => Some(limit),
            Err(_) => {
                tracing::error!(%pool, rate = text, "the rate of a pool cannot be read");
                None
            }
        });
        let ring = limit.map(|limit| Ring { scope: pool_scope(pool), key: String::new(), limit });
        Ok(PoolLimits { ring, held_max })
    }

    pub(super) fn are_there(&self) -> bool {
        self.ring.is_some() || self.held_max.is_some()
    }

    /// Of the room that a node has for the pool, what all nodes together leave it. The caller holds the pool.
    pub(super) async fn room(&self, session: &mut Session, room: &PoolRoom) -> Outcome<u32> {
        let Some(max) = self.held_max else { return Ok(room.jobs_max) };
        let held = session.number(&sql::QUEUE_HELD_IN_POOL, &params![room.pool.as_str(), max]).await?;
        Ok(room.jobs_max.min(max.saturating_sub(count(held.unwrap_or(0))?)))
    }
}

impl Ring {
    pub(super) fn of_task(code: &TaskCode, key: &str, limit: RateLimit) -> Ring {
        Ring { scope: task_scope(code), key: key.to_owned(), limit }
    }

    /// When the next start may be. `None`: at any time.
    pub(super) async fn opens(&self, session: &mut Session, window: Window) -> Outcome<Option<Timestamp>> {
        Ok(opens_at(self.next(session).await?.1, self.limit, window.until))
    }

    pub(super) async fn start(&self, session: &mut Session, at: Timestamp) -> Outcome<()> {
        let (slot, _) = self.next(session).await?;
        let (scope, key) = (self.scope.as_str(), self.key.as_str());
        session.run(&sql::RING_START, &params![scope, key, slot, at]).await?;
        session.run(&sql::RING_TURN, &params![scope, key, slot_after(slot, self.limit)]).await?;
        Ok(())
    }

    /// Somebody waits until then.
    pub(super) async fn wait(&self, session: &mut Session, opens: Timestamp) -> Outcome<()> {
        let row = params![self.scope.as_str(), self.key.as_str(), opens];
        session.run(&sql::RING_WAIT, &row).await.map(drop)
    }

    /// The next slot, and the start that it holds.
    async fn next(&self, session: &mut Session) -> Outcome<(u32, Option<Timestamp>)> {
        let asked = params![self.scope.as_str(), self.key.as_str(), self.limit.count];
        let Some(row) = session.one(&sql::RING_READ, &asked).await? else { return Ok((0, None)) };
        let mut c = Columns::of(&row);
        Ok((slot(c.count()?, self.limit), c.opt_time()?))
    }

    /// What its slots hold from the next one on, as far as `jobs` starts need them.
    async fn oldest_starts(&self, session: &mut Session, jobs: usize) -> Outcome<Vec<Option<Timestamp>>> {
        let (mut at, _) = self.next(session).await?;
        let mut starts = Vec::with_capacity(jobs);
        for _ in 0..jobs {
            let asked = params![self.scope.as_str(), self.key.as_str(), at];
            starts.push(session.number(&sql::RING_SLOT, &asked).await?.map(Timestamp::from_ms));
            at = slot_after(at, self.limit);
        }
        Ok(starts)
    }
}

/// A rate for which jobs wait.
#[derive(Debug)]
pub(super) struct Waited {
    pub(super) task: TaskCode,
    scope: String,
    key: String,
}

/// The rates that open until then. The claim holds their tasks before it lets anybody go on.
pub(super) async fn opening_until(session: &mut Session, until: Timestamp) -> Outcome<Vec<Waited>> {
    let most = i64::try_from(RINGS_OPENED_MAX).unwrap_or(i64::MAX);
    let rows = session.rows(&sql::RINGS_OPEN, &params![until, most]).await?;
    let decode = |row| {
        let mut c = Columns::of(row);
        let (scope, key) = (c.string()?, c.string()?);
        let task = TaskCode::stored(scope.strip_prefix("task:").unwrap_or(&scope));
        Ok(Waited { task, scope, key })
    };
    rows.iter().map(decode).collect()
}

/// Lets go on what waited for a rate that opens until then: before jobs are chosen, so that they take part.
pub(super) async fn open(session: &mut Session, tasks: &mut Tasks, waited: &Waited, until: Timestamp) -> Outcome<()> {
    let Waited { task, scope, key } = waited;
    let limit = tasks.readable(session, task).await?.and_then(|task| task.definition.rate_limit);
    let most = limit.map_or(i64::MAX, |limit| i64::from(limit.count) + 1);
    let rows = session.rows(&sql::LANE_THROTTLED, &params![task.as_str(), key.as_str(), most]).await?;
    let waiting = rows.iter().map(|row| Columns::of(row).int().map(JobId)).collect::<Outcome<Vec<_>>>()?;
    let (mut jobs, mut then) = (waiting.len(), None);
    if let Some(limit) = limit {
        let ring = Ring::of_task(task, key, limit);
        let starts = ring.oldest_starts(session, waiting.len().min(limit.count as usize)).await?;
        let opening = opening(starts, limit, until);
        jobs = jobs.min(opening.jobs as usize);
        then = Some(opening.then).filter(|_| jobs < waiting.len());
    }
    for id in &waiting[..jobs] {
        session.run(&sql::QUEUE_ADMIT, &params![*id]).await?;
    }
    session.run(&sql::RING_OPEN, &params![scope.as_str(), key.as_str(), then]).await.map(drop)
}

/// Whoever waits for a rate is judged anew.
pub(super) async fn judge_anew(session: &mut Session) -> Outcome<()> {
    loop {
        let waited = opening_until(session, Timestamp::MAX).await?;
        if waited.is_empty() {
            return Ok(());
        }
        Tasks::default().load(session, waited.iter().map(|ring| &ring.task), Hold::Change).await?;
        for Waited { task, scope, key } in waited {
            session.run(&sql::QUEUE_JUDGE_RATES, &params![task.as_str(), key.as_str()]).await?;
            session.run(&sql::RING_OPEN, &params![scope, key, None::<i64>]).await?;
        }
    }
}

/// The pools with a limit that holds in all nodes together: their jobs are counted where they are claimed.
pub(super) async fn limited_pools(session: &mut Session) -> Outcome<BTreeSet<PoolName>> {
    let mut limited = BTreeSet::new();
    for row in session.rows(&sql::POOLS_LIMITED, &[]).await? {
        let mut c = Columns::of(&row);
        let pool = PoolName::stored(c.text()?);
        if PoolLimits::decode(&pool, &mut c)?.are_there() {
            limited.insert(pool);
        }
    }
    Ok(limited)
}
