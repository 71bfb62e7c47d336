//! The copy of all tasks that the hot paths read, each with its schedule, and which of them fires next.
//!
//! They are few. What other nodes change of them is followed (`node/follow`); a write says what it has seen, so nothing
//! wrong follows from a copy that is old for a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use mainspring_model::task::TaskSwitch;
use mainspring_model::{Calendar, CalendarName, Schedule, Task, TaskCode, Timestamp, limits};

/// A task and when it fires.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) task: Arc<Task>,
    /// `None` for a task without one, and for one whose stored schedule this version cannot read.
    pub(crate) schedule: Option<Arc<Schedule>>,
    /// Set when the store could not fire it for a reason of its own: until then others fire without it.
    pub(crate) not_before: Option<Timestamp>,
}

/// What of a task must not have changed under whoever moves its fire time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) code: &'a TaskCode,
    pub(crate) version: i64,
    pub(crate) next_fire: Option<Timestamp>,
}

impl Planned {
    fn is(&self, seen: &Seen<'_>) -> bool {
        (self.task.version, self.task.next_fire_time) == (seen.version, seen.next_fire)
    }

    fn key(&self) -> Option<(Timestamp, TaskCode)> {
        let next = self.task.next_fire_time?;
        Some((self.not_before.map_or(next, |earliest| next.max(earliest)), self.task.code.clone()))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tasks(RwLock<Book>);

#[derive(Debug, Default)]
struct Book {
    by_code: BTreeMap<TaskCode, Planned>,
    /// By their next fire time; only tasks that can fire.
    next: BTreeSet<(Timestamp, TaskCode)>,
    calendars: BTreeMap<CalendarName, Arc<Calendar>>,
    /// Counts all changes.
    last_change: u64,
    /// The last change of each code that was ever used: who reads a task in the store finds out whether what was read
    /// is old by now.
    changes: BTreeMap<TaskCode, u64>,
    /// Counts what decides where jobs run, not fires.
    definitions: u64,
    excluded: Option<Excluded>,
    /// There is a task that is a broadcast, or there was one: jobs of it may live on.
    broadcasts: bool,
    /// Tasks that are not known here and whose jobs were met.
    strangers: BTreeSet<TaskCode>,
}

/// Worked out when these definitions were known.
#[derive(Debug)]
struct Excluded {
    definitions: u64,
    codes: Vec<TaskCode>,
}

/// Where among those that are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    TheLongestDue,
    /// Other nodes are at work at the front: dice for a place.
    Anywhere(u64),
}

impl Tasks {
    pub(crate) fn get(&self, code: &TaskCode) -> Option<Arc<Task>> {
        self.read().by_code.get(code).map(|planned| planned.task.clone())
    }

    pub(crate) fn planned(&self, code: &TaskCode) -> Option<Planned> {
        self.read().by_code.get(code).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Task>> {
        self.read().by_code.values().map(|planned| planned.task.clone()).collect()
    }

    pub(crate) fn all_planned(&self) -> Vec<Planned> {
        self.read().by_code.values().cloned().collect()
    }

    /// Answers may arrive out of order: the newest version of the newest task of the code stays.
    pub(crate) fn put(&self, task: Task) -> Arc<Task> {
        self.write().put(task)
    }

    pub(crate) fn changes(&self, code: &TaskCode) -> u64 {
        self.read().changes.get(code).copied().unwrap_or(0)
    }

    /// What was read of the code when `changes` were known. `false`: there have been others since, read it again.
    pub(crate) fn put_read(&self, code: &TaskCode, read: Option<Task>, changes: u64) -> bool {
        let mut book = self.write();
        if book.changes.get(code).copied().unwrap_or(0) != changes {
            return false;
        }
        match read {
            Some(task) => drop(book.put(task)),
            None => book.remove(code),
        }
        true
    }

    pub(crate) fn last_change(&self) -> u64 {
        self.read().last_change
    }

    /// All tasks, as they were read when `from` was the last change. What has changed since is not touched, and answered.
    pub(crate) fn put_all_read(&self, read: Vec<Task>, from: u64) -> Vec<TaskCode> {
        let mut book = self.write();
        let stored: BTreeSet<TaskCode> = read.iter().map(|task| task.code.clone()).collect();
        let gone: Vec<TaskCode> = book.by_code.keys().filter(|code| !stored.contains(*code)).cloned().collect();
        let mut newer = Vec::new();
        for code in gone {
            match book.has_changed(&code, from) {
                true => newer.push(code),
                false => book.remove(&code),
            }
        }
        for task in read {
            match book.has_changed(&task.code, from) {
                true => newer.push(task.code),
                false if book.shows(&task) => {}
                false => drop(book.put(task)),
            }
        }
        newer
    }

    pub(crate) fn has_met_broadcasts(&self) -> bool {
        self.read().broadcasts
    }

    /// Tasks whose jobs this node leaves to others.
    pub(crate) fn excluded(&self, is_for_others: impl Fn(&Task) -> bool) -> Vec<TaskCode> {
        {
            let book = self.read();
            if let Some(known) = book.excluded.as_ref().filter(|known| known.definitions == book.definitions) {
                return known.codes.clone();
            }
        }
        let mut book = self.write();
        let for_others = book.by_code.values().filter(|known| is_for_others(&known.task));
        let codes = for_others.map(|known| known.task.code.clone()).chain(book.strangers.iter().cloned()).collect();
        let excluded = Excluded { definitions: book.definitions, codes };
        book.excluded.insert(excluded).codes.clone()
    }

    /// Until the task is known here.
    pub(crate) fn exclude_stranger(&self, code: &TaskCode) {
        let mut book = self.write();
        if !book.by_code.contains_key(code)
            && book.strangers.len() < limits::STRANGE_TASKS_MAX
            && book.strangers.insert(code.clone())
        {
            book.definitions += 1;
        }
    }

    /// A task that has taken its code since stays.
    pub(crate) fn deleted(&self, task: &Task) {
        let mut book = self.write();
        if book.by_code.get(&task.code).is_some_and(|known| known.task.id == task.id) {
            book.remove(&task.code);
        }
    }

    /// The scheduler has moved the fire time. Memory that shows another one than it saw has heard of more since: the job
    /// that fired may have ended already, and have set the next.
    pub(crate) fn fired(&self, seen: &Seen<'_>, next: Option<Timestamp>, last: Option<Timestamp>) {
        let mut book = self.write();
        let Some(known) = book.by_code.get(seen.code).filter(|known| known.is(seen)) else { return };
        let prev_fire_time = last.max(known.task.prev_fire_time);
        let moved = Task { next_fire_time: next, prev_fire_time, ..Task::clone(&known.task) };
        let moved = Planned { task: Arc::new(moved), schedule: known.schedule.clone(), not_before: None };
        book.keep(moved);
    }

    /// The store did not fire it, and it is still as it was seen: trying again at once would go on for ever.
    pub(crate) fn set_aside(&self, seen: &Seen<'_>, until: Timestamp) {
        let mut book = self.write();
        let known = book.by_code.get(seen.code).filter(|known| known.is(seen)).cloned();
        if let Some(known) = known {
            book.keep(Planned { not_before: Some(until), ..known });
        }
    }

    /// Those whose next fire follows from the end of a job.
    pub(crate) fn waiting_for_an_end(&self) -> Vec<TaskCode> {
        let waits = |task: &Task| {
            task.switch == TaskSwitch::Enabled && task.next_fire_time.is_none() && task.definition.rests_after_end()
        };
        self.read().by_code.values().filter(|known| waits(&known.task)).map(|known| known.task.code.clone()).collect()
    }

    /// Tasks whose fire time has come.
    pub(crate) fn due(&self, now: Timestamp, max: usize, from: From) -> Vec<Planned> {
        let book = self.read();
        let due = || book.next.iter().take_while(|(next, _)| *next <= now);
        let skip = match from {
            From::TheLongestDue => 0,
            From::Anywhere(dice) => {
                let places = due().count().saturating_sub(max) + 1;
                usize::try_from(dice).unwrap_or(usize::MAX) % places
            }
        };
        due().skip(skip).take(max).filter_map(|(_, code)| book.by_code.get(code).cloned()).collect()
    }

    pub(crate) fn with_deadline(&self) -> Vec<Arc<Task>> {
        let book = self.read();
        let with = |planned: &&Planned| planned.task.definition.start_deadline_seconds.is_some();
        book.by_code.values().filter(with).map(|planned| planned.task.clone()).collect()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.read().next.first().map(|(next, _)| *next)
    }

    // ---- calendars ----

    pub(crate) fn calendar(&self, name: &CalendarName) -> Option<Arc<Calendar>> {
        self.read().calendars.get(name).cloned()
    }

    pub(crate) fn calendars(&self) -> Vec<Arc<Calendar>> {
        self.read().calendars.values().cloned().collect()
    }

    /// Also for the schedules that name it. These are returned.
    pub(crate) fn put_calendar(&self, calendar: Calendar) -> Vec<Planned> {
        let mut book = self.write();
        let name = calendar.name.clone();
        book.calendars.insert(name.clone(), Arc::new(calendar));
        let codes: Vec<TaskCode> = book.users_of(&name);
        codes.iter().filter_map(|code| book.plan_again(code)).collect()
    }

    /// All calendars, as they are stored. Whether any of them was another one.
    pub(crate) fn put_calendars(&self, stored: Vec<Calendar>) -> bool {
        let mut changed = false;
        for known in self.calendars() {
            if !stored.iter().any(|stored| stored.name == known.name) {
                self.remove_calendar(&known.name);
                changed = true;
            }
        }
        for calendar in stored {
            if self.calendar(&calendar.name).as_deref() != Some(&calendar) {
                self.put_calendar(calendar);
                changed = true;
            }
        }
        changed
    }

    pub(crate) fn remove_calendar(&self, name: &CalendarName) {
        self.write().calendars.remove(name);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Book> {
        self.0.read().expect("no panic while tasks are held")
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Book> {
        self.0.write().expect("no panic while tasks are held")
    }
}

impl Book {
    fn has_changed(&self, code: &TaskCode, since: u64) -> bool {
        self.changes.get(code).is_some_and(|change| *change > since)
    }

    fn shows(&self, task: &Task) -> bool {
        self.by_code.get(&task.code).is_some_and(|known| *known.task == *task && known.not_before.is_none())
    }

    fn put(&mut self, task: Task) -> Arc<Task> {
        let task = Arc::new(task);
        self.broadcasts |= task.definition.broadcast;
        self.strangers.remove(&task.code);
        if self.by_code.get(&task.code).is_none_or(|known| known.task.definition != task.definition) {
            self.definitions += 1;
        }
        let is_newer = |known: &Planned| (known.task.id, known.task.version) > (task.id, task.version);
        if !self.by_code.get(&task.code).is_some_and(is_newer) {
            let schedule = self.schedule_of(&task);
            self.keep(Planned { task: task.clone(), schedule, not_before: None });
        }
        task
    }

    fn keep(&mut self, planned: Planned) {
        let code = planned.task.code.clone();
        self.remove(&code);
        // A schedule that cannot be read would be planned again and again.
        if planned.schedule.is_some() {
            self.next.extend(planned.key());
        }
        self.by_code.insert(code, planned);
    }

    fn remove(&mut self, code: &TaskCode) {
        self.last_change += 1;
        self.changes.insert(code.clone(), self.last_change);
        if let Some(key) = self.by_code.remove(code).and_then(|known| known.key()) {
            self.next.remove(&key);
        }
    }

    fn schedule_of(&self, task: &Task) -> Option<Arc<Schedule>> {
        let calendar = task.definition.calendar.as_ref().map(|name| self.calendars.get(name).cloned());
        if calendar == Some(None) {
            // Without its calendar it would fire on days of rest.
            tracing::error!(task = %task.code, "a task's calendar is missing or cannot be read: the task does not fire");
            return None;
        }
        match Schedule::of(&task.definition, calendar.flatten()) {
            Ok(schedule) => schedule.map(Arc::new),
            Err(error) => {
                tracing::error!(task = %task.code, %error, "a stored schedule cannot be read: the task does not fire");
                None
            }
        }
    }

    fn users_of(&self, name: &CalendarName) -> Vec<TaskCode> {
        let uses = |planned: &&Planned| planned.task.definition.calendar.as_ref() == Some(name);
        self.by_code.values().filter(uses).map(|planned| planned.task.code.clone()).collect()
    }

    fn plan_again(&mut self, code: &TaskCode) -> Option<Planned> {
        let task = self.by_code.get(code)?.task.clone();
        let planned = Planned { schedule: self.schedule_of(&task), task, not_before: None };
        self.keep(planned.clone());
        Some(planned)
    }
}

#[cfg(test)]
mod tests;
