//! Nodes: joining (and taking over what dead ones held), the heartbeat, leaving.

use mainspring_model::decide::Next;
use mainspring_model::job::QueueState;
use mainspring_model::{AttemptId, Incarnation, JobId, NodeState, PoolName, Timestamp, Unique, broadcast};

use super::{Data, Queued};
use crate::rules::{self, NodeEnd, Orphan, gone_for_ever};
use crate::{Held, Joined, NewNode, NodeRow, Replaces, Result, StoreError, TakenOver, Trouble};

/// Of a body whose start was not written.
const NODE_NUMBER: u16 = 1;

impl Data {
    pub(super) fn join(&mut self, node: &NewNode, clock: Timestamp, now: Timestamp) -> Result<Joined> {
        if self.nodes.get(&node.incarnation).is_some_and(|known| known.state == NodeState::Gone) {
            let reason = gone_for_ever(node.incarnation);
            return Err(StoreError::NotApplied { verb: "join", kind: Trouble::Unavailable, reason });
        }
        for other in self.nodes.values_mut().filter(|other| other.incarnation != node.incarnation) {
            let is_replaced = match node.replaces {
                Replaces::Nobody => false,
                Replaces::Own(past) => other.incarnation == past,
                Replaces::Everyone => true,
            };
            if is_replaced {
                other.state = NodeState::Gone;
            }
        }
        let number = self.nodes.get(&node.incarnation).map_or_else(|| self.free_node_number(), |known| known.number);
        let row = NodeRow {
            incarnation: node.incarnation,
            number,
            host: node.host.clone(),
            pid: node.pid,
            version: node.version.clone(),
            state: NodeState::Active,
            labels: node.labels.clone(),
            handlers: node.handlers.clone(),
            heartbeat_at: clock,
            expires_at: clock,
        };
        let row = self.nodes.entry(node.incarnation).or_insert(row);
        (row.heartbeat_at, row.expires_at) = (clock, clock.plus_ms(node.lease_ms));
        let taken_over = self.take_over_from_gone(now);
        let newest_job = self.records.last_key_value().map(|(id, _)| *id);
        Ok(Joined { node_number: number, newest_job, taken_over })
    }

    fn free_node_number(&self) -> u16 {
        let taken: Vec<u16> =
            self.nodes.values().filter(|node| node.state != NodeState::Gone).map(|node| node.number).collect();
        rules::free_node_number(&taken)
    }

    pub(super) fn take_over(&mut self, clock: Timestamp, now: Timestamp) -> TakenOver {
        let expired = |node: &&mut NodeRow| node.state != NodeState::Gone && node.expires_at < clock;
        let mut nodes = Vec::new();
        for node in self.nodes.values_mut().filter(expired) {
            node.state = NodeState::Gone;
            nodes.push(node.incarnation);
        }
        TakenOver { nodes, ..self.take_over_from_gone(now) }
    }

    fn take_over_from_gone(&mut self, now: Timestamp) -> TakenOver {
        let mut taken_over = TakenOver::default();
        let alive: Vec<Incarnation> =
            self.nodes.values().filter(|node| node.state != NodeState::Gone).map(|node| node.incarnation).collect();
        let of_gone = |queued: &Queued| queued.owner.is_some_and(|owner| !alive.contains(&owner));
        let started = self.held(QueueState::Started, of_gone);
        let claimed = self.held(QueueState::Claimed, of_gone);
        self.release(&claimed, |_| true);
        taken_over.released = claimed.len() as u64;
        for held in started {
            match self.end_orphan(held, NodeEnd::Crash, now) {
                Next::Final { .. } => taken_over.dead += 1,
                Next::Again { .. } => taken_over.lost += 1,
            }
        }
        taken_over.rerouted = self.reroute();
        taken_over
    }

    /// Parts that wait for a node that takes no new work go to the pool of their task. How many.
    fn reroute(&mut self) -> u64 {
        let is_active = |node: &&NodeRow| node.state == NodeState::Active;
        let active: Vec<PoolName> =
            self.nodes.values().filter(is_active).map(|node| PoolName::of_node(node.incarnation)).collect();
        let is_stranded = |pool: &PoolName| pool.is_reserved() && !broadcast::is_parent(pool) && !active.contains(pool);
        let waits = |queued: &Queued| queued.state == QueueState::Queued && queued.owner.is_none();
        let waiting = self.queue.iter().filter(|(_, queued)| waits(queued)).map(|(id, _)| *id);
        let stranded: Vec<JobId> = waiting.filter(|id| is_stranded(&self.records[id].job.pool)).collect();
        for id in &stranded {
            let job = &mut self.records.get_mut(id).expect("a queue row has its record").job;
            let task = self.tasks.get(&job.task);
            job.pool = task.map_or_else(PoolName::default_pool, |task| task.definition.pool.clone());
        }
        stranded.len() as u64
    }

    pub(super) fn heartbeat(&mut self, incarnation: Incarnation, lease_ms: i64, clock: Timestamp) -> NodeState {
        match self.nodes.get_mut(&incarnation).filter(|node| node.state != NodeState::Gone) {
            None => NodeState::Gone,
            Some(node) => {
                (node.heartbeat_at, node.expires_at) = (clock, clock.plus_ms(lease_ms));
                node.state
            }
        }
    }

    pub(super) fn drain_node(&mut self, incarnation: Incarnation) -> bool {
        let node = self.nodes.get_mut(&incarnation).filter(|node| node.state != NodeState::Gone);
        node.map(|node| node.state = NodeState::Draining).is_some()
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
            node.state = NodeState::Gone;
            node.heartbeat_at = now;
        }
    }

    fn held(&self, state: QueueState, of: impl Fn(&Queued) -> bool) -> Vec<Held> {
        let rows = self.queue.iter().filter(|(_, queued)| queued.state == state && of(queued));
        rows.filter_map(|(id, queued)| Some(Held { id: *id, fence: queued.fence, owner: queued.owner? })).collect()
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
            facts: rules::facts(job.retry_count, job.max_retry, job.lost_count, rules, &job.pool),
        };
        let settlement = orphan.settlement(end, now);
        self.settle(&settlement, now);
        settlement.decision.next
    }
}
