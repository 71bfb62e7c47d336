//! Write back: outcomes and all that follows from them, in one transaction.
//!
//! What ends as most do is written for the whole batch at once. Lanes, stopped tasks and late results come after that, one
//! by one.
//!
//! **Invariant:** it is all that its transaction writes: it may begin it anew.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_model::decide::Next;
use mainspring_model::job::Lane;
use mainspring_model::{AttemptStatus, JobId, JobStatus, TaskCode, Timestamp, Trigger};

use super::audit::{By, definition_changed, write_audit};
use super::ends::alert;
use super::fault::{Fault, Outcome};
use super::lanes::{self, Hold, Tasks};
use super::outcome::{Ending, write_all, write_attempts, write_deaths};
use super::params::params;
use super::release::{Busy, lock};
use super::row::Columns;
use super::schedule::after_end;
use super::session::Session;
use super::sql;
use crate::rules::{is_own_end, stopped_text};
use crate::{Settled, Settlement};

pub(super) async fn settle(session: &mut Session, settlements: &[Settlement], now: Timestamp) -> Outcome<Vec<Settled>> {
    let mut batch = Batch { settlements, now, codes: codes_to_hold(settlements), careful: false };
    loop {
        match batch.try_all(session).await {
            Err(Halt::Holds(task)) => drop(batch.codes.insert(task)),
            Err(Halt::Fault(Fault::Row(_))) if !batch.careful => batch.careful = true,
            Err(Halt::Fault(fault)) => return Err(fault),
            Ok(answers) => return Ok(answers),
        }
        session.begin_again().await?;
    }
}

/// Of jobs in lanes, and those that are stopped: their tasks are locked before queue rows.
fn codes_to_hold(settlements: &[Settlement]) -> BTreeSet<TaskCode> {
    let holds = |settlement: &&Settlement| {
        settlement.lane.is_some() || matches!(settlement.decision.next, Next::Final { stop_task: true, .. })
    };
    settlements.iter().filter(holds).map(|settlement| settlement.task.clone()).collect()
}

#[derive(Debug)]
struct Batch<'s> {
    settlements: &'s [Settlement],
    now: Timestamp,
    /// Tasks to lock before anything else.
    codes: BTreeSet<TaskCode>,
    /// A row could not be read: each late one is a savepoint of its own.
    careful: bool,
}

/// The transaction is to begin anew.
#[derive(Debug)]
enum Halt {
    Fault(Fault),
    /// A job was claimed outside of any lane, and is in one since its task got a limit.
    Holds(TaskCode),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Halt {
        Halt::Fault(fault)
    }
}

impl Batch<'_> {
    async fn try_all(&self, session: &mut Session) -> Result<Vec<Settled>, Halt> {
        let mut tasks = Tasks::default();
        tasks.load(session, &self.codes, Hold::Change).await?;
        let mut answers: Vec<Option<Settled>> = vec![None; self.settlements.len()];
        self.common(session, &mut answers).await?;
        for (at, answer) in answers.iter_mut().enumerate().filter(|(_, answer)| answer.is_none()) {
            *answer = Some(self.late_or_long(session, at).await?);
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Those that are held, and whose result is short. Of several of one job the first.
    async fn common(&self, session: &mut Session, answers: &mut [Option<Settled>]) -> Outcome<()> {
        let mut places = BTreeMap::new();
        let mut endings = Vec::with_capacity(self.settlements.len());
        for (at, settlement) in self.settlements.iter().enumerate() {
            let is_first = !places.contains_key(&settlement.held.id);
            if let Some(ending) = Ending::short(settlement).filter(|_| is_first) {
                places.insert(settlement.held.id, at);
                endings.push(Ending { holds_lane: self.codes.contains(&settlement.task), ..ending });
            }
        }
        let mut written = write_all(session, &endings, self.now).await?;
        written.sort_unstable_by_key(|(id, _)| places.get(id).copied());
        let ended: Vec<(usize, Option<Lane>)> =
            written.into_iter().filter_map(|(id, lane)| Some((*places.get(&id)?, lane))).collect();
        self.follow(session, &ended, answers).await
    }

    /// What follows for others: people are told, tasks stop or fire next, lanes go on.
    async fn follow(
        &self,
        session: &mut Session,
        ended: &[(usize, Option<Lane>)],
        answers: &mut [Option<Settled>],
    ) -> Outcome<()> {
        let (mut deaths, mut stops, mut fired) = (Vec::new(), Vec::new(), Vec::new());
        for (at, lane) in ended {
            let settlement = &self.settlements[*at];
            let Next::Final { status, dead, stop_task } = settlement.decision.next else { continue };
            deaths.extend(dead.map(|cause| (settlement, cause)));
            if stop_task {
                stops.push((settlement, status));
            }
            // A task that waits for ends has its jobs in lanes. The first end sets the next fire time, the others find it set.
            let is_fired = matches!(settlement.trigger, Trigger::Cron | Trigger::Misfire) && lane.is_some();
            if is_fired && !fired.iter().any(|fired: &&Settlement| fired.task == settlement.task) {
                fired.push(settlement);
            }
        }
        write_deaths(session, &deaths, self.now).await?;
        for (settlement, status) in stops {
            self.stop(session, settlement, status).await?;
        }
        for settlement in fired {
            // The clock may have gone back while the body ran: its next fire must not wait until it has caught up.
            let finish = settlement.finish_time.min(self.now);
            after_end(session, &settlement.task, settlement.trigger, finish, self.now).await?;
        }
        for (at, lane) in ended {
            let has_freed = match lane {
                Some(lane) => lanes::go_on(session, &self.settlements[*at].task, lane).await?,
                None => false,
            };
            answers[*at] = Some(if has_freed { Settled::AppliedAndFreed } else { Settled::Applied });
        }
        Ok(())
    }

    async fn late_or_long(&self, session: &mut Session, at: usize) -> Result<Settled, Halt> {
        if !self.careful {
            return self.one(session, at).await;
        }
        session.command("SAVEPOINT item").await?;
        let settled = match self.one(session, at).await {
            Err(Halt::Fault(Fault::Row(reason))) => {
                let id = self.settlements[at].held.id;
                tracing::error!(job = %id, reason, "a job cannot be read: its outcome is discarded");
                session.command("ROLLBACK TO SAVEPOINT item").await?;
                Settled::Unreadable
            }
            settled => settled?,
        };
        session.command("RELEASE SAVEPOINT item").await?;
        Ok(settled)
    }

    async fn one(&self, session: &mut Session, at: usize) -> Result<Settled, Halt> {
        let settlement = &self.settlements[at];
        let holds_lane = self.codes.contains(&settlement.task);
        match lock(session, &[settlement.held], Busy::Wait).await?.first() {
            None => return Ok(self.late(session, settlement).await?),
            Some(row) if row.lane.is_some() && !holds_lane => return Err(Halt::Holds(settlement.task.clone())),
            Some(_) => {}
        }
        let ending = Ending { holds_lane, ..Ending::keep(session, settlement).await? };
        let mut answers = vec![None; at + 1];
        let written = write_all(session, &[ending], self.now).await?;
        let ended: Vec<_> = written.into_iter().map(|(_, lane)| (at, lane)).collect();
        self.follow(session, &ended, &mut answers).await?;
        let settled = answers.pop().flatten();
        Ok(settled.ok_or_else(|| Fault::statement("a locked job could not be settled"))?)
    }

    /// The fence is gone. An attempt that somebody else ended keeps its end; any other is kept as DISCARDED.
    async fn late(&self, session: &mut Session, settlement: &Settlement) -> Outcome<Settled> {
        let held = settlement.held;
        if let Some(row) = session.one(&sql::ATTEMPT_ENDED, &params![held.id, held.fence]).await? {
            let mut c = Columns::of(&row);
            let status = c.coded("attempt status", AttemptStatus::from_code)?;
            if status != AttemptStatus::Running {
                let is_own = is_own_end(status, c.opt_time()?, c.opt_text()?, settlement);
                return Ok(if is_own { Settled::AlreadyApplied } else { Settled::Lost });
            }
        }
        // Nobody was ever given a fence past the newest one: such a row would be a lie.
        let newest = session.number(&sql::JOB_FENCE, &params![held.id]).await?;
        if newest.is_some_and(|newest| held.fence.0 <= newest) {
            let kept = Ending::keep(session, settlement).await?;
            let discarded = Ending { attempt: AttemptStatus::Discarded, ..kept };
            write_attempts(session, &[&discarded], self.now).await?;
        }
        Ok(Settled::Lost)
    }

    async fn stop(&self, session: &mut Session, settlement: &Settlement, status: JobStatus) -> Outcome<()> {
        let (task, id): (&TaskCode, JobId) = (&settlement.task, settlement.held.id);
        let text = stopped_text(task, id, status);
        if session.run(&sql::TASK_STOP, &params![task.as_str(), self.now, text.as_str()]).await? == 1 {
            alert(session, "TASK_STOPPED", Some(id), task, &text, self.now).await?;
            let by = By { who: "system".to_owned(), now: self.now };
            write_audit(session, &by, "disable", &format!("task:{task}"), &text).await?;
            definition_changed(session).await?;
        }
        Ok(())
    }
}
