//! For supervisors and load balancers.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Answer, durability_word, json, ok};
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
    let (node, store) = (health.node, health.store);
    let ready = wire::Ready {
        ready: health.ready,
        stopping: health.stopping,
        problems: if health.ready { Vec::new() } else { health.problems },
        node: wire::ReadyNode {
            id: node.incarnation.to_string(),
            name: node.name,
            number: node.number,
            state: node.state,
        },
        durability: durability_word(store.durability),
        weak_settings: store.weak,
    };
    Ok(json(status, &ready))
}
