//! Callers that wait for the end of a job.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use mainspring_model::{Code, JobId, Refused};
use mainspring_store::JobEnd;
use tokio::sync::oneshot;

use crate::core::Core;
use crate::error::Error;
use crate::locked;

#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<BTreeMap<JobId, Vec<oneshot::Sender<JobEnd>>>>);

impl Waiters {
    fn enter(&self, id: JobId) -> oneshot::Receiver<JobEnd> {
        let (tell, told) = oneshot::channel();
        let mut waiters = locked(&self.0);
        let of_job = waiters.entry(id).or_default();
        of_job.retain(|waiter| !waiter.is_closed());
        of_job.push(tell);
        told
    }

    pub(crate) fn tell(&self, id: JobId, end: impl Fn() -> JobEnd) {
        let mut waiters = locked(&self.0);
        if waiters.is_empty() {
            return;
        }
        for waiter in waiters.remove(&id).unwrap_or_default() {
            let _ = waiter.send(end());
        }
    }
}

/// How often the store is asked all the same: another process may have ended the job.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Core {
    pub(crate) async fn wait(&self, id: JobId) -> Result<JobEnd, Error> {
        if self.store.job(id).await?.is_none() {
            return Err(Refused::new(Code::JobNotFound, format!("there is no job {id}")).into());
        }
        loop {
            // Enter before looking, or an end in between is missed.
            let told = self.waiters.enter(id);
            if let Some(end) = self.store.job_end(id).await? {
                return Ok(end);
            }
            tokio::select! {
                biased;
                end = told => if let Ok(end) = end { return Ok(end) },
                () = self.clock.sleep(LOOK_AGAIN) => {}
            }
        }
    }
}
