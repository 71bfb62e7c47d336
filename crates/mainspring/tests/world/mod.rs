//! An engine under a clock that is moved by hand.

use std::sync::Arc;
use std::time::Duration;

use mainspring::clock::ManualClock;
use mainspring::prelude::*;
use mainspring::{Builder, Engine, Job, JobFilter, JobStatus, TaskCode, TaskDefinition, TaskSwitch, Timestamp};
use tokio::sync::Semaphore;

use crate::stores::{LIMIT, within};

pub(crate) const BEGIN: &str = "2026-12-01T08:00:00.500Z";

pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) jobs: Mainspring,
    /// Bodies of `gated` wait for a permit.
    pub(crate) gate: Arc<Semaphore>,
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

pub(crate) fn code(text: &str) -> TaskCode {
    TaskCode::new(text).expect("a code")
}

impl World {
    pub(crate) async fn on(jobs: Builder) -> World {
        World::at(jobs, ManualClock::at(at(BEGIN))).await
    }

    pub(crate) async fn at(jobs: Builder, clock: Arc<ManualClock>) -> World {
        let gate = Arc::new(Semaphore::new(0));
        let permits = gate.clone();
        let gated = move |context: Context, _: serde_json::Value| {
            let permits = permits.clone();
            async move {
                tokio::select! {
                    permit = permits.acquire() => permit.expect("open").forget(),
                    () = context.cancelled() => {}
                }
            }
        };
        let jobs = jobs
            .clock(clock.clone())
            // The clock is moved faster than real time: a thread that lags must not cost the lease.
            .lease(Duration::from_secs(600))
            .handler("ok", async |_: Context, _: serde_json::Value| ())
            .handler("gated", gated)
            .handler("fails", async |_: Context, _: serde_json::Value| Err::<(), _>("no"))
            .start()
            .await
            .expect("starts");
        World { clock, jobs, gate }
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.jobs.engine()
    }

    pub(crate) async fn define(&self, name: &str, definition: TaskDefinition) {
        let created = self.engine().create_task(code(name), definition, TaskSwitch::Enabled, "test").await;
        created.expect("created");
    }

    /// Time passes in steps that the scheduler sees.
    #[expect(clippy::disallowed_methods, reason = "real time, in which the engine follows the clock of the test")]
    pub(crate) async fn pass(&self, seconds: u32) {
        for _ in 0..seconds * 4 {
            self.clock.advance(Duration::from_millis(250));
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// The jobs of a task, the oldest first.
    pub(crate) async fn jobs_of(&self, name: &str) -> Vec<Job> {
        let filter = JobFilter { task: Some(code(name)), ..JobFilter::default() };
        let mut jobs = self.engine().jobs(filter, 200, None).await.expect("read").items;
        jobs.reverse();
        jobs
    }

    #[expect(clippy::disallowed_methods, reason = "real time, in which the engine follows the clock of the test")]
    pub(crate) async fn until(&self, name: &str, what: impl Fn(&[Job]) -> bool) -> Vec<Job> {
        let looked = async {
            loop {
                let jobs = self.jobs_of(name).await;
                if what(&jobs) {
                    return jobs;
                }
                // A body that has just begun shows as EXECUTING after a moment of this clock.
                self.clock.advance(Duration::from_millis(1));
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(LIMIT, looked).await {
            Ok(jobs) => jobs,
            Err(_) => panic!("it never came to that: {:#?}", self.jobs_of(name).await),
        }
    }

    pub(crate) async fn statuses(&self, name: &str, expect: &[JobStatus]) -> Vec<Job> {
        self.until(name, |jobs| jobs.iter().map(|job| job.status).eq(expect.iter().copied())).await
    }

    pub(crate) async fn end(self) {
        let wrong = self.engine().store().verify().await.expect("read");
        assert!(wrong.is_empty(), "{wrong:?}");
        self.gate.close();
        within(self.jobs.stop(LIMIT)).await;
    }
}
