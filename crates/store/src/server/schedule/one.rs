//! One task fired for itself, step by step.

use std::borrow::Cow;

use mainspring_model::job::{Fires, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::Task;
use mainspring_model::{Incarnation, Timestamp, Unique};

use super::many::write_times;
use super::{alert_completed, is_as_seen, previous};
use crate::rules::{AnyStored, next_of_fire, skip_text};
use crate::server::fault::Outcome;
use crate::server::lanes;
use crate::server::row::coded;
use crate::server::session::Session;
use crate::server::submit::{Joining, Made, One};
use crate::server::tasks::{Lock, task};
use crate::{Fire, FireEnd, FireEntry, Fired, NewJob};

#[derive(Debug)]
pub(super) struct Firing {
    one: One,
    now: Timestamp,
}

impl Firing {
    pub(super) fn new(owner: Incarnation, now: Timestamp) -> Firing {
        Firing { one: One::new(owner), now }
    }

    /// The caller holds the task. It is read again: an earlier one of this call may have moved it.
    pub(super) async fn fire(&mut self, session: &mut Session, fire: &Fire) -> Outcome<Fired> {
        let stored = task(session, &fire.task, Lock::None).await?;
        let Some(task) = stored.as_ref().filter(|task| is_as_seen(task, fire)) else {
            return repeated(session, &self.one, fire, stored.as_ref()).await;
        };
        let mut ends = Vec::with_capacity(fire.entries.len());
        for entry in &fire.entries {
            ends.push(self.enter(session, task, entry).await?);
        }
        let is_any_stored = ends.iter().any(|end| matches!(end, FireEnd::Stored { .. }));
        let is_any_stored = if is_any_stored { AnyStored::Yes } else { AnyStored::No };
        let next = next_of_fire(fire.next, is_any_stored, &task.definition, self.now);
        write_times(session, &[(&fire.task, next.time(), previous(task, fire))]).await?;
        if next == NextFire::Never {
            alert_completed(session, &fire.task, self.now).await?;
        }
        Ok(Fired::Done(ends))
    }

    async fn enter(&mut self, session: &mut Session, task: &Task, entry: &FireEntry) -> Outcome<FireEnd> {
        let fires = fires_of(entry);
        let job = with_key(entry);
        let job = job.as_ref();
        if !self.one.take_fire(session, job, &fires.key()).await? {
            return Ok(FireEnd::Duplicate);
        }
        if let Some(reason) = entry.skip {
            let words = skip_text(reason, &fires, &task.definition, None);
            self.one.skip(session, job, reason, words).await?;
            return Ok(FireEnd::Skipped(reason));
        }
        match self.one.join(session, task, job).await? {
            Joining::Stored { claimed, replaced } => Ok(FireEnd::Stored { claimed, replaced }),
            Joining::KeptAway => {
                let live = lanes::oldest_live(session, task).await?;
                let words = skip_text(SkipReason::Overlap, &fires, &task.definition, live);
                self.one.skip(session, job, SkipReason::Overlap, words).await?;
                Ok(FireEnd::Skipped(SkipReason::Overlap))
            }
        }
    }
}

pub(super) fn fires_of(entry: &FireEntry) -> Fires {
    entry.job.fires.unwrap_or(Fires::one(entry.job.execute_time))
}

/// The job with the key of its fire times.
pub(super) fn with_key(entry: &FireEntry) -> Cow<'_, NewJob> {
    let key = fires_of(entry).key();
    match entry.job.biz_id.as_ref() == Some(&key) && entry.job.unique == Unique::Always {
        true => Cow::Borrowed(&entry.job),
        false => Cow::Owned(NewJob { biz_id: Some(key), unique: Unique::Always, ..entry.job.clone() }),
    }
}

/// Not as the planner saw it: this call was done before, or somebody else was first.
async fn repeated(session: &mut Session, one: &One, fire: &Fire, stored: Option<&Task>) -> Outcome<Fired> {
    if fire.entries.is_empty() {
        return Ok(empty_again(fire, stored));
    }
    let mut made = Vec::with_capacity(fire.entries.len());
    for entry in &fire.entries {
        made.push(one.made(session, &entry.job).await?);
    }
    ends_again(made)
}

/// A fire without records is known by what it left as the next fire time.
pub(super) fn empty_again(fire: &Fire, stored: Option<&Task>) -> Fired {
    let done = stored.is_some_and(|task| task.next_fire_time == fire.next.time());
    if done { Fired::Done(Vec::new()) } else { Fired::Moved }
}

/// The answer of the first try, by what it made of each entry; without the names of those that were replaced.
pub(super) fn ends_again(made: Vec<Option<Made>>) -> Outcome<Fired> {
    if made.iter().all(Option::is_none) {
        return Ok(Fired::Moved);
    }
    let end = |made: Option<Made>| {
        Ok(match made {
            None => FireEnd::Duplicate,
            Some(Made { skip: Some(code), .. }) => FireEnd::Skipped(coded("skip reason", code, SkipReason::from_code)?),
            Some(made) => FireEnd::Stored { claimed: made.is_ours, replaced: Vec::new() },
        })
    };
    made.into_iter().map(end).collect::<Outcome<Vec<_>>>().map(Fired::Done)
}
