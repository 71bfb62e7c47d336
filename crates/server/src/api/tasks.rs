//! Tasks: list, create, show, change, delete.

use std::cmp::Ordering;

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use mainspring_model::limits::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use mainspring_model::{TaskCode, TaskDefinition};

use super::task_fields::{Absent, apply, check_that_it_fires, hint_at_type, read_new, read_whole};
use super::task_shown::{show, show_with, told_of_conflict};
use super::{Answer, actor, json, ok, request_id};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::limits::LIVE_JOBS_SCANNED;
use crate::openapi::Refusals;
use crate::page::{self, Row, TaskOrder};
use crate::path::PathOf;
use crate::pressed::{Done, press};
use crate::query::{NoParams, Params};
use crate::state::AppState;
use crate::wire;

/// List tasks
#[utoipa::path(
    get, path = "/tasks", tag = "tasks", params(wire::ListTasks),
    responses((status = 200, description = "One page", body = wire::TaskPage), Refusals)
)]
pub(crate) async fn list_tasks(State(state): State<AppState>, mut params: Params) -> Answer {
    let (filter, wanted) = page::task_filter(&mut params);
    let order: TaskOrder = params.one("sort").unwrap_or_default();
    let page = params.number("page", 1, u32::MAX).unwrap_or(1);
    let size = params.number("size", 1, PAGE_SIZE_MAX).unwrap_or(PAGE_SIZE_DEFAULT);
    params.finish()?;
    let engine = &state.engine;
    let tasks = engine.tasks(filter).await?;
    let live = engine.store().live_jobs(LIVE_JOBS_SCANNED).await?;
    let rows = tasks.into_iter().map(|task| Row::new(live.of(&task.code), task));
    let mut rows: Vec<Row> = rows.filter(|row| row.is(&wanted)).collect();
    rows.sort_by(|left, right| match order.compare(left, right) {
        Ordering::Equal => left.task.code.cmp(&right.task.code),
        decided => decided,
    });
    let total = rows.len();
    let (skip, take) = page::window(page, size);
    let mut items = Vec::with_capacity(take.min(total));
    for row in rows.into_iter().skip(skip).take(take) {
        items.push(show_with(engine, row.task, row.live).await?);
    }
    ok(&wire::TaskPage { items, page, size, total })
}

/// Create a task
#[utoipa::path(
    post, path = "/tasks", tag = "tasks", request_body = wire::NewTask,
    responses(
        (status = 201, description = "The task", body = wire::Task),
        (status = 409, description = "TASK_EXISTS", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn create_task(
    State(state): State<AppState>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let new = read_new(Fields::of(&body)?)?;
    check_that_it_fires(&state.engine, &new)?;
    let task = state.engine.create_task(new.code, new.definition, new.switch, &actor(&headers)).await?;
    let place = format!("/api/v1/tasks/{}", task.code);
    Ok(([(LOCATION, place)], json(StatusCode::CREATED, &show(&state.engine, task).await?)).into_response())
}

/// Show a task
#[utoipa::path(
    get, path = "/tasks/{code}", tag = "tasks", params(("code" = String, Path, description = "The task's code")),
    responses(
        (status = 200, description = "The task", body = wire::Task),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn show_task(State(state): State<AppState>, PathOf(code): PathOf<TaskCode>, _: NoParams) -> Answer {
    let task = state.engine.task(&code).await?;
    ok(&show(&state.engine, task).await?)
}

/// Replace a task's definition
///
/// What is absent goes back to its default.
#[utoipa::path(
    put, path = "/tasks/{code}", tag = "tasks", params(("code" = String, Path, description = "The task's code")),
    request_body = wire::WholeTask,
    responses(
        (status = 200, description = "The task", body = wire::Task),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "VERSION_CONFLICT, with both sides", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn put_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of(&body)?;
    let version: Option<i64> = fields.required("version");
    same_code(&mut fields, &code);
    let whole = version.map(|_| code.clone());
    let (_, definition) = read_whole(fields, whole)?;
    update(&state, &code, version.unwrap_or(0), definition, &headers).await
}

/// Change some fields of a task
///
/// What is absent stays, null goes back to the default.
#[utoipa::path(
    patch, path = "/tasks/{code}", tag = "tasks", params(("code" = String, Path, description = "The task's code")),
    request_body = wire::TaskPatch,
    responses(
        (status = 200, description = "The task", body = wire::Task),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "VERSION_CONFLICT, with both sides", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn patch_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut definition = state.engine.task(&code).await?.definition;
    let mut fields = Fields::of(&body)?;
    let version: Option<i64> = fields.required("version");
    same_code(&mut fields, &code);
    apply(&mut fields, &mut definition, code.as_str(), Absent::Stays)?;
    let version = fields.finish(version)?;
    update(&state, &code, version, definition, &headers).await
}

async fn update(
    state: &AppState,
    code: &TaskCode,
    version: i64,
    definition: TaskDefinition,
    headers: &HeaderMap,
) -> Answer {
    let engine = &state.engine;
    match engine.update_task(code, version, definition.clone(), &actor(headers)).await {
        Ok(task) => ok(&show(engine, task).await?),
        Err(error) => Err(told_of_conflict(engine, code, &definition, hint_at_type(error)).await),
    }
}

/// A body that was read from here may carry its code; a task is never renamed.
fn same_code(fields: &mut Fields<'_>, code: &TaskCode) {
    if fields.optional::<TaskCode>("code").is_some_and(|said| said != *code) {
        fields.complaints.add("code", "READ_ONLY", "a task keeps its code: create another one");
    }
}

/// Delete a task
///
/// The record of its jobs stays. Refused while jobs of it are live.
#[utoipa::path(
    delete, path = "/tasks/{code}", tag = "tasks",
    params(
        ("code" = String, Path, description = "The task's code"),
        ("version" = Option<i64>, Query, description = "Only this version"),
    ),
    request_body = Option<wire::Press>,
    responses(
        (status = 204, description = "It is gone"),
        (status = 200, description = "This request id was carried out before", body = wire::Repeated),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "VERSION_CONFLICT or TASK_RUNNING", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn delete_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    headers: HeaderMap,
    mut params: Params,
    JsonBody(body): JsonBody,
) -> Answer {
    let version = params.number("version", 0, i64::MAX);
    params.finish()?;
    let mut fields = Fields::of_optional(&body)?;
    let request = request_id(&headers, &mut fields);
    fields.finish(Some(()))?;
    let (engine, actor) = (state.engine.clone(), actor(&headers));
    press(&state, request, format!("delete task {code}"), async move {
        engine.delete_task(&code, version, &actor).await?;
        Ok(Done::empty(StatusCode::NO_CONTENT))
    })
    .await
}
