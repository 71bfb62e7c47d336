//! Submit: INV-1 stored when it says so, INV-2 and INV-3 keys, INV-4 a refusal stores nothing, INV-17 a disabled task
//! takes no new job, INV-22 a row is answered for itself.

use std::collections::BTreeMap;

use mainspring_model::{BizId, Fence, Incarnation, JobId, JobStatus, TaskCode, Unique};
use mainspring_store::{NewJob, Submitted};

use super::{Answer, Desk, claimed, queued};
use crate::ghost::{GhostClaim, GhostJob, Image};

impl Desk<'_> {
    pub(crate) fn submit(&mut self, owner: Incarnation, jobs: Vec<NewJob>) -> Answer<Vec<Submitted>> {
        let answer = self.world.planted.submit(self.world.store.as_ref(), owner, &jobs);
        let answers = self.sound("submit", answer)?;
        if answers.len() != jobs.len() {
            self.violate("INV-22", format!("{} jobs were submitted, {} were answered", jobs.len(), answers.len()));
        }
        for (job, answer) in jobs.iter().zip(&answers) {
            self.event(format_args!("submit {} of {} wish {}: {}", job.id, job.task, wish_of(job), word(answer)));
            match answer {
                Submitted::Stored => self.stored(owner, job),
                Submitted::Duplicate { id, status, .. } => self.duplicate(job, *id, *status),
                Submitted::Refused(refused) => {
                    if self.is_open(&job.task) {
                        self.violate("INV-22", format!("job {} was refused without need: {refused}", job.id));
                    }
                    self.must_be_absent(job.id);
                }
            }
        }
        Ok(answers)
    }

    fn is_open(&self, task: &TaskCode) -> bool {
        self.ghost.tasks.get(task).is_some_and(|task| task.enabled)
    }

    fn stored(&mut self, owner: Incarnation, job: &NewJob) {
        if self.ghost.jobs.contains_key(&job.id) {
            return self.judge_untouched("submit", job.id); // repeated after an unknown outcome
        }
        if !self.is_open(&job.task) {
            self.violate("INV-17", format!("job {} of {} was stored, the task is disabled", job.id, job.task));
        }
        if let Some(holder) = self.key_holder(job).filter(|holder| *holder != job.id) {
            let broken = match self.job(holder).map(|first| first.unique) {
                Some(Unique::Live) => "INV-3",
                _ => "INV-2",
            };
            self.violate(broken, format!("job {} was stored, its key belongs to job {holder}", job.id));
        }
        let fence = Fence(i64::from(job.claim));
        let queue = if job.claim { claimed(job.execute_time, owner) } else { queued(job.execute_time) };
        let image = Image { status: JobStatus::Pending, retry_count: 0, lost_count: 0, attempts: 0, fence, queue };
        // Due from its creation on, whatever the wall clock has done since: a caller may run it at once.
        let since_ms = if job.execute_time <= job.create_time { 0 } else { self.now_ms() };
        let claim = job.claim.then_some(GhostClaim { fence, owner, since_ms, start_written: false });
        let wish = wish_of(job);
        let known = GhostJob {
            image: image.clone(),
            task: job.task.clone(),
            pool: job.pool.clone(),
            biz_id: job.biz_id.clone(),
            unique: job.unique,
            max_retry: job.max_retry,
            claim,
            newest_fence: fence,
            suspect: false,
            settled: BTreeMap::new(),
            settle_sent_ms: BTreeMap::new(),
            failures: 0,
            losses: 0,
            bodies: BTreeMap::new(),
            operations: Vec::new(),
        };
        self.ghost.jobs.insert(job.id, known);
        self.ghost.wishes.entry(wish).or_default().stored.push(job.id);
        if let Some(key) = key_of(job) {
            self.ghost.keys.insert(key, job.id);
        }
        self.judge("submit", job.id, image);
    }

    fn duplicate(&mut self, job: &NewJob, first: JobId, status: JobStatus) {
        match self.key_holder(job) {
            None => {
                let detail = format!("job {} was told that job {first} has its key, which is free", job.id);
                self.violate("INV-3", detail);
            }
            Some(holder) if holder != first => {
                let detail = format!("job {} was told of job {first}, its key belongs to job {holder}", job.id);
                self.violate("INV-2", detail);
            }
            Some(holder) => {
                if self.job(holder).is_some_and(|known| known.image.status != status) {
                    self.violate("INV-2", format!("job {} was told that job {first} is {status}", job.id));
                }
            }
        }
        self.must_be_absent(job.id);
    }

    fn key_holder(&self, job: &NewJob) -> Option<JobId> {
        key_of(job).and_then(|key| self.ghost.keys.get(&key).copied())
    }

    fn must_be_absent(&mut self, id: JobId) {
        if self.job(id).is_none() && self.read_image(id).is_some() {
            self.violate("INV-4", format!("job {id} was not accepted and is stored"));
        }
    }
}

fn key_of(job: &NewJob) -> Option<(TaskCode, BizId)> {
    job.biz_id.clone().map(|biz_id| (job.task.clone(), biz_id))
}

/// Its number in the workload, from its payload.
fn wish_of(job: &NewJob) -> u32 {
    job.payload.as_deref().and_then(crate::workload::wish_in).unwrap_or(u32::MAX)
}

fn word(answer: &Submitted) -> String {
    match answer {
        Submitted::Stored => "stored".to_owned(),
        Submitted::Duplicate { id, .. } => format!("duplicate of {id}"),
        Submitted::Refused(refused) => format!("refused {}", refused.code),
    }
}
