//! Wrong schedulers: what goes wrong when a fire is not one guarded transaction, or policies are not kept.

use std::collections::BTreeSet;

use mainspring_model::job::OnLive;
use mainspring_model::schedule::NextFire;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{Incarnation, JobId, QueueState, Timestamp};
use mainspring_store::{
    Claim, ClaimRequest, Claimed, Fire, FireEnd, Fired, JobFilter, NewJob, Replan, Settlement, Store, Submitted,
};

use super::{Answer, Bug, Planted};
use crate::locked;
use crate::oracle::Oracle;
use crate::steps::at_once;

impl Planted {
    pub(crate) fn fire(
        &self,
        store: &dyn Store,
        owner: Incarnation,
        fires: &[Fire],
        now: Timestamp,
    ) -> Answer<Vec<Fired>> {
        let mut fires = fires.to_vec();
        for fire in &mut fires {
            self.distort_fire(store, fire, now)?;
        }
        let kept: Vec<Fire> = fires.iter().map(|fire| self.without_records(fire)).collect();
        let mut answers = at_once(store.fire(owner, kept, now))?;
        for (fire, fired) in fires.iter().zip(&mut answers) {
            self.retell_fire(store, owner, fire, fired)?;
        }
        Ok(answers)
    }

    fn distort_fire(&self, store: &dyn Store, fire: &mut Fire, now: Timestamp) -> Answer<()> {
        let Some(task) = at_once(store.task(&fire.task))? else { return Ok(()) };
        match self.bug {
            Some(Bug::NextFromNow) => {
                if let (NextFire::At(_), Some(oracle)) = (fire.next, Oracle::of(&task.definition, BTreeSet::new())) {
                    fire.next = oracle.next(now.plus_ms(1_000)).map_or(NextFire::Never, NextFire::At);
                }
            }
            Some(Bug::FireUnguarded) if task.switch == TaskSwitch::Enabled => {
                fire.version = task.version;
                fire.due = task.next_fire_time.unwrap_or(fire.due);
            }
            Some(Bug::WholeRowWritten) if task.switch == TaskSwitch::Disabled => {
                let (code, by) = (fire.task.clone(), "bug".to_owned());
                at_once(store.switch_task(code, TaskSwitch::Enabled, Some(fire.due), by, now))?;
            }
            Some(Bug::OverlapIgnored) => {
                fire.entries.iter_mut().for_each(|entry| entry.job.on_live = OnLive::Join);
            }
            Some(Bug::CatchUpAtOnce) => fire.entries.iter_mut().for_each(|entry| entry.job.serial = false),
            _ => {}
        }
        Ok(())
    }

    /// What of a fire is told to the store.
    fn without_records(&self, fire: &Fire) -> Fire {
        let mut kept = fire.clone();
        match self.bug {
            Some(Bug::FireInMemoryOnly) if fire.next != NextFire::AfterEnd => kept.entries.clear(),
            Some(Bug::MisfireUnrecorded) => kept.entries.retain(|entry| entry.skip.is_none()),
            _ => {}
        }
        kept
    }

    /// What its planner hears.
    fn retell_fire(&self, store: &dyn Store, owner: Incarnation, fire: &Fire, fired: &mut Fired) -> Answer<()> {
        let Fired::Done(ends) = fired else { return Ok(()) };
        if self.is(Bug::FireInMemoryOnly) || self.is(Bug::MisfireUnrecorded) {
            let mut told = std::mem::take(ends).into_iter();
            let stored = || FireEnd::Stored { claimed: false, replaced: Vec::new() };
            *ends = fire
                .entries
                .iter()
                .map(|entry| match entry.skip {
                    Some(reason) => FireEnd::Skipped(reason),
                    None => told.next().unwrap_or_else(stored),
                })
                .collect();
        }
        for (entry, end) in fire.entries.iter().zip(ends.iter_mut()) {
            match (self.bug, &mut *end) {
                (Some(Bug::FireKeyForgotten), FireEnd::Duplicate) if entry.skip.is_none() => {
                    let again = NewJob { biz_id: None, on_live: OnLive::Join, ..entry.job.clone() };
                    if let Some(Submitted::Stored { claimed, .. }) = at_once(store.submit(owner, vec![again]))?.pop() {
                        *end = FireEnd::Stored { claimed, replaced: Vec::new() };
                    }
                }
                (Some(Bug::ReplaceKeepsFence), FireEnd::Stored { replaced, .. }) => {
                    replaced.iter_mut().for_each(|job| job.fence.0 -= 1);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn replan(&self, store: &dyn Store, replans: &[Replan], now: Timestamp) -> Answer<Vec<bool>> {
        if self.is(Bug::ReplanNever) {
            return Ok(vec![true; replans.len()]);
        }
        at_once(store.replan(replans.to_vec(), now))
    }

    /// As if the next fire of a fixed delay followed from the beginning of its job.
    pub(super) fn distort_end(&self, settlement: &mut Settlement) {
        if self.is(Bug::DelayFromStart) {
            settlement.finish_time = settlement.start_time;
        }
    }

    /// Rates that count anew in every period of the clock: two bursts meet where one ends.
    pub(super) fn tumbling(&self, request: &mut ClaimRequest) {
        if self.is(Bug::RateTumbles) {
            let end_ms = (request.now.as_ms() / TUMBLES_MS + 1) * TUMBLES_MS;
            request.now = Timestamp::from_ms(end_ms);
        }
    }

    /// A claim that counts only what has started: it brings a job of a lane that is full of claimed ones.
    pub(super) fn overclaim(&self, store: &dyn Store, claimed: &mut Claimed) -> Answer<()> {
        if !self.is(Bug::ClaimedNotCounted) {
            return Ok(());
        }
        let of_lane = claimed.jobs.iter().find(|claim| claim.lane.is_some()).cloned();
        let Some(first) = of_lane else { return Ok(()) };
        let filter = JobFilter { task: Some(first.task.clone()), ..JobFilter::default() };
        let page = at_once(store.jobs(filter, 50, None))?;
        let limited = page.items.into_iter().find(|job| {
            let is_limited = job.queue.is_some_and(|entry| entry.state == QueueState::Limited);
            let key = first.lane.as_ref().and_then(|lane| lane.key.as_deref());
            is_limited && job.concurrency_key.as_deref() == key
        });
        if let Some(job) = limited {
            let due = job.queue.map_or(first.due, |entry| entry.due);
            claimed.jobs.push(Claim { id: job.id, fence: job.fence.next(), due, ..first });
        }
        Ok(())
    }

    /// A job of the lane went back without a body, or was cancelled: its lane never goes on.
    pub(super) fn lane_sticks(&self, store: &dyn Store, id: JobId) {
        if self.is(Bug::LaneStuck)
            && let Ok(Some(job)) = at_once(store.job(id))
        {
            locked(&self.memory).stuck.insert((job.task, job.concurrency_key));
        }
    }

    pub(super) fn forget_stuck(&self, claimed: &mut Claimed) {
        if self.is(Bug::LaneStuck) {
            let stuck = &locked(&self.memory).stuck;
            claimed.jobs.retain(|claim| {
                let key = |lane: &mainspring_model::job::Lane| lane.key.as_deref().map(str::to_owned);
                claim.lane.as_ref().is_none_or(|lane| !stuck.contains(&(claim.task.clone(), key(lane))))
            });
        }
    }
}

const TUMBLES_MS: i64 = 4_000;
