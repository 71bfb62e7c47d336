//! Nodes: joining (and taking over what dead ones held), the heartbeat, leaving.

use mainspring_model::decide::Next;
use mainspring_model::job::QueueState;
use mainspring_model::{AttemptId, Incarnation, Timestamp, Unique};

use super::{Data, Queued};
use crate::rules::{self, NodeEnd, Orphan};
use crate::{Held, Joined, NewNode, NodeRow, TakenOver};

const NODE_NUMBER: u16 = 1;

impl Data {
    pub(super) fn join(&mut self, node: &NewNode, now: Timestamp) -> Joined {
        for other in self.nodes.values_mut().filter(|other| other.incarnation != node.incarnation) {
            "GONE".clone_into(&mut other.state);
        }
        let row = NodeRow {
            incarnation: node.incarnation,
            number: NODE_NUMBER,
            host: node.host.clone(),
            pid: node.pid,
            version: node.version.clone(),
            state: "ACTIVE".to_owned(),
            heartbeat_at: now,
        };
        self.nodes.entry(node.incarnation).or_insert(row).heartbeat_at = now;
        let mut taken_over = TakenOver::default();
        let others = |queued: &Queued| queued.owner.is_some_and(|owner| owner != node.incarnation);
        let started = self.held(QueueState::Started, others);
        let claimed = self.held(QueueState::Claimed, others);
        self.release(&claimed, |_| true);
        taken_over.released = claimed.len() as u64;
        for held in started {
            match self.end_orphan(held, NodeEnd::Crash, now) {
                Next::Final { .. } => taken_over.dead += 1,
                Next::Again { .. } => taken_over.lost += 1,
            }
        }
        let newest_job = self.records.last_key_value().map(|(id, _)| *id);
        Joined { node_number: NODE_NUMBER, newest_job, taken_over }
    }

    pub(super) fn heartbeat(&mut self, incarnation: Incarnation, now: Timestamp) -> bool {
        match self.nodes.get_mut(&incarnation).filter(|node| node.state != "GONE") {
            None => false,
            Some(node) => {
                node.heartbeat_at = now;
                true
            }
        }
    }

    pub(super) fn leave(&mut self, incarnation: Incarnation, now: Timestamp) {
        let own = |queued: &Queued| queued.owner == Some(incarnation);
        let started = self.held(QueueState::Started, own);
        let claimed = self.held(QueueState::Claimed, own);
        self.release(&claimed, |queued| queued.suspect);
        for held in started {
            self.end_orphan(held, NodeEnd::Leave, now);
        }
        if let Some(node) = self.nodes.get_mut(&incarnation) {
            "GONE".clone_into(&mut node.state);
            node.heartbeat_at = now;
        }
    }

    fn held(&self, state: QueueState, of: impl Fn(&Queued) -> bool) -> Vec<Held> {
        let rows = self.queue.iter().filter(|(_, queued)| queued.state == state && of(queued));
        rows.map(|(id, queued)| Held { id: *id, fence: queued.fence }).collect()
    }

    fn release(&mut self, claimed: &[Held], is_suspect: impl Fn(&Queued) -> bool) {
        for held in claimed {
            let queued = self.queue.get_mut(&held.id).expect("it was found in the queue under this lock");
            let suspect = is_suspect(queued);
            (queued.owner, queued.state, queued.suspect) = (None, QueueState::Queued, suspect);
        }
        for held in claimed {
            let queued = self.queue[&held.id].clone();
            self.release_lane(&queued.task, queued.lane.as_ref());
        }
    }

    fn end_orphan(&mut self, held: Held, end: NodeEnd, now: Timestamp) -> Next {
        let record = &self.records[&held.id];
        let job = &record.job;
        let definition = self.tasks.get(&job.task).map(|task| &task.definition);
        let rules = definition.map(|task| (task.retry, task.fail_strategy, task.on_lost));
        let attempt = self.attempts.get(&AttemptId { job: held.id, fence: held.fence });
        let orphan = Orphan {
            held,
            task: job.task.clone(),
            attempt: job.attempts,
            node: attempt.map_or(NODE_NUMBER, |attempt| attempt.node),
            start_time: job.start_time.unwrap_or_default(),
            live_key: job.biz_id.clone().filter(|_| record.unique == Unique::Live),
            lane: self.queue[&held.id].lane.clone(),
            trigger: job.trigger,
            facts: rules::facts(job.retry_count, job.max_retry, job.lost_count, rules),
        };
        let settlement = orphan.settlement(end, now);
        self.settle(&settlement, now);
        settlement.decision.next
    }
}
