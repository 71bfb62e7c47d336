//! Joining and leaving: INV-10 only dead nodes are taken over, INV-18 a loss is counted exactly once and a polite stop
//! costs nothing.

use mainspring_model::job::QueueEntry;
use mainspring_model::task::{FailStrategy, OnLost};
use mainspring_model::{Incarnation, JobId, JobStatus, NodeState, QueueState, Timestamp, limits};
use mainspring_store::{Beat, Joined, NewNode, TakenOver};

use super::{Answer, Desk, at_once, queued};
use crate::ghost::Image;

impl Desk<'_> {
    pub(crate) fn join(&mut self, node: NewNode, now: Timestamp) -> Answer<Joined> {
        let incarnation = node.incarnation;
        let answer = self.world.planted.join(self.world.store.as_ref(), node, now);
        let joined = self.sound("join", answer)?;
        // One process owns the database: whoever was there is dead.
        self.ghost.nodes.values_mut().for_each(|live| *live = false);
        self.ghost.nodes.insert(incarnation, true);
        // It plans all fire times that are wrong anew.
        self.ghost.schedules.silent_ms = 0;
        let mut expect = TakenOver::default();
        for (id, entry) in self.held_by_others(incarnation) {
            if entry.state == QueueState::Claimed {
                expect.released += 1;
                self.released(id, entry.due);
            } else if self.lost(id, now) {
                expect.dead += 1;
            } else {
                expect.lost += 1;
            }
        }
        self.event(format_args!("joins and takes over {:?}", joined.taken_over));
        if joined.taken_over != expect {
            let detail = format!("taken over were {expect:?}, the node was told {:?}", joined.taken_over);
            self.violate("INV-18", detail);
        }
        drop(self.sweep());
        Ok(joined)
    }

    fn held_by_others(&self, incarnation: Incarnation) -> Vec<(JobId, QueueEntry)> {
        let entries = self.ghost.jobs.iter().filter_map(|(id, job)| job.image.queue.map(|entry| (*id, entry)));
        entries.filter(|(_, entry)| entry.owner.is_some_and(|owner| owner != incarnation)).collect()
    }

    /// Was in memory only: back to the queue, under suspicion.
    fn released(&mut self, id: JobId, due: Timestamp) {
        let Some(job) = self.ghost.jobs.get_mut(&id) else { return };
        job.claim = None;
        job.suspect = true;
        let expected = Image { queue: queued(due), ..job.image.clone() };
        self.judge("join", id, expected);
    }

    /// Was known to run: the loss is counted. Whether it is dead now.
    fn lost(&mut self, id: JobId, now: Timestamp) -> bool {
        self.ghost.counts.lost += 1;
        let Some(job) = self.ghost.jobs.get_mut(&id) else { return false };
        job.claim = None;
        job.suspect = false;
        job.losses += 1;
        let (before, task) = (job.image.clone(), job.task.clone());
        let on_lost = self.ghost.tasks.get(&task).map(|task| task.definition.on_lost);
        let lost_count = before.lost_count + 1;
        let dead = on_lost == Some(OnLost::Fail) || lost_count >= limits::LOST_COUNT_MAX;
        if !dead {
            self.judge("join", id, Image { status: JobStatus::Pending, lost_count, queue: queued(now), ..before });
            return false;
        }
        self.judge("join", id, Image { status: JobStatus::Failed, lost_count, queue: None, ..before });
        self.ghost.free_key(id);
        let strategy = self.ghost.tasks.get(&task).map(|task| task.definition.fail_strategy);
        if strategy == Some(FailStrategy::Stop) {
            self.stopped(&task, now);
        }
        self.after_end(id, now);
        self.check_task(&task, "INV-15");
        true
    }

    pub(crate) fn heartbeat(&mut self, incarnation: Incarnation, lease_ms: i64) -> Answer<Beat> {
        let answer = self.world.planted.heartbeat(self.world.store.as_ref(), incarnation, lease_ms);
        let beat = self.sound("heartbeat", answer)?;
        let known = beat.state != NodeState::Gone;
        let live = self.ghost.nodes.get(&incarnation).copied().unwrap_or(false);
        if known != live {
            self.violate("INV-9", format!("the heartbeat of {incarnation} answered {known}, it is live: {live}"));
        }
        Ok(beat)
    }

    pub(crate) fn leave(&mut self, incarnation: Incarnation, now: Timestamp) -> Answer<()> {
        let answer = at_once(self.world.store.leave(incarnation, now));
        self.sound("leave", answer)?;
        self.ghost.nodes.insert(incarnation, false);
        self.event(format_args!("leaves"));
        let own = |entry: &QueueEntry| entry.owner == Some(incarnation);
        let held: Vec<(JobId, QueueEntry)> = self
            .ghost
            .jobs
            .iter()
            .filter_map(|(id, job)| job.image.queue.filter(own).map(|entry| (*id, entry)))
            .collect();
        for (id, entry) in held {
            let Some(job) = self.ghost.jobs.get_mut(&id) else { continue };
            job.claim = None;
            let before = job.image.clone();
            let expected = if entry.state == QueueState::Claimed {
                Image { queue: queued(entry.due), ..before }
            } else {
                job.suspect = false;
                Image { status: JobStatus::Pending, queue: queued(now), ..before }
            };
            self.judge("leave", id, expected);
        }
        Ok(())
    }
}
