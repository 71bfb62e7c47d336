//! Tasks that are due at one instant, with one statement per table for all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring_model::job::{OnLive, SkipReason};
use mainspring_model::schedule::NextFire;
use mainspring_model::task::Task;
use mainspring_model::{Incarnation, JobId, PoolName, TaskCode, Timestamp};

use super::one::{empty_again, ends_again, fires_of, with_key};
use super::{alert_completed, is_as_seen, previous, unreadable};
use crate::rules::{AnyStored, Meeting, Place, claims_at_insert, lane_of, meet, next_of_fire, skip_text};
use crate::server::fault::{Fault, Outcome};
use crate::server::lanes::Tasks;
use crate::server::params::{Batch, Column, params};
use crate::server::rates::limited_pools;
use crate::server::row::Columns;
use crate::server::session::Session;
use crate::server::sql;
use crate::server::submit::{Beginning, Live, NewRow, Wanted, counts_live, insert, live_of_tasks, made_of, take_keys};
use crate::{Fire, FireEnd, FireEntry, Fired, NewJob};

/// A task that is fired now.
struct Due<'f> {
    at: usize,
    fire: &'f Fire,
    task: Arc<Task>,
    /// With the keys of their fires.
    jobs: Vec<Cow<'f, NewJob>>,
}

/// `None`: it must be done one by one.
pub(super) async fn fire(
    session: &mut Session,
    owner: Incarnation,
    tasks: &mut Tasks,
    fires: &[&Fire],
    now: Timestamp,
) -> Outcome<Option<Vec<Fired>>> {
    let mut answers: Vec<Option<Fired>> = vec![None; fires.len()];
    let mut due = Vec::with_capacity(fires.len());
    let mut moved = Vec::new();
    for (at, fire) in fires.iter().enumerate() {
        match tasks.get(session, &fire.task).await {
            Ok(Some(task)) if is_as_seen(&task, fire) => {
                // Whose limits are not those that its jobs were stored under, has jobs outside of lanes.
                if !task.definition.is_guarded() && fire.entries.iter().any(looks_around) {
                    return Ok(None);
                }
                due.push(Due { at, fire, task, jobs: fire.entries.iter().map(with_key).collect() });
            }
            Ok(_) if fire.entries.is_empty() => {
                let stored = tasks.get(session, &fire.task).await?;
                answers[at] = Some(empty_again(fire, stored.as_deref()));
            }
            Ok(_) => moved.push((at, *fire)),
            Err(Fault::Row(reason)) => answers[at] = Some(unreadable(fire, &reason)),
            Err(fault) => return Err(fault),
        }
    }
    answer_moved(session, owner, moved, &mut answers).await?;
    let Some(fired) = fire_due(session, owner, &due, now).await? else { return Ok(None) };
    due.iter().zip(fired).for_each(|(due, ends)| answers[due.at] = Some(Fired::Done(ends)));
    Ok(Some(answers.into_iter().flatten().collect()))
}

fn looks_around(entry: &FireEntry) -> bool {
    entry.skip.is_none() && counts_live(&entry.job)
}

/// Not as the planner saw them: this call was done before, or somebody else was first.
async fn answer_moved(
    session: &mut Session,
    owner: Incarnation,
    moved: Vec<(usize, &Fire)>,
    answers: &mut [Option<Fired>],
) -> Outcome<()> {
    let jobs: Vec<&NewJob> = moved.iter().flat_map(|(_, fire)| &fire.entries).map(|entry| &entry.job).collect();
    let mut made = made_of(session, owner, &jobs).await?;
    for (at, fire) in moved {
        let of_fire = fire.entries.iter().map(|entry| made.remove(&entry.job.id)).collect();
        answers[at] = Some(match ends_again(of_fire) {
            Err(Fault::Row(reason)) => unreadable(fire, &reason),
            decided => decided?,
        });
    }
    Ok(())
}

async fn fire_due(
    session: &mut Session,
    owner: Incarnation,
    due: &[Due<'_>],
    now: Timestamp,
) -> Outcome<Option<Vec<Vec<FireEnd>>>> {
    let wanted = due.iter().flat_map(|due| &due.jobs).filter_map(|job| Wanted::by(job)).collect();
    let Some(taken) = take_keys(session, wanted).await? else { return Ok(None) };
    let taken: BTreeSet<JobId> = taken.into_iter().map(|taken| taken.by).collect();
    let mut decided = decide(session, due, &taken).await?;
    if !insert(session, owner, &mut decided.rows).await? {
        return Ok(None);
    }
    let mut times = Vec::with_capacity(due.len());
    for (due, ends) in due.iter().zip(&decided.ends) {
        let is_any_stored = ends.iter().any(|end| matches!(end, FireEnd::Stored { .. }));
        let is_any_stored = if is_any_stored { AnyStored::Yes } else { AnyStored::No };
        let next = next_of_fire(due.fire.next, is_any_stored, &due.task.definition, now);
        times.push((&due.task.code, next.time(), previous(&due.task, due.fire)));
        if next == NextFire::Never {
            alert_completed(session, &due.task.code, now).await?;
        }
    }
    write_times(session, &times).await?;
    Ok(Some(decided.ends))
}

pub(super) async fn write_times(
    session: &mut Session,
    times: &[(&TaskCode, Option<Timestamp>, Option<Timestamp>)],
) -> Outcome<()> {
    if times.is_empty() {
        return Ok(());
    }
    let columns = vec![
        Column::Texts(times.iter().map(|(code, ..)| Some(code.as_str().into())).collect()),
        Column::Ints(times.iter().map(|(_, next, _)| next.map(Timestamp::as_ms)).collect()),
        Column::Ints(times.iter().map(|(.., previous)| previous.map(Timestamp::as_ms)).collect()),
    ];
    session.run(&sql::TASKS_FIRED, &params![Batch { columns }]).await.map(drop)
}

struct Decided<'d> {
    rows: Vec<NewRow<'d>>,
    ends: Vec<Vec<FireEnd>>,
}

/// What becomes of each entry: entries of one task see those before them.
async fn decide<'d>(session: &mut Session, due: &'d [Due<'_>], taken: &BTreeSet<JobId>) -> Outcome<Decided<'d>> {
    let mut lives = live_of_tasks(session, &counted(due)).await?;
    let limited = match due.iter().flat_map(|due| &due.jobs).any(|job| job.claim) {
        true => limited_pools(session).await?,
        false => BTreeSet::new(),
    };
    let kept_away = |due: &&Due<'_>| {
        let live = lives.get(&due.task.code).copied().unwrap_or_default();
        live.jobs > 0 && due.fire.entries.iter().any(looks_around)
    };
    let oldest = oldest_live(session, due.iter().filter(kept_away).map(|due| &due.task.code)).await?;
    let mut decided = Decided { rows: Vec::new(), ends: Vec::with_capacity(due.len()) };
    for due in due {
        let mut met = Met {
            task: &due.task,
            live: lives.remove(&due.task.code).unwrap_or_default(),
            oldest: oldest.get(&due.task.code).copied(),
            limited: &limited,
        };
        let mut ends = Vec::with_capacity(due.jobs.len());
        for (entry, job) in due.fire.entries.iter().zip(&due.jobs) {
            if taken.contains(&job.id) {
                ends.push(FireEnd::Duplicate);
                continue;
            }
            let (beginning, end) = met.enter(entry, job);
            decided.rows.push(NewRow::new(job, beginning));
            ends.push(end);
        }
        decided.ends.push(ends);
    }
    Ok(decided)
}

/// Which tasks must have their live jobs counted, and how far.
fn counted<'d>(due: &'d [Due<'_>]) -> BTreeMap<&'d TaskCode, u32> {
    let mut asked = BTreeMap::new();
    for due in due.iter().filter(|due| due.task.definition.is_guarded()) {
        let jobs = due.fire.entries.iter().filter(|entry| entry.skip.is_none()).map(|entry| match entry.job.on_live {
            OnLive::JoinBelow(jobs) => jobs.max(1),
            OnLive::Replace => 1,
            OnLive::Join => u32::from(entry.job.claim),
        });
        if let Some(jobs) = jobs.max().filter(|jobs| *jobs > 0) {
            asked.insert(&due.task.code, jobs);
        }
    }
    asked
}

/// The live jobs of one task that a new one of it meets.
struct Met<'d> {
    task: &'d Task,
    live: Live,
    oldest: Option<JobId>,
    limited: &'d BTreeSet<PoolName>,
}

impl Met<'_> {
    fn enter(&mut self, entry: &FireEntry, job: &NewJob) -> (Beginning, FireEnd) {
        let definition = &self.task.definition;
        let skipped = |reason, live| {
            let words = skip_text(reason, &fires_of(entry), definition, live);
            (Beginning::Skipped { reason, words }, FireEnd::Skipped(reason))
        };
        if let Some(reason) = entry.skip {
            return skipped(reason, None);
        }
        if meet(job.on_live, self.live.jobs) == Meeting::KeepAway {
            return skipped(SkipReason::Overlap, self.oldest);
        }
        let lane = lane_of(Some(definition), Place::of_new(job), job.concurrency_key.as_deref());
        let may_claim = claims_at_insert(lane.as_ref(), definition.rate_limit, self.live.jobs);
        let claimed = job.claim && may_claim && !self.limited.contains(&job.pool);
        self.live.jobs += 1;
        self.oldest = Some(self.oldest.map_or(job.id, |oldest| oldest.min(job.id)));
        (Beginning::Queued { lane, claimed }, FireEnd::Stored { claimed, replaced: Vec::new() })
    }
}

async fn oldest_live<'t>(
    session: &mut Session,
    tasks: impl Iterator<Item = &'t TaskCode>,
) -> Outcome<BTreeMap<TaskCode, JobId>> {
    let codes: Vec<_> = tasks.map(|code| Some(code.as_str().into())).collect();
    if codes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = session.rows(&sql::LANES_OLDEST, &params![Batch { columns: vec![Column::Texts(codes)] }]).await?;
    let decode = |row| {
        let mut c = Columns::of(row);
        Ok((TaskCode::stored(c.text()?), JobId(c.int()?)))
    };
    rows.iter().map(decode).collect()
}
