//! A node: one start of one engine, known by its incarnation.

use crate::HandlerName;
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

/// What a node says that it can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skills {
    pub handlers: Vec<String>,
    pub labels: Vec<String>,
}

/// Does any node take jobs of a task?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runners {
    Some,
    /// No node has the handler.
    NoHandler,
    /// Nodes have the handler, but none of them all the labels.
    NoLabels,
}

/// `nodes`: those that take new work.
pub fn runners(handler: &HandlerName, labels: &[String], nodes: &[Skills]) -> Runners {
    let mut found = Runners::NoHandler;
    for node in nodes.iter().filter(|node| node.handlers.iter().any(|known| known == handler.as_str())) {
        if labels.iter().all(|label| node.labels.contains(label)) {
            return Runners::Some;
        }
        found = Runners::NoLabels;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_must_have_the_handler_and_all_labels() {
        let node = |handlers: &[&str], labels: &[&str]| Skills {
            handlers: handlers.iter().map(ToString::to_string).collect(),
            labels: labels.iter().map(ToString::to_string).collect(),
        };
        let check = |wanted: &[&str], nodes: &[Skills], expect| {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            assert_eq!(runners(&HandlerName::stored("h"), &wanted, nodes), expect, "{wanted:?} of {nodes:?}");
        };
        check(&[], &[], Runners::NoHandler);
        check(&[], &[node(&["other"], &["gpu"])], Runners::NoHandler);
        check(&[], &[node(&["other"], &[]), node(&["other", "h"], &[])], Runners::Some);
        check(&["gpu"], &[node(&["h"], &["eu"]), node(&["other"], &["gpu"])], Runners::NoLabels);
        check(&["gpu", "eu"], &[node(&["h"], &["eu"]), node(&["h"], &["gpu"])], Runners::NoLabels);
        check(&["gpu", "eu"], &[node(&["h"], &["eu", "x", "gpu"])], Runners::Some);
    }
}
