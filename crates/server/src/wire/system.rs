//! What runs here: handlers, pools, nodes, health.

use mainspring_model::{HandlerName, PoolName, RateLimit, Timestamp};
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
}

/// One start of one node.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its incarnation: new at each start.
    pub id: String,
    pub name: String,
    pub number: u16,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub state: String,
    #[schema(value_type = String, format = DateTime)]
    pub heartbeat_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Alive {
    pub status: &'static str,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Ready {
    pub ready: bool,
    pub stopping: bool,
    /// One line each; empty when ready.
    pub problems: Vec<String>,
}
