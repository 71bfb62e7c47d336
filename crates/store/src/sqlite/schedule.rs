//! Schedules: the records of fire times, and the next fire time with them.
//!
//! **Invariant:** a fire time leaves the task in the transaction in which it gets its record, so none is lost and none has
//! two.

use std::borrow::Cow;

use mainspring_model::job::{Fires, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Task, TaskSwitch};
use mainspring_model::{Incarnation, TaskCode, Timestamp, Trigger, Unique};
use rusqlite::{CachedStatement, Connection, params};

use super::command::answer_each;
use super::decode::coded;
use super::fault::{Fault, Outcome};
use super::submit::{Batch, Joining, Made};
use super::{decode, lanes, sql, tasks};
use crate::rules::{AnyStored, completed_text, next_after_end, next_of_fire, skip_text};
use crate::{Fire, FireEnd, FireEntry, Fired, NewJob, Replan};

pub(super) fn fire(conn: &Connection, owner: Incarnation, fires: &[Fire], now: Timestamp) -> Outcome<Vec<Fired>> {
    let mut firing = Firing {
        conn,
        batch: Batch::new(conn, owner)?,
        read: conn.prepare_cached(sql::TASK_READ)?,
        fired: conn.prepare_cached(sql::TASK_FIRED)?,
        now,
    };
    answer_each(
        conn,
        fires,
        |fire| firing.fire(fire),
        |fire, reason| {
            tracing::error!(task = %fire.task, reason, "a fire met a row that cannot be read");
            Fired::Moved
        },
    )
}

/// Statements are looked up once per call, not once per task.
struct Firing<'c> {
    conn: &'c Connection,
    batch: Batch<'c>,
    read: CachedStatement<'c>,
    fired: CachedStatement<'c>,
    now: Timestamp,
}

impl Firing<'_> {
    fn fire(&mut self, fire: &Fire) -> Outcome<Fired> {
        let stored = self.read.query([fire.task.as_str()])?.next()?.map(decode::task).transpose()?;
        let as_seen = |task: &Task| {
            task.version == fire.version && task.switch == TaskSwitch::Enabled && task.next_fire_time == Some(fire.due)
        };
        let Some(task) = stored.as_ref().filter(|task| as_seen(task)) else {
            return repeated(&mut self.batch, fire, stored.as_ref());
        };
        let enter = |entry| enter(self.conn, &mut self.batch, task, entry);
        let ends = fire.entries.iter().map(enter).collect::<Outcome<Vec<_>>>()?;
        let is_any_stored = ends.iter().any(|end| matches!(end, FireEnd::Stored { .. }));
        let is_any_stored = if is_any_stored { AnyStored::Yes } else { AnyStored::No };
        let next = next_of_fire(fire.next, is_any_stored, &task.definition, self.now);
        let latest = fire.entries.iter().filter_map(|entry| entry.job.fires).map(|fires| fires.last).max();
        let previous = latest.max(task.prev_fire_time);
        let times = [next.time(), previous].map(|time| time.map(Timestamp::as_ms));
        self.fired.execute(params![fire.task.as_str(), times[0], times[1]])?;
        if next == NextFire::Never {
            alert_completed(self.conn, &fire.task, self.now)?;
        }
        Ok(Fired::Done(ends))
    }
}

/// Not as the planner saw it: this call was done before, or somebody else was first.
fn repeated(batch: &mut Batch<'_>, fire: &Fire, stored: Option<&Task>) -> Outcome<Fired> {
    if fire.entries.is_empty() {
        let done = stored.is_some_and(|task| task.next_fire_time == fire.next.time());
        return Ok(if done { Fired::Done(Vec::new()) } else { Fired::Moved });
    }
    let mut is_any_made = false;
    let mut ends = Vec::with_capacity(fire.entries.len());
    for entry in &fire.entries {
        let made = batch.made(&entry.job)?;
        is_any_made |= made.is_some();
        ends.push(match made {
            None => FireEnd::Duplicate,
            Some(Made { skip: Some(code), .. }) => FireEnd::Skipped(coded("skip reason", code, SkipReason::from_code)?),
            Some(made) => FireEnd::Stored { claimed: made.is_ours, replaced: Vec::new() },
        });
    }
    Ok(if is_any_made { Fired::Done(ends) } else { Fired::Moved })
}

fn enter(conn: &Connection, batch: &mut Batch<'_>, task: &Task, entry: &FireEntry) -> Outcome<FireEnd> {
    let fires = entry.job.fires.unwrap_or(Fires::one(entry.job.execute_time));
    let key = fires.key();
    let job = match entry.job.biz_id.as_ref() == Some(&key) && entry.job.unique == Unique::Always {
        true => Cow::Borrowed(&entry.job),
        false => Cow::Owned(NewJob { biz_id: Some(key.clone()), unique: Unique::Always, ..entry.job.clone() }),
    };
    let job = job.as_ref();
    if !batch.take_fire(job, &key)? {
        return Ok(FireEnd::Duplicate);
    }
    if let Some(reason) = entry.skip {
        let words = skip_text(reason, &fires, &task.definition, None);
        batch.skip(job, reason, &words)?;
        return Ok(FireEnd::Skipped(reason));
    }
    match batch.join(task, job)? {
        Joining::Stored { claimed, replaced } => Ok(FireEnd::Stored { claimed, replaced }),
        Joining::KeptAway => {
            let live = lanes::oldest_live(conn, task)?;
            let words = skip_text(SkipReason::Overlap, &fires, &task.definition, live);
            batch.skip(job, SkipReason::Overlap, &words)?;
            Ok(FireEnd::Skipped(SkipReason::Overlap))
        }
    }
}

pub(super) fn replan(conn: &Connection, replans: &[Replan]) -> Outcome<Vec<bool>> {
    let mut replan = conn.prepare_cached(sql::TASK_REPLAN)?;
    let mut planned = conn.prepare_cached(sql::TASK_PLANNED)?;
    let mut answers = Vec::with_capacity(replans.len());
    for one in replans {
        let (from, to) = (one.from.map(Timestamp::as_ms), one.to.map(Timestamp::as_ms));
        let written = replan.execute(params![one.task.as_str(), one.version, from, to])? == 1;
        answers.push(written || planned.exists(params![one.task.as_str(), to])?);
    }
    Ok(answers)
}

/// A fired job has ended: where the next fire follows from that, it is planned now.
pub(super) fn after_end(
    conn: &Connection,
    code: &TaskCode,
    trigger: Trigger,
    finish: Timestamp,
    now: Timestamp,
) -> Outcome<()> {
    // Few tasks wait for an end: the others are not read.
    let is_fired = matches!(trigger, Trigger::Cron | Trigger::Misfire);
    if !is_fired || !conn.prepare_cached(sql::TASK_AWAITS_END)?.exists([code.as_str()])? {
        return Ok(());
    }
    let task = match tasks::task(conn, code) {
        Err(Fault::Row(reason)) => {
            tracing::error!(task = %code, reason, "a task cannot be read: its next fire is not planned");
            None
        }
        decided => decided?,
    };
    match task.and_then(|task| next_after_end(&task, trigger, finish)) {
        Some(NextFire::At(next)) => {
            conn.prepare_cached(sql::TASK_NEXT_FIRE)?.execute(params![code.as_str(), next.as_ms()])?;
        }
        Some(NextFire::Never) => alert_completed(conn, code, now)?,
        Some(NextFire::AfterEnd) | None => {}
    }
    Ok(())
}

fn alert_completed(conn: &Connection, code: &TaskCode, now: Timestamp) -> Outcome<()> {
    let row = params!["TASK_COMPLETED", None::<i64>, code.as_str(), completed_text(code), now.as_ms()];
    conn.prepare_cached(sql::ALERT_INSERT)?.execute(row)?;
    Ok(())
}
