//! Tasks: definitions, changed by people and guarded by their version.
//!
//! A change locks the task's row before it looks at anything, so that what it decides is still so when it writes.

pub(super) mod pins;

use mainspring_model::task::{Task, TaskDefinition, TaskSwitch};
use mainspring_model::{CalendarName, TaskCode, Timestamp};

use super::audit::{By, definition_changed, write_audit};
use super::decode::{self, readable};
use super::fault::{Fault, Outcome};
use super::params::{Param, params};
use super::row::count;
use super::session::Session;
use super::{limits, sql};
use crate::rules::{declared_fire, is_repeated_update};
use crate::{NextFireChange, TaskChange};

/// How a task is held until the end of the transaction that read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// Not at all: to show it.
    None,
    /// Nobody else changes it or decides by its live jobs. Several at once: `lanes::Tasks`.
    Change,
    /// Besides, nobody holds it in any other way.
    Remove,
}

pub(super) async fn tasks(session: &mut Session) -> Outcome<Vec<Task>> {
    readable(&session.rows(&sql::TASKS, &[]).await?, decode::task)
}

pub(super) async fn task(session: &mut Session, code: &TaskCode, lock: Lock) -> Outcome<Option<Task>> {
    let statement = match lock {
        Lock::None => &sql::TASK_READ,
        Lock::Change => &sql::TASK_LOCK_CHANGE,
        Lock::Remove => &sql::TASK_LOCK_REMOVE,
    };
    let row = session.one(statement, &params![code.as_str()]).await?;
    row.as_ref().map(decode::task).transpose()
}

async fn written(session: &mut Session, code: &TaskCode) -> Outcome<Task> {
    let stored = task(session, code, Lock::None).await?;
    stored.ok_or_else(|| Fault::Row(format!("task `{code}` is gone within its own transaction")))
}

pub(super) async fn create(
    session: &mut Session,
    code: &TaskCode,
    definition: &TaskDefinition,
    switch: TaskSwitch,
    next_fire: Option<Timestamp>,
    by: &By,
) -> Outcome<TaskChange> {
    let next_fire = next_fire.filter(|_| switch == TaskSwitch::Enabled);
    let mut row = vec![Param::from(code.as_str())];
    row.extend(columns(definition));
    row.extend(params![by.now, next_fire, switch.as_str()]);
    let inserted = session.run(&sql::TASK_INSERT, &row).await? == 1;
    match task(session, code, Lock::Change).await? {
        Some(stored) if !inserted => return Ok(TaskChange::InTheWay(stored)),
        Some(_) => {}
        // It was in the way, and is deleted by now.
        None => return Err(Fault::again(format!("task `{code}` was deleted just now"))),
    }
    pins::put(session, code, definition).await?;
    limits::enter_again(session, code, definition).await?;
    write_audit(session, by, "create", &format!("task:{code}"), "").await?;
    definition_changed(session).await?;
    Ok(TaskChange::Written(written(session, code).await?))
}

pub(super) async fn declare(
    session: &mut Session,
    code: &TaskCode,
    definition: &TaskDefinition,
    next_fire: Option<Timestamp>,
    by: &By,
) -> Outcome<TaskChange> {
    let declaration = params![code.as_str(), definition.fingerprint(), by.now];
    let is_new = session.run(&sql::TASK_DECLARE, &declaration).await? == 1;
    match task(session, code, Lock::Change).await? {
        None => create(session, code, definition, TaskSwitch::Enabled, next_fire, by).await,
        Some(stored) if !is_new || stored.definition == *definition => Ok(TaskChange::InTheWay(stored)),
        Some(stored) => {
            let next_fire = declared_fire(&stored, definition, next_fire);
            write_over(session, stored, definition, next_fire, by).await
        }
    }
}

pub(super) async fn update(
    session: &mut Session,
    code: &TaskCode,
    version: i64,
    definition: &TaskDefinition,
    next_fire: NextFireChange,
    by: &By,
) -> Outcome<TaskChange> {
    match task(session, code, Lock::Change).await? {
        None => Ok(TaskChange::Missing),
        Some(stored) if stored.version == version => write_over(session, stored, definition, next_fire, by).await,
        Some(stored) if is_repeated_update(&stored, version, definition) => Ok(TaskChange::Written(stored)),
        Some(stored) => Ok(TaskChange::Conflict(stored)),
    }
}

/// The task is locked as it was read.
async fn write_over(
    session: &mut Session,
    stored: Task,
    definition: &TaskDefinition,
    next_fire: NextFireChange,
    by: &By,
) -> Outcome<TaskChange> {
    let code = &stored.code;
    if stored.definition.is_guarded() != definition.is_guarded() {
        // Whoever adds a job to it at this moment does not know yet whether that is in a lane.
        task(session, code, Lock::Remove).await?;
        pins::put(session, code, definition).await?;
    }
    let (keep, next_fire) = match next_fire {
        NextFireChange::Keep => (true, None),
        NextFireChange::Set(next_fire) => (false, next_fire),
    };
    let mut row = vec![Param::from(code.as_str())];
    row.extend(columns(definition));
    row.extend(params![by.now, stored.version, keep, next_fire]);
    session.run(&sql::TASK_UPDATE, &row).await?;
    limits::judge_anew(session, code, &stored.definition, definition).await?;
    let now_stored = written(session, code).await?;
    write_audit(session, by, "edit", &format!("task:{code}"), &format!("version {}", now_stored.version)).await?;
    definition_changed(session).await?;
    Ok(TaskChange::Written(now_stored))
}

pub(super) async fn switch(
    session: &mut Session,
    code: &TaskCode,
    to: TaskSwitch,
    next_fire: Option<Timestamp>,
    by: &By,
) -> Outcome<TaskChange> {
    let next_fire = next_fire.filter(|_| to == TaskSwitch::Enabled);
    let row = params![code.as_str(), to.as_str(), by.now, next_fire];
    let switched = session.run(&sql::TASK_SET_SWITCH, &row).await? == 1;
    let Some(stored) = task(session, code, Lock::None).await? else { return Ok(TaskChange::Missing) };
    if switched {
        let what = if to == TaskSwitch::Enabled { "enable" } else { "disable" };
        write_audit(session, by, what, &format!("task:{code}"), "").await?;
        definition_changed(session).await?;
    }
    Ok(TaskChange::Written(stored))
}

pub(super) async fn delete(
    session: &mut Session,
    code: &TaskCode,
    version: Option<i64>,
    by: &By,
) -> Outcome<TaskChange> {
    let Some(stored) = task(session, code, Lock::Remove).await? else { return Ok(TaskChange::Missing) };
    if version.is_some_and(|version| version != stored.version) {
        return Ok(TaskChange::Conflict(stored));
    }
    if live_jobs(session, code, 1).await? > 0 {
        return Ok(TaskChange::InTheWay(stored));
    }
    session.run(&sql::TASK_DELETE, &params![code.as_str()]).await?;
    pins::remove(session, code).await?;
    limits::forget_rates(session, code).await?;
    write_audit(session, by, "delete", &format!("task:{code}"), &format!("version {}", stored.version)).await?;
    definition_changed(session).await?;
    Ok(TaskChange::Written(stored))
}

pub(super) async fn live_jobs(session: &mut Session, code: &TaskCode, limit: u32) -> Outcome<u32> {
    count(session.number(&sql::TASK_LIVE, &params![code.as_str(), limit]).await?.unwrap_or(0))
}

/// The columns that a person decides, in the order of the statements.
fn columns(definition: &TaskDefinition) -> [Param<'_>; 32] {
    params![
        definition.name.as_str(),
        definition.kind.as_str(),
        definition.handler.as_str(),
        definition.cron_expression.as_deref(),
        definition.time_zone.as_deref(),
        definition.every.map(|every| every.span.as_ms()),
        definition.every.map(|every| every.rhythm.as_str()),
        definition.start_at,
        definition.end_at,
        definition.calendar.as_ref().map(CalendarName::as_str),
        definition.param.as_deref(),
        definition.timeout_seconds,
        definition.fail_strategy.as_str(),
        definition.retry.count,
        definition.retry.base_ms,
        definition.retry.cap_ms,
        definition.pool.as_str(),
        definition.priority.code(),
        definition.overlap.as_str(),
        definition.max_running,
        definition.concurrency_key.as_deref(),
        definition.rate_limit.map(|limit| limit.to_string()),
        definition.misfire.as_str(),
        definition.misfire_grace_seconds,
        definition.max_catchup,
        definition.start_deadline_seconds,
        definition.on_lost.as_str(),
        definition.owner.as_deref(),
        serde_json::Value::from(definition.tags.clone()).to_string(),
        definition.description.as_deref(),
        serde_json::Value::from(definition.node_labels.clone()).to_string(),
        definition.broadcast,
    ]
}
