//! A task's definition as the wire has it: read with all complaints, shown with all operations.

use mainspring_engine::Engine;
use mainspring_model::task::TaskDefinition;
use mainspring_model::{HandlerName, Refused, Span, Task, lifecycle, operations};
use mainspring_store::LiveCount;

use super::jobs::raw;
use crate::extract::{Fields, Given};
use crate::limits::LIVE_JOBS_COUNTED;
use crate::problem::Problem;
use crate::wire;

/// Shown, but never written by this way.
const READ_ONLY: &[(&str, &str)] = &[
    ("status", "use enable and disable"),
    ("running", "it is counted"),
    ("nextFireTime", "it follows from the schedule"),
    ("prevFireTime", "it follows from the schedule"),
    ("createTime", "it is recorded"),
    ("updateTime", "it is recorded"),
    ("allowedOperations", "they follow from the state"),
    ("deniedOperations", "they follow from the state"),
    ("lastJob", "it is recorded"),
];

/// Part of the interface, but not of this version.
const NOT_YET: &[&str] =
    &["every", "startAt", "endAt", "calendar", "concurrencyKey", "rateLimit", "startDeadlineSeconds"];

/// Changes what the body speaks of: a value is set, null goes back to the default, what is absent stays.
pub(crate) fn apply(fields: &mut Fields<'_>, to: &mut TaskDefinition, code: &str) -> Result<(), Refused> {
    let default = TaskDefinition::new(code, to.handler.clone());
    set(fields.given("name"), &mut to.name, default.name);
    if let Given::Value(handler) = fields.given::<HandlerName>("handler") {
        to.handler = handler;
    }
    set(fields.given("type"), &mut to.kind, default.kind);
    set_option(fields.given("cronExpression"), &mut to.cron_expression);
    set_option(fields.given("timeZone"), &mut to.time_zone);
    match fields.json("param")? {
        Given::Absent => {}
        Given::Null => to.param = None,
        Given::Value(json) => to.param = Some(json.to_owned()),
    }
    set(fields.given("timeoutSeconds"), &mut to.timeout_seconds, default.timeout_seconds);
    set(fields.given("failStrategy"), &mut to.fail_strategy, default.fail_strategy);
    set(fields.given("retryCount"), &mut to.retry.count, default.retry.count);
    set_span(fields.given("retryBase"), &mut to.retry.base_ms, default.retry.base_ms);
    set_span(fields.given("retryCap"), &mut to.retry.cap_ms, default.retry.cap_ms);
    set(fields.given("pool"), &mut to.pool, default.pool);
    set(fields.given("priority"), &mut to.priority, default.priority);
    set(fields.given("overlap"), &mut to.overlap, default.overlap);
    set_option(fields.given("maxRunning"), &mut to.max_running);
    set(fields.given("misfire"), &mut to.misfire, default.misfire);
    set(fields.given("misfireGraceSeconds"), &mut to.misfire_grace_seconds, default.misfire_grace_seconds);
    set(fields.given("maxCatchup"), &mut to.max_catchup, default.max_catchup);
    set(fields.given("onLost"), &mut to.on_lost, default.on_lost);
    set_option(fields.given("owner"), &mut to.owner);
    set(fields.given("tags"), &mut to.tags, default.tags);
    set_option(fields.given("description"), &mut to.description);
    fields.refuse_known(READ_ONLY.iter().map(|(name, why)| (*name, "READ_ONLY", *why)));
    fields.refuse_known(NOT_YET.iter().map(|name| (*name, "NOT_YET", "this version does not have it")));
    Ok(())
}

fn set<T>(given: Given<T>, place: &mut T, default: T) {
    match given {
        Given::Absent => {}
        Given::Null => *place = default,
        Given::Value(value) => *place = value,
    }
}

fn set_option<T>(given: Given<T>, place: &mut Option<T>) {
    match given {
        Given::Absent => {}
        Given::Null => *place = None,
        Given::Value(value) => *place = Some(value),
    }
}

fn set_span(given: Given<Span>, place: &mut i64, default: i64) {
    match given {
        Given::Absent => {}
        Given::Null => *place = default,
        Given::Value(span) => *place = span.as_ms(),
    }
}

pub(crate) async fn show(engine: &Engine, task: Task) -> Result<wire::Task, Problem> {
    let live = engine.store().live_jobs_of_task(&task.code, LIVE_JOBS_COUNTED).await?;
    Ok(shown(task, live))
}

/// With a count that was made for many tasks at once.
pub(crate) fn shown(task: Task, live: LiveCount) -> wire::Task {
    let counted = live.jobs.min(LIVE_JOBS_COUNTED.into());
    let (allowed_operations, denied_operations) = wire::operations(&operations::on_task(&task, live.jobs));
    let definition = task.definition;
    wire::Task {
        status: lifecycle::task_state(task.switch, live.jobs),
        running: counted,
        running_capped: live.capped || counted < live.jobs,
        code: task.code,
        name: definition.name,
        kind: definition.kind,
        handler: definition.handler,
        cron_expression: definition.cron_expression,
        time_zone: definition.time_zone,
        param: definition.param.as_deref().and_then(raw),
        timeout_seconds: definition.timeout_seconds,
        fail_strategy: definition.fail_strategy,
        retry_count: definition.retry.count,
        retry_base: span(definition.retry.base_ms),
        retry_cap: span(definition.retry.cap_ms),
        pool: definition.pool,
        priority: definition.priority,
        overlap: definition.overlap,
        max_running: definition.max_running,
        misfire: definition.misfire,
        misfire_grace_seconds: definition.misfire_grace_seconds,
        max_catchup: definition.max_catchup,
        on_lost: definition.on_lost,
        next_fire_time: task.next_fire_time,
        prev_fire_time: task.prev_fire_time,
        owner: definition.owner,
        tags: definition.tags,
        description: definition.description,
        version: task.version,
        create_time: task.create_time,
        update_time: task.update_time,
        allowed_operations,
        denied_operations,
        duplicate: None,
    }
}

fn span(ms: i64) -> Span {
    Span::from_ms(u64::try_from(ms).unwrap_or(0))
}
