//! Lanes: jobs of one task, or of one concurrency key of it, that wait for each other.
//!
//! A job that finds its lane full leaves the index of due jobs, so it never stands in the way of others. Whoever ends or
//! takes back a job of the lane lets the first of those that wait go on; it is judged anew when it is claimed.
//!
//! **Invariant:** every live job of a task with limits is in a lane, and jobs outside of lanes cause no statement here.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use mainspring_model::job::Lane;
use mainspring_model::{JobId, Task, TaskCode, TaskDefinition, Timestamp};
use rusqlite::{Connection, Row, params};

use super::decode::Columns;
use super::fault::{Fault, Outcome};
use super::rates::Ring;
use super::{rates, sql, tasks};
use crate::rules::{HeldOfLane, Window, is_full, lane_from};

/// The tasks of a batch, each read once. Only what no verb of a batch changes may be asked of them: their definitions
/// and their switches, not their fire times.
#[derive(Debug)]
pub(super) struct Tasks<'c> {
    conn: &'c Connection,
    read: BTreeMap<TaskCode, Option<Rc<Task>>>,
}

impl<'c> Tasks<'c> {
    pub(super) fn new(conn: &'c Connection) -> Tasks<'c> {
        Tasks { conn, read: BTreeMap::new() }
    }

    pub(super) fn get(&mut self, code: &TaskCode) -> Outcome<Option<Rc<Task>>> {
        if let Some(task) = self.read.get(code) {
            return Ok(task.clone());
        }
        let task = tasks::task(self.conn, code)?.map(Rc::new);
        self.read.insert(code.clone(), task.clone());
        Ok(task)
    }

    /// For those whom a task that cannot be read must not stop: to them it is gone.
    pub(super) fn readable(&mut self, code: &TaskCode) -> Outcome<Option<Rc<Task>>> {
        match self.get(code) {
            Err(Fault::Row(reason)) => {
                tracing::error!(task = %code, reason, "a task cannot be read: its limits are not known");
                self.read.insert(code.clone(), None);
                Ok(None)
            }
            decided => decided,
        }
    }
}

/// The key as the queue has it.
pub(super) fn key_of(lane: &Lane) -> &str {
    lane.key.as_deref().unwrap_or("")
}

/// The lane that the columns `lane` and `concurrency_key` of a queue row name.
pub(super) fn decode(c: &mut Columns<'_, '_>) -> Outcome<Option<Lane>> {
    let code = c.take::<Option<i64>>()?.unwrap_or(0);
    Ok(lane_from(code, c.opt_text()?))
}

/// A row of `task_code, lane, concurrency_key`.
pub(super) fn decode_of_task(row: &Row<'_>) -> Outcome<Option<(TaskCode, Lane)>> {
    let mut c = Columns::of(row);
    let code = TaskCode::stored(c.text()?);
    Ok(decode(&mut c)?.map(|lane| (code, lane)))
}

pub(super) fn of_job(conn: &Connection, id: JobId) -> Outcome<Option<(TaskCode, Lane)>> {
    let mut statement = conn.prepare_cached(sql::QUEUE_LANE)?;
    let mut rows = statement.query([id.0])?;
    Ok(rows.next()?.map(decode_of_task).transpose()?.flatten())
}

/// A job of the lane has ended or is nobody's any more: the first one that waits goes on. One of those that run one after
/// another waits on while another of them is held, and keeps nobody back.
///
/// How many: one or none.
pub(super) fn go_on(conn: &Connection, code: &TaskCode, lane: &Lane) -> Outcome<usize> {
    Ok(conn.prepare_cached(sql::LANE_GO_ON)?.execute([code.as_str(), key_of(lane)])?)
}

/// At most `limit`. The live jobs of a task with limits are all in lanes.
pub(super) fn live_of_task(conn: &Connection, task: &Task, limit: u32) -> Outcome<u32> {
    let in_lanes: u32 =
        conn.prepare_cached(sql::LANE_LIVE)?.query_row(params![task.code.as_str(), limit], |row| row.get(0))?;
    if task.definition.is_guarded() || in_lanes >= limit {
        return Ok(in_lanes);
    }
    tasks::live_jobs(conn, &task.code, limit)
}

pub(super) fn oldest_live(conn: &Connection, task: &Task) -> Outcome<Option<JobId>> {
    if !task.definition.is_guarded() {
        return Ok(live_ids(conn, task)?.first().copied());
    }
    let id: Option<i64> =
        conn.prepare_cached(sql::LANE_LIVE_FIRST)?.query_row([task.code.as_str()], |row| row.get(0))?;
    Ok(id.map(JobId))
}

/// Oldest first.
pub(super) fn live_ids(conn: &Connection, task: &Task) -> Outcome<Vec<JobId>> {
    let statement = if task.definition.is_guarded() { sql::LANE_LIVE_IDS } else { sql::TASK_LIVE_IDS };
    let mut statement = conn.prepare_cached(statement)?;
    let rows = statement.query_map([task.code.as_str()], |row| row.get(0).map(JobId))?;
    let mut ids = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    ids.sort_unstable();
    Ok(ids)
}

/// A job that a person took up after its task was deleted is in no lane: the next task of that code may have limits.
pub(super) fn enter_again(conn: &Connection, code: &TaskCode, new: &TaskDefinition) -> Outcome<()> {
    if new.is_guarded() && conn.prepare_cached(sql::TASK_HAS_PAST)?.exists([code.as_str()])? {
        conn.prepare_cached(sql::LANE_ENTER)?.execute([code.as_str()])?;
    }
    Ok(())
}

/// After an edit: whoever waited for a limit is judged anew, and jobs enter or leave lanes with the first and the last
/// limit of their task.
pub(super) fn judge_anew(
    conn: &Connection,
    code: &TaskCode,
    old: &TaskDefinition,
    new: &TaskDefinition,
) -> Outcome<()> {
    conn.prepare_cached(sql::LANE_REQUEUE)?.execute([code.as_str()])?;
    match (old.is_guarded(), new.is_guarded()) {
        (false, true) => drop(conn.prepare_cached(sql::LANE_ENTER)?.execute([code.as_str()])?),
        (true, false) => drop(conn.prepare_cached(sql::LANE_LEAVE)?.execute([code.as_str()])?),
        _ => {}
    }
    if old.rate_limit != new.rate_limit {
        rates::forget(conn, code)?;
    }
    Ok(())
}

/// What a due job of a lane hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It starts then.
    At(Timestamp),
    /// As many are held as may be.
    Full,
    /// The rate is used up. Its ring knows that somebody waits.
    TooSoon,
}

/// Judges the jobs of one claim: what is held of a lane is counted once, and then kept.
#[derive(Debug)]
pub(super) struct Gate<'c> {
    conn: &'c Connection,
    tasks: Tasks<'c>,
    held: BTreeMap<(TaskCode, Option<Arc<str>>), HeldOfLane>,
}

impl<'c> Gate<'c> {
    pub(super) fn new(conn: &'c Connection) -> Gate<'c> {
        Gate { conn, tasks: Tasks::new(conn), held: BTreeMap::new() }
    }

    /// `start`: when it would begin without its lane.
    pub(super) fn admit(
        &mut self,
        code: &TaskCode,
        lane: &Lane,
        start: Timestamp,
        window: Window,
    ) -> Outcome<Admission> {
        let task = self.tasks.get(code)?;
        let running_max = task.as_ref().and_then(|task| task.definition.running_max());
        if is_full(lane, running_max, *self.held(code, lane)?) {
            return Ok(Admission::Full);
        }
        if let Some(limit) = task.and_then(|task| task.definition.rate_limit) {
            let ring = Ring::of_task(self.conn, code, key_of(lane), limit);
            let opens = ring.opens(window)?;
            return Ok(match (window.start(start, opens), opens) {
                (Some(start), _) => Admission::At(start),
                (None, opens) => {
                    ring.wait(opens.unwrap_or(start))?;
                    Admission::TooSoon
                }
            });
        }
        Ok(Admission::At(start))
    }

    /// The job was claimed.
    pub(super) fn count(&mut self, code: &TaskCode, lane: &Lane, start: Timestamp) -> Outcome<()> {
        let held = self.held(code, lane)?;
        held.jobs += 1;
        held.serial += u32::from(lane.serial);
        match self.tasks.get(code)?.and_then(|task| task.definition.rate_limit) {
            Some(limit) => Ring::of_task(self.conn, code, key_of(lane), limit).start(start),
            None => Ok(()),
        }
    }

    fn held(&mut self, code: &TaskCode, lane: &Lane) -> Outcome<&mut HeldOfLane> {
        let key = (code.clone(), lane.key.clone());
        match self.held.entry(key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let mut held = self.conn.prepare_cached(sql::LANE_HELD)?;
                let (jobs, serial) =
                    held.query_row([code.as_str(), key_of(lane)], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(new.insert(HeldOfLane { jobs, serial }))
            }
        }
    }
}
