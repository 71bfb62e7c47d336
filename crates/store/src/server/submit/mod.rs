//! Submit: the record, the queue row and the key of each new job.
//!
//! Jobs that no live job of their task can keep away are stored together, with one statement per table (`many`). The
//! others come first, each for itself (`one`). That an id is stored already means that this call is a repetition after an
//! unknown outcome: then all is taken back and each job is asked what became of it.
//!
//! **Locks:** tasks first, in the order of their codes: those without limits in a way that only keeps them from being
//! deleted, the others for this transaction alone; then keys, in the order of task and key.

mod many;
mod one;
mod rows;

use std::collections::BTreeSet;

use mainspring_model::job::OnLive;
use mainspring_model::{Incarnation, TaskCode};

pub(super) use many::{Live, live_of_tasks};
pub(super) use one::{Joining, Made, One, made_of};
pub(super) use rows::{Beginning, NewRow, Wanted, insert, insert_keys, take_keys};

use super::fault::Outcome;
use super::lanes::{Hold, Tasks};
use super::session::Session;
use super::transact::Each;
use crate::rules::refused_unreadable;
use crate::{NewJob, Submitted};

pub(super) async fn submit(session: &mut Session, owner: Incarnation, jobs: &[NewJob]) -> Outcome<Vec<Submitted>> {
    let met: BTreeSet<&TaskCode> = jobs.iter().filter(|job| counts_live(job)).map(|job| &job.task).collect();
    let (apart, together): (Vec<usize>, Vec<usize>) = (0..jobs.len()).partition(|at| met.contains(&jobs[*at].task));
    let mut answers: Vec<Option<Submitted>> = vec![None; jobs.len()];
    let mut tasks = Tasks::default();
    if apart.is_empty() {
        hold_tasks(session, &mut tasks, jobs).await?;
    } else {
        let each = each(session, owner, jobs, &apart, &mut tasks).await?;
        apart.iter().zip(each).for_each(|(at, answer)| answers[*at] = Some(answer));
    }
    let batch: Vec<&NewJob> = together.iter().map(|at| &jobs[*at]).collect();
    match many::submit(session, owner, &mut tasks, &batch).await? {
        Some(stored) => together.iter().zip(stored).for_each(|(at, answer)| answers[*at] = Some(answer)),
        None => {
            session.begin_again().await?;
            let all: Vec<usize> = (0..jobs.len()).collect();
            return each(session, owner, jobs, &all, &mut tasks).await;
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Each of the chosen jobs for itself, in order.
async fn each(
    session: &mut Session,
    owner: Incarnation,
    jobs: &[NewJob],
    chosen: &[usize],
    tasks: &mut Tasks,
) -> Outcome<Vec<Submitted>> {
    let mut each = Each::new(chosen.len());
    let mut one = One::new(owner);
    while let Some(at) = each.next(session).await? {
        if at == 0 {
            // At the beginning, and when it has begun again without its locks.
            hold_tasks(session, &mut one.tasks, jobs).await?;
        }
        let job = &jobs[chosen[at]];
        let answer = one.submit(session, job).await;
        each.answer(session, answer, |reason| unreadable(job, &reason)).await?;
    }
    *tasks = one.tasks;
    Ok(each.answers())
}

/// Does the job count the live ones of its task, whether or not that has limits?
pub(super) fn counts_live(job: &NewJob) -> bool {
    job.on_live != OnLive::Join || (job.serial && job.claim)
}

fn unreadable(job: &NewJob, reason: &str) -> Submitted {
    tracing::error!(job = %job.id, task = %job.task, reason, "a submit met a job that cannot be read");
    Submitted::Refused(refused_unreadable(&job.task, job.biz_id.as_ref()))
}

/// Those without limits are found by the first statement; one more is needed only for the others.
async fn hold_tasks(session: &mut Session, tasks: &mut Tasks, jobs: &[NewJob]) -> Outcome<()> {
    *tasks = Tasks::default();
    let counted: BTreeSet<&TaskCode> = jobs.iter().filter(|job| counts_live(job)).map(|job| &job.task).collect();
    let codes: BTreeSet<&TaskCode> = jobs.iter().map(|job| &job.task).collect();
    tasks.share(session, codes.difference(&counted).copied()).await?;
    let others: Vec<&TaskCode> = codes.into_iter().filter(|code| !tasks.knows(code)).collect();
    tasks.load(session, others, Hold::Change).await
}
