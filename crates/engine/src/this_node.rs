//! What the engine says of itself as a node.

use mainspring_model::{Incarnation, NodeState};

use crate::core::{Core, Count};

/// This node, as it knows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThisNode {
    pub incarnation: Incarnation,
    /// For people: `host#number`.
    pub name: String,
    pub number: u16,
    pub state: NodeState,
}

pub(crate) fn this_node(core: &Core) -> ThisNode {
    let state = if core.counts.get(Count::Disowned) > 0 {
        NodeState::Gone
    } else if core.is_stopping() {
        NodeState::Draining
    } else {
        NodeState::Active
    };
    let number = core.node_number;
    ThisNode { incarnation: core.incarnation, name: format!("{}#{number}", core.host), number, state }
}
