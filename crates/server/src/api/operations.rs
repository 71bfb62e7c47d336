//! `POST /jobs/{id}/retry` and the other buttons of a job.
//!
//! A request id that was carried out answers the job as it was then, with `duplicate: true` (see `pressed`).

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_model::JobId;
use mainspring_model::operations::JobOperation;

use super::{Answer, actor, jobs, request_id};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::pressed::{Done, press};
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

macro_rules! operation {
    ($name:ident, $path:literal, $operation:ident, $summary:literal) => {
        #[doc = $summary]
        #[utoipa::path(
            post, path = $path, tag = "jobs", params(("id" = String, Path, description = "The job's id")),
            request_body = Option<wire::Press>,
            responses(
                (status = 200, description = "The job after it", body = wire::Job),
                (status = 404, description = "JOB_NOT_FOUND", body = wire::Problem,
                 content_type = "application/problem+json"),
                (status = 409, description = "OPERATION_NOT_ALLOWED, with what is allowed", body = wire::Problem,
                 content_type = "application/problem+json"),
                Refusals,
            )
        )]
        pub(crate) async fn $name(
            State(state): State<AppState>,
            PathOf(id): PathOf<JobId>,
            headers: HeaderMap,
            _: NoParams,
            body: JsonBody,
        ) -> Answer {
            operate(&state, id, JobOperation::$operation, &headers, &body).await
        }
    };
}
operation!(retry_job, "/jobs/{id}/retry", Retry, "Run a dead or cancelled job again, or a waiting one now");
operation!(cancel_job, "/jobs/{id}/cancel", Cancel, "Cancel a job that is not final");
operation!(fail_job, "/jobs/{id}/fail", Fail, "Mark a job failed");
operation!(release_job, "/jobs/{id}/release", Release, "Take a job from the node that holds it");

async fn operate(
    state: &AppState,
    id: JobId,
    operation: JobOperation,
    headers: &HeaderMap,
    JsonBody(body): &JsonBody,
) -> Answer {
    let mut fields = Fields::of_optional(body)?;
    let request = request_id(headers, &mut fields);
    fields.finish(Some(()))?;
    let (engine, actor) = (state.engine.clone(), actor(headers));
    press(state, request, format!("{operation} job {id}"), async move {
        let job = engine.operate(id, operation, &actor).await?;
        let mut shown = jobs::show(&engine, job).await?;
        let done = Done::new(StatusCode::OK, &shown)?;
        shown.payload = None;
        done.in_short(&shown)
    })
    .await
}
