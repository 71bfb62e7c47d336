//! What runs here: handlers, pools, nodes, health.

use std::collections::BTreeMap;

use mainspring_model::{HandlerName, NodeState, PoolName, RateLimit, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Handler {
    #[schema(value_type = String)]
    pub name: HandlerName,
    /// async, blocking, command, http …
    pub kind: &'static str,
    pub description: String,
}

/// A pool as it is now, on this node.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    #[schema(value_type = String)]
    pub name: PoolName,
    pub concurrency: u32,
    pub queue_capacity: u32,
    pub paused: bool,
    /// spill, wait, callerRuns or reject.
    pub when_full: &'static str,
    /// At most so many starts in any period of that length, of all nodes together.
    #[schema(value_type = Option<String>, example = "100/1m")]
    pub rate_limit: Option<RateLimit>,
    /// Jobs at one time, on all nodes together; `concurrency` is that of each node.
    pub cluster_concurrency: Option<u32>,
    /// Bodies that hold a slot.
    pub running: u32,
    /// Claimed by this node and waiting for a slot or their instant.
    pub held: u32,
    /// Bodies that ignored their cancellation; each was replaced by a fresh slot.
    pub zombies: u32,
    /// Waiting in the store for a slot or their instant, counted up to a bound, as are the next three.
    pub queued: u64,
    pub queued_capped: bool,
    /// They wait for the end of another one: of their task, or of their concurrency key, as many run as may run.
    pub limited: u64,
    /// They wait until the rate limit of their task, or of their concurrency key, allows them.
    pub rate_limited: u64,
    /// No running node knows their handler.
    pub no_handler: u64,
    /// Of all that wait in the store, for whatever reason.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_due: Option<Timestamp>,
}

/// What is absent stays as it is (or gets its default in a new pool).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolChange {
    pub concurrency: Option<u32>,
    pub queue_capacity: Option<u32>,
    pub paused: Option<bool>,
    /// spill, wait, callerRuns or reject.
    pub when_full: Option<String>,
    /// Starts in any period of that length; null takes the limit away.
    #[schema(value_type = Option<String>, example = "100/1m")]
    pub rate_limit: Option<RateLimit>,
    /// Jobs at one time, on all nodes together; null takes the limit away.
    pub cluster_concurrency: Option<u32>,
}

/// One start of one node.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its incarnation: new at each start, and when it comes back after others have given it up.
    pub id: String,
    pub name: String,
    pub number: u16,
    pub host: String,
    pub pid: u32,
    pub version: String,
    /// ACTIVE, DRAINING (it takes no new work) or GONE.
    #[schema(value_type = String, example = "ACTIVE")]
    pub state: NodeState,
    /// What it is or has: tasks can ask for it with `nodeLabels`.
    pub labels: Vec<String>,
    /// The names of the handlers that it has.
    pub handlers: Vec<String>,
    /// When it last said that it lives.
    #[schema(value_type = String, format = DateTime)]
    pub heartbeat_at: Timestamp,
    /// Then others take over what it holds, unless it says again that it lives.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    pub allowed_operations: Vec<&'static str>,
    /// Operation → reason.
    pub denied_operations: BTreeMap<&'static str, &'static str>,
    /// With an operation: this request id was carried out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Alive {
    pub status: &'static str,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    pub ready: bool,
    pub stopping: bool,
    /// One line each; empty when ready.
    pub problems: Vec<String>,
    pub node: ReadyNode,
    /// `full`: what was acknowledged survives a power loss of the database. `relaxed`: it can be lost.
    #[schema(example = "full")]
    pub durability: &'static str,
    /// With `relaxed`: each setting of the database that makes it so.
    pub weak_settings: Vec<String>,
}

/// The node that answers.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReadyNode {
    /// Its incarnation.
    pub id: String,
    pub name: String,
    pub number: u16,
    /// ACTIVE, DRAINING or GONE.
    #[schema(value_type = String, example = "ACTIVE")]
    pub state: NodeState,
}
