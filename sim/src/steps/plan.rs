//! The fire times that are due, as the manual says what becomes of them: the plan of the product against the oracle's.

use mainspring_model::job::{Fires, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Misfire, Overlap, TaskDefinition};
use mainspring_model::{Timestamp, Trigger, limits};
use mainspring_store::Fire;

use crate::crons::is_delay;
use crate::oracle::Oracle;

#[derive(Debug, PartialEq)]
struct Entry {
    fires: Fires,
    trigger: Trigger,
    skip: Option<SkipReason>,
    serial: bool,
}

/// What is wrong with the plan, and the invariant that it breaks.
pub(super) fn judge(
    definition: &TaskDefinition,
    oracle: &Oracle,
    fire: &Fire,
    now: Timestamp,
) -> Option<(&'static str, String)> {
    let (expected, next) = expected(definition, oracle, fire.due, now);
    let planned = fire.entries.iter().map(|entry| Entry {
        fires: entry.job.fires.unwrap_or(Fires { count: 0, ..Fires::one(now) }),
        trigger: entry.job.trigger,
        skip: entry.skip,
        serial: entry.job.serial,
    });
    let planned: Vec<Entry> = planned.collect();
    let covers = |entries: &[Entry]| {
        let count: u32 = entries.iter().map(|entry| entry.fires.count).sum();
        let first = entries.iter().map(|entry| entry.fires.first).min();
        (count, first, entries.iter().map(|entry| entry.fires.last).max())
    };
    if covers(&planned) != covers(&expected) {
        return Some(("INV-14", format!("planned are {planned:?}, due are {expected:?}")));
    }
    if planned != expected {
        return Some(("POLICY", format!("planned are {planned:?}, it must be {expected:?}")));
    }
    if fire.next != next {
        return Some(("INV-15", format!("after {} comes {next:?}, not {:?}", fire.due, fire.next)));
    }
    None
}

fn expected(definition: &TaskDefinition, oracle: &Oracle, due: Timestamp, now: Timestamp) -> (Vec<Entry>, NextFire) {
    let is_missed = now.ms_since(due) > i64::from(definition.misfire_grace_seconds) * 1_000;
    let of = |next: Option<Timestamp>| next.map_or(NextFire::Never, NextFire::At);
    let on_time = |fires| Entry { fires, trigger: Trigger::Cron, skip: None, serial: false };
    let misfire = |fires| Entry { fires, trigger: Trigger::Misfire, skip: None, serial: false };
    let skipped = |fires| Entry { fires, trigger: Trigger::Misfire, skip: Some(SkipReason::Misfire), serial: false };
    if is_delay(definition) {
        let one = Fires::one(due);
        return match (is_missed, definition.misfire) {
            (false, _) => (vec![on_time(one)], NextFire::AfterEnd),
            (true, Misfire::Skip) => (vec![skipped(one)], of(oracle.next(now))),
            (true, Misfire::FireOnce | Misfire::FireAll) => (vec![misfire(one)], NextFire::AfterEnd),
        };
    }
    let mut times = oracle.between(due, now);
    // It was planned before its calendar changed: due all the same.
    if times.first() != Some(&due) {
        times.insert(0, due);
    }
    if !is_missed {
        times.truncate(if definition.overlap == Overlap::Replace { 1 } else { limits::FIRES_AT_ONCE_MAX });
        let last = times.last().copied().unwrap_or(due);
        return (times.into_iter().map(|time| on_time(Fires::one(time))).collect(), of(oracle.next(last)));
    }
    let all = |times: &[Timestamp]| {
        let (first, last) = (*times.first()?, *times.last()?);
        Some(Fires { first, last, count: u32::try_from(times.len()).unwrap_or(u32::MAX) })
    };
    let run = times.len().saturating_sub(definition.max_catchup as usize);
    let entries = match definition.misfire {
        Misfire::Skip => all(&times).map(skipped).into_iter().collect(),
        Misfire::FireOnce => all(&times).map(misfire).into_iter().collect(),
        Misfire::FireAll => {
            let each = times[run..].iter().map(|time| Entry { serial: true, ..misfire(Fires::one(*time)) });
            all(&times[..run]).map(skipped).into_iter().chain(each).collect()
        }
    };
    (entries, of(oracle.next(now)))
}
