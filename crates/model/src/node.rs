//! A node: one start of one engine, known by its incarnation.

use crate::names::words;

words! {
    /// Where a node is in its life.
    NodeState {
        Active = 0 "ACTIVE",
        /// It takes no new work, and renews its lease until its last body is out.
        Draining = 1 "DRAINING",
        /// It has left, or its lease ran out and another node has said so. It never comes back under this incarnation.
        Gone = 2 "GONE",
    }
}
