//! Tasks: definitions, changed by people and guarded by their version.

use mainspring_model::task::{Task, TaskDefinition, TaskSwitch};
use mainspring_model::{CalendarName, TaskCode, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::decode::{self, readable};
use super::fault::{Fault, Outcome};
use super::settle::write_audit;
use super::{lanes, rates, sql};
use crate::rules::{declared_fire, is_repeated_update};
use crate::{NextFireChange, TaskChange};

/// Who changes something, and when.
#[derive(Debug)]
pub(super) struct By {
    pub(super) who: String,
    pub(super) now: Timestamp,
}

pub(super) fn tasks(conn: &Connection) -> Outcome<Vec<Task>> {
    let mut statement = conn.prepare_cached(sql::TASKS)?;
    readable(&mut statement.query([])?, decode::task)
}

pub(super) fn task(conn: &Connection, code: &TaskCode) -> Outcome<Option<Task>> {
    let mut statement = conn.prepare_cached(sql::TASK_READ)?;
    let mut rows = statement.query([code.as_str()])?;
    rows.next()?.map(decode::task).transpose()
}

fn written(conn: &Connection, code: &TaskCode) -> Outcome<Task> {
    task(conn, code)?.ok_or_else(|| Fault::Row(format!("task `{code}` is gone within its own transaction")))
}

pub(super) fn create(
    conn: &Connection,
    code: &TaskCode,
    definition: &TaskDefinition,
    switch: TaskSwitch,
    next_fire: Option<Timestamp>,
    by: &By,
) -> Outcome<TaskChange> {
    let mut values = vec![Value::Text(code.to_string())];
    values.extend(columns(definition));
    let next_fire = next_fire.filter(|_| switch == TaskSwitch::Enabled);
    values.extend([Value::Integer(by.now.as_ms()), opt_time(next_fire), Value::Text(switch.as_str().to_owned())]);
    let inserted = conn.prepare_cached(sql::TASK_INSERT)?.execute(params_from_iter(values))? == 1;
    let stored = written(conn, code)?;
    if !inserted {
        return Ok(TaskChange::InTheWay(stored));
    }
    lanes::enter_again(conn, code, definition)?;
    write_audit(conn, by.now, &by.who, "create", &format!("task:{code}"), "")?;
    Ok(TaskChange::Written(stored))
}

pub(super) fn declare(
    conn: &Connection,
    code: &TaskCode,
    definition: &TaskDefinition,
    next_fire: Option<Timestamp>,
    by: &By,
) -> Outcome<TaskChange> {
    let declaration = params![code.as_str(), definition.fingerprint(), by.now.as_ms()];
    let is_new = conn.prepare_cached(sql::TASK_DECLARE)?.execute(declaration)? == 1;
    match task(conn, code)? {
        None => create(conn, code, definition, TaskSwitch::Enabled, next_fire, by),
        Some(stored) if !is_new || stored.definition == *definition => Ok(TaskChange::InTheWay(stored)),
        Some(stored) => {
            let next_fire = declared_fire(&stored, definition, next_fire);
            update(conn, code, stored.version, definition, next_fire, by)
        }
    }
}

pub(super) fn update(
    conn: &Connection,
    code: &TaskCode,
    version: i64,
    definition: &TaskDefinition,
    next_fire: NextFireChange,
    by: &By,
) -> Outcome<TaskChange> {
    let Some(stored) = task(conn, code)? else { return Ok(TaskChange::Missing) };
    if stored.version != version {
        return Ok(match is_repeated_update(&stored, version, definition) {
            true => TaskChange::Written(stored),
            false => TaskChange::Conflict(stored),
        });
    }
    let (keep, next_fire) = match next_fire {
        NextFireChange::Keep => (1, None),
        NextFireChange::Set(next_fire) => (0, next_fire),
    };
    let mut values = vec![Value::Text(code.to_string())];
    values.extend(columns(definition));
    values.extend([by.now.as_ms(), version, keep].map(Value::Integer));
    values.push(opt_time(next_fire));
    conn.prepare_cached(sql::TASK_UPDATE)?.execute(params_from_iter(values))?;
    lanes::judge_anew(conn, code, &stored.definition, definition)?;
    let stored = written(conn, code)?;
    write_audit(conn, by.now, &by.who, "edit", &format!("task:{code}"), &format!("version {}", stored.version))?;
    Ok(TaskChange::Written(stored))
}

pub(super) fn switch(
    conn: &Connection,
    code: &TaskCode,
    to: TaskSwitch,
    next_fire: Option<Timestamp>,
    by: &By,
) -> Outcome<TaskChange> {
    let next_fire = next_fire.filter(|_| to == TaskSwitch::Enabled).map(Timestamp::as_ms);
    let row = params![code.as_str(), to.as_str(), by.now.as_ms(), next_fire];
    let switched = conn.prepare_cached(sql::TASK_SET_SWITCH)?.execute(row)? == 1;
    let Some(stored) = task(conn, code)? else { return Ok(TaskChange::Missing) };
    if switched {
        let what = if to == TaskSwitch::Enabled { "enable" } else { "disable" };
        write_audit(conn, by.now, &by.who, what, &format!("task:{code}"), "")?;
    }
    Ok(TaskChange::Written(stored))
}

pub(super) fn delete(conn: &Connection, code: &TaskCode, version: Option<i64>, by: &By) -> Outcome<TaskChange> {
    let Some(stored) = task(conn, code)? else { return Ok(TaskChange::Missing) };
    if version.is_some_and(|version| version != stored.version) {
        return Ok(TaskChange::Conflict(stored));
    }
    if live_jobs(conn, code, 1)? > 0 {
        return Ok(TaskChange::InTheWay(stored));
    }
    conn.prepare_cached(sql::TASK_DELETE)?.execute([code.as_str()])?;
    conn.prepare_cached(sql::TASK_DELETED)?.execute([stored.id])?;
    rates::forget(conn, code)?;
    write_audit(conn, by.now, &by.who, "delete", &format!("task:{code}"), &format!("version {}", stored.version))?;
    Ok(TaskChange::Written(stored))
}

pub(super) fn live_jobs(conn: &Connection, code: &TaskCode, limit: u32) -> Outcome<u32> {
    Ok(conn.prepare_cached(sql::TASK_LIVE)?.query_row(params![code.as_str(), limit], |row| row.get(0))?)
}

fn opt_time(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| Value::Integer(time.as_ms()))
}

/// The columns that a person decides, in the order of the statements.
fn columns(definition: &TaskDefinition) -> [Value; 32] {
    let text = |text: &str| Value::Text(text.to_owned());
    let opt_text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.to_owned()));
    let number = |number: u32| Value::Integer(number.into());
    let opt_number = |number: Option<u32>| number.map_or(Value::Null, |number| Value::Integer(number.into()));
    [
        text(&definition.name),
        text(definition.kind.as_str()),
        text(definition.handler.as_str()),
        opt_text(definition.cron_expression.as_deref()),
        opt_text(definition.time_zone.as_deref()),
        definition.every.map_or(Value::Null, |every| Value::Integer(every.span.as_ms())),
        opt_text(definition.every.map(|every| every.rhythm.as_str())),
        opt_time(definition.start_at),
        opt_time(definition.end_at),
        opt_text(definition.calendar.as_ref().map(CalendarName::as_str)),
        opt_text(definition.param.as_deref()),
        number(definition.timeout_seconds),
        text(definition.fail_strategy.as_str()),
        number(definition.retry.count),
        Value::Integer(definition.retry.base_ms),
        Value::Integer(definition.retry.cap_ms),
        text(definition.pool.as_str()),
        Value::Integer(definition.priority.code()),
        text(definition.overlap.as_str()),
        opt_number(definition.max_running),
        opt_text(definition.concurrency_key.as_deref()),
        definition.rate_limit.map_or(Value::Null, |limit| Value::Text(limit.to_string())),
        text(definition.misfire.as_str()),
        number(definition.misfire_grace_seconds),
        number(definition.max_catchup),
        opt_number(definition.start_deadline_seconds),
        text(definition.on_lost.as_str()),
        opt_text(definition.owner.as_deref()),
        Value::Text(serde_json::Value::from(definition.tags.clone()).to_string()),
        opt_text(definition.description.as_deref()),
        Value::Text(serde_json::Value::from(definition.node_labels.clone()).to_string()),
        Value::Integer(definition.broadcast.into()),
    ]
}
