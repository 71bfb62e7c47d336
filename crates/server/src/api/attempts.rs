//! The log of attempts.

use axum::extract::State;
use mainspring_engine::Engine;
use mainspring_model::{Attempt, AttemptId, Code, JobId, Refused, TaskCode};

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
    let items = page.items.into_iter().map(|attempt| shown(engine, attempt)).collect();
    ok(&wire::CursorPage::<wire::Attempt> { items, next_cursor: page.next })
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
    let items = page.items.into_iter().map(|attempt| shown(engine, attempt)).collect();
    ok(&wire::CursorPage::<wire::Attempt> { items, next_cursor: page.next })
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
    let attempt = find(&state.engine, id).await?;
    ok(&shown(&state.engine, attempt))
}

pub(crate) async fn find(engine: &Engine, id: AttemptId) -> Result<Attempt, Problem> {
    let missing = || Refused::new(Code::AttemptNotFound, format!("there is no attempt `{id}`"));
    Ok(engine.store().attempt(id).await?.ok_or_else(missing)?)
}

fn shown(engine: &Engine, attempt: Attempt) -> wire::Attempt {
    wire::Attempt {
        id: AttemptId { job: attempt.job, fence: attempt.fence },
        job_id: attempt.job,
        task: attempt.task,
        attempt: attempt.number,
        fence: attempt.fence.0,
        node: engine.node_name(attempt.node),
        status: attempt.status,
        execute_time: attempt.execute_time,
        finish_time: attempt.finish_time,
        cost_ms: attempt.cost_ms,
        result: attempt.result,
        error_message: attempt.error_message,
    }
}
