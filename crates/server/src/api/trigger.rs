//! `POST /tasks/{code}/trigger`: run it now, once per request id.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_model::TaskCode;

use super::{Answer, actor, jobs, json, request_id};
use crate::body::JsonBody;
use crate::extract::{Fields, Given, PathOf};
use crate::openapi::Refusals;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

/// Run a task now
#[utoipa::path(
    post, path = "/tasks/{code}/trigger", tag = "tasks", params(("code" = String, Path, description = "The task's code")),
    request_body = Option<wire::TriggerRequest>,
    responses(
        (status = 202, description = "The job is stored", body = wire::Triggered),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "TASK_RUNNING (overlap is FORBID) or TASK_DISABLED", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn trigger_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of_optional(&body)?;
    let request = request_id(&headers, &mut fields);
    let param = match fields.json("param")? {
        Given::Value(raw) => Some(raw.into()),
        Given::Absent | Given::Null => None,
    };
    fields.finish(Some(()))?;
    let engine = &state.engine;
    let receipt = engine.trigger_task(&code, request.as_deref(), param, &actor(&headers)).await?;
    let job = jobs::show(engine, engine.job(receipt.id).await?).await?;
    Ok(json(StatusCode::ACCEPTED, &wire::Triggered { job, duplicate: receipt.duplicate }))
}
