//! `POST /tasks/{code}/trigger`: run it now, once per request id.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_model::TaskCode;

use super::{Answer, actor, jobs, request_id};
use crate::body::JsonBody;
use crate::extract::{Fields, Given};
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::pressed::{Done, press};
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
        (status = 409, description = "TASK_RUNNING (its overlap keeps others away) or TASK_DISABLED", body = wire::Problem,
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
    let param: Option<Arc<str>> = match fields.json("param")? {
        Given::Value(raw) => Some(raw.into()),
        Given::Absent | Given::Null => None,
    };
    fields.finish(Some(()))?;
    let (engine, actor, key) = (state.engine.clone(), actor(&headers), request.clone());
    press(&state, request, format!("trigger task {code}"), async move {
        let receipt = engine.trigger_task(&code, key.as_deref(), param, &actor).await?;
        let job = jobs::show(&engine, engine.job(receipt.id).await?).await?;
        let mut triggered = wire::Triggered { job, duplicate: None };
        let done = Done::new(StatusCode::ACCEPTED, &triggered)?.repeat(receipt.duplicate);
        triggered.job.payload = None;
        done.in_short(&triggered)
    })
    .await
}
