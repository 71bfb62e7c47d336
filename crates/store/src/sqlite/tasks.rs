//! Tasks and pools: definitions, changed by people and guarded by their version.

use mainspring_model::task::{Task, TaskDefinition, TaskSwitch};
use mainspring_model::{TaskCode, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::decode::{self, Columns, readable};
use super::fault::{Fault, Outcome};
use super::settle::write_audit;
use super::sql;
use crate::rules::is_repeated_update;
use crate::{PoolSettings, TaskChange, WhenFull};

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

pub(super) fn create(conn: &Connection, code: &TaskCode, definition: &TaskDefinition, by: &By) -> Outcome<TaskChange> {
    let mut values = vec![Value::Text(code.to_string())];
    values.extend(columns(definition));
    values.push(Value::Integer(by.now.as_ms()));
    let inserted = conn.prepare_cached(sql::TASK_INSERT)?.execute(params_from_iter(values))? == 1;
    let stored = written(conn, code)?;
    if !inserted {
        return Ok(TaskChange::InTheWay(stored));
    }
    write_audit(conn, by.now, &by.who, "create", &format!("task:{code}"), "")?;
    Ok(TaskChange::Written(stored))
}

pub(super) fn update(
    conn: &Connection,
    code: &TaskCode,
    version: i64,
    definition: &TaskDefinition,
    by: &By,
) -> Outcome<TaskChange> {
    let mut values = vec![Value::Text(code.to_string())];
    values.extend(columns(definition));
    values.extend([Value::Integer(by.now.as_ms()), Value::Integer(version)]);
    let updated = conn.prepare_cached(sql::TASK_UPDATE)?.execute(params_from_iter(values))? == 1;
    let Some(stored) = task(conn, code)? else { return Ok(TaskChange::Missing) };
    if updated {
        let detail = format!("version {}", stored.version);
        write_audit(conn, by.now, &by.who, "edit", &format!("task:{code}"), &detail)?;
    } else if !is_repeated_update(&stored, version, definition) {
        return Ok(TaskChange::Conflict(stored));
    }
    Ok(TaskChange::Written(stored))
}

pub(super) fn switch(conn: &Connection, code: &TaskCode, to: TaskSwitch, by: &By) -> Outcome<TaskChange> {
    let row = params![code.as_str(), to.as_str(), by.now.as_ms()];
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
    write_audit(conn, by.now, &by.who, "delete", &format!("task:{code}"), &format!("version {}", stored.version))?;
    Ok(TaskChange::Written(stored))
}

pub(super) fn live_jobs(conn: &Connection, code: &TaskCode, limit: u32) -> Outcome<u32> {
    Ok(conn.prepare_cached(sql::TASK_LIVE)?.query_row(params![code.as_str(), limit], |row| row.get(0))?)
}

/// The columns that a person decides, in the order of the statements.
fn columns(definition: &TaskDefinition) -> [Value; 22] {
    let text = |text: &str| Value::Text(text.to_owned());
    let opt_text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let number = |number: u32| Value::Integer(number.into());
    [
        text(&definition.name),
        text(definition.kind.as_str()),
        text(definition.handler.as_str()),
        opt_text(&definition.cron_expression),
        opt_text(&definition.time_zone),
        opt_text(&definition.param),
        number(definition.timeout_seconds),
        text(definition.fail_strategy.as_str()),
        number(definition.retry.count),
        Value::Integer(definition.retry.base_ms),
        Value::Integer(definition.retry.cap_ms),
        text(definition.pool.as_str()),
        Value::Integer(definition.priority.code()),
        text(definition.overlap.as_str()),
        definition.max_running.map_or(Value::Null, number),
        text(definition.misfire.as_str()),
        number(definition.misfire_grace_seconds),
        number(definition.max_catchup),
        text(definition.on_lost.as_str()),
        opt_text(&definition.owner),
        Value::Text(serde_json::Value::from(definition.tags.clone()).to_string()),
        opt_text(&definition.description),
    ]
}

pub(super) fn pools(conn: &Connection) -> Outcome<Vec<PoolSettings>> {
    let mut statement = conn.prepare_cached(sql::POOLS)?;
    readable(&mut statement.query([])?, |row| {
        let mut c = Columns::of(row);
        Ok(PoolSettings {
            name: mainspring_model::PoolName::stored(c.text()?),
            concurrency: c.count()?,
            queue_capacity: c.count()?,
            paused: c.take()?,
            when_full: when_full_of(c.text()?)?,
        })
    })
}

pub(super) fn put_pool(conn: &Connection, pool: &PoolSettings, by: &By) -> Outcome<()> {
    conn.prepare_cached(sql::POOL_PUT)?.execute(params![
        pool.name.as_str(),
        pool.concurrency,
        pool.queue_capacity,
        pool.paused,
        when_full_word(pool.when_full),
    ])?;
    let detail = format!(
        "concurrency {}, queue {}, {}{}",
        pool.concurrency,
        pool.queue_capacity,
        when_full_word(pool.when_full),
        if pool.paused { ", paused" } else { "" }
    );
    write_audit(conn, by.now, &by.who, "set", &format!("pool:{}", pool.name), &detail)
}

const fn when_full_word(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Spill => "SPILL",
        WhenFull::Wait => "WAIT",
        WhenFull::CallerRuns => "CALLER_RUNS",
        WhenFull::Reject => "REJECT",
    }
}

fn when_full_of(word: &str) -> Outcome<WhenFull> {
    [WhenFull::Spill, WhenFull::Wait, WhenFull::CallerRuns, WhenFull::Reject]
        .into_iter()
        .find(|when_full| when_full_word(*when_full) == word)
        .ok_or_else(|| Fault::Row(format!("when_full `{word}` is not known to this version")))
}
