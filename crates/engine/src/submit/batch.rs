//! Group commit: while one batch is being written, the next one gathers. There is no timer: under no load a batch is
//! one job and waits for nothing, under load batches grow by themselves.
//!
//! **Invariant:** a caller is answered after the commit, never before.
//! **Invariant:** jobs in memory that are not committed are at most `INTAKE_JOBS_MAX`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_model::time::Clock;
use mainspring_model::{Code, Refused, limits};
use mainspring_store::{Claim, GiveBack, Held, NewJob, StoreError, Submitted, Trouble};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, oneshot};

use super::{Receipt, fresh_claim};
use crate::core::Core;
use crate::dispatch::Place;
use crate::error::{Error, RETRY_AFTER};
use crate::execute;
use crate::locked;

/// A receipt, and the job itself when the caller is to run it.
type Answer = Result<(Receipt, Option<Claim>), Error>;

#[derive(Debug)]
pub(crate) struct Intake {
    gathering: Mutex<VecDeque<Waiting>>,
    wake: Notify,
    room: Semaphore,
}

#[derive(Debug)]
struct Waiting {
    job: NewJob,
    place: Place,
    answer: oneshot::Sender<Answer>,
}

impl Default for Intake {
    fn default() -> Intake {
        let room = Semaphore::new(limits::INTAKE_JOBS_MAX);
        Intake { gathering: Mutex::default(), wake: Notify::new(), room }
    }
}

impl Intake {
    /// A place in the intake: at once, or as soon as there is one, or never.
    pub(crate) async fn admit(&self, clock: &dyn Clock) -> Result<SemaphorePermit<'_>, Error> {
        if let Ok(permit) = self.room.try_acquire() {
            return Ok(permit);
        }
        tokio::select! {
            biased;
            permit = self.room.acquire() => permit.map_err(|_| Error::stopping()),
            () = clock.sleep(Duration::from_millis(limits::INTAKE_WAIT_MS)) => {
                let refused = Refused::new(Code::BacklogFull, "too many submits wait to be written; nothing was stored");
                Err(refused.retry_after(RETRY_AFTER).into())
            }
        }
    }

    pub(crate) async fn add(&self, job: NewJob, place: Place) -> Answer {
        let (answer, answered) = oneshot::channel();
        locked(&self.gathering).push_back(Waiting { job, place, answer });
        self.wake.notify_one();
        // Dropped without an answer: the stop did not wait any longer for a write that was under way.
        answered.await.unwrap_or_else(|_| Err(unknown("the node stopped while the job was being written").into()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.gathering).is_empty()
    }

    fn take(&self) -> Vec<Waiting> {
        let mut gathering = locked(&self.gathering);
        let count = gathering.len().min(limits::FLUSH_JOBS_MAX);
        gathering.drain(..count).collect()
    }
}

/// Writes what has gathered. Two of these run: one gathers and prepares while the other's commit is under way.
pub(crate) async fn write_gathered(core: Arc<Core>) {
    loop {
        let waiting = core.intake.take();
        if waiting.is_empty() {
            core.intake.wake.notified().await;
            continue;
        }
        if !core.intake.is_empty() {
            core.intake.wake.notify_one();
        }
        let (jobs, answers): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|waiting| ((waiting.job, waiting.place), (waiting.place, waiting.answer))).unzip();
        let stored = core.store_jobs(jobs).await;
        for ((place, answer), (receipt, claim)) in answers.into_iter().zip(stored) {
            let claim = if matches!(place, Place::Full(_)) { claim } else { None };
            // A caller that went away has its job all the same: the commit counts.
            if let Err(Ok((_, Some(claim)))) = answer.send(receipt.map(|receipt| (receipt, claim)))
                && let Some(pool) = core.pools.get(&claim.pool)
            {
                execute::start(&core, pool, claim);
            }
        }
    }
}

impl Core {
    pub(super) async fn store_portion(self: &Arc<Core>, jobs: Vec<(NewJob, Place)>) -> Vec<Result<Receipt, Error>> {
        self.store_jobs(jobs).await.into_iter().map(|(receipt, _)| receipt).collect()
    }

    /// One transaction. Claimed jobs are in their pools, and started, before their callers hear of them.
    async fn store_jobs(self: &Arc<Core>, jobs: Vec<(NewJob, Place)>) -> Vec<(Result<Receipt, Error>, Option<Claim>)> {
        let owning = self.owning.read().await;
        if self.has_left() {
            return jobs.into_iter().map(|(job, place)| (self.left_behind(&job, place), None)).collect();
        }
        let rows: Vec<NewJob> =
            jobs.iter().map(|(job, place)| NewJob { claim: *place != Place::InStore, ..job.clone() }).collect();
        let patience = Duration::from_millis(limits::INTAKE_WAIT_MS);
        let submitted = match self.store.submit(self.incarnation, rows.clone()).await {
            // Ids are fixed, so the same insert can be repeated until it is known what happened.
            Err(StoreError::Unknown { .. }) => {
                let again = || self.store.submit(self.incarnation, rows.clone());
                // A last try that was not applied says nothing of the first.
                self.insist(patience, again).await.map_err(|error| unknown(&error.to_string()))
            }
            answer => answer,
        };
        let stored = match submitted {
            Ok(submitted) => self.arrange(jobs, submitted),
            Err(error) => self.not_stored(jobs, &error),
        };
        drop(owning);
        self.kick_all();
        stored
    }

    /// The node has given back all that it held: a job that was stored for it now would be held by nobody.
    fn left_behind(&self, job: &NewJob, place: Place) -> Result<Receipt, Error> {
        self.unplace(job, place);
        Err(Error::stopping())
    }

    fn arrange(
        &self,
        jobs: Vec<(NewJob, Place)>,
        submitted: Vec<Submitted>,
    ) -> Vec<(Result<Receipt, Error>, Option<Claim>)> {
        debug_assert_eq!(jobs.len(), submitted.len(), "one answer per job");
        let durability = self.store.info().durability;
        let mut spilled = false;
        let answers = jobs.into_iter().zip(submitted).map(|((job, place), submitted)| {
            let is_new = submitted == Submitted::Stored;
            let receipt = self.receipt(&job, submitted, durability);
            let pool = self.pools.get(&job.pool);
            let mut for_caller = None;
            match (place, pool, is_new) {
                (Place::Reserved, Some(pool), true) => pool.hold([fresh_claim(job)], 1),
                (Place::Reserved, Some(pool), false) => pool.cancel_place(1),
                (Place::InStore, Some(pool), true) => {
                    pool.store_has(job.execute_time);
                    spilled = true;
                }
                (Place::Full(_), Some(pool), true) => {
                    pool.add_slot();
                    for_caller = Some(fresh_claim(job));
                }
                _ => {}
            }
            (receipt, for_caller)
        });
        let answers = answers.collect();
        if spilled {
            self.claim_wake.notify_one();
        }
        answers
    }

    /// The callers hear of the error. Rows whose commit is still unknown may be owned by this node without being in
    /// its memory: they are given back as soon as the store answers.
    fn not_stored(
        self: &Arc<Core>,
        jobs: Vec<(NewJob, Place)>,
        error: &StoreError,
    ) -> Vec<(Result<Receipt, Error>, Option<Claim>)> {
        let mut uncertain = Vec::new();
        let answers = jobs.into_iter().map(|(job, place)| {
            self.unplace(&job, place);
            if place != Place::InStore {
                uncertain.push(Held { id: job.id, fence: mainspring_model::Fence(1) });
            }
            (Err(Error::Unavailable(error.clone())), None)
        });
        let answers = answers.collect();
        if matches!(error, StoreError::Unknown { .. }) && !uncertain.is_empty() {
            let core = self.clone();
            self.spawn_loop(async move {
                let give_back = || core.store.give_back(uncertain.clone(), GiveBack::Release, core.clock.now());
                let _ = core.insist(Duration::MAX, give_back).await;
                core.pools.look_in_store();
                core.claim_wake.notify_one();
            });
        }
        answers
    }
}

fn unknown(reason: &str) -> StoreError {
    StoreError::Unknown { verb: "submit", kind: Trouble::Unavailable, reason: reason.to_owned() }
}
