//! The invariants that can be seen in the maps.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_model::{
    AttemptStatus, Job, JobStatus, NodeState, QueueState, TaskCode, Timestamp, Trigger, Unique, limits,
};

use super::{Data, Queued};
use crate::Violation;

impl Data {
    pub(super) fn verify(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut check = |holds: bool, invariant: &'static str, detail: String| {
            if !holds {
                found.push(Violation { invariant, detail });
            }
        };
        for ((biz_id, task), id) in &self.keys {
            let record = self.records.get(id);
            check(record.is_some(), "INV-2", format!("key `{biz_id}` of task {task} points to no job"));
            let held = record.is_none_or(|record| record.unique == Unique::Always || !record.job.status.is_final());
            check(held, "INV-3", format!("key `{biz_id}` of task {task} is held by a final job"));
        }
        for (id, record) in &self.records {
            let job = &record.job;
            let queued = self.queue.get(id);
            check(
                queued.is_some() != job.status.is_final(),
                if job.status.is_final() { "INV-8" } else { "INV-24" },
                format!("job {id} is {} and {}", job.status, if queued.is_some() { "queued" } else { "not queued" }),
            );
            let fence = job.fence.max(queued.map_or(job.fence, |queued| queued.fence));
            let newest = self.attempts_of_job(*id, 1, None).items.first().map_or(fence, |attempt| attempt.fence);
            check(newest <= fence, "INV-5", format!("job {id} has fence {fence}, its attempts reach {newest}"));
            check(job.lost_count <= limits::LOST_COUNT_MAX, "INV-18", format!("job {id} was lost too often"));
            if matches!(job.status, JobStatus::Failed | JobStatus::Timeout) {
                let told = self.alerts.iter().any(|alert| alert.job == Some(*id) && alert.kind == "JOB_FAILED");
                check(told && self.dead.contains_key(id), "INV-27", format!("job {id} failed and nobody is told"));
            }
        }
        for (id, queued) in &self.queue {
            let held = matches!(queued.state, QueueState::Claimed | QueueState::Started);
            let lives = |owner| self.nodes.get(&owner).is_some_and(|node| node.state != NodeState::Gone);
            let by_whom = queued.owner.map_or("nobody".to_owned(), |owner| format!("node {owner}"));
            let holds = !held || queued.owner.is_some_and(lives);
            check(holds, "INV-24", format!("job {id} is held by {by_whom}, which is gone"));
        }
        for attempt in self.attempts.values().filter(|attempt| attempt.status == AttemptStatus::Running) {
            let queued = self.queue.get(&attempt.job);
            let held = queued.is_some_and(|row| row.state == QueueState::Started && row.fence == attempt.fence);
            check(held, "INV-9", format!("attempt {}-{} is RUNNING, and nobody holds it", attempt.job, attempt.fence));
        }
        found.extend(self.reopened_without_audit());
        found.extend(self.doubled_fires());
        found.extend(self.stuck_lanes());
        found.extend(self.stuck_rates());
        found
    }

    /// A fire time has one record, whether it was run or skipped.
    fn doubled_fires(&self) -> Vec<Violation> {
        let mut counts: BTreeMap<(&TaskCode, Timestamp), u32> = BTreeMap::new();
        let fired = |job: &&Job| matches!(job.trigger, Trigger::Cron | Trigger::Misfire);
        for job in self.records.values().map(|record| &record.job).filter(fired) {
            if let Some(fires) = job.fires {
                *counts.entry((&job.task, fires.last)).or_default() += 1;
            }
        }
        let doubled = counts.into_iter().filter(|(_, count)| *count > 1);
        doubled
            .map(|((task, time), count)| Violation {
                invariant: "INV-13",
                detail: format!("fire time {time} of task {task} has {count} records"),
            })
            .collect()
    }

    /// Who waits for a place waits for the end of somebody, or for one who goes before.
    fn stuck_lanes(&self) -> impl Iterator<Item = Violation> {
        let key = |queued: &Queued| queued.lane.as_ref().map(|lane| (queued.task.clone(), lane.key.clone()));
        let goes_on = |queued: &&Queued| !matches!(queued.state, QueueState::Parked | QueueState::Limited);
        let moving: BTreeSet<_> = self.queue.values().filter(goes_on).filter_map(key).collect();
        let limited = self.queue.iter().filter(|(_, queued)| queued.state == QueueState::Limited);
        limited.filter(move |(_, queued)| key(queued).is_none_or(|lane| !moving.contains(&lane))).map(|(id, queued)| {
            let task = &queued.task;
            Violation {
                invariant: "LANE",
                detail: format!("job {id} of task {task} waits for its lane, which is empty"),
            }
        })
    }

    fn stuck_rates(&self) -> impl Iterator<Item = Violation> {
        let throttled = self.queue.iter().filter(|(_, queued)| queued.state == QueueState::Throttled);
        throttled.filter(|(_, queued)| !self.rate_opens(queued)).map(|(id, queued)| {
            let task = &queued.task;
            Violation {
                invariant: "LANE",
                detail: format!("job {id} of task {task} waits for its rate, which never opens"),
            }
        })
    }

    /// A job that a person took up has the audit row of it.
    fn reopened_without_audit(&self) -> impl Iterator<Item = Violation> {
        let closed = self.dead.iter().filter(|(_, dead)| !dead.open);
        closed.filter(|(id, _)| !self.operations.iter().any(|done| done.id == **id)).map(|(id, _)| Violation {
            invariant: "INV-26",
            detail: format!("job {id} was reopened without an audit row"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;
    use crate::clock::SystemClock;
    use crate::suite::scheduled::{at_most, at_rate, of_task};
    use crate::suite::world::{T0, task};
    use crate::suite::{Subject, World};

    /// No verb leaves a store like this.
    async fn check(definition: mainspring_model::TaskDefinition, damage: impl Fn(&mut Data)) {
        let store = std::sync::Arc::new(MemoryStore::new(SystemClock::new()));
        let subject = Subject { store: std::sync::Arc::<MemoryStore>::clone(&store), keep: None };
        let world = World::new(&subject).await;
        world.create("limited", definition).await;
        world.stored(vec![of_task(1, "limited"), of_task(2, "limited")]).await;
        world.claim(10, T0).await;
        assert_eq!(store.data().verify(), []);
        damage(&mut store.data());
        let found: Vec<_> = store.data().verify().into_iter().map(|violation| violation.invariant).collect();
        assert!(found.contains(&"LANE"), "{found:?}");
    }

    #[tokio::test]
    async fn jobs_that_wait_for_nobody_are_found() {
        check(at_most(1), |data| drop(data.queue.remove(&mainspring_model::JobId(1)))).await;
        check(at_rate("1/1h"), |data| data.forget_starts(&crate::rules::task_scope(&task("limited")))).await;
    }
}
