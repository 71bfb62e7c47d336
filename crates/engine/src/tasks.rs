//! The copy of all tasks that the hot paths read, each with its schedule, and which of them fires next.
//!
//! They are few; every change goes through this engine, so the copy is true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use mainspring_model::{Calendar, CalendarName, Schedule, Task, TaskCode, Timestamp};
use mainspring_store::TaskFilter;

/// A task and when it fires.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) task: Arc<Task>,
    /// `None` for a task without one, and for one whose stored schedule this version cannot read.
    pub(crate) schedule: Option<Arc<Schedule>>,
}

impl Planned {
    fn key(&self) -> Option<(Timestamp, TaskCode)> {
        self.task.next_fire_time.map(|next| (next, self.task.code.clone()))
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
    /// Counts the changes of each code that was ever used: who reads a task in the store finds out whether what was read
    /// is old by now.
    changes: BTreeMap<TaskCode, u64>,
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

    /// A task that has taken its code since stays.
    pub(crate) fn deleted(&self, task: &Task) {
        let mut book = self.write();
        if book.by_code.get(&task.code).is_some_and(|known| known.task.id == task.id) {
            book.remove(&task.code);
        }
    }

    /// The scheduler has moved the fire time from `from`, in the version that it saw. The end of the job that it fired
    /// may have moved it further meanwhile.
    pub(crate) fn fired(
        &self,
        (code, version): (&TaskCode, i64),
        from: Option<Timestamp>,
        next: Option<Timestamp>,
        last: Option<Timestamp>,
    ) {
        let mut book = self.write();
        let as_seen = |known: &&Planned| known.task.version == version && known.task.next_fire_time == from;
        let Some(known) = book.by_code.get(code).filter(as_seen) else { return };
        let prev_fire_time = last.max(known.task.prev_fire_time);
        let moved = Task { next_fire_time: next, prev_fire_time, ..Task::clone(&known.task) };
        let moved = Planned { task: Arc::new(moved), schedule: known.schedule.clone() };
        book.keep(moved);
    }

    /// Tasks whose fire time has come, the longest due first.
    pub(crate) fn due(&self, now: Timestamp, max: usize) -> Vec<Planned> {
        let book = self.read();
        let due = book.next.iter().take_while(|(next, _)| *next <= now).take(max);
        due.filter_map(|(_, code)| book.by_code.get(code).cloned()).collect()
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

    pub(crate) fn remove_calendar(&self, name: &CalendarName) {
        self.write().calendars.remove(name);
    }

    pub(crate) fn users_of(&self, name: &CalendarName) -> Vec<TaskCode> {
        self.read().users_of(name)
    }

    pub(crate) fn filter(&self, filter: &TaskFilter) -> Vec<Task> {
        let wanted = filter.text.as_deref().map(str::to_lowercase);
        let fits = |task: &Task| {
            filter.kind.is_none_or(|kind| task.definition.kind == kind)
                && filter.pool.as_ref().is_none_or(|pool| task.definition.pool == *pool)
                && filter.tag.as_ref().is_none_or(|tag| task.definition.tags.contains(tag))
                && wanted.as_deref().is_none_or(|text| mentions(task, text))
        };
        let book = self.read();
        book.by_code.values().filter(|planned| fits(&planned.task)).map(|planned| Task::clone(&planned.task)).collect()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Book> {
        self.0.read().expect("no panic while tasks are held")
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Book> {
        self.0.write().expect("no panic while tasks are held")
    }
}

impl Book {
    fn put(&mut self, task: Task) -> Arc<Task> {
        let task = Arc::new(task);
        let is_newer = |known: &Planned| (known.task.id, known.task.version) > (task.id, task.version);
        if !self.by_code.get(&task.code).is_some_and(is_newer) {
            let schedule = self.schedule_of(&task);
            self.keep(Planned { task: task.clone(), schedule });
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
        *self.changes.entry(code.clone()).or_default() += 1;
        if let Some(key) = self.by_code.remove(code).and_then(|known| known.key()) {
            self.next.remove(&key);
        }
    }

    fn schedule_of(&self, task: &Task) -> Option<Arc<Schedule>> {
        let calendar = task.definition.calendar.as_ref().and_then(|name| self.calendars.get(name)).cloned();
        match Schedule::of(&task.definition, calendar) {
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
        let planned = Planned { schedule: self.schedule_of(&task), task };
        self.keep(planned.clone());
        Some(planned)
    }
}

/// Every word of the text occurs in the code, the name, the owner or a tag, as a whole or with gaps between its letters:
/// `rpdl` finds `report.daily`.
fn mentions(task: &Task, text: &str) -> bool {
    let definition = &task.definition;
    let places = [task.code.as_str(), &definition.name, definition.owner.as_deref().unwrap_or("")];
    let places: Vec<String> =
        places.into_iter().chain(definition.tags.iter().map(String::as_str)).map(str::to_lowercase).collect();
    text.split_whitespace().all(|word| places.iter().any(|place| occurs(word, place)))
}

fn occurs(word: &str, place: &str) -> bool {
    if place.contains(word) {
        return true;
    }
    // Two letters with gaps occur everywhere.
    let mut letters = place.chars();
    word.chars().count() >= GAPPED_CHARS_MIN && word.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

const GAPPED_CHARS_MIN: usize = 3;

#[cfg(test)]
mod tests {
    use super::occurs;

    #[test]
    fn words_are_found_with_gaps() {
        let check = |word, place, expect| assert_eq!(occurs(word, place), expect, "{word} in {place}");
        check("daily", "report.daily", true);
        check("rpdl", "report.daily", true);
        check("dlrp", "report.daily", false);
        check("rd", "report.daily", false);
        check("日报", "销售日报", true);
    }
}
