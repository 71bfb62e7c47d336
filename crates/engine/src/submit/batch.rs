//! Group commit: while one batch is being written, the next one gathers. There is no timer: under no load a batch is
//! one job and waits for nothing, under load batches grow by themselves.
//!
//! **Invariant:** a caller is answered after the commit, never before.
//! **Invariant:** jobs in memory that are not committed are at most `INTAKE_JOBS_MAX`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_model::job::OnLive;
use mainspring_model::time::Clock;
use mainspring_model::{Code, Incarnation, Job, Refused, Unique, limits};
use mainspring_store::{JobFilter, NewJob, StoreError, Submitted, Trouble, WhenFull};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

use super::{Receipt, fresh_claim, pool_full};
use crate::core::Core;
use crate::dispatch::Place;
use crate::error::{Error, RETRY_AFTER};
use crate::execute;
use crate::locked;

/// What became of a job that was to be written.
#[derive(Debug)]
pub(super) enum Stored {
    Answer(Result<Receipt, Error>),
    /// Its first attempt has begun for the caller, who waits for the end of it.
    RunsForCaller(Receipt, oneshot::Receiver<()>),
    /// The pool's policy WAIT: nothing was stored, and the caller tries again.
    PoolFull(Box<NewJob>),
}

#[derive(Debug)]
pub(crate) struct Intake {
    /// `None` once the engine has stopped.
    gathering: Mutex<Option<VecDeque<Waiting>>>,
    wake: Notify,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiting {
    job: NewJob,
    answer: oneshot::Sender<Stored>,
    /// The place in the intake, until the job is written: also when its caller has gone away.
    permit: OwnedSemaphorePermit,
}

impl Default for Intake {
    fn default() -> Intake {
        let room = Arc::new(Semaphore::new(limits::INTAKE_JOBS_MAX));
        Intake { gathering: Mutex::new(Some(VecDeque::new())), wake: Notify::new(), room }
    }
}

impl Intake {
    /// Places in the intake: at once, or as soon as there are any, or never.
    pub(crate) async fn admit(&self, jobs: usize, clock: &dyn Clock) -> Result<OwnedSemaphorePermit, Error> {
        let places = u32::try_from(jobs).unwrap_or(u32::MAX);
        if let Ok(permit) = self.room.clone().try_acquire_many_owned(places) {
            return Ok(permit);
        }
        tokio::select! {
            biased;
            permit = self.room.clone().acquire_many_owned(places) => permit.map_err(|_| Error::stopping()),
            () = clock.sleep(Duration::from_millis(limits::INTAKE_WAIT_MS)) => {
                let refused = Refused::new(Code::BacklogFull, "too many submits wait to be written; nothing was stored");
                Err(refused.retry_after(RETRY_AFTER).into())
            }
        }
    }

    pub(super) async fn add(&self, job: NewJob, permit: OwnedSemaphorePermit) -> Stored {
        let (answer, answered) = oneshot::channel();
        match &mut *locked(&self.gathering) {
            Some(gathering) => gathering.push_back(Waiting { job, answer, permit }),
            None => return Stored::Answer(Err(Error::stopping())),
        }
        self.wake.notify_one();
        // Dropped without an answer: the stop did not wait any longer for a write that was under way.
        let gone = || unknown("the node stopped while the job was being written").into();
        answered.await.unwrap_or_else(|_| Stored::Answer(Err(gone())))
    }

    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.gathering).as_ref().is_none_or(VecDeque::is_empty)
    }

    /// Nothing is written any more: whoever waits hears so, whoever comes later too.
    pub(crate) fn close(&self) {
        self.room.close();
        for waiting in locked(&self.gathering).take().into_iter().flatten() {
            let _ = waiting.answer.send(Stored::Answer(Err(Error::stopping())));
        }
    }

    fn take(&self) -> Vec<Waiting> {
        match &mut *locked(&self.gathering) {
            Some(gathering) => {
                let count = gathering.len().min(limits::FLUSH_JOBS_MAX);
                gathering.drain(..count).collect()
            }
            None => Vec::new(),
        }
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
        let (mut jobs, mut answers) = (Vec::with_capacity(waiting.len()), Vec::with_capacity(waiting.len()));
        for Waiting { job, answer, permit } in waiting {
            jobs.push(job);
            answers.push((answer, permit));
        }
        let stored = core.store_jobs(jobs, Caller::OfOne).await;
        for ((answer, permit), stored) in answers.into_iter().zip(stored) {
            drop(permit);
            // A caller that went away has its job all the same: the commit counts.
            let _ = answer.send(stored);
        }
    }
}

/// Who waits for the answer: a caller of many neither waits for single places nor runs jobs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    OfOne,
    OfMany,
}

impl Core {
    /// In a task of its own: a caller that goes away must not leave half of it undone.
    pub(crate) async fn store_portion(self: &Arc<Core>, jobs: Vec<NewJob>) -> Vec<Result<Receipt, Error>> {
        let count = jobs.len();
        let permit = match self.intake.admit(count, self.clock.as_ref()).await {
            Ok(permit) => permit,
            Err(error) => return vec![Err(error); count],
        };
        let core = self.clone();
        let work = async move {
            let stored = core.store_jobs(jobs, Caller::OfMany).await;
            drop(permit);
            stored
        };
        let answer = |stored| match stored {
            Stored::Answer(answer) => answer,
            Stored::RunsForCaller(receipt, _) => Ok(receipt),
            Stored::PoolFull(job) => Err(pool_full(&job).into()),
        };
        match self.to_its_end(work).await {
            Ok(stored) => stored.into_iter().map(answer).collect(),
            Err(_) => vec![Err(unknown("the node stopped while the jobs were being written").into()); count],
        }
    }

    /// One transaction. Claimed jobs are in their pools, and started, before their callers hear of them.
    async fn store_jobs(self: &Arc<Core>, jobs: Vec<NewJob>, caller: Caller) -> Vec<Stored> {
        let owning = self.owning.read().await;
        if self.has_left() {
            return jobs.iter().map(|_| Stored::Answer(Err(Error::stopping()))).collect();
        }
        if let Err(error) = self.node.require_lease(self.clock.monotonic()) {
            return jobs.iter().map(|_| Stored::Answer(Err(Error::Unavailable(error.clone())))).collect();
        }
        let me = self.node.me().incarnation;
        let places: Vec<Place> = jobs.iter().map(|job| self.place_of(job, caller)).collect();
        let is_written = |place: &Place| !matches!(place, Place::Full(WhenFull::Reject | WhenFull::Wait));
        let rows: Vec<NewJob> = jobs
            .iter()
            .zip(&places)
            .filter(|(_, place)| is_written(place))
            .map(|(job, place)| NewJob { claim: *place != Place::InStore, ..job.clone() })
            .collect();
        let submitted = self.submit_rows(me, rows).await;
        let stored = match submitted {
            Ok(submitted) => {
                let mut submitted = submitted.into_iter();
                let mut stored = Vec::with_capacity(jobs.len());
                for (job, place) in jobs.into_iter().zip(places) {
                    stored.push(match place {
                        Place::Full(WhenFull::Reject | WhenFull::Wait) => self.not_taken(job, place).await,
                        place => {
                            let submitted = submitted.next().expect("the store gives one answer for each row");
                            self.arrange(me, job, place, submitted)
                        }
                    });
                }
                stored
            }
            Err(error) => self.not_stored(&jobs, &places, &error),
        };
        drop(owning);
        self.kick_all();
        self.claim_wake.notify_one();
        stored
    }

    /// The pool is full and its policy is not to store. A key that is taken is answered all the same: its caller may be
    /// asking what became of a submit that had no answer.
    async fn not_taken(&self, job: NewJob, place: Place) -> Stored {
        match self.holder_of_key(&job).await {
            Ok(Some(first)) => {
                let (id, status, execute_time) = (first.id, first.status, first.execute_time);
                let payload_differs = first.payload != job.payload;
                let duplicate = Submitted::Duplicate { id, status, execute_time, payload_differs };
                Stored::Answer(self.receipt(&job, duplicate, self.store.info().durability))
            }
            Ok(None) if place == Place::Full(WhenFull::Wait) => Stored::PoolFull(Box::new(job)),
            Ok(None) => Stored::Answer(Err(pool_full(&job).into())),
            Err(error) => Stored::Answer(Err(error.into())),
        }
    }

    async fn holder_of_key(&self, job: &NewJob) -> Result<Option<Job>, StoreError> {
        if job.biz_id.is_none() {
            return Ok(None);
        }
        let filter = JobFilter { task: Some(job.task.clone()), biz_id: job.biz_id.clone(), ..JobFilter::default() };
        let newest = self.store.jobs(filter, 1, None).await?.items.pop();
        // The key of an ended LIVE job is free.
        match newest.filter(|newest| job.unique == Unique::Always || !newest.status.is_final()) {
            Some(newest) => self.store.job(newest.id).await,
            None => Ok(None),
        }
    }

    fn place_of(&self, job: &NewJob, caller: Caller) -> Place {
        match self.place_for(job) {
            Place::Full(WhenFull::Wait | WhenFull::CallerRuns) if caller == Caller::OfMany => Place::InStore,
            place => place,
        }
    }

    async fn submit_rows(&self, me: Incarnation, rows: Vec<NewJob>) -> Result<Vec<Submitted>, StoreError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        match self.store.submit(me, rows.clone()).await {
            // Ids are fixed, so the same insert can be repeated until it is known what happened.
            Err(StoreError::Unknown { .. }) => {
                let again = || self.store.submit(me, rows.clone());
                let patience = Duration::from_millis(limits::INTAKE_WAIT_MS);
                // A last try that was not applied says nothing of the first.
                self.insist(patience, again).await.map_err(|error| unknown(&error.to_string()))
            }
            answer => answer,
        }
    }

    fn arrange(self: &Arc<Core>, me: Incarnation, job: NewJob, place: Place, submitted: Submitted) -> Stored {
        // As the store was asked.
        let job = NewJob { claim: place != Place::InStore, ..job };
        let claimed = match &submitted {
            Submitted::Stored { claimed, replaced } => {
                self.follow_replaced(replaced, &job);
                if job.on_live == OnLive::Replace {
                    // The end of what was replaced may have set the next fire of a fixed delay.
                    self.reload_soon(&job.task);
                }
                Some(*claimed)
            }
            Submitted::Duplicate { .. } | Submitted::Refused(_) => None,
        };
        let receipt = self.receipt(&job, submitted, self.store.info().durability);
        match (place, claimed, receipt) {
            (Place::Reserved, None, receipt) => {
                self.cancel_place(&job);
                Stored::Answer(receipt)
            }
            (Place::Full(_), Some(true), Ok(receipt)) if let Some(pool) = self.pools.get(&job.pool) => {
                pool.add_slot();
                let (ended, end) = oneshot::channel();
                let task = self.tasks.get(&job.task);
                execute::start_for(self, pool, fresh_claim(job, me, task.as_deref()), ended);
                Stored::RunsForCaller(receipt, end)
            }
            (place, Some(claimed), receipt) => {
                self.follow_stored(me, NewJob { claim: place == Place::Reserved, ..job }, claimed);
                Stored::Answer(receipt)
            }
            (_, None, receipt) => Stored::Answer(receipt),
        }
    }

    /// The callers hear of the error. Rows whose commit is still unknown may be owned by this node without being in
    /// its memory: they are given back as soon as the store answers.
    fn not_stored(self: &Arc<Core>, jobs: &[NewJob], places: &[Place], error: &StoreError) -> Vec<Stored> {
        for (job, place) in jobs.iter().zip(places) {
            if let (Place::Reserved, Some(pool)) = (place, self.pools.get(&job.pool)) {
                pool.cancel_place(1);
            }
        }
        let may_own = places.iter().any(|place| *place != Place::InStore);
        if may_own && matches!(error, StoreError::Unknown { .. }) {
            self.give_back_unknown_soon();
        }
        jobs.iter().map(|_| Stored::Answer(Err(Error::Unavailable(error.clone())))).collect()
    }
}

fn unknown(reason: &str) -> StoreError {
    StoreError::Unknown { verb: "submit", kind: Trouble::Unavailable, reason: reason.to_owned() }
}
