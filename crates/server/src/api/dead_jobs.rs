//! `GET /dead-jobs`: what ended badly and waits for a person.

use axum::extract::State;

use super::{Answer, ok};
use crate::openapi::Refusals;
use crate::query::Params;
use crate::state::AppState;
use crate::wire;

/// List dead jobs
///
/// Newest first.
#[utoipa::path(
    get, path = "/dead-jobs", tag = "jobs", params(wire::DeadJobParams),
    responses((status = 200, description = "A part of the list", body = wire::CursorPage<wire::DeadJob>), Refusals)
)]
pub(crate) async fn list_dead_jobs(State(state): State<AppState>, mut params: Params) -> Answer {
    let (task, limit, cursor) = (params.one("task"), params.limit(), params.cursor());
    params.finish()?;
    let page = state.engine.store().dead_jobs(task, limit, cursor).await?;
    let shown = |dead: mainspring_store::DeadJob| wire::DeadJob {
        id: dead.id,
        task: dead.task,
        cause: dead.cause,
        time: dead.time,
    };
    ok(&wire::CursorPage::<wire::DeadJob> {
        items: page.items.into_iter().map(shown).collect(),
        next_cursor: page.next,
    })
}
