//! When a task fires, and what becomes of the fire times that are due.
//!
//! **Invariant:** `next` is strictly later than what it is given, and is computed from the last fire time, so no fire
//! time between two of them is passed over.

use std::sync::Arc;

use jiff::civil::Weekday;
use serde::{Deserialize, Serialize};

use crate::calendar::Calendar;
use crate::cron::{Cron, Zone};
use crate::job::Fires;
use crate::limits;
use crate::names::words;
use crate::refused::Refused;
use crate::task::{Misfire, Overlap, Task, TaskDefinition, TaskKind, TaskSwitch};
use crate::time::{Span, Timestamp};

words! {
    /// From where an interval counts.
    Rhythm {
        /// From fire to fire, on multiples of the interval since 1970, or since `startAt`.
        FixedRate = 0 "FIXED_RATE",
        /// From the end of one job to the next fire.
        FixedDelay = 1 "FIXED_DELAY",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    pub span: Span,
    pub rhythm: Rhythm,
}

/// A task's fire times, ready to be asked for.
#[derive(Debug, Clone)]
pub struct Schedule {
    when: When,
    zone: Zone,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    calendar: Option<Arc<Calendar>>,
}

#[derive(Debug, Clone)]
enum When {
    Cron(Box<Cron>),
    Every(Every),
}

impl Schedule {
    /// `None` for a task of another kind. `calendar` is the one that the definition names.
    pub fn of(definition: &TaskDefinition, calendar: Option<Arc<Calendar>>) -> Result<Option<Schedule>, Refused> {
        if definition.kind != TaskKind::Cron {
            return Ok(None);
        }
        let when = match (&definition.cron_expression, definition.every) {
            (Some(expression), _) => When::Cron(Box::new(Cron::parse(expression)?)),
            (None, Some(every)) => When::Every(every),
            (None, None) => return Ok(None),
        };
        let zone = definition.time_zone.as_deref().map_or_else(|| Ok(Zone::utc()), Zone::parse)?;
        let (start_at, end_at) = (definition.start_at, definition.end_at);
        Ok(Some(Schedule { when, zone, start_at, end_at, calendar }))
    }

    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The first fire time after `after`. For a fixed delay: if a job ended then.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let earliest = self.start_at.unwrap_or_default();
        let next = match &self.calendar {
            None => self.next_of_any_day(after, earliest),
            Some(calendar) => self.next_by(calendar, after, earliest),
        };
        next.filter(|next| self.end_at.is_none_or(|end| *next <= end))
    }

    pub fn fires(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::successors(self.next(after), |last| self.next(*last))
    }

    fn next_of_any_day(&self, after: Timestamp, earliest: Timestamp) -> Option<Timestamp> {
        let behind = after.max(earliest.plus_ms(-1));
        match &self.when {
            When::Cron(cron) => cron.next(&self.zone, behind),
            When::Every(Every { span, rhythm: Rhythm::FixedDelay }) => Some(after.plus(span.0).max(earliest)),
            When::Every(Every { span, rhythm: Rhythm::FixedRate }) => {
                let (anchor, step) = (self.start_at.unwrap_or_default(), span.as_ms().max(1));
                let steps = behind.ms_since(anchor).div_euclid(step) + 1;
                Some(anchor.plus_ms(steps.max(0).saturating_mul(step)))
            }
        }
        // A time that is kept at the end of the calendar would be the same for ever.
        .filter(|next| *next > after && *next < Timestamp::MAX)
    }

    fn next_by(&self, calendar: &Calendar, after: Timestamp, earliest: Timestamp) -> Option<Timestamp> {
        let mut regular = self.next_of_any_day(after, earliest);
        // Each turn leaves an excluded day behind, or a second of one that the clocks show again after its end.
        while let Some(next) = regular {
            let day = self.zone.civil_date(next);
            if !calendar.rests_on(day) {
                break;
            }
            let morrow = day.tomorrow().ok().map(|day| self.zone.start_of(day).max(next.plus_ms(1_000)));
            regular = morrow.and_then(|morrow| self.next_of_any_day(after, morrow));
        }
        let made_up = self.next_made_up(calendar, after.max(earliest.plus_ms(-1)), regular);
        [regular, made_up].into_iter().flatten().min()
    }

    /// The first fire of a make-up working day before `until`: a schedule that fires on every day from Monday to Friday
    /// fires on that day too.
    fn next_made_up(&self, calendar: &Calendar, after: Timestamp, until: Option<Timestamp>) -> Option<Timestamp> {
        let When::Cron(cron) = &self.when else { return None };
        for day in calendar.working.range(self.zone.civil_date(after)..) {
            let begin = self.zone.start_of(*day).plus_ms(-1);
            if until.is_some_and(|until| begin >= until) {
                return None;
            }
            let works = |weekday: &Weekday| cron.fires_on(*day, *weekday);
            if cron.fires_on(*day, day.weekday()) || !WEEKDAYS.iter().all(works) {
                continue;
            }
            let next = cron.next_on_any_day(&self.zone, after.max(begin));
            if next.is_some_and(|next| self.zone.civil_date(next) == *day) {
                return next;
            }
        }
        None
    }

    /// The last fire time in `(low, high]`.
    fn last(&self, mut low: Timestamp, high: Timestamp) -> Option<Timestamp> {
        let mut found = self.next(low).filter(|next| *next <= high)?;
        let mut end = high.as_ms();
        // A fire after `low` and none after `end`: halve what lies between.
        while low.as_ms() < end {
            let middle = Timestamp::from_ms(low.as_ms() + (end - low.as_ms()) / 2);
            match self.next(middle).filter(|next| *next <= high) {
                Some(next) => (low, found) = (next, next),
                None => end = middle.as_ms(),
            }
        }
        Some(found)
    }
}

const WEEKDAYS: [Weekday; 5] =
    [Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday];

/// What is to be done about a task whose fire time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they are to run.
    pub fires: Vec<PlannedFire>,
    pub next: NextFire,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFire {
    pub fires: Fires,
    pub how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    OnTime,
    /// One job for all that was missed.
    Misfire,
    /// One of those that were missed; they run one after another.
    CatchUp,
    /// Recorded, and not run.
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextFire {
    At(Timestamp),
    /// It follows from the end of the job that fires now.
    AfterEnd,
    /// The schedule has ended.
    Never,
}

impl NextFire {
    pub fn time(self) -> Option<Timestamp> {
        match self {
            NextFire::At(time) => Some(time),
            NextFire::AfterEnd | NextFire::Never => None,
        }
    }

    fn of(next: Option<Timestamp>) -> NextFire {
        next.map_or(NextFire::Never, NextFire::At)
    }
}

/// `due` is the fire time that has come: `due <= now`.
pub fn plan(schedule: &Schedule, definition: &TaskDefinition, due: Timestamp, now: Timestamp) -> Plan {
    let grace_ms = i64::from(definition.misfire_grace_seconds) * 1_000;
    let is_missed = now.ms_since(due) > grace_ms;
    if definition.rests_after_end() {
        return plan_after_end(schedule, definition.misfire, due, now, is_missed);
    }
    if !is_missed {
        return plan_on_time(schedule, definition.overlap, due, now);
    }
    let missed = missed(schedule, due, now);
    let fires = match definition.misfire {
        Misfire::Skip => vec![PlannedFire { fires: missed, how: How::Skip }],
        Misfire::FireOnce => vec![PlannedFire { fires: missed, how: How::Misfire }],
        Misfire::FireAll => catch_up(schedule, missed, definition.max_catchup),
    };
    Plan { fires, next: NextFire::of(schedule.next(now)) }
}

/// All that are due at once: what they mean to each other is decided in one transaction, and not by how quickly their
/// jobs end. Where each takes the place of the one before, they come one by one.
fn plan_on_time(schedule: &Schedule, overlap: Overlap, due: Timestamp, now: Timestamp) -> Plan {
    let max = if overlap == Overlap::Replace { 1 } else { limits::FIRES_AT_ONCE_MAX };
    let (mut fires, mut next) = (Vec::new(), Some(due));
    while let Some(time) = next.filter(|time| *time <= now && fires.len() < max) {
        fires.push(PlannedFire { fires: Fires::one(time), how: How::OnTime });
        next = schedule.next(time);
    }
    Plan { fires, next: NextFire::of(next) }
}

/// A fixed delay misses one fire time at most: the next one follows from a job that has not run.
fn plan_after_end(schedule: &Schedule, misfire: Misfire, due: Timestamp, now: Timestamp, is_missed: bool) -> Plan {
    let rests = schedule.calendar.as_ref().is_some_and(|calendar| calendar.rests_on(schedule.zone.civil_date(due)));
    let (how, next) = match (is_missed, misfire) {
        // The delay ended on a day on which the schedule rests: no fire time at all.
        _ if rests => return Plan { fires: Vec::new(), next: NextFire::of(schedule.next(due)) },
        (false, _) => (How::OnTime, NextFire::AfterEnd),
        (true, Misfire::Skip) => (How::Skip, NextFire::of(schedule.next(now))),
        (true, Misfire::FireOnce | Misfire::FireAll) => (How::Misfire, NextFire::AfterEnd),
    };
    Plan { fires: vec![PlannedFire { fires: Fires::one(due), how }], next }
}

/// All fire times from `due` to `now`.
fn missed(schedule: &Schedule, due: Timestamp, now: Timestamp) -> Fires {
    let (mut last, mut count) = (due, 1);
    while count < limits::MISSED_FIRES_COUNTED_MAX {
        match schedule.next(last).filter(|next| *next <= now) {
            Some(next) => (last, count) = (next, count + 1),
            None => return Fires { first: due, last, count },
        }
    }
    Fires { first: due, last: schedule.last(last, now).unwrap_or(last), count }
}

/// The latest of them each for itself, oldest first; the others as one that is skipped.
fn catch_up(schedule: &Schedule, missed: Fires, max: u32) -> Vec<PlannedFire> {
    let mut latest = vec![missed.last];
    let mut before = None;
    while let Some(earliest) = latest.last().copied() {
        let low = missed.first.plus_ms(-1);
        match schedule.last(low, earliest.plus_ms(-1)) {
            Some(time) if latest.len() < max as usize => latest.push(time),
            time => {
                before = time;
                break;
            }
        }
    }
    let run = u32::try_from(latest.len()).unwrap_or(u32::MAX);
    let skipped = before.map(|last| {
        let at_least = missed.count == limits::MISSED_FIRES_COUNTED_MAX;
        let count = if at_least { missed.count } else { missed.count - run };
        PlannedFire { fires: Fires { first: missed.first, last, count }, how: How::Skip }
    });
    let run = latest.into_iter().rev().map(|time| PlannedFire { fires: Fires::one(time), how: How::CatchUp });
    skipped.into_iter().chain(run).collect()
}

/// The next fires of a task; of a disabled one those that it would have if it were enabled now. Only the first of a fixed
/// delay is known.
pub fn fires_to_come(task: &Task, schedule: &Schedule, now: Timestamp, max: usize) -> Vec<Timestamp> {
    let first = match task.switch {
        TaskSwitch::Enabled => task.next_fire_time,
        TaskSwitch::Disabled => schedule.next(now),
    };
    let Some(first) = first else { return Vec::new() };
    let max = if task.definition.rests_after_end() { max.min(1) } else { max };
    std::iter::once(first).chain(schedule.fires(first)).take(max).collect()
}

/// What a stored fire time must be instead, when the world around it has changed: a clock that went back, new zone data,
/// another calendar. One that is due already is left to [`plan`]; nothing is caught up.
pub fn replan(schedule: &Schedule, stored: Option<Timestamp>, now: Timestamp) -> Option<NextFire> {
    let is_right = match (stored, &schedule.when) {
        (Some(stored), _) if stored <= now => true,
        // Waits for the end of a job, or for its delay to pass.
        (None, When::Every(Every { rhythm: Rhythm::FixedDelay, .. })) => true,
        (Some(stored), When::Every(Every { rhythm: Rhythm::FixedDelay, .. })) => {
            schedule.next(now).is_none_or(|next| stored <= next)
        }
        (stored, _) => stored == schedule.next(now),
    };
    if is_right { None } else { Some(NextFire::of(schedule.next(now))) }
}
