//! Which nodes live, and what they can run: for people who ask why a job waits.

use std::sync::{Arc, Mutex};

use mainspring_model::node::{Runners, Skills, runners};
use mainspring_model::{NodeState, TaskDefinition};
use mainspring_store::StoreError;

use super::About;
use crate::core::Core;
use crate::locked;

#[derive(Debug)]
pub(crate) struct Peers(Mutex<Arc<[Skills]>>);

impl Peers {
    pub(super) fn of_one(about: &About) -> Peers {
        let skills = Skills { handlers: about.handlers.clone(), labels: about.labels.clone() };
        Peers(Mutex::new(Arc::new([skills])))
    }
}

impl Core {
    /// This node takes its jobs.
    pub(crate) fn suits(&self, definition: &TaskDefinition) -> bool {
        self.registry.knows(&definition.handler)
            && definition.node_labels.iter().all(|label| self.node.about.labels.contains(label))
    }

    /// Who takes jobs of the task, as far as this node has heard.
    pub(crate) fn runners_of(&self, definition: &TaskDefinition) -> Runners {
        let skills = locked(&self.node.peers.0).clone();
        runners(&definition.handler, &definition.node_labels, &skills)
    }

    pub(super) async fn look_for_peers(self: &Arc<Core>) -> Result<(), StoreError> {
        let me = self.node.me();
        let nodes = self.store.nodes().await?;
        match nodes.iter().find(|node| node.incarnation == me.incarnation).map(|node| node.state) {
            Some(NodeState::Draining) => self.begin_to_drain(),
            // The next renewal says so too; others may have its jobs already.
            Some(NodeState::Gone) => self.node.is_taken(me),
            Some(NodeState::Active) | None => {}
        }
        let active = nodes.into_iter().filter(|node| node.state == NodeState::Active);
        let skills: Arc<[Skills]> =
            active.map(|node| Skills { handlers: node.handlers, labels: node.labels }).collect();
        *locked(&self.node.peers.0) = skills;
        Ok(())
    }
}
