//! Nodes, and the handlers that this one knows.

use axum::extract::State;

use super::{Answer, ok};
use crate::openapi::Refusals;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

/// List nodes
#[utoipa::path(
    get, path = "/nodes", tag = "nodes",
    responses((status = 200, description = "All nodes, also those that are gone", body = wire::List<wire::Node>), Refusals)
)]
pub(crate) async fn list_nodes(State(state): State<AppState>, _: NoParams) -> Answer {
    let nodes = state.engine.store().nodes().await?;
    let shown = |node: mainspring_store::NodeRow| wire::Node {
        id: node.incarnation.to_string(),
        name: state.engine.node_name(node.number),
        number: node.number,
        host: node.host,
        pid: node.pid,
        version: node.version,
        state: node.state.to_string(),
        heartbeat_at: node.heartbeat_at,
    };
    ok(&wire::List { items: nodes.into_iter().map(shown).collect::<Vec<_>>() })
}

/// List the handlers of this node
#[utoipa::path(
    get, path = "/handlers", tag = "nodes",
    responses((status = 200, description = "All handlers", body = wire::List<wire::Handler>), Refusals)
)]
pub(crate) async fn list_handlers(State(state): State<AppState>, _: NoParams) -> Answer {
    let shown = |handler: mainspring_engine::HandlerInfo| wire::Handler {
        name: handler.name,
        kind: handler.kind,
        description: handler.description,
    };
    ok(&wire::List { items: state.engine.handlers().into_iter().map(shown).collect::<Vec<_>>() })
}
