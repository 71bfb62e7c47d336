//! `POST /tasks/{code}/enable`, `/disable` and `/copy`.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_model::TaskCode;
use mainspring_model::task::TaskSwitch;

use super::task_shown::show;
use super::{Answer, actor, request_id};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::pressed::{Done, press};
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

macro_rules! switch {
    ($name:ident, $path:literal, $to:ident, $word:literal, $summary:literal) => {
        #[doc = $summary]
        #[utoipa::path(
                    post, path = $path, tag = "tasks", params(("code" = String, Path, description = "The task's code")),
                    request_body = Option<wire::Press>,
                    responses(
                        (status = 200, description = "The task", body = wire::Task),
                        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem,
                         content_type = "application/problem+json"),
                        (status = 409, description = "OPERATION_NOT_ALLOWED, with what is allowed", body = wire::Problem,
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
            switch_task(&state, code, (TaskSwitch::$to, $word), &headers, &body).await
        }
    };
}
switch!(enable_task, "/tasks/{code}/enable", Enabled, "enable", "Enable a task: it fires from now on");
switch!(
    disable_task,
    "/tasks/{code}/disable",
    Disabled,
    "disable",
    "Disable a task: its live jobs end, new ones are refused"
);

async fn switch_task(
    state: &AppState,
    code: TaskCode,
    (to, word): (TaskSwitch, &str),
    headers: &HeaderMap,
    JsonBody(body): &JsonBody,
) -> Answer {
    let mut fields = Fields::of_optional(body)?;
    let request = request_id(headers, &mut fields);
    fields.finish(Some(()))?;
    let (engine, actor) = (state.engine.clone(), actor(headers));
    press(state, request, format!("{word} task {code}"), async move {
        let task = engine.switch_task(&code, to, &actor).await?;
        Done::new(StatusCode::OK, &show(&engine, task).await?)
    })
    .await
}

/// Copy a task
///
/// The new task has the same definition and begins DISABLED.
#[utoipa::path(
    post, path = "/tasks/{code}/copy", tag = "tasks", params(("code" = String, Path, description = "The task's code")),
    request_body = wire::CopyRequest,
    responses(
        (status = 201, description = "The new task", body = wire::Task),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "TASK_EXISTS", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn copy_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of(&body)?;
    let new: Option<TaskCode> = fields.required("code");
    let request = request_id(&headers, &mut fields);
    let new = fields.finish(new)?;
    let (engine, actor) = (state.engine.clone(), actor(&headers));
    press(&state, request, format!("copy task {code} to {new}"), async move {
        let mut definition = engine.task(&code).await?.definition;
        // A name that nobody chose is the code.
        if definition.name == code.as_str() {
            definition.name = new.to_string();
        }
        let task = engine.create_task(new, definition, TaskSwitch::Disabled, &actor).await?;
        let place = format!("/api/v1/tasks/{}", task.code);
        Ok(Done::new(StatusCode::CREATED, &show(&engine, task).await?)?.at(place))
    })
    .await
}
