//! Dispatch: claiming due jobs as far as their lanes and rates admit them.
//!
//! Rows are locked as they are chosen, without those that another node is just taking; then they are judged, and the chosen
//! ones written at once. Plain jobs cause no statement of their own.
//!
//! **Invariant:** a claim that holds queue rows waits for nobody: pools are locked before rows, tasks only where they are
//! free. Jobs of a task that is busy stay for the next look.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring_model::job::Lane;
use mainspring_model::{
    BizId, Fence, Incarnation, JobId, JobStatus, PoolName, Priority, QueueState, TaskCode, Timestamp, Trigger, Unique,
};

use super::fault::{Fault, Outcome};
use super::lanes::{self, Admission, Gate};
use super::params::params;
use super::peek::{Peek, PoolPeek, excluded};
use super::rates::{self, PoolLimits, Ring};
use super::release::{hold_free, ids_of};
use super::row::{Columns, Row};
use super::session::Session;
use super::{decode, sql};
use crate::rules::{CLAIM_ROUNDS_MAX, PRIORITIES, Window, split};
use crate::{Claim, ClaimRequest, Claimed, PoolRoom};

/// Jobs that were left because somebody else held their task are looked at again so much later: a few transactions.
const LOOK_AGAIN_MS: i64 = 5;

/// `turn` counts the claims: see `rules::split`.
pub(super) async fn claim(session: &mut Session, request: &ClaimRequest, peek: &Peek, turn: u64) -> Outcome<Claimed> {
    let window = Window::of(request);
    let busy = request.excluded.clone();
    let mut taker = Taker { request, window, turn, gate: Gate::default(), busy, jobs: Vec::new() };
    let opened = match peek.opening {
        Some(opening) if opening <= window.until => taker.open_rates(session).await?,
        _ => None,
    };
    let peek = opened.as_ref().unwrap_or(peek);
    let limits = hold_pools(session, request, peek).await?;
    for ((room, pool), limits) in request.rooms.iter().zip(&peek.pools).zip(&limits) {
        if pool.earliest().is_some_and(|due| due <= window.until) {
            let left = limits.room(session, room).await?;
            taker.fill(session, room, pool, left, limits.ring.as_ref()).await?;
        }
    }
    let next_due = next_due(session, request, &taker.busy, &limits).await?;
    Ok(Claimed { jobs: taker.jobs, next_due })
}

/// The limits that the look has seen, in the order of the pools' names.
async fn hold_pools(session: &mut Session, request: &ClaimRequest, peek: &Peek) -> Outcome<Vec<PoolLimits>> {
    let mut limits: Vec<PoolLimits> = request.rooms.iter().map(|_| PoolLimits::default()).collect();
    let mut order: Vec<usize> = (0..limits.len()).filter(|at| peek.pools[*at].has_limits).collect();
    order.sort_unstable_by(|a, b| request.rooms[*a].pool.cmp(&request.rooms[*b].pool));
    for at in order {
        limits[at] = PoolLimits::hold(session, &request.rooms[at].pool).await?;
    }
    Ok(limits)
}

async fn next_due(
    session: &mut Session,
    request: &ClaimRequest,
    busy: &[TaskCode],
    limits: &[PoolLimits],
) -> Outcome<Vec<(PoolName, Option<Timestamp>)>> {
    let mut peek = Peek::without(session, request, busy).await?;
    if busy.len() > request.excluded.len() {
        // Past what this claim took: whoever is to come at once asks without a pause as long as somebody holds the task.
        peek.opening = Some(request.due_until.plus_ms(LOOK_AGAIN_MS));
    }
    let mut all = Vec::with_capacity(limits.len());
    for ((room, pool), limits) in request.rooms.iter().zip(&peek.pools).zip(limits) {
        let is_full = limits.room(session, &PoolRoom { jobs_max: 1, ..room.clone() }).await? == 0;
        // Whoever gives a place of a full pool back wakes the others.
        let due = if is_full { None } else { pool.earliest() };
        let mut next = [due, peek.opening].into_iter().flatten().min();
        if let (Some(due), Some(ring)) = (next, &limits.ring) {
            // Not before its rate opens, so that nobody asks in vain.
            let opens = ring.opens(session, Window::of(request)).await?.filter(|opens| *opens > request.now);
            next = Some(opens.map_or(due, |opens| due.max(opens)));
        }
        all.push((room.pool.clone(), next));
    }
    Ok(all)
}

/// A locked row of the queue.
#[derive(Debug)]
struct Due {
    id: JobId,
    fence: Fence,
    due: Timestamp,
    suspect: bool,
    task: TaskCode,
    lane: Outcome<Option<Lane>>,
}

impl Due {
    fn decode(row: &Row) -> Outcome<Due> {
        let mut c = Columns::of(row);
        Ok(Due {
            id: JobId(c.int()?),
            fence: Fence(c.int()?),
            due: c.time()?,
            suspect: c.flag()?,
            task: TaskCode::stored(c.text()?),
            lane: decode::lane(&mut c),
        })
    }

    fn is_in_lane(&self) -> bool {
        !matches!(self.lane, Ok(None))
    }
}

struct Taker<'r> {
    request: &'r ClaimRequest,
    window: Window,
    turn: u64,
    gate: Gate,
    /// Tasks that the node cannot run, and those that somebody else holds.
    busy: Vec<TaskCode>,
    jobs: Vec<Claim>,
}

/// What is to be written of a round.
#[derive(Debug, Default)]
struct Round {
    claims: Vec<Claim>,
    waiting: BTreeMap<i64, Vec<JobId>>,
    /// Those that nobody can read, with their lanes: they rest as parked, so that they stop no other.
    unreadable: Vec<(JobId, TaskCode, Option<Lane>)>,
    /// The pool's rate is used up: what is left stays where it is.
    is_pool_closed: bool,
}

impl Taker<'_> {
    /// Lets go on what waited for a rate. Then the look is an old one: a new one.
    async fn open_rates(&mut self, session: &mut Session) -> Outcome<Option<Peek>> {
        let waited = rates::opening_until(session, self.window.until).await?;
        let codes: Vec<TaskCode> = waited.iter().map(|ring| ring.task.clone()).collect();
        hold_free(session, &mut self.gate.tasks, &codes).await?;
        for ring in &waited {
            match self.gate.tasks.knows(&ring.task) {
                true => rates::open(session, &mut self.gate.tasks, ring, self.window.until).await?,
                false => self.busy.push(ring.task.clone()),
            }
        }
        Peek::without(session, self.request, &self.busy).await.map(Some)
    }

    /// Chooses again as long as jobs had to be set aside: they must not hide those behind them.
    async fn fill(
        &mut self,
        session: &mut Session,
        room: &PoolRoom,
        pool: &PoolPeek,
        mut left: u32,
        ring: Option<&Ring>,
    ) -> Outcome<()> {
        for _ in 0..CLAIM_ROUNDS_MAX {
            let chosen = self.choose(session, room, pool, left).await?;
            if chosen.is_empty() {
                break;
            }
            let chosen = self.leave_busy(session, chosen).await?;
            let round = self.judge(session, chosen.ready, ring).await?;
            let is_any_set_aside = chosen.is_any_left || !round.waiting.is_empty() || !round.unreadable.is_empty();
            left -= u32::try_from(round.claims.len()).unwrap_or(left).min(left);
            let is_pool_closed = round.is_pool_closed;
            self.write(session, round).await?;
            if left == 0 || is_pool_closed || !is_any_set_aside {
                break;
            }
        }
        Ok(())
    }

    async fn choose(&self, session: &mut Session, room: &PoolRoom, pool: &PoolPeek, left: u32) -> Outcome<Vec<Due>> {
        let mut rows = Vec::new();
        for (jobs, priority) in self.shares(session, room, pool, left).await?.into_iter().zip(Priority::ALL) {
            if jobs > 0 {
                let until = self.request.due_until;
                let asked = params![room.pool.as_str(), priority.code(), until, jobs, excluded(&self.busy)];
                rows.extend(session.rows(&sql::QUEUE_DUE_LOCK, &asked).await?);
            }
        }
        rows.iter().map(Due::decode).collect()
    }

    /// How many of each priority. Counts only where several of them are due.
    async fn shares(
        &self,
        session: &mut Session,
        room: &PoolRoom,
        pool: &PoolPeek,
        left: u32,
    ) -> Outcome<[u32; PRIORITIES]> {
        let due: [bool; PRIORITIES] = std::array::from_fn(|at| pool.is_due(at, self.request.due_until));
        let is_alone = due.iter().filter(|due| **due).count() == 1;
        let mut counts = [0; PRIORITIES];
        for (at, priority) in Priority::ALL.iter().enumerate().filter(|(at, _)| due[*at]) {
            counts[at] = left;
            if !is_alone {
                let until = self.request.due_until;
                let asked = params![room.pool.as_str(), priority.code(), until, left, excluded(&self.busy)];
                let count = session.number(&sql::QUEUE_DUE_COUNT, &asked).await?.unwrap_or(0);
                counts[at] = u32::try_from(count).unwrap_or(left);
            }
        }
        Ok(split(left, counts, self.turn))
    }

    /// Holds the tasks of lanes. Jobs of those that somebody else holds are left alone, and not chosen again.
    async fn leave_busy(&mut self, session: &mut Session, mut chosen: Vec<Due>) -> Outcome<Chosen> {
        let codes: BTreeSet<&TaskCode> = chosen.iter().filter(|due| due.is_in_lane()).map(|due| &due.task).collect();
        let new: Vec<TaskCode> = codes.into_iter().filter(|code| !self.gate.tasks.knows(code)).cloned().collect();
        if !new.is_empty() {
            hold_free(session, &mut self.gate.tasks, &new).await?;
        }
        self.busy.extend(new.into_iter().filter(|code| !self.gate.tasks.knows(code)));
        let all = chosen.len();
        chosen.retain(|due| !due.is_in_lane() || self.gate.tasks.knows(&due.task));
        Ok(Chosen { is_any_left: chosen.len() < all, ready: chosen })
    }

    async fn judge(&mut self, session: &mut Session, chosen: Vec<Due>, ring: Option<&Ring>) -> Outcome<Round> {
        let mut round = Round::default();
        if chosen.is_empty() {
            return Ok(round);
        }
        let mut records = BTreeMap::new();
        for (part, ids) in session.by_part(chosen.iter().map(|due| due.id).collect(), |id| *id) {
            for row in session.rows_in(part, &sql::CLAIM_READ, &params![ids_of(ids.into_iter())]).await? {
                records.insert(row.number(0)?.map(JobId), row);
            }
        }
        for due in chosen {
            let (id, task) = (due.id, due.task.clone());
            let lane = due.lane.as_ref().ok().cloned().flatten();
            match self.judge_one(session, due, records.get(&Some(id)), ring).await {
                Ok(Judged::Claimed(claim)) => round.claims.push(*claim),
                Ok(Judged::Waits(state)) => round.waiting.entry(state.code()).or_default().push(id),
                Ok(Judged::PoolClosed) => {
                    round.is_pool_closed = true;
                    break;
                }
                Err(Fault::Row(reason)) => {
                    tracing::error!(job = %id, reason, "a job cannot be read and is set aside");
                    round.unreadable.push((id, task, lane));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(round)
    }

    async fn judge_one(
        &mut self,
        session: &mut Session,
        due: Due,
        record: Option<&Row>,
        ring: Option<&Ring>,
    ) -> Outcome<Judged> {
        let record = record.ok_or_else(|| Fault::Row("it has no record".to_owned()))?;
        let (mut claim, attachment) = decode_claim(due, self.request.owner, record)?;
        let opens = match ring {
            Some(ring) => ring.opens(session, self.window).await?,
            None => None,
        };
        let Some(mut start) = self.window.start(claim.due, opens) else { return Ok(Judged::PoolClosed) };
        if let Some(lane) = &claim.lane {
            match self.gate.admit(session, &claim.task, lane, start, self.window).await? {
                Admission::At(admitted) => start = admitted,
                Admission::Full => return Ok(Judged::Waits(QueueState::Limited)),
                Admission::TooSoon => return Ok(Judged::Waits(QueueState::Throttled)),
            }
        }
        claim.due = self.window.shown_due(claim.due, start);
        if let Some(attachment) = attachment {
            claim.payload = Some(decode::read_attachment(session, attachment).await?.into());
        }
        if let Some(lane) = &claim.lane {
            self.gate.count(session, &claim.task, lane, start).await?;
        }
        if let Some(ring) = ring {
            ring.start(session, start).await?;
        }
        Ok(Judged::Claimed(Box::new(claim)))
    }

    async fn write(&mut self, session: &mut Session, round: Round) -> Outcome<()> {
        if !round.claims.is_empty() {
            let ids = ids_of(round.claims.iter().map(|claim| claim.id));
            session.run(&sql::QUEUE_CLAIM_ALL, &params![ids, self.request.owner]).await?;
            self.jobs.extend(round.claims);
        }
        for (state, ids) in round.waiting {
            session.run(&sql::QUEUE_PUT_BACK, &params![ids_of(ids.into_iter()), state, false]).await?;
        }
        if !round.unreadable.is_empty() {
            let ids = ids_of(round.unreadable.iter().map(|(id, ..)| *id));
            session.run(&sql::QUEUE_PUT_BACK, &params![ids, QueueState::Parked.code(), false]).await?;
        }
        for (_, task, lane) in round.unreadable {
            // Whoever waits for its lane must not wait for one that nobody can read.
            if let Some(lane) = lane {
                lanes::go_on(session, &task, &lane).await?;
            }
        }
        Ok(())
    }
}

/// The chosen ones that may be judged.
#[derive(Debug)]
struct Chosen {
    ready: Vec<Due>,
    is_any_left: bool,
}

/// What becomes of a chosen job.
enum Judged {
    Claimed(Box<Claim>),
    /// Elsewhere, and another one may have its place.
    Waits(QueueState),
    PoolClosed,
}

fn decode_claim(due: Due, owner: Incarnation, record: &Row) -> Outcome<(Claim, Option<i64>)> {
    let mut c = Columns::from(record, 1);
    let task = TaskCode::stored(c.text()?);
    let pool = PoolName::stored(c.text()?);
    let priority = c.coded("priority", Priority::from_code)?;
    let (attempts, retry_count, max_retry, lost_count) = (c.count()?, c.count()?, c.count()?, c.count()?);
    let timeout_ms = c.opt_int()?;
    let payload = c.opt_text()?.map(Arc::from);
    let attachment = c.opt_int()?;
    let claim = Claim {
        id: due.id,
        fence: due.fence.next(),
        owner,
        task,
        pool,
        priority,
        due: due.due,
        attempts,
        retry_count,
        max_retry,
        lost_count,
        suspect: due.suspect,
        timeout_ms,
        payload,
        biz_id: c.opt_text()?.map(BizId::stored),
        unique: c.coded("unique mode", Unique::from_code)?,
        trigger: c.coded("trigger", Trigger::from_code)?,
        fire_time: c.opt_time()?,
        create_time: c.time()?,
        shard: None,
        lane: due.lane?,
    };
    // A status of a newer version: this one does not know what running the job would mean.
    c.coded("status", JobStatus::from_code)?;
    Ok((Claim { shard: decode::shard(&mut c)?, ..claim }, attachment))
}
