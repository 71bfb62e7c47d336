//! Cron tasks of a run, drawn from its seed: only schedules that the oracle can read.

use mainspring_model::schedule::{Every, Rhythm};
use mainspring_model::task::{FailStrategy, Misfire, Overlap};
use mainspring_model::{
    Calendar, CalendarName, HandlerName, PoolName, Priority, RetryRule, Span, TaskCode, TaskDefinition, Timestamp,
};

use crate::clock::WALL_AT_START;
use crate::workload::{Act, CRONS_FROM, HANDLER, draw_act, draw_limits, length, payload};

pub(crate) const CALENDAR: &str = "holidays";

#[derive(Debug)]
pub(crate) struct CronTask {
    pub(crate) task: (TaskCode, TaskDefinition),
    /// By every node at its start; otherwise a person makes it.
    pub(crate) declared: bool,
    /// A job takes one of them.
    pub(crate) acts: Vec<Act>,
}

pub(crate) fn draw(dice: &mut fastrand::Rng) -> Vec<CronTask> {
    let count = dice.u32(2..6);
    (0..count).map(|number| draw_one(dice, number)).collect()
}

fn draw_one(dice: &mut fastrand::Rng, number: u32) -> CronTask {
    let mut definition = TaskDefinition::cron(format!("cron {number}"), HandlerName::stored(HANDLER), "");
    definition.pool = PoolName::stored(if dice.u32(..4) == 0 { "tight" } else { "work" });
    definition.param = Some(payload(CRONS_FROM + number, 0).to_string());
    definition.timeout_seconds = dice.u32(1..5);
    let base_ms = dice.i64(100..1_000);
    definition.retry = RetryRule { count: dice.u32(0..3), base_ms, cap_ms: base_ms + dice.i64(0..2_000) };
    definition.fail_strategy = match dice.u32(..10) {
        0 => FailStrategy::Stop,
        1 => FailStrategy::Alert,
        _ => FailStrategy::Retry,
    };
    definition.priority = Priority::ALL[dice.usize(..Priority::ALL.len())];
    draw_schedule(dice, &mut definition);
    // There is none yet: people name it later.
    definition.calendar = None;
    draw_policies(dice, &mut definition);
    // Now and then one that is limited besides.
    if dice.u32(..4) == 0 {
        draw_limits(dice, &mut definition);
    }
    definition.start_deadline_seconds = (dice.u32(..4) == 0).then(|| dice.u32(1..6));
    let mut acts: Vec<Act> = (0..5).map(|_| Act::Done { ms: length(dice) }).collect();
    acts.extend((0..2).map(|_| match draw_act(dice) {
        // One that snoozes for ever never ends.
        Act::Snooze { ms, .. } => Act::Done { ms },
        act => act,
    }));
    CronTask { task: (TaskCode::stored(&format!("cron-{number}")), definition), declared: dice.u32(..4) > 0, acts }
}

pub(crate) fn draw_schedule(dice: &mut fastrand::Rng, definition: &mut TaskDefinition) {
    (definition.cron_expression, definition.every, definition.calendar) = (None, None, None);
    (definition.start_at, definition.end_at) = (None, None);
    let second = |dice: &mut fastrand::Rng| WALL_AT_START.plus_ms(dice.i64(0..80) * 1_000);
    match dice.u32(..10) {
        0..=3 => definition.cron_expression = Some(draw_expression(dice)),
        4..=7 => {
            let span = Span::from_ms(dice.u64(1..12) * 1_000);
            definition.every = Some(Every { span, rhythm: Rhythm::FixedRate });
            if dice.bool() {
                definition.start_at = Some(second(dice));
            }
        }
        _ => {
            let span = Span::from_ms(dice.u64(1..6) * 1_000);
            definition.every = Some(Every { span, rhythm: Rhythm::FixedDelay });
        }
    }
    if dice.u32(..5) == 0 {
        let start = definition.start_at.unwrap_or(WALL_AT_START);
        definition.end_at = Some(start.plus_ms(dice.i64(20_000..90_000)));
    }
    if !is_delay(definition) && dice.u32(..5) == 0 {
        definition.calendar = Some(CalendarName::stored(CALENDAR));
    }
}

fn draw_expression(dice: &mut fastrand::Rng) -> String {
    match dice.u32(..8) {
        0 => "* * * * * ?".to_owned(),
        1 => "* * * * *".to_owned(),
        2..=5 => format!("*/{} * * * * ?", dice.u32(2..16)),
        _ => {
            let seconds: Vec<String> = (0..3).map(|part| (part * 20 + dice.u32(..20)).to_string()).collect();
            format!("{} * * * * ?", seconds.join(","))
        }
    }
}

pub(crate) fn draw_policies(dice: &mut fastrand::Rng, definition: &mut TaskDefinition) {
    definition.overlap = Overlap::ALL[dice.usize(..Overlap::ALL.len())];
    definition.misfire = Misfire::ALL[dice.usize(..Misfire::ALL.len())];
    // Pauses and outages are longer than some of these.
    definition.misfire_grace_seconds = [1, 2, 5, 60][dice.usize(..4)];
    definition.max_catchup = dice.u32(1..6);
}

/// The run passes from one day to the next: it rests on one of them, or on none.
pub(crate) fn draw_calendar(dice: &mut fastrand::Rng) -> Calendar {
    let today = WALL_AT_START.as_ms().div_euclid(DAY_MS);
    let day = match dice.u32(..4) {
        0 => Some(today),
        1 => Some(today + 1),
        _ => None,
    };
    let date = |day: i64| Timestamp::from_ms(day * DAY_MS).to_string()[..10].to_owned();
    let excluded = day.map(|day| mainspring_model::calendar::day(&date(day)).expect("it is a day")).into_iter();
    Calendar {
        name: CalendarName::stored(CALENDAR),
        description: None,
        excluded: excluded.collect(),
        working: std::collections::BTreeSet::new(),
    }
}

const DAY_MS: i64 = 86_400_000;

/// Days since 1970 of a date that is written year, month, day.
pub(crate) fn day_number(date: &impl std::fmt::Display) -> i64 {
    let text = format!("{date}T00:00:00Z");
    text.parse::<Timestamp>().map_or(0, |begin| begin.as_ms().div_euclid(DAY_MS))
}

pub(crate) fn is_delay(definition: &TaskDefinition) -> bool {
    definition.every.is_some_and(|every| every.rhythm == Rhythm::FixedDelay)
}

/// Bodies of the task, or of one key of it, at one time: as the manual says it.
pub(crate) fn lane_limit(definition: &TaskDefinition) -> Option<u32> {
    if definition.overlap == Overlap::Allow { definition.max_running } else { Some(1) }
}

/// Its jobs may have to wait for others of it.
pub(crate) fn is_guarded(definition: &TaskDefinition) -> bool {
    let is_timed = is_delay(definition) || definition.start_deadline_seconds.is_some();
    lane_limit(definition).is_some() || definition.rate_limit.is_some() || is_timed
}
