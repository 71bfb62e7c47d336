//! Schedules: the records of fire times, and the next fire time with them.
//!
//! Tasks that are as the planner saw them are fired together, with one statement per table (`many`); those whose jobs take
//! the place of live ones, and repetitions, come first, each for itself (`one`).
//!
//! **Invariants:** a fire time leaves the task in the transaction in which it gets its record, so none is lost and none has
//! two. All tasks of a call are held before anything is decided. Nodes that fire the same ones do so one after another,
//! and the later one finds them moved: a task that somebody else holds may be this very call, on its way after an unknown
//! outcome, so nobody is sent away before that is known.

mod many;
mod one;

use std::collections::BTreeSet;

use mainspring_model::job::OnLive;
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Task, TaskSwitch};
use mainspring_model::{Incarnation, TaskCode, Timestamp, Trigger};

use super::ends::alert;
use super::fault::Outcome;
use super::lanes::{Hold, Tasks};
use super::params::params;
use super::session::Session;
use super::sql;
use super::transact::Each;
use crate::rules::{completed_text, next_after_end};
use crate::{Fire, Fired, Replan};

use one::Firing;

pub(super) async fn fire(
    session: &mut Session,
    owner: Incarnation,
    fires: &[Fire],
    now: Timestamp,
) -> Outcome<Vec<Fired>> {
    let apart_codes = codes_apart(fires);
    let (apart, together): (Vec<usize>, Vec<usize>) =
        (0..fires.len()).partition(|at| apart_codes.contains(&fires[*at].task));
    let mut answers: Vec<Option<Fired>> = vec![None; fires.len()];
    let mut tasks = Tasks::default();
    if apart.is_empty() {
        tasks.load(session, fires.iter().map(|fire| &fire.task), Hold::Change).await?;
    } else {
        let each = each(session, owner, fires, &apart, now, &mut tasks).await?;
        apart.iter().zip(each).for_each(|(at, answer)| answers[*at] = Some(answer));
    }
    let batch: Vec<&Fire> = together.iter().map(|at| &fires[*at]).collect();
    match many::fire(session, owner, &mut tasks, &batch, now).await? {
        Some(fired) => together.iter().zip(fired).for_each(|(at, answer)| answers[*at] = Some(answer)),
        None => {
            session.begin_again().await?;
            let all: Vec<usize> = (0..fires.len()).collect();
            return each(session, owner, fires, &all, now, &mut tasks).await;
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Tasks whose jobs may take the place of live ones, and those that are named twice: their fires see each other.
fn codes_apart(fires: &[Fire]) -> BTreeSet<&TaskCode> {
    let mut seen = BTreeSet::new();
    let replaces = |fire: &Fire| fire.entries.iter().any(|entry| entry.job.on_live == OnLive::Replace);
    let apart = fires.iter().map(|fire| (&fire.task, !seen.insert(&fire.task) || replaces(fire)));
    apart.filter(|(_, is_apart)| *is_apart).map(|(code, _)| code).collect()
}

/// Each of the chosen tasks for itself, in order.
async fn each(
    session: &mut Session,
    owner: Incarnation,
    fires: &[Fire],
    chosen: &[usize],
    now: Timestamp,
    tasks: &mut Tasks,
) -> Outcome<Vec<Fired>> {
    let mut each = Each::new(chosen.len());
    let mut firing = Firing::new(owner, now);
    while let Some(at) = each.next(session).await? {
        if at == 0 {
            // At the beginning, and when it has begun again without its locks.
            *tasks = Tasks::default();
            tasks.load(session, fires.iter().map(|fire| &fire.task), Hold::Change).await?;
        }
        let fire = &fires[chosen[at]];
        let answer = firing.fire(session, fire).await;
        each.answer(session, answer, |reason| unreadable(fire, &reason)).await?;
    }
    Ok(each.answers())
}

fn unreadable(fire: &Fire, reason: &str) -> Fired {
    tracing::error!(task = %fire.task, reason, "a fire met a row that cannot be read");
    Fired::Moved
}

/// Is the task as the planner saw it?
fn is_as_seen(task: &Task, fire: &Fire) -> bool {
    task.version == fire.version && task.switch == TaskSwitch::Enabled && task.next_fire_time == Some(fire.due)
}

/// The latest fire time that has a record.
fn previous(task: &Task, fire: &Fire) -> Option<Timestamp> {
    let latest = fire.entries.iter().filter_map(|entry| entry.job.fires).map(|fires| fires.last).max();
    latest.max(task.prev_fire_time)
}

pub(super) async fn replan(session: &mut Session, replans: &[Replan]) -> Outcome<Vec<bool>> {
    Tasks::default().load(session, replans.iter().map(|one| &one.task), Hold::Change).await?;
    let mut answers = Vec::with_capacity(replans.len());
    for one in replans {
        let row = params![one.task.as_str(), one.version, one.from, one.to];
        let written = session.run(&sql::TASK_REPLAN, &row).await? == 1;
        answers.push(written || session.exists(&sql::TASK_PLANNED, &params![one.task.as_str(), one.to]).await?);
    }
    Ok(answers)
}

/// A fired job has ended: where the next fire follows from that, it is planned now. The caller holds the task: one that
/// waits for ends has its jobs in lanes.
pub(super) async fn after_end(
    session: &mut Session,
    code: &TaskCode,
    trigger: Trigger,
    finish: Timestamp,
    now: Timestamp,
) -> Outcome<()> {
    // Few tasks wait for an end: the others are not read.
    let is_fired = matches!(trigger, Trigger::Cron | Trigger::Misfire);
    if !is_fired || !session.exists(&sql::TASK_AWAITS_END, &params![code.as_str()]).await? {
        return Ok(());
    }
    let task = match Tasks::default().readable(session, code).await? {
        None => {
            tracing::error!(task = %code, "a task cannot be read: its next fire is not planned");
            return Ok(());
        }
        Some(task) => task,
    };
    match next_after_end(&task, trigger, finish) {
        Some(NextFire::At(next)) => session.run(&sql::TASK_NEXT_FIRE, &params![code.as_str(), next]).await.map(drop),
        Some(NextFire::Never) => alert_completed(session, code, now).await,
        Some(NextFire::AfterEnd) | None => Ok(()),
    }
}

async fn alert_completed(session: &mut Session, code: &TaskCode, now: Timestamp) -> Outcome<()> {
    alert(session, "TASK_COMPLETED", None, code, &completed_text(code), now).await
}
