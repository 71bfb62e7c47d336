//! A look at what is due, before and after a claim: one statement, and no transaction where nothing is to be had.

use mainspring_model::{Priority, TaskCode, Timestamp};

use super::fault::Outcome;
use super::params::{Batch, Column, params};
use super::row::Columns;
use super::session::Session;
use super::sql;
use crate::rules::{PRIORITIES, Window};
use crate::{ClaimRequest, Claimed, PoolRoom};

/// Rows of the statement that are of no priority.
const HAS_LIMITS: i64 = -1;
const NEXT_OPENING: i64 = -2;

#[derive(Debug, Default)]
pub(super) struct Peek {
    /// Of each asked pool, in order.
    pub(super) pools: Vec<PoolPeek>,
    /// When the next job that waits for a rate may go on, in whatever pool it is.
    pub(super) opening: Option<Timestamp>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct PoolPeek {
    /// When the first unclaimed job of each priority is due.
    pub(super) due: [Option<Timestamp>; PRIORITIES],
    /// It has limits that hold in all nodes together.
    pub(super) has_limits: bool,
}

impl PoolPeek {
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.due.iter().flatten().min().copied()
    }

    pub(super) fn is_due(&self, at: usize, until: Timestamp) -> bool {
        self.due[at].is_some_and(|due| due <= until)
    }
}

/// `task <> ALL` and `NOT JSON_CONTAINS`: an empty one excludes nothing.
pub(super) fn excluded(tasks: &[TaskCode]) -> Batch<'_> {
    Batch { columns: vec![Column::Texts(tasks.iter().map(|task| Some(task.as_str().into())).collect())] }
}

impl Peek {
    pub(super) async fn of(session: &mut Session, request: &ClaimRequest) -> Outcome<Peek> {
        Peek::without(session, request, &request.excluded).await
    }

    /// Jobs of these tasks are not looked at, instead of those that the request leaves out.
    pub(super) async fn without(session: &mut Session, request: &ClaimRequest, tasks: &[TaskCode]) -> Outcome<Peek> {
        let rooms = &request.rooms;
        let places = Column::Ints((0..rooms.len()).map(|at| i64::try_from(at).ok()).collect());
        let pools = Column::Texts(rooms.iter().map(|room| Some(room.pool.as_str().into())).collect());
        let asked = params![Batch { columns: vec![places, pools] }, excluded(tasks)];
        let mut peek = Peek { pools: vec![PoolPeek::default(); rooms.len()], opening: None };
        for row in session.rows(&sql::CLAIM_PEEK, &asked).await? {
            let mut c = Columns::of(&row);
            let (at, what, time) = (c.int()?, c.int()?, c.opt_time()?);
            if what == NEXT_OPENING {
                peek.opening = time;
                continue;
            }
            let Some(pool) = usize::try_from(at).ok().and_then(|at| peek.pools.get_mut(at)) else { continue };
            if what == HAS_LIMITS {
                pool.has_limits = true;
            } else if let Some(place) = Priority::ALL.iter().position(|priority| priority.code() == what) {
                pool.due[place] = time;
            }
        }
        Ok(peek)
    }

    /// The answer without a claim. `None`: there is something to claim, or a limit must be looked at.
    pub(super) fn nothing(&self, request: &ClaimRequest) -> Option<Claimed> {
        let window = Window::of(request);
        let is_open = self.opening.is_some_and(|opening| opening <= window.until);
        let calls = |(pool, room): (&PoolPeek, &PoolRoom)| match pool.earliest() {
            None => false,
            Some(due) => pool.has_limits || (room.jobs_max > 0 && due <= request.due_until),
        };
        if is_open || self.pools.iter().zip(&request.rooms).any(calls) {
            return None;
        }
        let next = |(pool, room): (&PoolPeek, &PoolRoom)| {
            (room.pool.clone(), [pool.earliest(), self.opening].into_iter().flatten().min())
        };
        Some(Claimed { jobs: Vec::new(), next_due: self.pools.iter().zip(&request.rooms).map(next).collect() })
    }
}
