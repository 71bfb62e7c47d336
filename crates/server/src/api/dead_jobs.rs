//! `GET /dead-jobs`: what ended badly and waits for a person.

use axum::extract::State;
use utoipa::IntoParams;

use super::{Answer, ok};
use crate::openapi::Refusals;
use crate::query::Params;
use crate::state::AppState;
use crate::wire;

/// For the document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what Params reads; a test compares the names")]
pub(crate) struct DeadJobParams {
    task: Option<String>,
    /// At most 200.
    limit: Option<u32>,
    cursor: Option<String>,
}

/// List dead jobs
///
/// Newest first.
#[utoipa::path(
    get, path = "/dead-jobs", tag = "jobs", params(DeadJobParams),
    responses((status = 200, description = "A part of the list", body = wire::CursorPage<wire::DeadJob>), Refusals)
)]
pub(crate) async fn list_dead_jobs(State(state): State<AppState>, mut params: Params) -> Answer {
    let (task, limit, cursor) = (params.one("task"), params.limit(), params.text("cursor"));
    params.finish()?;
    let page = state.engine.store().dead_jobs(task, limit, cursor).await?;
    let shown = |dead: mainspring_store::DeadJob| wire::DeadJob {
        id: dead.id,
        task: dead.task,
        cause: dead.cause,
        time: dead.time,
    };
    ok(&wire::CursorPage::<wire::DeadJob> { items: page.items.into_iter().map(shown).collect(), next_cursor: page.next })
}
