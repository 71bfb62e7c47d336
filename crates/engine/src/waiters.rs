//! Callers that wait for the end of a job.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use mainspring_model::{Code, JobId, Refused, limits};
use mainspring_store::JobEnd;
use tokio::sync::{Semaphore, oneshot};

use crate::core::Core;
use crate::error::Error;
use crate::locked;

#[derive(Debug)]
pub(crate) struct Waiters {
    entered: Mutex<BTreeMap<JobId, Vec<oneshot::Sender<JobEnd>>>>,
    /// However many wait, few of them ask the store at one time.
    looks: Semaphore,
}

impl Default for Waiters {
    fn default() -> Waiters {
        Waiters { entered: Mutex::default(), looks: Semaphore::new(limits::WAITERS_LOOK_MAX) }
    }
}

impl Waiters {
    fn enter(&self, id: JobId) -> Entered<'_> {
        let (tell, told) = oneshot::channel();
        locked(&self.entered).entry(id).or_default().push(tell);
        Entered { waiters: self, id, told }
    }

    pub(crate) fn tell(&self, id: JobId, end: impl Fn() -> JobEnd) {
        let mut waiters = locked(&self.entered);
        if waiters.is_empty() {
            return;
        }
        for waiter in waiters.remove(&id).unwrap_or_default() {
            let _ = waiter.send(end());
        }
    }
}

/// A caller that waits. When it goes away nothing of it stays.
struct Entered<'a> {
    waiters: &'a Waiters,
    id: JobId,
    told: oneshot::Receiver<JobEnd>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.told.close();
        let mut waiters = locked(&self.waiters.entered);
        if let Some(of_job) = waiters.get_mut(&self.id) {
            of_job.retain(|waiter| !waiter.is_closed());
            if of_job.is_empty() {
                waiters.remove(&self.id);
            }
        }
    }
}

/// How often the store is asked all the same: another node may have ended the job. A job that lasts is asked for less
/// often.
const LOOK_FIRST: Duration = Duration::from_millis(200);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Core {
    pub(crate) async fn wait(&self, id: JobId) -> Result<JobEnd, Error> {
        if self.store.job(id).await?.is_none() {
            return Err(Refused::new(Code::JobNotFound, format!("there is no job {id}")).into());
        }
        let mut pause = if self.node.about.is_shared { LOOK_FIRST } else { LOOK_AGAIN };
        loop {
            // Enter before looking, or an end in between is missed.
            let mut entered = self.waiters.enter(id);
            if let Some(end) = self.look_for_end(id).await? {
                return Ok(end);
            }
            tokio::select! {
                biased;
                end = &mut entered.told => if let Ok(end) = end { return Ok(end) },
                () = self.clock.sleep(pause) => pause = (pause * 2).min(LOOK_AGAIN),
            }
        }
    }

    async fn look_for_end(&self, id: JobId) -> Result<Option<JobEnd>, Error> {
        let _look = self.waiters.looks.acquire().await.map_err(|_| Error::stopping())?;
        Ok(self.store.job_end(id).await?)
    }
}
