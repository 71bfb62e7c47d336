//! A node: one start of one engine, known by its incarnation.

use crate::HandlerName;
use crate::limits;
use crate::names::words;
use crate::refused::{Complaints, Refused};

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

impl Skills {
    pub fn knows(&self, handler: &HandlerName) -> bool {
        self.handlers.iter().any(|known| known == handler.as_str())
    }

    /// The node runs jobs of a task with this handler and these labels.
    pub fn suit(&self, handler: &HandlerName, labels: &[String]) -> bool {
        self.knows(handler) && labels.iter().all(|label| self.labels.contains(label))
    }
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
    for node in nodes.iter().filter(|node| node.knows(handler)) {
        if node.suit(handler, labels) {
            return Runners::Some;
        }
        found = Runners::NoLabels;
    }
    found
}

/// Words that a node carries, or that a task asks for. They stand in lists with commas between, also in the environment.
pub fn check_labels(labels: &[String]) -> Result<(), Refused> {
    let mut complaints = Complaints::default();
    let mut complain = |code, detail| complaints.add("labels", code, detail);
    if labels.len() > limits::NODE_LABELS_MAX {
        complain("TOO_MANY", format!("at most {} labels are kept", limits::NODE_LABELS_MAX));
    }
    for label in labels {
        let chars = label.chars().count();
        if chars == 0 {
            complain("REQUIRED", "a label is empty".to_owned());
        } else if chars > limits::NODE_LABEL_CHARS_MAX {
            let max = limits::NODE_LABEL_CHARS_MAX;
            complain("TOO_LONG", format!("a label has {chars} characters, at most {max} are kept"));
        } else if let Some(bad) = label.chars().find(|c| !c.is_alphanumeric() && !"-_.:/=".contains(*c)) {
            complain(
                "BAD_CHARACTER",
                format!("label `{}` holds {bad:?}; allowed are letters, digits and -_.:/=", label.escape_debug()),
            );
        }
    }
    complaints.into_result()
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

    #[test]
    fn labels_are_words() {
        let check = |labels: &[&str], expect: &[&str]| {
            let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            let errors = check_labels(&labels).err().map(|refused| refused.errors).unwrap_or_default();
            assert_eq!(errors.iter().map(|error| error.code).collect::<Vec<_>>(), expect, "{labels:?}");
        };
        check(&[], &[]);
        check(&["gpu", "zone=eu-1", "disk:ssd", "team/ops", "机房"], &[]);
        check(&["gpu", ""], &["REQUIRED"]);
        check(&["a b", "a,b", "a\n"], &["BAD_CHARACTER"; 3]);
        check(&["x".repeat(61).as_str()], &["TOO_LONG"]);
        check(&["x"; 21], &["TOO_MANY"]);
    }
}
