//! Lanes: jobs of one task, or of one concurrency key of it, that wait for each other.
//!
//! A job that finds its lane full leaves the index of due jobs, so it never stands in the way of others. Whoever ends or
//! takes back a job of the lane lets the first of those that wait go on; it is judged anew when it is claimed.
//!
//! **Invariants:** every live job of a task with limits is in a lane, and jobs outside of lanes cause no statement here.
//! Whoever counts in a lane, or changes what others count, holds the lane's task (`Hold::Change`) until the end of its
//! transaction: that alone makes limits hold across nodes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use mainspring_model::job::Lane;
use mainspring_model::{JobId, Task, TaskCode, Timestamp};

use super::fault::{Fault, Outcome};
use super::params::{Batch, Column, params};
use super::rates::Ring;
use super::row::{Columns, count};
use super::session::{Dialect, Session};
use super::statement::Statement;
use super::{decode, sql, tasks};
use crate::rules::{HeldOfLane, Window, is_full};

/// How the tasks of a batch are held until the end of the transaction. They are locked in the order of their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Not at all.
    Look,
    /// Nobody deletes them: for those who add jobs. Many may hold them so at once. Tasks with limits are left out. See
    /// `Tasks::share`.
    Share,
    /// Nobody else decides by their live jobs, or changes them.
    Change,
    /// As `Change`; those that somebody else holds are left out.
    ChangeIfFree,
}

impl Hold {
    fn statement(self) -> &'static Statement {
        match self {
            Hold::Look => &sql::TASKS_READ,
            Hold::Share => &sql::TASKS_LOCK_SHARE,
            Hold::Change => &sql::TASKS_LOCK_CHANGE,
            Hold::ChangeIfFree => &sql::TASKS_LOCK_FREE,
        }
    }
}

/// The tasks of a batch, each read once. A row that cannot be read is a fault of whoever asks for it.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    read: BTreeMap<TaskCode, Result<Option<Arc<Task>>, String>>,
}

impl Tasks {
    /// Reads all of them with one statement; what was known of them before is forgotten.
    pub(super) async fn load<'t>(
        &mut self,
        session: &mut Session,
        codes: impl IntoIterator<Item = &'t TaskCode>,
        hold: Hold,
    ) -> Outcome<()> {
        let codes: std::collections::BTreeSet<&TaskCode> = codes.into_iter().collect();
        if codes.is_empty() {
            return Ok(());
        }
        let column = codes.iter().map(|code| Some(code.as_str().into())).collect();
        let asked = params![Batch { columns: vec![Column::Texts(column)] }];
        let rows = session.rows(hold.statement(), &asked).await?;
        if matches!(hold, Hold::Look | Hold::Change) {
            self.read.extend(codes.into_iter().map(|code| (code.clone(), Ok(None))));
        }
        for row in &rows {
            let code = TaskCode::stored(Columns::of(row).text()?);
            let task = match decode::task(row) {
                Ok(task) => Ok(Some(Arc::new(task))),
                Err(Fault::Row(reason)) => Err(reason),
                Err(fault) => return Err(fault),
            };
            self.read.insert(code, task);
        }
        Ok(())
    }

    /// Holds those without limits so that nobody deletes them, and leaves the others out: `Hold::Share`.
    ///
    /// MySQL keeps a row locked that it has looked at and left out, so there it is told which ones by a look before.
    /// Those who hold a task so and then want it for themselves alone would wait for each other.
    pub(super) async fn share<'t>(
        &mut self,
        session: &mut Session,
        codes: impl IntoIterator<Item = &'t TaskCode>,
    ) -> Outcome<()> {
        match session.dialect() {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => self.load(session, codes, Hold::Share).await,
            #[cfg(feature = "mysql")]
            Dialect::MySql => {
                let codes: Vec<&TaskCode> = codes.into_iter().collect();
                let mut seen = Tasks::default();
                seen.load(session, codes.iter().copied(), Hold::Look).await?;
                let free: Vec<&TaskCode> = codes.into_iter().filter(|code| seen.is_free(code)).collect();
                self.load(session, free.iter().copied(), Hold::Share).await?;
                match free.into_iter().all(|code| !self.knows(code) || self.is_free(code)) {
                    true => Ok(()),
                    false => Err(Fault::again("a task got a limit just now")),
                }
            }
        }
    }

    /// Is it known to have no limits?
    #[cfg(feature = "mysql")]
    fn is_free(&self, code: &TaskCode) -> bool {
        let task = self.read.get(code).and_then(|read| read.as_ref().ok()).and_then(Option::as_ref);
        task.is_some_and(|task| !task.definition.is_guarded())
    }

    /// Was it read? Of the last `Hold::ChangeIfFree` and `Hold::Share`: is it held?
    pub(super) fn knows(&self, code: &TaskCode) -> bool {
        self.read.contains_key(code)
    }

    /// One that was not read before is read now, and not held.
    pub(super) async fn get(&mut self, session: &mut Session, code: &TaskCode) -> Outcome<Option<Arc<Task>>> {
        if !self.knows(code) {
            self.load(session, [code], Hold::Look).await?;
        }
        match self.read.get(code) {
            Some(Ok(task)) => Ok(task.clone()),
            Some(Err(reason)) => Err(Fault::Row(reason.clone())),
            None => Ok(None),
        }
    }

    /// For those whom a task that cannot be read must not stop: to them it is gone.
    pub(super) async fn readable(&mut self, session: &mut Session, code: &TaskCode) -> Outcome<Option<Arc<Task>>> {
        match self.get(session, code).await {
            Err(Fault::Row(reason)) => {
                tracing::error!(task = %code, reason, "a task cannot be read: its limits are not known");
                self.read.insert(code.clone(), Ok(None));
                Ok(None)
            }
            decided => decided,
        }
    }
}

/// The key as the queue has it.
pub(super) fn key_of(lane: &Lane) -> &str {
    lane.key.as_deref().unwrap_or("")
}

/// A job of the lane has ended or is nobody's any more: the first one that waits goes on. One of those that run one after
/// another waits on while another of them is held, and keeps nobody back. The caller holds the task.
///
/// Did one go on?
pub(super) async fn go_on(session: &mut Session, code: &TaskCode, lane: &Lane) -> Outcome<bool> {
    match session.number(&sql::LANE_NEXT, &params![code.as_str(), key_of(lane)]).await? {
        Some(id) => Ok(session.run(&sql::LANE_GO_ON, &params![id]).await? == 1),
        None => Ok(false),
    }
}

/// At most `limit`. The live jobs of a task with limits are all in lanes.
pub(super) async fn live_of_task(session: &mut Session, task: &Task, limit: u32) -> Outcome<u32> {
    let in_lanes = session.number(&sql::LANE_LIVE, &params![task.code.as_str(), limit]).await?;
    let in_lanes = count(in_lanes.unwrap_or(0))?;
    if task.definition.is_guarded() || in_lanes >= limit {
        return Ok(in_lanes);
    }
    tasks::live_jobs(session, &task.code, limit).await
}

pub(super) async fn oldest_live(session: &mut Session, task: &Task) -> Outcome<Option<JobId>> {
    if !task.definition.is_guarded() {
        return Ok(live_ids(session, task).await?.first().copied());
    }
    Ok(session.number(&sql::LANE_LIVE_FIRST, &params![task.code.as_str()]).await?.map(JobId))
}

/// Oldest first.
pub(super) async fn live_ids(session: &mut Session, task: &Task) -> Outcome<Vec<JobId>> {
    let statement = if task.definition.is_guarded() { &sql::LANE_LIVE_IDS } else { &sql::TASK_LIVE_IDS };
    let rows = session.rows(statement, &params![task.code.as_str()]).await?;
    rows.iter().map(|row| Columns::of(row).int().map(JobId)).collect()
}

/// What a due job of a lane hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It starts then.
    At(Timestamp),
    /// As many are held as may be.
    Full,
    /// The rate is used up. Its ring knows that somebody waits.
    TooSoon,
}

/// Judges the jobs of one claim: what is held of a lane is counted once, and then kept. The caller holds the tasks of all
/// lanes that it asks about.
#[derive(Debug, Default)]
pub(super) struct Gate {
    pub(super) tasks: Tasks,
    held: BTreeMap<(TaskCode, Option<Arc<str>>), HeldOfLane>,
}

impl Gate {
    /// `start`: when it would begin without its lane.
    pub(super) async fn admit(
        &mut self,
        session: &mut Session,
        code: &TaskCode,
        lane: &Lane,
        start: Timestamp,
        window: Window,
    ) -> Outcome<Admission> {
        let task = self.tasks.get(session, code).await?;
        let running_max = task.as_ref().and_then(|task| task.definition.running_max());
        if is_full(lane, running_max, *self.held(session, code, lane).await?) {
            return Ok(Admission::Full);
        }
        if let Some(limit) = task.and_then(|task| task.definition.rate_limit) {
            let ring = Ring::of_task(code, key_of(lane), limit);
            let opens = ring.opens(session, window).await?;
            return Ok(match (window.start(start, opens), opens) {
                (Some(start), _) => Admission::At(start),
                (None, opens) => {
                    ring.wait(session, opens.unwrap_or(start)).await?;
                    Admission::TooSoon
                }
            });
        }
        Ok(Admission::At(start))
    }

    /// The job was claimed.
    pub(super) async fn count(
        &mut self,
        session: &mut Session,
        code: &TaskCode,
        lane: &Lane,
        start: Timestamp,
    ) -> Outcome<()> {
        let held = self.held(session, code, lane).await?;
        held.jobs += 1;
        held.serial += u32::from(lane.serial);
        match self.tasks.get(session, code).await?.and_then(|task| task.definition.rate_limit) {
            Some(limit) => Ring::of_task(code, key_of(lane), limit).start(session, start).await,
            None => Ok(()),
        }
    }

    async fn held(&mut self, session: &mut Session, code: &TaskCode, lane: &Lane) -> Outcome<&mut HeldOfLane> {
        let key = (code.clone(), lane.key.clone());
        match self.held.entry(key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let row = session.one(&sql::LANE_HELD, &params![code.as_str(), key_of(lane)]).await?;
                let mut held = HeldOfLane::default();
                if let Some(row) = &row {
                    let mut c = Columns::of(row);
                    held = HeldOfLane { jobs: c.count()?, serial: c.count()? };
                }
                Ok(new.insert(held))
            }
        }
    }
}
