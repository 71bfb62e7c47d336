//! Held jobs, as their owner or whoever takes them from it finds them: locked under fence and owner, and put back.
//!
//! **Invariant:** tasks of lanes are locked before queue rows, as everywhere. A row that entered a lane in between is met by
//! nobody: the verb is done again, or the row is left to the next look.

use std::collections::BTreeMap;

use mainspring_model::job::Lane;
use mainspring_model::{Fence, Incarnation, JobId, QueueState, TaskCode};

use super::fault::{Fault, Outcome};
use super::lanes::{self, Hold, Tasks};
use super::params::{Batch, Column, params};
use super::row::{Columns, Row};
use super::session::Session;
use super::{decode, sql};
use crate::{GiveBack, Held};

/// A held job whose queue row is locked.
#[derive(Debug)]
pub(super) struct HeldRow {
    pub(super) held: Held,
    pub(super) state: QueueState,
    pub(super) task: TaskCode,
    pub(super) lane: Option<Lane>,
}

/// What is done about tasks and rows that somebody else has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    Wait,
    /// Whoever has them is at the same work.
    Skip,
}

/// The columns `job_id, fence, owner`.
pub(super) fn held(row: &Row) -> Outcome<Held> {
    let mut c = Columns::of(row);
    Ok(Held { id: JobId(c.int()?), fence: Fence(c.int()?), owner: Incarnation(c.int()?) })
}

pub(super) fn ids_of(ids: impl Iterator<Item = JobId>) -> Batch<'static> {
    Batch { columns: vec![Column::Ints(ids.map(|id| Some(id.0)).collect())] }
}

fn batch_of(held: &[Held]) -> Batch<'static> {
    let ints = |of: fn(&Held) -> i64| Column::Ints(held.iter().map(|held| Some(of(held))).collect());
    Batch { columns: vec![ints(|held| held.id.0), ints(|held| held.fence.0), ints(|held| held.owner.0)] }
}

/// Those that are still held under this fence by this owner. The caller sees to lanes.
pub(super) async fn lock(session: &mut Session, held: &[Held], busy: Busy) -> Outcome<Vec<HeldRow>> {
    let statement = match busy {
        Busy::Wait => &sql::QUEUE_HELD_LOCK,
        Busy::Skip => &sql::QUEUE_HELD_LOCK_FREE,
    };
    let rows = session.rows(statement, &params![batch_of(held)]).await?;
    let decode = |row| {
        let mut c = Columns::from(row, 3);
        let state = c.coded("queue state", QueueState::from_code)?;
        let task = TaskCode::stored(c.text()?);
        Ok(HeldRow { held: self::held(row)?, state, task, lane: decode::lane(&mut c)? })
    };
    rows.iter().map(decode).collect()
}

/// As `lock`, with the tasks of lanes.
pub(super) async fn lock_with_lanes(session: &mut Session, held: &[Held], busy: Busy) -> Outcome<Vec<HeldRow>> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let rows = session.rows(&sql::QUEUE_HELD_TASKS, &params![batch_of(held)]).await?;
    let codes = rows.iter().map(|row| Ok(TaskCode::stored(Columns::of(row).text()?))).collect::<Outcome<Vec<_>>>()?;
    let mut tasks = Tasks::default();
    match busy {
        Busy::Wait => tasks.load(session, &codes, Hold::Change).await?,
        Busy::Skip => hold_free(session, &mut tasks, &codes).await?,
    }
    let mut rows = lock(session, held, busy).await?;
    let is_ours = |row: &HeldRow| row.lane.is_none() || tasks.knows(&row.task);
    if busy == Busy::Wait && !rows.iter().all(is_ours) {
        return Err(Fault::again("a held job entered a lane"));
    }
    rows.retain(is_ours);
    Ok(rows)
}

/// Holds those tasks that nobody else holds. One that is gone is held by nobody and known to be gone.
pub(super) async fn hold_free(session: &mut Session, tasks: &mut Tasks, codes: &[TaskCode]) -> Outcome<()> {
    tasks.load(session, codes, Hold::ChangeIfFree).await?;
    let busy: Vec<_> = codes.iter().filter(|code| !tasks.knows(code)).collect();
    let mut seen = Tasks::default();
    seen.load(session, busy.iter().copied(), Hold::Look).await?;
    for code in busy {
        if matches!(seen.get(session, code).await, Ok(None)) {
            tasks.get(session, code).await?;
        }
    }
    Ok(())
}

/// Whether whoever gets the job next is to write its start down first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    No,
    Yes,
}

/// Locked rows are nobody's again, and their lanes go on.
pub(super) async fn put_back(
    session: &mut Session,
    rows: &[HeldRow],
    state: QueueState,
    suspect: Suspect,
) -> Outcome<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let ids = ids_of(rows.iter().map(|row| row.held.id));
    session.run(&sql::QUEUE_PUT_BACK, &params![ids, state.code(), suspect == Suspect::Yes]).await?;
    let mut left: BTreeMap<(&TaskCode, &str), (&Lane, usize)> = BTreeMap::new();
    for row in rows {
        if let Some(lane) = &row.lane {
            left.entry((&row.task, lanes::key_of(lane))).or_insert((lane, 0)).1 += 1;
        }
    }
    for ((task, _), (lane, jobs)) in left {
        for _ in 0..jobs {
            if !lanes::go_on(session, task, lane).await? {
                break;
            }
        }
    }
    Ok(())
}

pub(super) async fn give_back(session: &mut Session, held: &[Held], how: GiveBack) -> Outcome<()> {
    let state = match how {
        GiveBack::Release => QueueState::Queued,
        GiveBack::Park => QueueState::Parked,
    };
    let mut rows = lock_with_lanes(session, held, Busy::Wait).await?;
    rows.retain(|row| row.state == QueueState::Claimed);
    put_back(session, &rows, state, Suspect::No).await
}

pub(super) async fn unpark(session: &mut Session, tasks: &[TaskCode]) -> Outcome<u64> {
    let codes = tasks.iter().map(|code| Some(code.as_str().into())).collect();
    session.run(&sql::QUEUE_UNPARK, &params![Batch { columns: vec![Column::Texts(codes)] }]).await
}
