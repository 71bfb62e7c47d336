//! For supervisors and load balancers.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Answer, json, ok};
use crate::state::AppState;
use crate::wire;

/// Does the process live?
#[utoipa::path(
    get, path = "/healthz", tag = "system",
    responses((status = 200, description = "It answers", body = wire::Alive))
)]
pub(crate) async fn healthz() -> Answer {
    ok(&wire::Alive { status: "ok" })
}

/// Is the node able to work?
#[utoipa::path(
    get, path = "/readyz", tag = "system",
    responses(
        (status = 200, description = "It is", body = wire::Ready),
        (status = 503, description = "It is not, and why", body = wire::Ready),
    )
)]
pub(crate) async fn readyz(State(state): State<AppState>) -> Answer {
    let health = state.engine.health().await;
    let status = if health.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let problems = if health.ready { Vec::new() } else { health.problems };
    Ok(json(status, &wire::Ready { ready: health.ready, stopping: health.stopping, problems }))
}
