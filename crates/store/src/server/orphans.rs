//! What nodes leave behind that are gone, or go: jobs in their memory are released, those that were known to run are
//! settled.
//!
//! **Invariants:** batch by batch, each a transaction of its own, so that nobody waits long for the rows of a node that held
//! very many. Nodes that look at one time skip what another one is just taking. Only the mark GONE is read, never a lease.

use mainspring_model::decide::Next;
use mainspring_model::{
    BizId, Incarnation, JobId, PoolName, QueueState, RetryRule, TaskCode, Timestamp, Trigger, Unique,
};

use super::ServerStore;
use super::fault::{Fault, Outcome};
use super::params::{Batch, Column, params};
use super::release::{self, Busy, HeldRow, Suspect};
use super::row::{Columns, Row};
use super::session::Session;
use super::settle::settle;
use super::transact::run;
use super::{decode, nodes, sql};
use crate::rules::{NodeEnd, Orphan, facts};
use crate::{Held, Result, Settled, TakenOver};

/// Jobs in one transaction.
const BATCH_MAX: i64 = 500;
/// Of a body whose start was not written.
const NODE_NUMBER: u16 = 1;

impl ServerStore {
    /// Of nodes whose lease has run out, and of those that were gone before.
    pub(super) async fn take_over_from_expired(&self, now: Timestamp) -> Result<TakenOver> {
        let nodes = run!(self, Write, "take_over", session => nodes::expire(session))?;
        let taken_over = TakenOver { nodes, ..self.take_over_from_gone(now).await? };
        self.ring_taken_over(&taken_over);
        Ok(taken_over)
    }

    /// For a node that joins, and does so in any case.
    pub(super) async fn take_over_if_possible(&self, now: Timestamp) -> TakenOver {
        let taken_over = self.take_over_from_gone(now).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "what dead nodes held is taken over in a moment");
            TakenOver::default()
        });
        self.ring_taken_over(&taken_over);
        taken_over
    }

    /// All that is held by whoever is no live node. What was done before an error stays done, and the next look goes on.
    async fn take_over_from_gone(&self, now: Timestamp) -> Result<TakenOver> {
        let owners = run!(self, Look, "take_over", session => dead_owners(session))?;
        let mut all = TakenOver::default();
        for owner in owners {
            if let Err(error) = self.empty(owner, NodeEnd::Crash, now, &mut all).await {
                if all.is_empty() {
                    return Err(error);
                }
                tracing::warn!(%owner, %error, "what a dead node held is taken over in part, the rest in a moment");
                return Ok(all);
            }
        }
        if let Err(error) = self.reroute(&mut all).await {
            if all.is_empty() {
                return Err(error);
            }
            tracing::warn!(%error, "parts of broadcasts that wait for dead nodes go to others in a moment");
        }
        Ok(all)
    }

    /// Parts that wait for a node that takes no new work go to the pool of their task.
    async fn reroute(&self, all: &mut TakenOver) -> Result<()> {
        loop {
            let stranded =
                run!(self, Look, "take_over", session => session.rows(&sql::PARTS_STRANDED, &params![BATCH_MAX]))?;
            if stranded.is_empty() {
                return Ok(());
            }
            all.rerouted += run!(self, Write, "take_over", session => reroute_some(session, &stranded))?;
            if stranded.len() as i64 != BATCH_MAX {
                return Ok(());
            }
        }
    }

    /// Takes everything from an owner.
    pub(super) async fn empty(
        &self,
        owner: Incarnation,
        end: NodeEnd,
        now: Timestamp,
        all: &mut TakenOver,
    ) -> Result<()> {
        let (verb, busy) = match end {
            NodeEnd::Crash => ("take_over", Busy::Skip),
            NodeEnd::Leave => ("leave", Busy::Wait),
        };
        loop {
            let released = run!(self, Write, verb, session => release_some(session, owner, end, busy))?;
            all.released += released;
            if released == 0 {
                break;
            }
        }
        loop {
            let ended = run!(self, Write, verb, session => end_some(session, owner, end, busy, now))?;
            all.lost += ended.lost;
            all.dead += ended.dead;
            if ended.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Queue rows before records, as everywhere. What was claimed or ended meanwhile stays.
async fn reroute_some(session: &mut Session, stranded: &[Row]) -> Outcome<u64> {
    let mut rerouted = 0;
    for row in stranded {
        let mut c = Columns::of(row);
        let to = params![JobId(c.int()?), c.text()?];
        if session.run(&sql::QUEUE_REROUTE, &to).await? == 1 {
            session.run(&sql::JOB_REROUTE, &to).await?;
            rerouted += 1;
        }
    }
    Ok(rerouted)
}

async fn dead_owners(session: &mut Session) -> Outcome<Vec<Incarnation>> {
    let rows = session.rows(&sql::QUEUE_DEAD_OWNERS, &[]).await?;
    rows.iter().map(|row| Columns::of(row).int().map(Incarnation)).collect()
}

async fn some_held(session: &mut Session, owner: Incarnation, state: QueueState, busy: Busy) -> Outcome<Vec<HeldRow>> {
    let rows = session.rows(&sql::QUEUE_HELD_SOME, &params![owner, state.code(), BATCH_MAX]).await?;
    let held = rows.iter().map(release::held).collect::<Outcome<Vec<_>>>()?;
    let mut rows = release::lock_with_lanes(session, &held, busy).await?;
    rows.retain(|row| row.state == state);
    Ok(rows)
}

async fn release_some(session: &mut Session, owner: Incarnation, end: NodeEnd, busy: Busy) -> Outcome<u64> {
    let suspect = match end {
        NodeEnd::Crash => Suspect::Yes,
        NodeEnd::Leave => Suspect::No,
    };
    let rows = some_held(session, owner, QueueState::Claimed, busy).await?;
    release::put_back(session, &rows, QueueState::Queued, suspect).await?;
    Ok(rows.len() as u64)
}

/// Settles each job for its node. One that cannot be read stays as it is and is shown in the log and by `verify`.
async fn end_some(
    session: &mut Session,
    owner: Incarnation,
    end: NodeEnd,
    busy: Busy,
    now: Timestamp,
) -> Outcome<TakenOver> {
    let rows = some_held(session, owner, QueueState::Started, busy).await?;
    let held: Vec<Held> = rows.iter().map(|row| row.held).collect();
    let settlements: Vec<_> =
        read(session, &held).await?.into_iter().map(|orphan| orphan.settlement(end, now)).collect();
    let mut ended = TakenOver::default();
    for (settlement, settled) in settlements.iter().zip(settle(session, &settlements, now).await?) {
        match (settled, settlement.decision.next) {
            (Settled::Applied | Settled::AppliedAndFreed, Next::Final { .. }) => ended.dead += 1,
            (Settled::Applied | Settled::AppliedAndFreed, Next::Again { .. }) => ended.lost += 1,
            _ => {}
        }
    }
    Ok(ended)
}

async fn read(session: &mut Session, held: &[Held]) -> Outcome<Vec<Orphan>> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let ints = |of: fn(&Held) -> i64| Column::Ints(held.iter().map(|held| Some(of(held))).collect());
    let batch = Batch { columns: vec![ints(|held| held.id.0), ints(|held| held.fence.0)] };
    let mut orphans = Vec::with_capacity(held.len());
    for row in session.rows(&sql::LOSS_FACTS, &params![batch]).await? {
        let id = row.number(0)?.map(JobId);
        let Some(held) = held.iter().find(|held| Some(held.id) == id) else { continue };
        match decode(*held, &row) {
            Ok(orphan) => orphans.push(orphan),
            Err(Fault::Row(reason)) => tracing::error!(job = %held.id, reason, "a lost job cannot be read"),
            Err(fault) => return Err(fault),
        }
    }
    Ok(orphans)
}

fn decode(held: Held, row: &Row) -> Outcome<Orphan> {
    let mut c = Columns::from(row, 1);
    let task = TaskCode::stored(c.text()?);
    let biz_id = c.opt_text()?.map(BizId::stored);
    let unique = c.coded("unique mode", Unique::from_code)?;
    let (retry_count, max_retry, lost_count) = (c.count()?, c.count()?, c.count()?);
    let attempt = c.count()?;
    let start_time = c.opt_time()?.unwrap_or_default();
    let rules = match c.opt_count()? {
        None => {
            c.skip(4);
            None
        }
        Some(count) => {
            let retry = RetryRule { count, base_ms: c.int()?, cap_ms: c.int()? };
            Some((retry, c.word("fail strategy")?, c.word("on lost")?))
        }
    };
    let pool = PoolName::stored(c.text()?);
    Ok(Orphan {
        held,
        task,
        attempt,
        node: c.opt_node()?.unwrap_or(NODE_NUMBER),
        start_time,
        live_key: biz_id.filter(|_| unique == Unique::Live),
        facts: facts(retry_count, max_retry, lost_count, rules, &pool),
        trigger: c.coded("trigger", Trigger::from_code)?,
        lane: decode::lane(&mut c)?,
    })
}
