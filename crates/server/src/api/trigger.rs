//! `POST /tasks/{code}/trigger`: run it now, once per request id.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_engine::Engine;
use mainspring_model::task::Overlap;
use mainspring_model::{BizId, Code, Refused, TaskCode};
use mainspring_store::JobFilter;

use super::{Answer, actor, jobs, json, request_id};
use crate::body::JsonBody;
use crate::extract::{Fields, Given};
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::problem::Problem;
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
    let alone = match engine.task(&code).await?.definition.overlap {
        Overlap::Forbid => Some(state.shared.one_trigger.lock().await),
        Overlap::Allow | Overlap::QueueOne | Overlap::Replace => None,
    };
    if alone.is_some() {
        refuse_overlap(engine, &code, request.as_deref()).await?;
    }
    let receipt = engine.trigger_task(&code, request.as_deref(), param, &actor(&headers)).await?;
    drop(alone);
    let job = jobs::show(engine, engine.job(receipt.id).await?).await?;
    Ok(json(StatusCode::ACCEPTED, &wire::Triggered { job, duplicate: receipt.duplicate }))
}

/// A live job forbids the next one. The repeat of a request is not a next one: it goes on to hear of its first job.
/// (One process owns the embedded store, so its lock decides; a shared store will have to decide itself.)
async fn refuse_overlap(engine: &Engine, code: &TaskCode, request: Option<&str>) -> Result<(), Problem> {
    if engine.store().live_jobs_of_task(code, 1).await?.jobs == 0 {
        return Ok(());
    }
    if let Some(request) = request {
        let key = BizId::new(&format!("manual@{request}"))?;
        let filter = JobFilter { task: Some(code.clone()), biz_id: Some(key), ..JobFilter::default() };
        if !engine.jobs(filter, 1, None).await?.items.is_empty() {
            return Ok(());
        }
    }
    let detail = format!("task `{code}` has a job that is not final, and its overlap is FORBID");
    Err(Refused::new(Code::TaskRunning, detail).hint("wait for its end, or cancel it").into())
}
