//! Nodes: who joins, and what is taken over for it.

use mainspring_model::{Incarnation, JobId, Timestamp};

#[derive(Debug, Clone)]
pub struct NewNode {
    pub incarnation: Incarnation,
    pub host: String,
    pub pid: u32,
    pub version: String,
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
    /// Were only in memory: released, now suspects.
    pub released: u64,
    /// Were known to run: counted as lost and queued again.
    pub lost: u64,
    /// Were lost too often: dead now.
    pub dead: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    pub incarnation: Incarnation,
    pub number: u16,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub state: String,
    pub heartbeat_at: Timestamp,
}
