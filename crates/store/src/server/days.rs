//! The days of UTC by which records and attempts are partitioned on PostgreSQL, and which of them a node knows to be there.
//!
//! **Invariant:** a statement that names the partition of a day does what it does by the whole table, for jobs of that day.
//! It is for batches that come often: PostgreSQL locks and prepares every partition of a table with each statement that finds
//! its rows by a join, so the whole table costs more with each day that is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mainspring_model::{JobId, Timestamp};

const DAY_MS: i64 = 86_400_000;

/// Days since 1970-01-01, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(i64);

/// A part of the two tables that has a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Day(Day),
    /// Taken out of the tables, and soon removed.
    Dropped(Day),
}

impl Day {
    pub(crate) fn at(time: Timestamp) -> Day {
        Day(time.as_ms().div_euclid(DAY_MS))
    }

    pub(crate) fn of(id: JobId) -> Day {
        Day::at(id.made_at())
    }

    pub(crate) fn start(self) -> Timestamp {
        Timestamp::from_ms(self.0 * DAY_MS)
    }

    /// Its jobs have ids from this one to before the first one of the next day.
    pub(crate) fn first_id(self) -> JobId {
        JobId::first_at(self.start())
    }

    pub(crate) fn plus(self, days: i64) -> Day {
        Day(self.0 + days)
    }

    pub(crate) fn has(self, id: JobId) -> bool {
        (self.first_id()..self.plus(1).first_id()).contains(&id)
    }

    /// As the names of its tables end: `20261201`.
    pub(crate) fn word(self) -> String {
        self.to_string().replace('-', "")
    }

    /// From the end of a name.
    pub(crate) fn from_word(word: &str) -> Option<Day> {
        let (year, rest) = word.split_at_checked(4)?;
        let (month, day) = rest.split_at_checked(2)?;
        format!("{year}-{month}-{day}T00:00:00Z").parse().ok().map(Day::at)
    }
}

/// `2026-12-01`
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.start().to_string().split('T').next().unwrap_or_default())
    }
}

impl Part {
    /// The text for this part of the tables, and not for all of them.
    pub(crate) fn in_text(self, text: &str) -> String {
        let end = match self {
            Part::Day(day) => format!("_{}", day.word()),
            Part::Dropped(day) => format!("_dropped_{}", day.word()),
        };
        ["async_task", "task_execution_log"].iter().fold(text.to_owned(), |text, table| put_behind(&text, table, &end))
    }
}

/// Behind the name of the table, not within the names of its indexes.
fn put_behind(text: &str, table: &str, end: &str) -> String {
    let mut parts = text.split(table);
    let mut put = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        put.push_str(table);
        if !part.starts_with('_') {
            put.push_str(end);
        }
        put.push_str(part);
    }
    put
}

/// The days whose partitions a node has seen.
#[derive(Debug, Default)]
pub(crate) struct Days {
    known: Mutex<BTreeSet<Day>>,
    /// When to look whether more of them are needed, by the database's clock; 0: at once.
    next_look_ms: AtomicI64,
}

impl Days {
    /// The one day of all these jobs, when it has a partition.
    pub(crate) fn day_of(&self, ids: impl IntoIterator<Item = JobId>) -> Option<Day> {
        let mut ids = ids.into_iter();
        let day = Day::of(ids.next()?);
        if !self.known().contains(&day) {
            return None;
        }
        ids.all(|id| day.has(id)).then_some(day)
    }

    /// By day, from the oldest on; first those whose day has no partition.
    pub(crate) fn split<T>(&self, items: Vec<T>, id_of: impl Fn(&T) -> JobId) -> BTreeMap<Option<Day>, Vec<T>> {
        let known = self.known();
        let mut by_day = BTreeMap::<_, Vec<T>>::new();
        for item in items {
            let day = Some(Day::of(id_of(&item))).filter(|day| known.contains(day));
            by_day.entry(day).or_default().push(item);
        }
        by_day
    }

    /// Where a look back over so many days begins, from before this id or from the newest day. `None`: there is nothing older.
    pub(crate) fn back_from(&self, before: JobId, days: i64) -> Option<JobId> {
        let known = self.known();
        let (oldest, newest) = (known.first()?, known.last()?);
        let from = Day::of(before).min(*newest).plus(-days);
        (from > *oldest).then(|| from.first_id())
    }

    pub(crate) fn learn(&self, days: BTreeSet<Day>) {
        *self.known() = days;
    }

    pub(crate) fn forget(&self, day: Day) {
        self.known().remove(&day);
    }

    /// Is it time to look? Then the next look is so much later.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_to_look(&self, now: Timestamp, every_ms: i64) -> bool {
        let (now_ms, next_ms) = (now.as_ms(), self.next_look_ms.load(Ordering::Relaxed));
        let went_back = now_ms < next_ms - every_ms;
        let is_time = now_ms >= next_ms || went_back;
        if is_time {
            self.look_at(now_ms + every_ms);
        }
        is_time
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn look_at(&self, next_ms: i64) {
        self.next_look_ms.store(next_ms, Ordering::Relaxed);
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<Day>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::from_word(text).expect(text)
    }

    #[test]
    fn a_day_has_a_word_a_text_and_its_ids() {
        let day = day("20261201");
        assert_eq!((day.word().as_str(), day.to_string().as_str()), ("20261201", "2026-12-01"));
        let at = |text: &str| JobId::first_at(text.parse().expect(text));
        assert!(day.has(at("2026-12-01T00:00:00Z")) && day.has(at("2026-12-01T23:59:59.999Z")));
        assert!(!day.has(at("2026-12-02T00:00:00Z")) && !day.has(JobId(at("2026-12-01T00:00:00Z").0 - 1)));
        for word in ["", "default", "20261301", "2026120", "2026é201"] {
            assert_eq!(Day::from_word(word), None, "{word}");
        }
    }

    #[test]
    fn a_text_for_a_part_names_it_and_leaves_indexes_alone() {
        let text = "-- async_task_by_task\nFROM async_task t, task_execution_log";
        let expect = "-- async_task_by_task\nFROM async_task_20261201 t, task_execution_log_20261201";
        assert_eq!(Part::Day(day("20261201")).in_text(text), expect);
        let dropped = Part::Dropped(day("20261201"));
        assert_eq!(dropped.in_text("FROM async_task"), "FROM async_task_dropped_20261201");
    }

    #[test]
    fn jobs_of_several_days_or_of_one_without_a_partition_have_no_day() {
        let days = Days::default();
        let (one, two) = (day("20261201"), day("20261202"));
        days.learn([one].into());
        let check =
            |ids: &[JobId], expect: Option<Day>| assert_eq!(days.day_of(ids.iter().copied()), expect, "{ids:?}");
        check(&[], None);
        check(&[one.first_id(), JobId(one.first_id().0 + 1)], Some(one));
        check(&[one.first_id(), two.first_id()], None);
        check(&[two.first_id()], None);
        let split = days.split(vec![two.first_id(), one.first_id(), JobId(7)], |id| *id);
        let expect = [(None, vec![two.first_id(), JobId(7)]), (Some(one), vec![one.first_id()])];
        assert_eq!(split, expect.into());
        assert_eq!(days.back_from(JobId(i64::MAX), 1), None);
        days.learn([one, two, one.plus(9)].into());
        assert_eq!(days.back_from(JobId(i64::MAX), 3), Some(one.plus(6).first_id()));
        assert_eq!(days.back_from(one.plus(6).first_id(), 3), Some(one.plus(3).first_id()));
        assert_eq!(days.back_from(one.plus(3).first_id(), 3), None);
        days.forget(one);
        check(&[one.first_id()], None);
    }
}
