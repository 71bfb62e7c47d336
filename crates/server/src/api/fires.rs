//! Fire times: those to come, and those of the past that are run after the fact.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_engine::{Act, Backfilled};
use mainspring_model::limits::{CRON_PREVIEW_FIRES_DEFAULT, CRON_PREVIEW_FIRES_MAX};
use mainspring_model::{TaskCode, Timestamp, Zone, lifecycle};

use super::{Answer, actor, ok, request_id};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::pressed::{Done, press};
use crate::query::{NoParams, Params};
use crate::state::AppState;
use crate::wire;

/// Show when a task fires next
#[utoipa::path(
    get, path = "/tasks/{code}/next-fires", tag = "tasks",
    params(("code" = String, Path, description = "The task's code"), wire::NextFiresParams),
    responses(
        (status = 200, description = "Fire times in the task's own zone", body = wire::NextFires),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn next_fires(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    mut params: Params,
) -> Answer {
    let count = params.number("count", 1, CRON_PREVIEW_FIRES_MAX).unwrap_or(CRON_PREVIEW_FIRES_DEFAULT);
    params.finish()?;
    let engine = &state.engine;
    let task = engine.task(&code).await?;
    let live = engine.store().live_jobs_of_task(&code, 1).await?;
    let zone = engine.schedule_of(&task.definition)?.map_or_else(Zone::utc, |schedule| *schedule.zone());
    let fires = engine.next_fires(&code, count as usize)?;
    ok(&wire::NextFires {
        status: lifecycle::task_state(&task, live.jobs),
        task: code,
        time_zone: zone.name().to_owned(),
        next_fires: fires.into_iter().map(|fire| zone.show(fire)).collect(),
    })
}

/// Run fire times of the past after the fact
///
/// All from `from` to `to`, both included, that have not run. They become jobs with the trigger MANUAL, which run as the
/// task's limits allow.
#[utoipa::path(
    post, path = "/tasks/{code}/backfill", tag = "tasks",
    params(("code" = String, Path, description = "The task's code")), request_body = wire::BackfillRequest,
    responses(
        (status = 202, description = "The jobs are stored", body = wire::Backfilled),
        (status = 200, description = "With `dryRun`: what would run", body = wire::Backfilled),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "TASK_DISABLED or OPERATION_NOT_ALLOWED", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn backfill_task(
    State(state): State<AppState>,
    PathOf(code): PathOf<TaskCode>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of(&body)?;
    let from: Option<Timestamp> = fields.required("from");
    let to: Option<Timestamp> = fields.required("to");
    let dry_run: Option<bool> = fields.optional("dryRun");
    let request = request_id(&headers, &mut fields);
    let (from, to) = fields.finish(from.zip(to))?;
    let (engine, actor) = (state.engine.clone(), actor(&headers));
    if dry_run == Some(true) {
        return ok(&shown(engine.backfill(&code, from, to, Act::Show, &actor).await?));
    }
    press(&state, request, format!("backfill task {code} from {from} to {to}"), async move {
        let backfilled = engine.backfill(&code, from, to, Act::Do, &actor).await?;
        Done::new(StatusCode::ACCEPTED, &shown(backfilled))
    })
    .await
}

fn shown(backfilled: Backfilled) -> wire::Backfilled {
    let fire = |(fire_time, job)| wire::BackfilledFire { fire_time, job };
    wire::Backfilled {
        fires: backfilled.fires.into_iter().map(fire).collect(),
        ran_before: backfilled.ran_before,
        duplicate: None,
    }
}
