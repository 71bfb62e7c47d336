//! Nodes, and the handlers that this one knows.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainspring_engine::Engine;
use mainspring_model::operations::{Denied, NodeOperation, on_node};
use mainspring_model::{Code, Incarnation, Refused};
use mainspring_store::NodeRow;

use super::node_names::node_name;
use super::{Answer, actor, ok, request_id};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::pressed::{Done, press};
use crate::problem::Problem;
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
    ok(&wire::List { items: nodes.into_iter().map(shown).collect::<Vec<_>>() })
}

/// Drain a node: it takes no new work and ends what it has begun
///
/// It goes on to answer and to take submits, and stops when it is told to. A node that drains already is left so.
#[utoipa::path(
    post, path = "/nodes/{id}/drain", tag = "nodes", params(("id" = String, Path, description = "The node's id")),
    request_body = Option<wire::Press>,
    responses(
        (status = 200, description = "The node after it", body = wire::Node),
        (status = 404, description = "NODE_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "OPERATION_NOT_ALLOWED: it is gone", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn drain_node(
    State(state): State<AppState>,
    PathOf(id): PathOf<Incarnation>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of_optional(&body)?;
    let request = request_id(&headers, &mut fields);
    fields.finish(Some(()))?;
    let (engine, actor) = (state.engine.clone(), actor(&headers));
    press(&state, request, format!("drain node {id}"), async move {
        let node = drain(&engine, id, actor).await?;
        Done::new(StatusCode::OK, &shown(node))
    })
    .await
}

async fn drain(engine: &Engine, id: Incarnation, by: String) -> Result<NodeRow, Problem> {
    let known = find(engine, id).await?;
    let allowed = on_node(known.state);
    match allowed.reason(NodeOperation::Drain) {
        Some(Denied::AlreadyDraining) => return Ok(known),
        Some(_) => return Err(allowed.refuse(&what(&known), NodeOperation::Drain).into()),
        None => {}
    }
    let is_drained = if engine.node().incarnation == id {
        engine.drain(&by).await?; // it need not wait until it hears of it
        true
    } else {
        engine.store().drain_node(id, by, engine.clock().now()).await?
    };
    let node = find(engine, id).await?;
    // It went away in between.
    if is_drained { Ok(node) } else { Err(on_node(node.state).refuse(&what(&node), NodeOperation::Drain).into()) }
}

fn what(node: &NodeRow) -> String {
    format!("node {} ({})", node.incarnation, node_name(node))
}

async fn find(engine: &Engine, id: Incarnation) -> Result<NodeRow, Problem> {
    let found = engine.store().nodes().await?.into_iter().find(|node| node.incarnation == id);
    let missing = || Refused::new(Code::NodeNotFound, format!("there is no node `{id}`")).hint("mainspring node list");
    Ok(found.ok_or_else(missing)?)
}

fn shown(node: NodeRow) -> wire::Node {
    let (allowed_operations, denied_operations) = wire::operations(on_node(node.state).listed());
    wire::Node {
        id: node.incarnation.to_string(),
        name: node_name(&node),
        number: node.number,
        host: node.host,
        pid: node.pid,
        version: node.version,
        state: node.state,
        labels: node.labels,
        handlers: node.handlers,
        heartbeat_at: node.heartbeat_at,
        expires_at: node.expires_at,
        allowed_operations,
        denied_operations,
        duplicate: None,
    }
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
