//! Who of a lane may be claimed now: limits on what is held, and rates over what has started.
//!
//! A rate is kept as a ring of its last `count` starts. The slot that the next start overwrites holds the start that
//! was made `count` starts ago, so a start that is a period later than it can never be one too many in any period.

use std::sync::Arc;

use mainspring_model::job::{Lane, OnLive};
use mainspring_model::task::TaskDefinition;
use mainspring_model::{Job, PoolName, RateLimit, TaskCode, Timestamp, limits};

use crate::{ClaimRequest, NewJob};

/// Rings that one claim looks at, and rounds in which it chooses anew after jobs were set aside.
pub(crate) const RINGS_OPENED_MAX: usize = 100;
pub(crate) const CLAIM_ROUNDS_MAX: u32 = 10;

/// The lane of a live job. A job of a task that is gone waits for nobody.
pub(crate) fn lane_of(definition: Option<&TaskDefinition>, place: Place, key: Option<&str>) -> Option<Lane> {
    let is_in_lane = match place {
        Place::Outside => false,
        Place::Serial => true,
        Place::Common => definition.is_some_and(TaskDefinition::is_guarded),
    };
    is_in_lane.then(|| lane(place, key))
}

/// An empty key is none: both are the same lane.
pub(crate) fn lane(place: Place, key: Option<&str>) -> Lane {
    Lane { key: key.filter(|key| !key.is_empty()).map(Arc::from), serial: place == Place::Serial }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// As the limits of the task allow.
    Common,
    /// Besides, one after another.
    Serial,
    /// A part of a broadcast: its parent stands in the lane for all of them.
    Outside,
}

impl Place {
    pub(crate) const fn of(serial: bool) -> Place {
        if serial { Place::Serial } else { Place::Common }
    }

    pub(crate) const fn of_new(job: &NewJob) -> Place {
        if job.shard.is_some() { Place::Outside } else { Place::of(job.serial) }
    }

    /// Of a job that is taken up again, or whose task was edited. That it was one of those that run one after another is
    /// not in its record.
    pub(crate) const fn of_known(job: &Job, serial: bool) -> Place {
        if job.shard.is_some() { Place::Outside } else { Place::of(serial) }
    }
}

/// What is held of one lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeldOfLane {
    pub(crate) jobs: u32,
    /// Of these, those that run one after another.
    pub(crate) serial: u32,
}

pub(crate) fn is_full(lane: &Lane, running_max: Option<u32>, held: HeldOfLane) -> bool {
    running_max.is_some_and(|max| held.jobs >= max) || (lane.serial && held.serial > 0)
}

/// May a new job be claimed by its own insert? Without a lane it waits for nobody; in a lane it must be alone, and a
/// rate is counted where jobs are claimed.
pub(crate) fn claims_at_insert(lane: Option<&Lane>, rate: Option<RateLimit>, live_of_task: u32) -> bool {
    lane.is_none() || (live_of_task == 0 && rate.is_none())
}

/// What a new job does when `live` jobs of its task are live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    Join,
    KeepAway,
    Replace,
}

pub(crate) fn meet(on_live: OnLive, live: u32) -> Meeting {
    match on_live {
        OnLive::JoinBelow(jobs) if live >= jobs => Meeting::KeepAway,
        OnLive::Replace if live > 0 => Meeting::Replace,
        OnLive::Join | OnLive::JoinBelow(_) | OnLive::Replace => Meeting::Join,
    }
}

pub(crate) fn task_scope(code: &TaskCode) -> String {
    format!("task:{code}")
}

pub(crate) fn pool_scope(name: &PoolName) -> String {
    format!("pool:{name}")
}

/// The window of starts that one claim hands out: jobs are claimed a little ahead and begin on their instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) now: Timestamp,
    pub(crate) until: Timestamp,
}

impl Window {
    pub(crate) fn of(request: &ClaimRequest) -> Window {
        Window { now: request.now, until: request.due_until.max(request.now) }
    }

    /// When a job that is due then can start under a rate that `opens` then. `None`: not in this window.
    pub(crate) fn start(self, due: Timestamp, opens: Option<Timestamp>) -> Option<Timestamp> {
        let start = due.max(self.now).max(opens.unwrap_or_default());
        (start <= self.until.max(due)).then_some(start)
    }

    /// What a claim says of its due time: a rate can make a job later, being late does not.
    pub(crate) fn shown_due(self, due: Timestamp, start: Timestamp) -> Timestamp {
        if start > due.max(self.now) { start } else { due }
    }
}

/// The limit may have been another one when the ring was written.
pub(crate) fn slot(next: u32, limit: RateLimit) -> u32 {
    next % limit.count.max(1)
}

pub(crate) fn slot_after(slot: u32, limit: RateLimit) -> u32 {
    (slot + 1) % limit.count.max(1)
}

/// When the ring admits a start: `oldest` is what its next slot holds. `None`: it has room. No claim hands out starts past
/// its window, `until`: one that lies far ahead of it is from before the clock went back, and is of no account, or the
/// ring would be closed until the clock has caught up.
pub(crate) fn opens_at(oldest: Option<Timestamp>, limit: RateLimit, until: Timestamp) -> Option<Timestamp> {
    let counts = |oldest: &Timestamp| *oldest <= until.plus_ms(limits::CLOCK_BACK_MS);
    oldest.filter(counts).map(|oldest| oldest.plus(limit.period.0))
}

/// How many jobs a ring lets go on up to some time, and when the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) jobs: u32,
    pub(crate) then: Timestamp,
}

/// `starts`: what the ring's `count` slots hold, from its next slot on.
pub(crate) fn opening(
    starts: impl IntoIterator<Item = Option<Timestamp>>,
    limit: RateLimit,
    until: Timestamp,
) -> Opening {
    let mut jobs = 0;
    for oldest in starts.into_iter().take(limit.count as usize) {
        match opens_at(oldest, limit, until) {
            Some(then) if then > until => return Opening { jobs, then },
            _ => jobs += 1,
        }
    }
    // All of its places are free: when they are taken, the first is free again after a period.
    Opening { jobs, then: until.plus(limit.period.0) }
}

/// How the queue says it: 0 is no lane.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn lane_code(lane: Option<&Lane>) -> i64 {
    lane.map_or(0, |lane| if lane.serial { 2 } else { 1 })
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn lane_from(code: i64, key: Option<&str>) -> Option<Lane> {
    (code > 0).then(|| lane(Place::of(code > 1), key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn a_ring_opens_as_its_oldest_starts_grow_old() {
        let limit: RateLimit = "3/1s".parse().expect("a rate");
        let check = |starts: [Option<i64>; 3], now, jobs, then| {
            let starts = starts.map(|start| start.map(ms));
            assert_eq!(opening(starts, limit, ms(now)), Opening { jobs, then: ms(then) }, "{starts:?} at {now}");
        };
        check([None, None, None], 500, 3, 1_500);
        check([Some(0), None, None], 500, 0, 1_000);
        check([Some(0), Some(10), Some(20)], 999, 0, 1_000);
        check([Some(0), Some(10), Some(20)], 1_000, 1, 1_010);
        check([Some(0), Some(10), Some(20)], 1_020, 3, 2_020);
        // Claimed ahead, and then one that was due before it.
        check([Some(0), Some(900), Some(20)], 1_500, 1, 1_900);
    }

    #[test]
    fn jobs_of_tasks_with_limits_are_in_lanes_and_parts_of_broadcasts_are_not() {
        let plain = TaskDefinition::new("x", mainspring_model::HandlerName::stored("x"));
        let guarded = TaskDefinition { max_running: Some(1), ..plain.clone() };
        let check = |definition: Option<&TaskDefinition>, place, expect: Option<bool>| {
            let lane = lane_of(definition, place, Some("k"));
            assert_eq!(lane.map(|lane| lane.serial), expect, "{place:?}");
        };
        check(Some(&plain), Place::Common, None);
        check(Some(&plain), Place::Serial, Some(true));
        check(Some(&plain), Place::Outside, None);
        check(Some(&guarded), Place::Common, Some(false));
        check(Some(&guarded), Place::Serial, Some(true));
        check(Some(&guarded), Place::Outside, None);
        check(None, Place::Common, None);
    }

    #[test]
    fn a_lane_is_full_by_its_limit_or_by_its_serial_job() {
        let check = |serial, max, jobs, held_serial, expect| {
            let held = HeldOfLane { jobs, serial: held_serial };
            assert_eq!(is_full(&lane(Place::of(serial), None), max, held), expect, "{serial} {max:?} {held:?}");
        };
        check(false, None, 9, 9, false);
        check(false, Some(2), 1, 1, false);
        check(false, Some(2), 2, 0, true);
        check(true, None, 9, 0, false);
        check(true, None, 1, 1, true);
        check(true, Some(2), 2, 0, true);
    }

    #[test]
    fn a_new_job_meets_the_live_ones_as_it_was_told() {
        let check = |on_live, live, expect| assert_eq!(meet(on_live, live), expect, "{on_live:?} {live}");
        check(OnLive::Join, 9, Meeting::Join);
        check(OnLive::JoinBelow(2), 1, Meeting::Join);
        check(OnLive::JoinBelow(2), 2, Meeting::KeepAway);
        check(OnLive::Replace, 0, Meeting::Join);
        check(OnLive::Replace, 1, Meeting::Replace);
    }
}
