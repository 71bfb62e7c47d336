//! The log of attempts.

use std::collections::HashMap;

use axum::extract::State;
use mainspring_engine::Engine;
use mainspring_model::{Attempt, AttemptId, Code, JobId, Refused, Shard, TaskCode};
use mainspring_store::{Page, Trouble};

use super::node_names::NodeNames;
use super::{Answer, ok};
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::problem::Problem;
use crate::query::{NoParams, Params};
use crate::state::AppState;
use crate::wire;

/// List a job's attempts
///
/// Newest first.
#[utoipa::path(
    get, path = "/jobs/{id}/attempts", tag = "attempts",
    params(("id" = String, Path, description = "The job's id"), wire::CursorParams),
    responses(
        (status = 200, description = "A part of the list", body = wire::CursorPage<wire::Attempt>),
        (status = 404, description = "JOB_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn attempts_of_job(
    State(state): State<AppState>,
    PathOf(id): PathOf<JobId>,
    mut params: Params,
) -> Answer {
    let (limit, cursor) = (params.limit(), params.cursor());
    params.finish()?;
    let engine = &state.engine;
    let first = cursor.is_none();
    let page = engine.store().attempts_of_job(id, limit, cursor).await?;
    if first && page.items.is_empty() {
        engine.job(id).await?; // none yet, or no such job
    }
    answer_page(engine, page, Parts::Possible).await
}

/// List a task's attempts
///
/// Newest first.
#[utoipa::path(
    get, path = "/tasks/{code}/attempts", tag = "attempts",
    params(("code" = String, Path, description = "The task's code"), wire::CursorParams),
    responses(
        (status = 200, description = "A part of the list", body = wire::CursorPage<wire::Attempt>),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn attempts_of_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    mut params: Params,
) -> Answer {
    let (limit, cursor) = (params.limit(), params.cursor());
    params.finish()?;
    let engine = &state.engine;
    let first = cursor.is_none();
    let page = engine.store().attempts_of_task(&code, limit, cursor).await?;
    if first && page.items.is_empty() {
        engine.task(&code).await?; // the record of a deleted task is still shown, an unknown one is not
    }
    let parts = match engine.task(&code).await {
        Ok(task) if !task.definition.broadcast => Parts::None,
        _ => Parts::Possible,
    };
    answer_page(engine, page, parts).await
}

/// Show an attempt
#[utoipa::path(
    get, path = "/attempts/{id}", tag = "attempts",
    params(("id" = String, Path, description = "The attempt's id: job id, `-`, fence")),
    responses(
        (status = 200, description = "The attempt", body = wire::Attempt),
        (status = 404, description = "ATTEMPT_NOT_FOUND", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn show_attempt(State(state): State<AppState>, PathOf(id): PathOf<AttemptId>, _: NoParams) -> Answer {
    let (engine, attempt) = (&state.engine, find(&state.engine, id).await?);
    let names = NodeNames::read(engine).await?;
    let shard = shard_of(engine, attempt.job).await?;
    ok(&shown(&names, shard, attempt))
}

/// May a task's jobs be parts of a broadcast? That is a look at each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    None,
    Possible,
}

async fn answer_page(engine: &Engine, page: Page<Attempt>, parts: Parts) -> Answer {
    let names = NodeNames::read(engine).await?;
    let mut shards: HashMap<JobId, Option<Shard>> = HashMap::new();
    let mut items = Vec::with_capacity(page.items.len());
    for attempt in page.items {
        let shard = match shards.get(&attempt.job) {
            _ if parts == Parts::None => None,
            Some(known) => *known,
            None => {
                let shard = shard_of(engine, attempt.job).await?;
                shards.insert(attempt.job, shard);
                shard
            }
        };
        items.push(shown(&names, shard, attempt));
    }
    ok(&wire::CursorPage { items, next_cursor: page.next })
}

async fn shard_of(engine: &Engine, id: JobId) -> Result<Option<Shard>, Problem> {
    match engine.store().job(id).await {
        Ok(job) => Ok(job.and_then(|job| job.shard)),
        // A damaged record does not hide what its attempts said.
        Err(error) if error.kind() == Trouble::Corrupt => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn find(engine: &Engine, id: AttemptId) -> Result<Attempt, Problem> {
    let missing = || Refused::new(Code::AttemptNotFound, format!("there is no attempt `{id}`"));
    Ok(engine.store().attempt(id).await?.ok_or_else(missing)?)
}

fn shown(names: &NodeNames, shard: Option<Shard>, attempt: Attempt) -> wire::Attempt {
    wire::Attempt {
        id: AttemptId { job: attempt.job, fence: attempt.fence },
        job_id: attempt.job,
        task: attempt.task,
        attempt: attempt.number,
        fence: attempt.fence.0,
        node: names.of_attempt(attempt.node, attempt.execute_time),
        shard: shard.map(wire::Shard::from),
        status: attempt.status,
        execute_time: attempt.execute_time,
        finish_time: attempt.finish_time,
        cost_ms: attempt.cost_ms,
        result: attempt.result,
        error_message: attempt.error_message,
    }
}
