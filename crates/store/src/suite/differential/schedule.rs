//! The verbs of schedules, lanes and rates.

use mainspring_model::job::{Fires, OnLive, SkipReason};
use mainspring_model::schedule::{Every, NextFire, Rhythm};
use mainspring_model::task::{Misfire, OnLost, Overlap, TaskKind, TaskSwitch};
use mainspring_model::{
    Calendar, CalendarName, JobId, PoolName, Priority, Span, Task, TaskCode, TaskDefinition, Timestamp, Trigger,
};

use super::super::scheduled::fired;
use super::super::world::{at, definition, task};
use super::{CODES, Pair, both};
use crate::{Fire, FireEntry, NewJob, NextFireChange, PoolSettings, Press, Replan, WhenFull};

/// The ids of fired jobs: a plain job never comes again as one of these.
pub(super) const FIRST_FIRED: i64 = 1_000_000;

impl Pair<'_> {
    pub(super) fn some_code(&mut self) -> TaskCode {
        task(CODES[self.dice.usize(0..CODES.len())])
    }

    async fn some_task(&mut self, context: &str) -> Option<Task> {
        let code = self.some_code();
        both!(self, context, |store| store.task(&code))
    }

    fn some_time(&mut self) -> Option<Timestamp> {
        let ms = self.dice.i64(-100..400);
        (self.dice.u32(0..5) > 0).then(|| self.now.plus_ms(ms))
    }

    pub(super) fn some_definition(&mut self) -> TaskDefinition {
        let dice = &mut self.dice;
        let every = Every { span: Span::from_ms(150), rhythm: Rhythm::FixedDelay };
        let is_every = dice.u32(0..4) == 0;
        let rates = ["1/200ms", "2/300ms", "5/400ms"];
        let rate = (dice.u32(0..3) == 0).then(|| rates[dice.usize(0..rates.len())]);
        TaskDefinition {
            kind: if is_every { TaskKind::Cron } else { TaskKind::Async },
            every: is_every.then_some(every),
            end_at: (dice.u32(0..6) == 0).then(|| at(dice.i64(0..6_000))),
            overlap: if dice.bool() { Overlap::Allow } else { Overlap::ALL[dice.usize(0..Overlap::ALL.len())] },
            max_running: (dice.u32(0..3) == 0).then(|| dice.u32(1..4)),
            rate_limit: rate.map(|rate| rate.parse().expect("a rate")),
            misfire: Misfire::ALL[dice.usize(0..Misfire::ALL.len())],
            on_lost: OnLost::ALL[dice.usize(0..OnLost::ALL.len())],
            ..definition()
        }
    }

    pub(super) fn some_on_live(dice: &mut fastrand::Rng) -> OnLive {
        match dice.u32(0..8) {
            0 => OnLive::Replace,
            1 | 2 => OnLive::JoinBelow(dice.u32(1..4)),
            _ => OnLive::Join,
        }
    }

    pub(super) async fn fire(&mut self, context: &str) {
        let mut fires = Vec::new();
        for _ in 0..self.dice.usize(1..4) {
            // Now and then an earlier one comes again, as after an unknown outcome.
            if self.dice.u32(0..6) == 0 && !self.fired.is_empty() {
                fires.push(self.fired[self.dice.usize(0..self.fired.len())].clone());
            } else if let Some(row) = self.some_task(context).await {
                let fire = self.some_fire(row);
                fires.push(fire);
            }
        }
        let (node, now) = (self.node, self.now);
        both!(self, context, |store| store.fire(node, fires.clone(), now));
        self.fired.extend(fires);
    }

    fn some_fire(&mut self, row: Task) -> Fire {
        let next = match self.dice.u32(0..8) {
            0 => NextFire::Never,
            1..4 => NextFire::AfterEnd,
            _ => NextFire::At(self.now.plus_ms(self.dice.i64(1..200))),
        };
        let entries = (0..self.dice.usize(0..4)).map(|_| self.some_entry(&row)).collect();
        let stale = self.dice.u32(0..10) == 0;
        Fire {
            version: row.version + i64::from(stale),
            due: row.next_fire_time.unwrap_or(self.now),
            next,
            entries,
            task: row.code,
        }
    }

    fn some_entry(&mut self, row: &Task) -> FireEntry {
        let id = self.next_fired;
        self.next_fired += 1;
        // Coarse, so that fire times meet.
        let last = at(self.now.ms_since(at(0)) / 50 * 50 - self.dice.i64(0..4) * 50);
        let fires = Fires { first: last.plus_ms(-9), last, count: self.dice.u32(1..4) };
        let skip = (self.dice.u32(0..6) == 0).then_some(SkipReason::Misfire);
        let job = NewJob {
            create_time: self.now,
            priority: Priority::ALL[self.dice.usize(0..Priority::ALL.len())],
            pool: PoolName::stored(if self.dice.bool() { "default" } else { "slow" }),
            trigger: if self.dice.bool() { Trigger::Cron } else { Trigger::Misfire },
            claim: self.dice.u32(0..3) == 0,
            on_live: Self::some_on_live(&mut self.dice),
            serial: row.definition.misfire == Misfire::FireAll && self.dice.bool(),
            concurrency_key: Self::some_key(&mut self.dice),
            ..fired(id, row.code.as_str(), fires)
        };
        FireEntry { job, skip }
    }

    pub(super) fn some_key(dice: &mut fastrand::Rng) -> Option<std::sync::Arc<str>> {
        [None, Some("a"), Some("b")][dice.usize(0..3)].map(std::sync::Arc::from)
    }

    pub(super) async fn replan(&mut self, context: &str) {
        let Some(row) = self.some_task(context).await else { return };
        let from = if self.dice.u32(0..5) == 0 { self.some_time() } else { row.next_fire_time };
        let replan = Replan { task: row.code, version: row.version, from, to: self.some_time() };
        let now = self.now;
        both!(self, context, |store| store.replan(vec![replan.clone(), replan.clone()], now));
    }

    pub(super) async fn edit(&mut self, context: &str) {
        let Some(row) = self.some_task(context).await else { return };
        let change = match self.dice.bool() {
            true => NextFireChange::Keep,
            false => NextFireChange::Set(self.some_time()),
        };
        let changed = self.some_definition();
        let version = row.version - i64::from(self.dice.u32(0..6) == 0);
        let (by, now) = ("ann".to_owned(), self.now);
        both!(self, context, |store| store.update_task(
            row.code.clone(),
            version,
            changed.clone(),
            change,
            by.clone(),
            now
        ));
    }

    pub(super) async fn switch(&mut self, context: &str) {
        let code = self.some_code();
        let to = if self.dice.u32(0..4) == 0 { TaskSwitch::Disabled } else { TaskSwitch::Enabled };
        let (next, by, now) = (self.some_time(), "ann".to_owned(), self.now);
        both!(self, context, |store| store.switch_task(code.clone(), to, next, by.clone(), now));
    }

    pub(super) async fn put_pool(&mut self, context: &str) {
        let rates = [None, Some("2/100ms"), Some("5/200ms"), Some("1/50ms")];
        let settings = PoolSettings {
            name: PoolName::stored("slow"),
            concurrency: 4,
            queue_capacity: 10,
            paused: false,
            when_full: WhenFull::Spill,
            rate_limit: rates[self.dice.usize(0..rates.len())].map(|rate| rate.parse().expect("a rate")),
            cluster_concurrency: None,
        };
        let (by, now) = ("ann".to_owned(), self.now);
        both!(self, context, |store| store.put_pool(settings.clone(), by.clone(), now));
    }

    pub(super) async fn keep_calendar(&mut self, context: &str) {
        let name = CalendarName::stored(["cn", "at"][self.dice.usize(0..2)]);
        let day = |dice: &mut fastrand::Rng| {
            let text = format!("2026-10-{:02}", dice.u32(1..30));
            mainspring_model::calendar::day(&text).expect("a day")
        };
        let calendar = Calendar {
            name: name.clone(),
            description: None,
            excluded: (0..3).map(|_| day(&mut self.dice)).collect(),
            working: (0..2).map(|_| day(&mut self.dice)).collect(),
        };
        let (by, now) = ("ann".to_owned(), self.now);
        match self.dice.bool() {
            true => both!(self, context, |store| store.put_calendar(calendar.clone(), by.clone(), now)),
            false => drop(both!(self, context, |store| store.delete_calendar(name.clone(), by.clone(), now))),
        }
        both!(self, context, |store| store.calendars());
    }

    pub(super) async fn press(&mut self, context: &str) {
        let request_id = format!("r{}", self.dice.u32(0..4));
        // Minutes pass, as far as requests are concerned.
        let now = self.now.plus_ms(self.now.ms_since(at(0)) * 200);
        let operation = format!("POST {}", self.dice.u32(0..2));
        let press = Press { request_id: request_id.clone(), operation, now };
        both!(self, context, |store| store.press(press.clone()));
        if self.dice.bool() {
            let answer = self.dice.bool().then(|| "{}".to_owned());
            both!(self, context, |store| store.answer_press(request_id.clone(), answer.clone()));
        }
    }

    pub(super) fn job_ids(&self) -> impl Iterator<Item = JobId> + use<> {
        (1..self.next_id).chain(FIRST_FIRED..self.next_fired).map(JobId)
    }

    /// Any job that there is, or none.
    pub(super) fn some_job(&mut self) -> JobId {
        let fired = self.next_fired - FIRST_FIRED;
        match self.dice.bool() && fired > 0 {
            true => JobId(FIRST_FIRED + self.dice.i64(0..fired)),
            false => JobId(self.dice.i64(1..self.next_id + 1)),
        }
    }
}
