//! Definitions and switches: INV-17 what a person decided stays as it is, and only the person's version is written over;
//! INV-15 planned anew from the moment of the change.

use std::collections::BTreeSet;

use mainspring_model::task::{TaskDefinition, TaskKind, TaskSwitch};
use mainspring_model::{Calendar, TaskCode, Timestamp};
use mainspring_store::{NextFireChange, PoolSettings, TaskChange};

use super::{Answer, Desk, at_once};
use crate::ghost::GhostTask;
use crate::ghost_schedule::{CalendarVersion, task_scope};

impl Desk<'_> {
    /// The stored task against what it must be. `next_breaks`: whose fault a wrong next fire time is.
    pub(super) fn check_task(&mut self, code: &TaskCode, next_breaks: &'static str) {
        let Ok(stored) = at_once(self.world.store.task(code)) else {
            return self.violate("STORE", format!("task {code} cannot be read"));
        };
        let stored = stored.map(|task| GhostTask {
            enabled: task.switch == TaskSwitch::Enabled,
            definition: task.definition,
            version: task.version,
            next: task.next_fire_time,
        });
        let known = self.ghost.tasks.get(code).cloned();
        if stored == known {
            return;
        }
        let person = |task: &GhostTask| GhostTask { next: None, ..task.clone() };
        let is_changed = stored.as_ref().map(person) != known.as_ref().map(person);
        let short = |task: &Option<GhostTask>| task.as_ref().map(|task| (task.enabled, task.version, task.next));
        let detail = format!("task {code} is {:?}, it must be {:?}", short(&stored), short(&known));
        self.violate(if is_changed { "INV-17" } else { next_breaks }, detail);
        match stored {
            Some(stored) => drop(self.ghost.tasks.insert(code.clone(), stored)),
            None => drop(self.ghost.tasks.remove(code)),
        }
    }

    /// A disabled task has no next fire time; an enabled one has that which follows from `now`.
    fn check_first(&mut self, code: &TaskCode, definition: &TaskDefinition, told: Option<Timestamp>, now: Timestamp) {
        let mut choices: Vec<_> =
            self.ghost.schedules.oracles(definition).iter().map(|oracle| oracle.next(now)).collect();
        if definition.kind != TaskKind::Cron {
            choices.push(None);
        }
        if !choices.contains(&told) {
            self.violate("INV-15", format!("{code} is planned for {told:?} at {now}, not for {choices:?}"));
        }
    }

    pub(crate) fn create_task(
        &mut self,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let store = self.world.store.as_ref();
        let answer = at_once(store.create_task(code.clone(), definition.clone(), switch, next_fire, by, now));
        let change = self.sound("create_task", answer)?;
        self.event(format_args!("creates task {code}: {}", word(&change)));
        if let TaskChange::Written(_) = &change {
            if self.ghost.tasks.contains_key(&code) {
                self.violate("INV-17", format!("task {code} was created, it existed"));
            }
            self.created(&code, definition, switch, next_fire, now);
        }
        self.check_task(&code, "INV-15");
        Ok(change)
    }

    fn created(
        &mut self,
        code: &TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        next: Option<Timestamp>,
        now: Timestamp,
    ) {
        let enabled = switch == TaskSwitch::Enabled;
        if enabled {
            self.check_first(code, &definition, next, now);
        }
        self.ghost.tasks.insert(code.clone(), GhostTask { enabled, definition, version: 1, next: None });
        self.plans(code, next.filter(|_| enabled), now);
    }

    pub(crate) fn declare_task(
        &mut self,
        code: TaskCode,
        definition: TaskDefinition,
        next_fire: Option<Timestamp>,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let answer = at_once(self.world.store.declare_task(code.clone(), definition.clone(), next_fire, now));
        let change = self.sound("declare_task", answer)?;
        self.event(format_args!("declares task {code}: {}", word(&change)));
        let is_new = self.ghost.schedules.declared.insert((code.clone(), format!("{definition:?}")));
        match self.ghost.tasks.get(&code).cloned() {
            None => self.created(&code, definition, TaskSwitch::Enabled, next_fire, now),
            Some(known) if !is_new || known.definition == definition => {}
            Some(known) => self.updated(&code, &known, definition, next_fire, now),
        }
        self.check_task(&code, "INV-15");
        Ok(change)
    }

    pub(crate) fn update_task(
        &mut self,
        code: TaskCode,
        version: i64,
        definition: TaskDefinition,
        next_fire: NextFireChange,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let store = self.world.store.as_ref();
        let answer = at_once(store.update_task(code.clone(), version, definition.clone(), next_fire, by, now));
        let change = self.sound("update_task", answer)?;
        self.event(format_args!("edits task {code} of version {version} ({next_fire:?}): {}", word(&change)));
        if let (TaskChange::Written(_), Some(known)) = (&change, self.ghost.tasks.get(&code).cloned()) {
            let is_repeated = known.version == version + 1 && known.definition == definition;
            if known.version == version {
                let told = match next_fire {
                    NextFireChange::Keep => known.next,
                    NextFireChange::Set(next) => next,
                };
                if (next_fire == NextFireChange::Keep) != is_same_schedule(&known.definition, &definition) {
                    self.violate("INV-15", format!("{code} was edited, its next fire: {next_fire:?}"));
                }
                self.updated(&code, &known, definition, told, now);
            } else if !is_repeated {
                self.violate("INV-17", format!("an edit of version {version} of {code} was written over a newer one"));
            }
        }
        self.check_task(&code, "INV-15");
        Ok(change)
    }

    /// `told`: the next fire time that was computed for the new definition.
    fn updated(
        &mut self,
        code: &TaskCode,
        known: &GhostTask,
        definition: TaskDefinition,
        told: Option<Timestamp>,
        now: Timestamp,
    ) {
        if known.definition.rate_limit != definition.rate_limit {
            self.ghost.schedules.forget_starts(&task_scope(code));
        }
        let is_same = is_same_schedule(&known.definition, &definition);
        if !is_same && known.enabled {
            self.check_first(code, &definition, told, now);
        }
        let task = GhostTask { definition, version: known.version + 1, ..known.clone() };
        self.ghost.tasks.insert(code.clone(), task);
        if !is_same && known.enabled {
            self.plans(code, told, now);
        }
    }

    pub(crate) fn switch_task(
        &mut self,
        code: TaskCode,
        to: TaskSwitch,
        next_fire: Option<Timestamp>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let answer = at_once(self.world.store.switch_task(code.clone(), to, next_fire, by, now));
        let change = self.sound("switch_task", answer)?;
        self.event(format_args!("switches task {code} to {to}: {}", word(&change)));
        let enabled = to == TaskSwitch::Enabled;
        if let TaskChange::Written(stored) = &change {
            if stored.switch != to {
                self.violate("INV-17", format!("task {code} was switched to {to} and is not"));
            }
            if let Some(known) = self.ghost.tasks.get_mut(&code).filter(|known| known.enabled != enabled) {
                known.enabled = enabled;
                known.version += 1;
                let definition = known.definition.clone();
                if enabled {
                    self.check_first(&code, &definition, next_fire, now);
                }
                self.plans(&code, next_fire.filter(|_| enabled), now);
            }
        }
        self.check_task(&code, "INV-15");
        Ok(change)
    }

    /// By the system, with the end of a job.
    pub(super) fn stopped(&mut self, code: &TaskCode, now: Timestamp) {
        if let Some(task) = self.ghost.tasks.get_mut(code).filter(|task| task.enabled) {
            task.enabled = false;
            task.version += 1;
            *self.ghost.schedules.stopped.entry(code.clone()).or_default() += 1;
            self.plans(code, None, now);
        }
    }

    pub(crate) fn delete_task(
        &mut self,
        code: TaskCode,
        version: Option<i64>,
        by: String,
        now: Timestamp,
    ) -> Answer<TaskChange> {
        let answer = at_once(self.world.store.delete_task(code.clone(), version, by, now));
        let change = self.sound("delete_task", answer)?;
        self.event(format_args!("deletes task {code}: {}", word(&change)));
        if let TaskChange::Written(_) = &change {
            let live = self.ghost.live_of(&code);
            if !live.is_empty() {
                self.violate("INV-1", format!("task {code} was deleted, {live:?} are live"));
            }
            self.plans(&code, None, now);
            self.ghost.tasks.remove(&code);
            self.ghost.schedules.forget_starts(&task_scope(&code));
        }
        self.check_task(&code, "INV-17");
        Ok(change)
    }

    pub(crate) fn put_calendar(&mut self, calendar: Calendar, by: String, now: Timestamp) -> Answer<()> {
        let rests: BTreeSet<i64> = calendar.excluded.iter().map(crate::crons::day_number).collect();
        self.event(format_args!("puts calendar {}: {rests:?}", calendar.name));
        let versions = self.ghost.schedules.calendars.entry(calendar.name.clone()).or_default();
        versions.push(CalendarVersion { rests, acknowledged: false });
        let answer = at_once(self.world.store.put_calendar(calendar, by, now));
        self.sound("put_calendar", answer)
    }

    pub(crate) fn put_pool(&mut self, pool: PoolSettings, by: String, now: Timestamp) -> Answer<()> {
        self.ghost.allow(&pool);
        if let Some(rate) = pool.rate_limit {
            self.ghost.pool_rates.insert(pool.name.clone(), rate);
        }
        self.event(format_args!("sets pool {} to {} slots, paused: {}", pool.name, pool.concurrency, pool.paused));
        let answer = at_once(self.world.store.put_pool(pool, by, now));
        self.sound("put_pool", answer)
    }
}

fn is_same_schedule(one: &TaskDefinition, other: &TaskDefinition) -> bool {
    let of = |task: &TaskDefinition| {
        let when = (task.cron_expression.clone(), task.every, task.time_zone.clone());
        (task.kind, when, task.start_at, task.end_at, task.calendar.clone())
    };
    of(one) == of(other)
}

fn word(change: &TaskChange) -> String {
    match change {
        TaskChange::Written(task) => format!("version {}", task.version),
        TaskChange::Conflict(task) => format!("conflict with version {}", task.version),
        TaskChange::InTheWay(_) => "in the way".to_owned(),
        TaskChange::Missing => "missing".to_owned(),
    }
}
