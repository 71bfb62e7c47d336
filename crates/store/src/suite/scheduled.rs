//! What the cases of schedules, lanes and rates share.

use std::sync::Arc;

use mainspring_model::job::{Fires, OnLive, SkipReason};
use mainspring_model::schedule::{Every, NextFire, Rhythm};
use mainspring_model::task::{Misfire, Overlap, TaskKind, TaskSwitch};
use mainspring_model::{HandlerName, JobId, Span, Task, TaskDefinition, Timestamp, Trigger};

use super::World;
use super::world::{NODE, T0, at, definition, new_job, task};
use crate::{Fire, FireEnd, FireEntry, Fired, NewJob, NextFireChange, ReplacedJob, TaskChange};

pub(crate) const CRON: &str = "report";

pub(crate) fn cron(overlap: Overlap) -> TaskDefinition {
    TaskDefinition { overlap, ..TaskDefinition::cron("Report", HandlerName::stored("report"), "* * * * *") }
}

pub(crate) fn fire_all(overlap: Overlap) -> TaskDefinition {
    TaskDefinition { misfire: Misfire::FireAll, ..cron(overlap) }
}

pub(crate) const DELAY_MS: i64 = 5_000;

pub(crate) fn fixed_delay(overlap: Overlap) -> TaskDefinition {
    let every = Every { span: Span::from_ms(DELAY_MS.unsigned_abs()), rhythm: Rhythm::FixedDelay };
    TaskDefinition { kind: TaskKind::Cron, every: Some(every), overlap, ..definition() }
}

pub(crate) fn at_most(running: u32) -> TaskDefinition {
    TaskDefinition { max_running: Some(running), ..definition() }
}

pub(crate) fn at_rate(rate: &str) -> TaskDefinition {
    TaskDefinition { rate_limit: Some(rate.parse().expect("a rate")), ..definition() }
}

pub(crate) fn of_key(id: i64, code: &str, key: &str) -> NewJob {
    NewJob { concurrency_key: Some(Arc::from(key)), ..of_task(id, code) }
}

pub(crate) fn of_task(id: i64, code: &str) -> NewJob {
    NewJob { task: task(code), ..new_job(id) }
}

/// A job of a schedule.
pub(crate) fn fired(id: i64, code: &str, fires: Fires) -> NewJob {
    NewJob {
        biz_id: Some(fires.key()),
        fires: Some(fires),
        trigger: Trigger::Cron,
        execute_time: fires.last,
        create_time: fires.last,
        ..of_task(id, code)
    }
}

pub(crate) fn entry(id: i64, code: &str, ms: i64, on_live: OnLive) -> FireEntry {
    FireEntry { job: NewJob { on_live, ..fired(id, code, Fires::one(at(ms))) }, skip: None }
}

pub(crate) fn skipped(id: i64, code: &str, fires: Fires) -> FireEntry {
    FireEntry { job: fired(id, code, fires), skip: Some(SkipReason::Misfire) }
}

pub(crate) fn in_turn(entry: FireEntry) -> FireEntry {
    FireEntry { job: NewJob { serial: true, ..entry.job }, ..entry }
}

pub(crate) fn stored_end() -> FireEnd {
    FireEnd::Stored { claimed: false, replaced: Vec::new() }
}

pub(crate) fn replaced_ids(replaced: &[ReplacedJob]) -> Vec<i64> {
    replaced.iter().map(|replaced| replaced.id.0).collect()
}

impl World {
    /// A task of the schedule that fires at `T0`.
    pub(crate) async fn with_cron(&self, definition: TaskDefinition) {
        self.create_firing(CRON, definition, Some(T0)).await;
    }

    pub(crate) async fn task_row(&self, code: &str) -> Task {
        self.store.task(&task(code)).await.expect("reads").expect("is there")
    }

    pub(crate) async fn fire_all(&self, fires: Vec<Fire>, now: Timestamp) -> Vec<Fired> {
        self.store.fire(NODE, fires, now).await.expect("fires")
    }

    /// As a planner that has just read the task `CRON`.
    pub(crate) async fn fire(&self, entries: Vec<FireEntry>, next: NextFire, now: Timestamp) -> Vec<FireEnd> {
        let row = self.task_row(CRON).await;
        let due = row.next_fire_time.expect("it fires");
        let fire = Fire { task: row.code, version: row.version, due, next, entries };
        match self.fire_all(vec![fire], now).await.remove(0) {
            Fired::Done(ends) => ends,
            Fired::Moved => panic!("nobody else was there"),
        }
    }

    /// The next fire of `CRON`, on its time, and the one after a second later.
    pub(crate) async fn fire_next(&self, id: i64, on_live: OnLive) -> FireEnd {
        let due = self.task_row(CRON).await.next_fire_time.expect("it fires");
        let entry = entry(id, CRON, due.ms_since(T0), on_live);
        self.fire(vec![entry], NextFire::At(due.plus_ms(1_000)), due).await.remove(0)
    }

    pub(crate) async fn edit(&self, code: &str, definition: TaskDefinition) {
        let version = self.task_row(code).await.version;
        let (keep, by) = (NextFireChange::Keep, "ann".to_owned());
        let change = self.store.update_task(task(code), version, definition, keep, by, at(1)).await.expect("edits");
        assert!(matches!(change, TaskChange::Written(_)), "{change:?}");
    }

    pub(crate) async fn switch(
        &self,
        code: &str,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Task {
        let by = "ann".to_owned();
        match self.store.switch_task(task(code), to, next_fire, by, now).await.expect("switches") {
            TaskChange::Written(task) => task,
            other => panic!("{other:?}"),
        }
    }

    /// Jobs of the default pool that can be claimed at `now` and are due, by id: as a node with enough room would.
    pub(crate) async fn claim_all(&self, now: Timestamp) -> Vec<crate::Claim> {
        let mut claims = Vec::new();
        loop {
            let claimed = self.claim(1_000, now).await;
            let is_over = claimed.jobs.is_empty() && claimed.next_due[0].1.is_none_or(|due| due > now);
            claims.extend(claimed.jobs);
            if is_over {
                claims.sort_by_key(|claim| claim.id);
                return claims;
            }
        }
    }

    pub(crate) async fn is_unknown(&self, id: i64) -> bool {
        self.store.job(JobId(id)).await.expect("reads").is_none()
    }
}
