//! Tasks as answers show them, with all that may be done to them; and where two definitions differ.

use std::collections::BTreeMap;

use mainspring_engine::{Engine, Error};
use mainspring_model::task::TaskDefinition;
use mainspring_model::{Code, JobId, Span, Task, TaskCode, lifecycle};
use mainspring_store::{JobFilter, LiveCount};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::jobs::raw;
use crate::limits::LIVE_JOBS_COUNTED;
use crate::problem::Problem;
use crate::wire;

pub(crate) async fn show(engine: &Engine, task: Task) -> Result<wire::Task, Problem> {
    let live = engine.store().live_jobs_of_task(&task.code, LIVE_JOBS_COUNTED).await?;
    show_with(engine, task, live).await
}

/// With a count that was made for many tasks at once.
pub(crate) async fn show_with(engine: &Engine, task: Task, live: LiveCount) -> Result<wire::Task, Problem> {
    let last_job = newest_job(engine, &task.code).await?;
    Ok(shown(engine, task, live, last_job))
}

async fn newest_job(engine: &Engine, code: &TaskCode) -> Result<Option<JobId>, Problem> {
    let filter = JobFilter { task: Some(code.clone()), ..JobFilter::default() };
    let page = engine.jobs(filter, 1, None).await?;
    Ok(page.items.first().map(|job| job.id))
}

fn shown(engine: &Engine, task: Task, live: LiveCount, last_job: Option<JobId>) -> wire::Task {
    let counted = live.jobs.min(LIVE_JOBS_COUNTED.into());
    let (allowed_operations, denied_operations) = wire::operations(engine.task_operations(&task, live.jobs).listed());
    let status = lifecycle::task_state(&task, live.jobs);
    let definition = task.definition;
    wire::Task {
        status,
        disabled_reason: task.disabled_reason,
        running: counted,
        running_capped: live.capped || counted < live.jobs,
        code: task.code,
        name: definition.name,
        kind: definition.kind,
        handler: definition.handler,
        cron_expression: definition.cron_expression,
        time_zone: definition.time_zone,
        every: definition.every.map(|every| every.span),
        every_rhythm: definition.every.map(|every| every.rhythm),
        start_at: definition.start_at,
        end_at: definition.end_at,
        calendar: definition.calendar,
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
        concurrency_key: definition.concurrency_key,
        rate_limit: definition.rate_limit,
        misfire: definition.misfire,
        misfire_grace_seconds: definition.misfire_grace_seconds,
        max_catchup: definition.max_catchup,
        start_deadline_seconds: definition.start_deadline_seconds,
        node_labels: definition.node_labels,
        broadcast: definition.broadcast,
        on_lost: definition.on_lost,
        next_fire_time: task.next_fire_time,
        prev_fire_time: task.prev_fire_time,
        last_job,
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

/// What the writer of `yours` is told when somebody else was first: both sides.
pub(crate) async fn told_of_conflict(
    engine: &Engine,
    code: &TaskCode,
    yours: &TaskDefinition,
    error: Error,
) -> Problem {
    let is_conflict = matches!(&error, Error::Refused(refused) if refused.code == Code::VersionConflict);
    let problem = Problem::from(error);
    let Ok(stored) = engine.task(code).await else { return problem };
    let differences = differences(yours, &stored.definition);
    match show(engine, stored).await {
        Ok(current) if is_conflict => {
            let sides = |one: wire::Difference| wire::Conflicting { field: one.field, yours: one.from, stored: one.to };
            problem.conflict(&current, differences.into_iter().map(sides).collect())
        }
        _ => problem,
    }
}

/// The fields in which two definitions differ, in the order of the interface.
pub(crate) fn differences(from: &TaskDefinition, to: &TaskDefinition) -> Vec<wire::Difference> {
    let same_param = match (&from.param, &to.param) {
        (Some(from), Some(to)) => same_json(from, to),
        (from, to) => from == to,
    };
    let pairs = written_fields(from).into_iter().zip(written_fields(to));
    let differ = pairs.filter(|((field, from), (_, to))| if *field == "param" { !same_param } else { from != to });
    differ.map(|((field, from), (_, to))| wire::Difference { field, from, to }).collect()
}

/// Every field that a person can write, as the wire has it.
pub(crate) fn written_fields(definition: &TaskDefinition) -> Vec<(&'static str, Value)> {
    let param = definition.param.as_deref().and_then(|json| serde_json::from_str(json).ok());
    vec![
        ("name", json!(definition.name)),
        ("type", json!(definition.kind)),
        ("handler", json!(definition.handler)),
        ("cronExpression", json!(definition.cron_expression)),
        ("timeZone", json!(definition.time_zone)),
        ("every", json!(definition.every.map(|every| every.span))),
        ("everyRhythm", json!(definition.every.map(|every| every.rhythm))),
        ("startAt", json!(definition.start_at)),
        ("endAt", json!(definition.end_at)),
        ("calendar", json!(definition.calendar)),
        ("param", param.unwrap_or_default()),
        ("timeoutSeconds", json!(definition.timeout_seconds)),
        ("failStrategy", json!(definition.fail_strategy)),
        ("retryCount", json!(definition.retry.count)),
        ("retryBase", json!(span(definition.retry.base_ms))),
        ("retryCap", json!(span(definition.retry.cap_ms))),
        ("pool", json!(definition.pool)),
        ("priority", json!(definition.priority)),
        ("overlap", json!(definition.overlap)),
        ("maxRunning", json!(definition.max_running)),
        ("concurrencyKey", json!(definition.concurrency_key)),
        ("rateLimit", json!(definition.rate_limit)),
        ("misfire", json!(definition.misfire)),
        ("misfireGraceSeconds", json!(definition.misfire_grace_seconds)),
        ("maxCatchup", json!(definition.max_catchup)),
        ("startDeadlineSeconds", json!(definition.start_deadline_seconds)),
        ("nodeLabels", json!(definition.node_labels)),
        ("broadcast", json!(definition.broadcast)),
        ("onLost", json!(definition.on_lost)),
        ("owner", json!(definition.owner)),
        ("tags", json!(definition.tags)),
        ("description", json!(definition.description)),
    ]
}

/// Blanks and the order of members are of no account; numbers are what is written, also those that no program holds.
fn same_json(left: &str, right: &str) -> bool {
    type Members<'a> = BTreeMap<String, &'a RawValue>;
    if left == right {
        return true;
    }
    if let (Ok(left), Ok(right)) =
        (serde_json::from_str::<Members<'_>>(left), serde_json::from_str::<Members<'_>>(right))
    {
        let same = |((a, left), (b, right)): ((&String, &&RawValue), (&String, &&RawValue))| {
            a == b && same_json(left.get(), right.get())
        };
        return left.len() == right.len() && left.iter().zip(&right).all(same);
    }
    type Items<'a> = Vec<&'a RawValue>;
    if let (Ok(left), Ok(right)) = (serde_json::from_str::<Items<'_>>(left), serde_json::from_str::<Items<'_>>(right)) {
        let same = |(left, right): (&&RawValue, &&RawValue)| same_json(left.get(), right.get());
        return left.len() == right.len() && left.iter().zip(&right).all(same);
    }
    match (serde_json::from_str::<String>(left), serde_json::from_str::<String>(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left.trim() == right.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_compared_by_what_it_says() {
        let check =
            |left: &str, right: &str, expect: bool| assert_eq!(same_json(left, right), expect, "{left} {right}");
        check(r#"{"a": 1, "b": [true, null]}"#, r#"{"b":[true,null],"a":1}"#, true);
        check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
        check(r#"{"a":"\u0061"}"#, r#"{"a":"a"}"#, true);
        check("[1,2]", "[2,1]", false);
        check("36893488147419103232", "36893488147419103233", false);
        check("{}", "[]", false);
    }
}
