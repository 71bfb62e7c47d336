//! Nodes: joining (and taking over what dead ones held), the heartbeat, leaving.
//!
//! Nodes are first marked GONE: all others by the owner of the file, or those whose lease has run out. The take-over
//! itself reads only that mark.

use mainspring_model::decide::Next;
use mainspring_model::job::Lane;
use mainspring_model::{
    BizId, Fence, Incarnation, JobId, NodeState, PoolName, RetryRule, TaskCode, Timestamp, Trigger, Unique,
};
use rusqlite::{CachedStatement, Connection, params};

use super::decode::{Columns, readable};
use super::fault::{Fault, Outcome};
use super::settle::{settle, write_audit};
use super::tasks::By;
use super::{lanes, sql};
use crate::rules::{NodeEnd, Orphan, facts, free_node_number, gone_for_ever};
use crate::{Held, Joined, NewNode, NodeRow, Replaces, TakenOver, Trouble};

/// Of a body whose start was not written.
const NODE_NUMBER: u16 = 1;

pub(super) fn join(conn: &Connection, node: &NewNode, clock: Timestamp, now: Timestamp) -> Outcome<Joined> {
    let others = match node.replaces {
        Replaces::Nobody => None,
        Replaces::Own(past) => Some(Some(past.0)),
        Replaces::Everyone => Some(None),
    };
    if let Some(others) = others {
        conn.prepare_cached(sql::NODE_OTHERS_GONE)?.execute(params![node.incarnation.0, others])?;
    }
    if conn.prepare_cached(sql::NODE_IS_GONE)?.exists([node.incarnation.0])? {
        return Err(Fault::Carried(Trouble::Unavailable, gone_for_ever(node.incarnation)));
    }
    let number = number_of(conn, node.incarnation)?;
    let words = |words: &[String]| serde_json::Value::from(words.to_vec()).to_string();
    conn.prepare_cached(sql::NODE_JOIN)?.execute(params![
        node.incarnation.0,
        number,
        node.host,
        node.pid,
        node.version,
        clock.as_ms(),
        clock.plus_ms(node.lease_ms).as_ms(),
        words(&node.labels),
        words(&node.handlers),
    ])?;
    let taken_over = take_over_from_gone(conn, now)?;
    let newest: Option<i64> = conn.prepare_cached(sql::JOB_NEWEST)?.query_row([], |row| row.get(0))?;
    Ok(Joined { node_number: number, newest_job: newest.map(JobId), taken_over })
}

/// Whoever held jobs is gone, and nobody comes after.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn end_all(conn: &Connection, now: Timestamp) -> Outcome<()> {
    const NOBODY: i64 = 0;
    conn.prepare_cached(sql::NODE_OTHERS_GONE)?.execute(params![NOBODY, None::<i64>])?;
    take_over_from_gone(conn, now).map(drop)
}

/// Its own when it is a node already.
fn number_of(conn: &Connection, incarnation: Incarnation) -> Outcome<u16> {
    let mut taken = Vec::new();
    let mut statement = conn.prepare_cached(sql::NODE_NUMBERS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (number, of) = (row.get(0)?, Incarnation(row.get(1)?));
        if of == incarnation {
            return Ok(number);
        }
        taken.push(number);
    }
    Ok(free_node_number(&taken))
}

pub(super) fn take_over(conn: &Connection, clock: Timestamp, now: Timestamp) -> Outcome<TakenOver> {
    let mut expire = conn.prepare_cached(sql::NODE_EXPIRE)?;
    let nodes = expire.query_map([clock.as_ms()], |row| row.get(0).map(Incarnation))?;
    let nodes = nodes.collect::<rusqlite::Result<_>>()?;
    Ok(TakenOver { nodes, ..take_over_from_gone(conn, now)? })
}

fn take_over_from_gone(conn: &Connection, now: Timestamp) -> Outcome<TakenOver> {
    let started = held_by(&mut conn.prepare_cached(sql::QUEUE_STARTED_ORPHANS)?, [])?;
    let left_lanes = lanes_of(&mut conn.prepare_cached(sql::QUEUE_ORPHAN_LANES)?, [])?;
    let released = conn.prepare_cached(sql::QUEUE_RELEASE_ORPHANS)?.execute([])? as u64;
    go_on_in(conn, &left_lanes)?;
    let mut taken_over = TakenOver { released, ..TakenOver::default() };
    for next in end_orphans(conn, &started, NodeEnd::Crash, now)? {
        match next {
            Next::Final { .. } => taken_over.dead += 1,
            Next::Again { .. } => taken_over.lost += 1,
        }
    }
    taken_over.rerouted = reroute(conn)?;
    Ok(taken_over)
}

/// Parts that wait for a node that takes no new work go to the pool of their task. How many.
pub(super) fn reroute(conn: &Connection) -> Outcome<u64> {
    let mut stranded = conn.prepare_cached(sql::PARTS_STRANDED)?;
    let rows = stranded.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let stranded = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for (id, pool) in &stranded {
        conn.prepare_cached(sql::QUEUE_REROUTE)?.execute(params![id, pool])?;
        conn.prepare_cached(sql::JOB_REROUTE)?.execute(params![id, pool])?;
    }
    Ok(stranded.len() as u64)
}

pub(super) fn heartbeat(
    conn: &Connection,
    incarnation: Incarnation,
    lease_ms: i64,
    clock: Timestamp,
) -> Outcome<NodeState> {
    let row = [incarnation.0, clock.as_ms(), clock.plus_ms(lease_ms).as_ms()];
    let mut renew = conn.prepare_cached(sql::NODE_HEARTBEAT)?;
    let mut rows = renew.query(row)?;
    rows.next()?.map_or(Ok(NodeState::Gone), |row| Columns::of(row).word("node state"))
}

pub(super) fn drain(conn: &Connection, incarnation: Incarnation, by: &By) -> Outcome<bool> {
    let is_known = conn.prepare_cached(sql::NODE_DRAIN)?.execute([incarnation.0])? == 1;
    if is_known {
        write_audit(conn, by.now, &by.who, "drain", &format!("node:{incarnation}"), "")?;
    }
    Ok(is_known)
}

pub(super) fn leave(conn: &Connection, incarnation: Incarnation, now: Timestamp) -> Outcome<()> {
    let left_lanes = lanes_of(&mut conn.prepare_cached(sql::QUEUE_OWN_LANES)?, [incarnation.0])?;
    conn.prepare_cached(sql::QUEUE_RELEASE_OWN)?.execute([incarnation.0])?;
    go_on_in(conn, &left_lanes)?;
    let started = held_by(&mut conn.prepare_cached(sql::QUEUE_STARTED_OWN)?, [incarnation.0])?;
    end_orphans(conn, &started, NodeEnd::Leave, now)?;
    conn.prepare_cached(sql::NODE_GONE)?.execute([incarnation.0, now.as_ms()])?;
    Ok(())
}

pub(super) fn held(conn: &Connection, owner: Incarnation) -> Outcome<Vec<Held>> {
    held_by(&mut conn.prepare_cached(sql::QUEUE_HELD)?, [owner.0])
}

fn held_by(statement: &mut CachedStatement<'_>, params: impl rusqlite::Params) -> Outcome<Vec<Held>> {
    let rows = statement.query_map(params, |row| {
        Ok(Held { id: JobId(row.get(0)?), fence: Fence(row.get(1)?), owner: Incarnation(row.get(2)?) })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn lanes_of(statement: &mut CachedStatement<'_>, params: impl rusqlite::Params) -> Outcome<Vec<(TaskCode, Lane)>> {
    let left = readable(&mut statement.query(params)?, lanes::decode_of_task)?;
    Ok(left.into_iter().flatten().collect())
}

/// One for each job that left its lane.
fn go_on_in(conn: &Connection, left_lanes: &[(TaskCode, Lane)]) -> Outcome<()> {
    left_lanes.iter().try_for_each(|(task, lane)| lanes::go_on(conn, task, lane).map(drop))
}

/// Settles each job for its dead node. One that cannot be read stays as it is and is shown in the log and by `verify`.
fn end_orphans(conn: &Connection, started: &[Held], end: NodeEnd, now: Timestamp) -> Outcome<Vec<Next>> {
    let mut settlements = Vec::with_capacity(started.len());
    for held in started {
        match read_orphan(conn, *held) {
            Ok(orphan) => settlements.push(orphan.settlement(end, now)),
            Err(Fault::Row(reason)) => tracing::error!(job = %held.id, reason, "a lost job cannot be read"),
            Err(fault) => return Err(fault),
        }
    }
    settle(conn, &settlements, now)?;
    Ok(settlements.iter().map(|settlement| settlement.decision.next).collect())
}

fn read_orphan(conn: &Connection, held: Held) -> Outcome<Orphan> {
    let mut statement = conn.prepare_cached(sql::LOSS_FACTS)?;
    let mut rows = statement.query([held.id.0, held.fence.0])?;
    let row = rows.next()?.ok_or_else(|| Fault::Row("it has no record".to_owned()))?;
    let mut c = Columns::of(row);
    let task = TaskCode::stored(c.text()?);
    let biz_id = c.opt_text()?.map(BizId::stored);
    let unique = c.coded("unique mode", Unique::from_code)?;
    let (retry_count, max_retry, lost_count) = (c.count()?, c.count()?, c.count()?);
    let attempt = c.count()?;
    let start_time = c.opt_time()?.unwrap_or_default();
    let rules = match c.take::<Option<u32>>()? {
        None => None,
        Some(count) => {
            let retry = RetryRule { count, base_ms: c.take()?, cap_ms: c.take()? };
            Some((retry, c.word("fail strategy")?, c.word("on lost")?))
        }
    };
    // The columns of the task's rules are only taken when there is a task.
    let mut c = Columns::from(row, 13);
    let pool = PoolName::stored(c.text()?);
    Ok(Orphan {
        held,
        task,
        attempt,
        node: c.take::<Option<u16>>()?.unwrap_or(NODE_NUMBER),
        start_time,
        live_key: biz_id.filter(|_| unique == Unique::Live),
        facts: facts(retry_count, max_retry, lost_count, rules, &pool),
        trigger: c.coded("trigger", Trigger::from_code)?,
        lane: lanes::decode(&mut c)?,
    })
}

pub(super) fn nodes(conn: &Connection) -> Outcome<Vec<NodeRow>> {
    let mut statement = conn.prepare_cached(sql::NODES)?;
    readable(&mut statement.query([])?, |row| {
        let mut c = Columns::of(row);
        Ok(NodeRow {
            incarnation: Incarnation(c.take()?),
            number: c.take()?,
            host: c.take()?,
            pid: c.take()?,
            version: c.take()?,
            state: c.word("node state")?,
            labels: c.words("labels")?,
            handlers: c.words("handlers")?,
            heartbeat_at: c.time()?,
            expires_at: c.time()?,
        })
    })
}
