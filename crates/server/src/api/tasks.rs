//! Tasks: list, create, show, change, delete, switch.

use std::cmp::Ordering;

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use mainspring_model::limits::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use mainspring_model::task::TaskDefinition;
use mainspring_model::{HandlerName, TaskCode};

use super::task_fields::{apply, show, shown};
use super::{Answer, actor, json, ok, request_id};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::limits::LIVE_JOBS_SCANNED;
use crate::openapi::Refusals;
use crate::page::{self, TaskOrder};
use crate::path::PathOf;
use crate::query::{NoParams, Params};
use crate::state::AppState;
use crate::wire;

/// List tasks
#[utoipa::path(
    get, path = "/tasks", tag = "tasks", params(wire::ListTasks),
    responses((status = 200, description = "One page", body = wire::TaskPage), Refusals)
)]
pub(crate) async fn list_tasks(State(state): State<AppState>, mut params: Params) -> Answer {
    let (filter, running_only) = page::task_filter(&mut params);
    let order: TaskOrder = params.one("sort").unwrap_or_default();
    let page = params.number("page", 1, u32::MAX).unwrap_or(1);
    let size = params.number("size", 1, PAGE_SIZE_MAX).unwrap_or(PAGE_SIZE_DEFAULT);
    params.finish()?;
    let engine = &state.engine;
    let mut tasks = engine.tasks(filter).await?;
    let live = engine.store().live_jobs(LIVE_JOBS_SCANNED).await?;
    if running_only {
        tasks.retain(|task| live.of(&task.code).jobs > 0);
    }
    tasks.sort_by(|left, right| match order.compare(left, right) {
        Ordering::Equal => left.code.cmp(&right.code),
        decided => decided,
    });
    let total = tasks.len();
    let (skip, take) = page::window(page, size);
    let window = tasks.into_iter().skip(skip).take(take);
    let items = window.map(|task| (live.of(&task.code), task)).map(|(live, task)| shown(task, live)).collect();
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
    let mut fields = Fields::of(&body)?;
    let code: Option<TaskCode> = fields.required("code");
    let (code, definition) = read_whole(fields, code)?;
    let task = state.engine.create_task(code, definition, &actor(&headers)).await?;
    let place = format!("/api/v1/tasks/{}", task.code);
    Ok(([(LOCATION, place)], json(StatusCode::CREATED, &show(&state.engine, task).await?)).into_response())
}

/// A definition from its defaults and what the body says.
fn read_whole(
    mut fields: Fields<'_>,
    code: Option<TaskCode>,
) -> Result<(TaskCode, TaskDefinition), mainspring_model::Refused> {
    let handler: Option<HandlerName> = fields.required("handler");
    let text = code.as_ref().map_or("", TaskCode::as_str);
    let mut definition = TaskDefinition::new(text, handler.clone().unwrap_or_else(|| HandlerName::stored("")));
    apply(&mut fields, &mut definition, text)?;
    let (code, _) = fields.finish(code.zip(handler))?;
    Ok((code, definition))
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
        (status = 409, description = "VERSION_CONFLICT, with the current version", body = wire::Problem,
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
    let task = state.engine.update_task(&code, version.unwrap_or(0), definition, &actor(&headers)).await?;
    ok(&show(&state.engine, task).await?)
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
        (status = 409, description = "VERSION_CONFLICT, with the current version", body = wire::Problem,
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
    apply(&mut fields, &mut definition, code.as_str())?;
    let version = fields.finish(version)?;
    let task = state.engine.update_task(&code, version, definition, &actor(&headers)).await?;
    ok(&show(&state.engine, task).await?)
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
    responses(
        (status = 204, description = "It is gone"),
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
    _: JsonBody,
) -> Answer {
    let version = params.number("version", 0, i64::MAX);
    params.finish()?;
    state.engine.delete_task(&code, version, &actor(&headers)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

macro_rules! switch {
    ($name:ident, $path:literal, $enabled:literal, $summary:literal) => {
        #[doc = $summary]
        #[utoipa::path(
                    post, path = $path, tag = "tasks", params(("code" = String, Path, description = "The task's code")),
                    request_body = Option<wire::Press>,
                    responses(
                        (status = 200, description = "The task, also when it was so before", body = wire::Task),
                        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem,
                         content_type = "application/problem+json"),
                        Refusals,
                    )
                )]
        pub(crate) async fn $name(
            State(state): State<AppState>,
            PathOf(code): PathOf<TaskCode>,
            headers: HeaderMap,
            _: NoParams,
            body: JsonBody,
        ) -> Answer {
            switch_task(&state, &code, $enabled, &headers, &body).await
        }
    };
}
switch!(enable_task, "/tasks/{code}/enable", true, "Enable a task");
switch!(disable_task, "/tasks/{code}/disable", false, "Disable a task: its live jobs end, new ones are refused");

async fn switch_task(
    state: &AppState,
    code: &TaskCode,
    enabled: bool,
    headers: &HeaderMap,
    JsonBody(body): &JsonBody,
) -> Answer {
    let mut fields = Fields::of_optional(body)?;
    let word = if enabled { "enable" } else { "disable" };
    let key = request_id(headers, &mut fields).map(|request| format!("{word} {code} {request}"));
    fields.finish(Some(()))?;
    let actor = actor(headers);
    let switch = || state.engine.switch_task(code, enabled, &actor);
    let (duplicate, task) = match &key {
        None => (None, switch().await?),
        Some(key) => match state.shared.pressed.once(key, state.engine.clock().now(), switch).await? {
            Some(task) => (Some(false), task),
            None => (Some(true), state.engine.task(code).await?),
        },
    };
    ok(&wire::Task { duplicate, ..show(&state.engine, task).await? })
}
