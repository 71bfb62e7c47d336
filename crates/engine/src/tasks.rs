//! Task definitions: the copy that the hot path reads, and their administration by people.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use mainspring_model::task::TaskSwitch;
use mainspring_model::{Code, Refused, Task, TaskCode, TaskDefinition};
use mainspring_store::{TaskChange, TaskFilter};

use crate::core::Core;
use crate::error::Error;

/// All tasks, by code. They are few; every change goes through this engine, so the copy is true.
#[derive(Debug, Default)]
pub(crate) struct Tasks(RwLock<BTreeMap<TaskCode, Arc<Task>>>);

impl Tasks {
    pub(crate) fn get(&self, code: &TaskCode) -> Option<Arc<Task>> {
        self.0.read().expect("no panic while tasks are held").get(code).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Task>> {
        self.0.read().expect("no panic while tasks are held").values().cloned().collect()
    }

    /// Answers may arrive out of order: the newest version stays.
    pub(crate) fn put(&self, task: Task) -> Arc<Task> {
        let task = Arc::new(task);
        let mut tasks = self.0.write().expect("no panic while tasks are held");
        let is_newer = |known: &Arc<Task>| known.id == task.id && known.version > task.version;
        if !tasks.get(&task.code).is_some_and(is_newer) {
            tasks.insert(task.code.clone(), task.clone());
        }
        task
    }

    fn remove(&self, code: &TaskCode) {
        self.0.write().expect("no panic while tasks are held").remove(code);
    }
}

impl Core {
    pub(crate) async fn load_tasks(&self) -> Result<(), Error> {
        for task in self.store.tasks().await? {
            self.tasks.put(task);
        }
        Ok(())
    }

    /// For a task that changed in the store without this engine's doing: a settlement stopped it.
    pub(crate) async fn reload_task(&self, code: &TaskCode) {
        match self.store.task(code).await {
            Ok(Some(task)) => drop(self.tasks.put(task)),
            Ok(None) => self.tasks.remove(code),
            Err(error) => tracing::warn!(%error, task = %code, "a changed task could not be read again"),
        }
    }

    /// From code or configuration: created when missing; what is stored is left alone.
    pub(crate) async fn declare_task(&self, code: TaskCode, definition: TaskDefinition) -> Result<(), Error> {
        definition.check()?;
        let now = self.clock.now();
        match self.store.create_task(code, definition, "declared in code".to_owned(), now).await? {
            TaskChange::Written(task) | TaskChange::InTheWay(task) => drop(self.tasks.put(task)),
            TaskChange::Conflict(_) | TaskChange::Missing => {}
        }
        Ok(())
    }

    pub(crate) async fn create_task(
        &self,
        code: TaskCode,
        definition: TaskDefinition,
        by: &str,
    ) -> Result<Task, Error> {
        self.check_definition(&definition)?;
        match self.store.create_task(code, definition, by.to_owned(), self.clock.now()).await? {
            TaskChange::InTheWay(task) | TaskChange::Conflict(task) => {
                let detail = format!("task `{}` exists since {}", task.code, task.create_time);
                Err(Refused::new(Code::TaskExists, detail).hint("change it with PUT, or take another code").into())
            }
            change => self.changed(change).await,
        }
    }

    pub(crate) async fn update_task(
        &self,
        code: &TaskCode,
        version: i64,
        definition: TaskDefinition,
        by: &str,
    ) -> Result<Task, Error> {
        self.check_definition(&definition)?;
        let now = self.clock.now();
        let change = self.store.update_task(code.clone(), version, definition, by.to_owned(), now).await?;
        self.changed_or_missing(code, change).await
    }

    pub(crate) async fn switch_task(&self, code: &TaskCode, enabled: bool, by: &str) -> Result<Task, Error> {
        let change = self.store.switch_task(code.clone(), enabled, by.to_owned(), self.clock.now()).await?;
        self.changed_or_missing(code, change).await
    }

    pub(crate) async fn delete_task(&self, code: &TaskCode, version: Option<i64>, by: &str) -> Result<(), Error> {
        match self.store.delete_task(code.clone(), version, by.to_owned(), self.clock.now()).await? {
            TaskChange::InTheWay(_) => {
                let detail = format!("task `{code}` has jobs that are not final");
                Err(Refused::new(Code::TaskRunning, detail).hint("disable it and wait, or cancel its jobs").into())
            }
            TaskChange::Written(_) => {
                self.tasks.remove(code);
                Ok(())
            }
            change => self.changed_or_missing(code, change).await.map(drop),
        }
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

    pub(crate) fn filter_tasks(&self, filter: &TaskFilter) -> Vec<Task> {
        let wanted = filter.text.as_deref().map(str::to_lowercase);
        let mentions = |task: &Task| match &wanted {
            None => true,
            Some(text) => {
                let definition = &task.definition;
                let places = [task.code.as_str(), &definition.name, definition.owner.as_deref().unwrap_or("")];
                let mut places = places.into_iter().chain(definition.tags.iter().map(String::as_str));
                places.any(|place| place.to_lowercase().contains(text))
            }
        };
        let fits = |task: &Task| {
            filter.kind.is_none_or(|kind| task.definition.kind == kind)
                && filter.enabled.is_none_or(|enabled| enabled == (task.switch == TaskSwitch::Enabled))
                && filter.pool.as_ref().is_none_or(|pool| task.definition.pool == *pool)
                && filter.tag.as_ref().is_none_or(|tag| task.definition.tags.contains(tag))
                && mentions(task)
        };
        self.tasks.all().iter().filter(|task| fits(task)).map(|task| Task::clone(task)).collect()
    }

    fn check_definition(&self, definition: &TaskDefinition) -> Result<(), Refused> {
        definition.check()?;
        if !self.registry.knows(&definition.handler) {
            let known = self.registry.list().iter().map(|info| info.name.to_string()).collect::<Vec<_>>().join(", ");
            let detail = format!("no handler is registered as `{}`", definition.handler);
            return Err(Refused::new(Code::HandlerNotFound, detail).hint(format!("registered are: {known}")));
        }
        if self.pools.get(&definition.pool).is_none() {
            let detail = format!("there is no pool `{}`", definition.pool);
            return Err(Refused::new(Code::PoolNotFound, detail).hint("create it with PUT /api/v1/pools/{name}"));
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
                if let Err(error) = self.unpark_known(&[self.tasks.put(task.clone())]).await {
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
