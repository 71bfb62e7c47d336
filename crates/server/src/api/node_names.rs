//! How nodes are called: `host#number`, the host being the node's own.

use mainspring_engine::Engine;
use mainspring_model::{Incarnation, Timestamp};
use mainspring_store::NodeRow;

use crate::problem::Problem;

pub(crate) fn node_name(node: &NodeRow) -> String {
    format!("{}#{}", node.host, node.number)
}

/// All nodes of the store, read once per answer.
#[derive(Debug)]
pub(crate) struct NodeNames(Vec<NodeRow>);

impl NodeNames {
    pub(crate) async fn read(engine: &Engine) -> Result<NodeNames, Problem> {
        Ok(NodeNames(engine.store().nodes().await?))
    }

    pub(crate) fn of(&self, incarnation: Incarnation) -> Option<String> {
        self.0.iter().find(|node| node.incarnation == incarnation).map(node_name)
    }

    /// An attempt knows the number of its node only, which another host may have by now: where it cannot be told which
    /// of them it was, no host is named.
    pub(crate) fn of_attempt(&self, number: u16, began: Timestamp) -> String {
        let mut hosts: Vec<&NodeRow> = self.0.iter().filter(|node| node.number == number).collect();
        if !is_one_host(&hosts) {
            hosts.retain(|node| node.expires_at >= began);
        }
        match hosts.first() {
            Some(node) if is_one_host(&hosts) => node_name(node),
            _ => format!("#{number}"),
        }
    }
}

fn is_one_host(nodes: &[&NodeRow]) -> bool {
    nodes.windows(2).all(|pair| pair[0].host == pair[1].host)
}

#[cfg(test)]
mod tests {
    use mainspring_model::NodeState;

    use super::*;

    fn node(host: &str, number: u16, expires_ms: i64) -> NodeRow {
        NodeRow {
            incarnation: Incarnation(expires_ms),
            number,
            host: host.to_owned(),
            pid: 1,
            version: String::new(),
            state: NodeState::Gone,
            labels: Vec::new(),
            handlers: Vec::new(),
            heartbeat_at: Timestamp::from_ms(expires_ms),
            expires_at: Timestamp::from_ms(expires_ms),
        }
    }

    #[test]
    fn an_attempt_names_the_host_that_can_only_have_been_its() {
        let names = NodeNames(vec![node("a", 1, 10), node("a", 1, 20), node("b", 2, 10), node("c", 2, 20)]);
        let check = |number, began_ms, expect: &str| {
            assert_eq!(names.of_attempt(number, Timestamp::from_ms(began_ms)), expect, "{number} at {began_ms}");
        };
        check(1, 5, "a#1");
        check(1, 99, "a#1");
        check(2, 15, "c#2");
        check(2, 5, "#2");
        check(2, 99, "#2");
        check(3, 5, "#3");
        assert_eq!(names.of(Incarnation(20)).as_deref(), Some("a#1"));
        assert_eq!(names.of(Incarnation(99)), None);
    }
}
