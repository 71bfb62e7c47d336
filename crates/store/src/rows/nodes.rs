//! Nodes: who joins, what is taken over from the dead, and what nodes hear of each other.

use mainspring_model::{Incarnation, JobId, NodeState, Timestamp};

#[derive(Debug, Clone)]
pub struct NewNode {
    pub incarnation: Incarnation,
    pub host: String,
    pub pid: u32,
    pub version: String,
    /// How long others believe, by the database's clock, that it lives when it does not say so again.
    pub lease_ms: i64,
    pub labels: Vec<String>,
    /// The names of the handlers that it has.
    pub handlers: Vec<String>,
    pub replaces: Replaces,
}

/// Which incarnations are certainly dead when a node joins, whatever their leases say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaces {
    Nobody,
    /// The node has fenced itself, and comes back.
    Own(Incarnation),
    /// Whoever has opened an embedded database is alone.
    Everyone,
}

/// What a node learns when it joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Unique among live nodes; goes into job ids.
    pub node_number: u16,
    /// The newest job of all. The node's ids go on after it: the wall clock may have stepped back since it was made.
    pub newest_job: Option<JobId>,
    /// Live owners' queue rows that were taken from dead incarnations.
    pub taken_over: TakenOver,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// Nodes that were declared gone by this very call.
    pub nodes: Vec<Incarnation>,
    /// Were only in memory: released, now suspects.
    pub released: u64,
    /// Were known to run: counted as lost and queued again.
    pub lost: u64,
    /// Were lost too often: dead now.
    pub dead: u64,
    /// Parts of broadcasts that waited for a node which takes no new work: any node may run them now.
    pub rerouted: u64,
}

impl TakenOver {
    pub fn is_empty(&self) -> bool {
        *self == TakenOver::default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    pub incarnation: Incarnation,
    pub number: u16,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub state: NodeState,
    pub labels: Vec<String>,
    pub handlers: Vec<String>,
    pub heartbeat_at: Timestamp,
    pub expires_at: Timestamp,
}

/// What a node hears when it says that it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// GONE also when the node is not known: the lease was not renewed, and its jobs are others' or will be.
    pub state: NodeState,
    pub news: News,
}

/// Numbers that change with what other nodes do; who sees another number than before reads again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    /// With every change of a task's definition or switch, of a pool or of a calendar. Not with fires.
    pub definitions: i64,
    /// Drawn anew with every loss of commits that were acknowledged (a fail-over to a standby that lay behind): all claims
    /// of before are void.
    pub history: i64,
}

/// A hint from the store that looking now is worth it. Hints can be lost: whoever waits for one also looks by himself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Jobs that nobody has claimed may be due.
    Jobs,
    /// A task, a pool or a calendar has changed.
    Definitions,
    /// A node was deprived of a job that it held.
    Held,
    /// The connection that brings the hints was lost for a while: any of these.
    Anything,
}
