//! Tasks, changed by people and declared by programs: checked, written under their version, followed by memory at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_model::operations::{self, Operations, TaskFacts, TaskOperation};
use mainspring_model::task::{TaskSwitch, never_fires};
use mainspring_model::{Code, Refused, Schedule, Task, TaskCode, TaskDefinition, Timestamp};
use mainspring_store::{NextFireChange, StoreError, TaskChange};

use crate::core::Core;
use crate::error::Error;

/// How often a task is read again that changes meanwhile.
const READS_MAX: u32 = 10;

impl Core {
    pub(crate) async fn load_tasks(&self) -> Result<(), Error> {
        for calendar in self.store.calendars().await? {
            self.tasks.put_calendar(calendar);
        }
        for task in self.store.tasks().await? {
            self.tasks.put(task);
        }
        Ok(())
    }

    /// As it is stored now, whoever has changed it.
    pub(crate) async fn task_now(self: &Arc<Core>, code: &TaskCode) -> Result<Arc<Task>, Error> {
        if self.node.about.is_shared {
            let changes = self.tasks.changes(code);
            let read = self.store.task(code).await?;
            let task = read.clone().map(Arc::new);
            // What has changed here meanwhile is no older: it is read from memory.
            if self.tasks.put_read(code, read, changes) {
                self.schedule_wake.notify_one();
                return task.ok_or_else(|| self.no_such_task(code).into());
            }
        }
        Ok(self.task_or_refuse(code)?)
    }

    pub(crate) async fn tasks_now(self: &Arc<Core>) -> Result<Vec<Task>, Error> {
        if self.node.about.is_shared {
            self.catch_up().await?;
            return Ok(self.store.tasks().await?);
        }
        Ok(self.tasks.all().iter().map(|task| Task::clone(task)).collect())
    }

    /// For a task that changed in the store without this engine's doing: a settlement stopped it, or moved its fire. Without
    /// it the task could be silent, so it is insisted on.
    pub(crate) async fn reload_task(&self, code: &TaskCode) {
        for _ in 0..READS_MAX {
            let changes = self.tasks.changes(code);
            let Ok(read) = self.insist(Duration::MAX, || self.store.task(code)).await else { return };
            // An answer can be older than what became known while it was on its way.
            if self.tasks.put_read(code, read, changes) {
                break;
            }
        }
        self.schedule_wake.notify_one();
    }

    /// The same for those who cannot wait.
    pub(crate) fn reload_soon(self: &Arc<Core>, code: &TaskCode) {
        let (core, code) = (self.clone(), code.clone());
        self.spawn_once(async move { core.reload_task(&code).await });
    }

    /// Nobody knows whether the change was written: memory follows what is stored.
    fn or_reload<T>(self: &Arc<Core>, code: &TaskCode, change: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Unknown { .. }) = change {
            self.reload_soon(code);
        }
        change
    }

    /// From code or configuration. The rule of who wins: what was never declared before is written; a declaration that
    /// is known already changes nothing, so neither a restart nor a node with an older program undoes what came later.
    pub(crate) async fn declare_task(&self, code: TaskCode, definition: TaskDefinition) -> Result<(), Error> {
        definition.check()?;
        let now = self.clock.now();
        let next_fire = match self.declared_fire(&code, &definition, now) {
            // A person took its calendar away since: no restart fails for that.
            Err(refused) if self.tasks.get(&code).is_some() => {
                tracing::warn!(task = %code, %refused, "the declaration is passed over: the task stays as it is");
                return Ok(());
            }
            next_fire => next_fire?,
        };
        let is_known = self.tasks.get(&code).is_some();
        match self.store.declare_task(code, definition.clone(), next_fire, now).await? {
            TaskChange::Written(task) => {
                let done = if is_known { "written over" } else { "created" };
                tracing::info!(task = %task.code, version = task.version, done, "a new declaration");
                self.tasks.put(task);
            }
            TaskChange::InTheWay(task) => {
                if task.definition != definition {
                    tracing::warn!(task = %task.code, "an earlier declaration is not written again: the task differs from it; \
                         `mainspring task apply` writes it");
                }
                self.tasks.put(task);
            }
            TaskChange::Conflict(_) | TaskChange::Missing => {}
        }
        self.schedule_wake.notify_one();
        Ok(())
    }

    pub(crate) async fn create_task(
        self: &Arc<Core>,
        code: TaskCode,
        definition: TaskDefinition,
        switch: TaskSwitch,
        by: &str,
    ) -> Result<Task, Error> {
        self.catch_up().await?;
        self.check_definition(&definition)?;
        let now = self.clock.now();
        let next_fire = match switch {
            TaskSwitch::Enabled => self.first_fire(&code, &definition, now)?,
            // A copy of a task whose schedule has ended begins so.
            TaskSwitch::Disabled => self.schedule_of(&definition).map(|_| None)?,
        };
        let change = self.store.create_task(code.clone(), definition, switch, next_fire, by.to_owned(), now).await;
        match self.or_reload(&code, change)? {
            TaskChange::InTheWay(task) | TaskChange::Conflict(task) => {
                let detail = format!("task `{}` exists since {}", task.code, task.create_time);
                Err(Refused::new(Code::TaskExists, detail)
                    .hint("change it (`mainspring task edit`), or take another code")
                    .into())
            }
            change => self.changed(change).await,
        }
    }

    pub(crate) async fn update_task(
        self: &Arc<Core>,
        code: &TaskCode,
        version: i64,
        definition: TaskDefinition,
        by: &str,
    ) -> Result<Task, Error> {
        self.catch_up().await?;
        let known = self.task_now(code).await?;
        let now = self.clock.now();
        self.check_edit(&known.definition, &definition)?;
        if known.version == version && known.definition == definition {
            return Ok(Task::clone(&known)); // nothing of it changes, so nobody's version does
        }
        // A version that is not known here is a conflict, whatever follows from it.
        let next_fire = if known.definition.same_schedule(&definition) {
            NextFireChange::Keep
        } else {
            NextFireChange::Set(self.first_fire(code, &definition, now)?)
        };
        let change = self.store.update_task(code.clone(), version, definition, next_fire, by.to_owned(), now).await;
        let change = self.or_reload(code, change)?;
        self.pools.look_in_store();
        self.claim_wake.notify_one();
        self.changed_or_missing(code, change).await
    }

    pub(crate) async fn switch_task(
        self: &Arc<Core>,
        code: &TaskCode,
        to: TaskSwitch,
        by: &str,
    ) -> Result<Task, Error> {
        self.catch_up().await?;
        let known = self.task_now(code).await?;
        let operation = match to {
            TaskSwitch::Enabled => TaskOperation::Enable,
            TaskSwitch::Disabled => TaskOperation::Disable,
        };
        let now = self.clock.now();
        let next_fire = match to {
            TaskSwitch::Disabled => None,
            TaskSwitch::Enabled => self.first_fire(code, &known.definition, now)?,
        };
        // Live jobs are of no account for a switch.
        let allowed = self.task_operations(&known, 0);
        if !allowed.allows(operation) {
            return Err(allowed.refuse(&format!("task `{code}`"), operation).into());
        }
        let change = self.store.switch_task(code.clone(), to, next_fire, by.to_owned(), now).await;
        let change = self.or_reload(code, change)?;
        let task = self.changed_or_missing(code, change).await?;
        if !task.definition.same_schedule(&known.definition) {
            // It was edited in between: its first fire is the old schedule's.
            self.must_plan_again.store(true, Ordering::Release);
            self.schedule_wake.notify_one();
        }
        Ok(task)
    }

    pub(crate) async fn delete_task(
        self: &Arc<Core>,
        code: &TaskCode,
        version: Option<i64>,
        by: &str,
    ) -> Result<(), Error> {
        let change = self.store.delete_task(code.clone(), version, by.to_owned(), self.clock.now()).await;
        match self.or_reload(code, change)? {
            TaskChange::InTheWay(_) => {
                let detail = format!("task `{code}` has jobs that are not final");
                Err(Refused::new(Code::TaskRunning, detail).hint("disable it and wait, or cancel its jobs").into())
            }
            TaskChange::Written(task) => {
                self.tasks.deleted(&task);
                Ok(())
            }
            change => self.changed_or_missing(code, change).await.map(drop),
        }
    }

    /// What may be done to a task with so many live jobs.
    pub(crate) fn task_operations(&self, task: &Task, live_jobs: u64) -> Operations<TaskOperation> {
        let is_switched_off = task.switch == TaskSwitch::Disabled;
        // Asked for only where it matters.
        let fires_again = is_switched_off
            && self.first_fire(&task.code, &task.definition, self.clock.now()).is_ok_and(|next| next.is_some());
        operations::on_task(task, TaskFacts { live_jobs, fires_again })
    }

    pub(crate) fn task_or_refuse(&self, code: &TaskCode) -> Result<Arc<Task>, Refused> {
        self.tasks.get(code).ok_or_else(|| self.no_such_task(code))
    }

    /// A task that takes new jobs.
    pub(crate) fn open_task(&self, code: &TaskCode) -> Result<Arc<Task>, Refused> {
        let task = self.task_or_refuse(code)?;
        match task.switch {
            TaskSwitch::Enabled => Ok(task),
            TaskSwitch::Disabled => {
                let detail = format!("task `{code}` is disabled and takes no new jobs");
                Err(Refused::new(Code::TaskDisabled, detail).hint(format!("mainspring task enable {code}")))
            }
        }
    }

    /// The schedule of a definition, with the calendar that it names.
    pub(crate) fn schedule_of(&self, definition: &TaskDefinition) -> Result<Option<Schedule>, Refused> {
        let calendar = match &definition.calendar {
            None => None,
            Some(name) => Some(self.tasks.calendar(name).ok_or_else(|| {
                Refused::field("calendar", "NOT_FOUND", format!("there is no calendar `{name}`"))
                    .hint("create it: `mainspring calendar put NAME -f FILE`, or PUT /api/v1/calendars/{name}")
            })?),
        };
        Schedule::of(definition, calendar)
    }

    /// The first fire from now on; a schedule without one is refused.
    fn first_fire(
        &self,
        code: &TaskCode,
        definition: &TaskDefinition,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Refused> {
        match self.schedule_of(definition)? {
            None => Ok(None),
            Some(schedule) => schedule.next(now).map(Some).ok_or_else(|| never_fires(code)),
        }
    }

    /// A program goes on declaring a schedule when its time is over: that keeps no node from starting.
    fn declared_fire(
        &self,
        code: &TaskCode,
        definition: &TaskDefinition,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Refused> {
        let first = self.first_fire(code, definition, now);
        let has_fired = || {
            let schedule = self.schedule_of(definition).ok().flatten();
            schedule.is_some_and(|schedule| schedule.next(Timestamp::default()).is_some())
        };
        match first {
            Err(refused) if refused.code == Code::CronNeverFires && has_fired() => {
                tracing::warn!(task = %code, "the declared schedule has ended");
                Ok(None)
            }
            first => first,
        }
    }

    /// What an edit leaves as it is need not be here: a node without the handler can edit the task all the same.
    fn check_edit(&self, stored: &TaskDefinition, definition: &TaskDefinition) -> Result<(), Refused> {
        match self.check_definition(definition) {
            Err(refused) if refused.code == Code::HandlerNotFound && stored.handler == definition.handler => Ok(()),
            checked => checked,
        }
    }

    /// Would it be taken, as a task that begins enabled?
    pub(crate) fn check_task(&self, code: &TaskCode, definition: &TaskDefinition) -> Result<(), Refused> {
        self.check_definition(definition)?;
        self.first_fire(code, definition, self.clock.now()).map(drop)
    }

    pub(crate) fn check_definition(&self, definition: &TaskDefinition) -> Result<(), Refused> {
        definition.check()?;
        if !self.registry.knows(&definition.handler) {
            let known = self.registry.list().iter().map(|info| info.name.to_string()).collect::<Vec<_>>().join(", ");
            let detail = format!("no handler is registered as `{}`", definition.handler);
            return Err(Refused::new(Code::HandlerNotFound, detail).hint(format!("registered are: {known}")));
        }
        if self.pools.get(&definition.pool).is_none() {
            let detail = format!("there is no pool `{}`", definition.pool);
            return Err(Refused::new(Code::PoolNotFound, detail)
                .hint("create it: `mainspring pool set NAME`, or PUT /api/v1/pools/{name}"));
        }
        Ok(())
    }

    async fn changed_or_missing(&self, code: &TaskCode, change: TaskChange) -> Result<Task, Error> {
        match change {
            TaskChange::Missing => Err(self.no_such_task(code).into()),
            change => self.changed(change).await,
        }
    }

    async fn changed(&self, change: TaskChange) -> Result<Task, Error> {
        match change {
            TaskChange::Written(task) => {
                let known = self.tasks.put(task.clone());
                self.schedule_wake.notify_one();
                if let Err(error) = self.unpark_known(&[known]).await {
                    tracing::warn!(%error, task = %task.code, "jobs that wait for a handler wait on");
                }
                Ok(task)
            }
            TaskChange::Conflict(task) | TaskChange::InTheWay(task) => {
                self.tasks.put(task.clone());
                let detail = format!("task `{}` is at version {}: somebody else changed it", task.code, task.version);
                let refused = Refused::new(Code::VersionConflict, detail).hint("read it again and repeat your change");
                Err(Refused { current_version: Some(task.version), ..refused }.into())
            }
            TaskChange::Missing => Err(Refused::new(Code::TaskNotFound, "the task is gone").into()),
        }
    }

    fn no_such_task(&self, code: &TaskCode) -> Refused {
        let refused = Refused::new(Code::TaskNotFound, format!("there is no task `{code}`"));
        let distance = |task: &Arc<Task>| edit_distance(task.code.as_str(), code.as_str());
        match self.tasks.all().into_iter().min_by_key(distance) {
            Some(near) if distance(&near) <= code.as_str().chars().count() / 3 => {
                refused.hint(format!("did you mean `{}`?", near.code))
            }
            _ => refused.hint("mainspring task list shows the tasks"),
        }
    }
}

/// Levenshtein's distance, for "did you mean".
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in right.iter().enumerate() {
            let cost = if a == *b { diagonal } else { 1 + diagonal.min(row[j]).min(row[j + 1]) };
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn distances() {
        let check = |left, right, expect| assert_eq!(edit_distance(left, right), expect, "{left} {right}");
        check("", "", 0);
        check("report", "raport", 1);
        check("abc", "", 3);
        check("kitten", "sitting", 3);
    }
}
