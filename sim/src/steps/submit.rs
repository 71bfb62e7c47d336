//! Submit: INV-1 stored when it says so, INV-2 and INV-3 keys, INV-4 a refusal stores nothing, INV-17 a disabled task
//! takes no new job, INV-22 a row is answered for itself.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_model::job::OnLive;
use mainspring_model::task::TaskDefinition;
use mainspring_model::{BizId, Fence, Incarnation, JobId, JobStatus, TaskCode, Timestamp, Unique};
use mainspring_store::{NewJob, ReplacedJob, Submitted};

use super::{Answer, Desk, claimed as claimed_entry, queued};
use crate::crons::is_guarded;
use crate::ghost::{GhostClaim, GhostJob, Image};
use crate::workload::wish_in;

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
                Submitted::Stored { claimed, replaced } => self.stored(owner, job, *claimed, replaced),
                Submitted::Duplicate { id, status, .. } => self.duplicate(job, *id, *status),
                Submitted::Refused(refused) => {
                    if self.is_open(&job.task) && !self.keeps_away(job) {
                        self.violate("INV-22", format!("job {} was refused without need: {refused}", job.id));
                    }
                    self.must_be_absent(job.id);
                }
            }
            if job.on_live == OnLive::Replace {
                self.check_task(&job.task, "INV-15");
            }
        }
        Ok(answers)
    }

    fn is_open(&self, task: &TaskCode) -> bool {
        self.ghost.tasks.get(task).is_some_and(|task| task.enabled)
    }

    /// As its caller said: when so many jobs of its task are live.
    fn keeps_away(&self, job: &NewJob) -> bool {
        matches!(job.on_live, OnLive::JoinBelow(jobs) if self.ghost.live_of(&job.task).len() >= jobs as usize)
    }

    fn stored(&mut self, owner: Incarnation, job: &NewJob, claimed: bool, replaced: &[ReplacedJob]) {
        if self.ghost.jobs.contains_key(&job.id) {
            return self.judge_untouched("submit", job.id); // repeated after an unknown outcome
        }
        if !self.is_open(&job.task) {
            self.violate("INV-17", format!("job {} of {} was stored, the task is disabled", job.id, job.task));
        }
        if self.keeps_away(job) {
            self.violate("POLICY", format!("job {} of {} was stored beside live ones", job.id, job.task));
        }
        if let Some(holder) = self.key_holder(job).filter(|holder| *holder != job.id) {
            let broken = match self.job(holder).map(|first| first.unique) {
                Some(Unique::Live) => "INV-3",
                _ => "INV-2",
            };
            self.violate(broken, format!("job {} was stored, its key belongs to job {holder}", job.id));
        }
        let ends = if job.on_live == OnLive::Replace { self.ghost.live_of(&job.task) } else { Vec::new() };
        let told: Vec<JobId> = replaced.iter().map(|job| job.id).collect();
        if told != ends {
            self.violate("POLICY", format!("job {} replaced {told:?}, live were {ends:?}", job.id));
        }
        self.replaced(replaced, job.create_time);
        if let Some(fires) = job.fires {
            self.backfilled(job, fires.last);
        }
        self.put_job(owner, job, claimed);
        let wish = wish_of(job);
        // Those of a schedule come again and again.
        if crate::workload::is_wish(wish) {
            self.ghost.wishes.entry(wish).or_default().stored.push(job.id);
        }
    }

    /// A fire time of the past, run because a person asks for it: it is one, and it has not run.
    fn backfilled(&mut self, job: &NewJob, time: Timestamp) {
        let Some(task) = self.ghost.tasks.get(&job.task) else { return };
        let choices = self.ghost.schedules.oracles(&task.definition);
        let began_ms = self.ghost.schedules.backfills.get(&job.task).copied();
        // The definition may have been edited since the person asked.
        let is_old = began_ms.is_none();
        if is_old && !choices.iter().any(|oracle| oracle.between(time, time) == [time]) {
            self.violate("INV-14", format!("job {} runs {time}, which is no fire time of {}", job.id, job.task));
        }
        let first = self.ghost.schedules.fired.get(&(job.task.clone(), time)).and_then(|id| self.job(*id));
        let ran = first
            .is_some_and(|first| first.image.status != JobStatus::Skipped && first.stored_ms < began_ms.unwrap_or(0));
        if ran {
            self.violate("INV-13", format!("job {} runs {time} of {} again", job.id, job.task));
        }
    }

    /// A new job, as it must be in the store now.
    pub(super) fn put_job(&mut self, owner: Incarnation, job: &NewJob, claimed: bool) {
        let definition = self.ghost.tasks.get(&job.task).map(|task| task.definition.clone());
        let live = self.ghost.live_of(&job.task).len();
        let is_free = |task: &TaskDefinition| !is_guarded(task) || (live == 0 && task.rate_limit.is_none());
        let may_claim = job.claim && definition.as_ref().is_none_or(is_free) && (!job.serial || live == 0);
        if claimed && !may_claim {
            let detail = format!("job {} of {} was claimed by its insert, {live} jobs were live", job.id, job.task);
            self.violate("INV-20", detail);
        }
        let fence = Fence(i64::from(claimed));
        let queue = if claimed { claimed_entry(job.execute_time, owner) } else { queued(job.execute_time) };
        let image = Image { status: JobStatus::Pending, retry_count: 0, lost_count: 0, attempts: 0, fence, queue };
        // Due from its creation on, whatever the wall clock has done since: a caller may run it at once.
        let since_ms = if job.execute_time <= job.create_time { 0 } else { self.now_ms() };
        let claim = claimed.then_some(GhostClaim::new(fence, owner, since_ms));
        self.check_key(job, definition.as_ref());
        let known = GhostJob { claim, newest_fence: fence, ..ghost_job(job, image.clone(), self.now_ms()) };
        self.ghost.jobs.insert(job.id, known);
        if let Some(key) = key_of(job) {
            self.ghost.keys.insert(key, job.id);
        }
        self.judge("submit", job.id, image);
        if claimed {
            self.handed_out(job.id, fence, job.execute_time.max(job.create_time));
        }
    }

    /// A fire time that is recorded only.
    pub(super) fn put_skipped(&mut self, job: &NewJob) {
        let status = JobStatus::Skipped;
        let image = Image { status, retry_count: 0, lost_count: 0, attempts: 0, fence: Fence(0), queue: None };
        let known = ghost_job(job, image.clone(), self.now_ms());
        self.ghost.jobs.insert(job.id, known);
        if let Some(key) = key_of(job) {
            self.ghost.keys.insert(key, job.id);
        }
        self.judge("submit", job.id, image);
    }

    fn check_key(&mut self, job: &NewJob, definition: Option<&TaskDefinition>) {
        let Some(definition) = definition else { return };
        let tenant = job.payload.as_deref().and_then(wish_in).map(crate::workload::tenant);
        let expected = tenant.filter(|_| definition.concurrency_key.is_some());
        if job.concurrency_key.as_deref() != expected.as_deref() {
            let detail = format!("job {} counts by {:?}, its key is {expected:?}", job.id, job.concurrency_key);
            self.violate("INV-20", detail);
        }
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

    pub(super) fn must_be_absent(&mut self, id: JobId) {
        if self.job(id).is_none() && self.read_image(id).is_some() {
            self.violate("INV-4", format!("job {id} was not accepted and is stored"));
        }
    }
}

fn ghost_job(job: &NewJob, image: Image, stored_ms: u64) -> GhostJob {
    GhostJob {
        image,
        stored_ms,
        task: job.task.clone(),
        pool: job.pool.clone(),
        biz_id: job.biz_id.clone(),
        unique: job.unique,
        max_retry: job.max_retry,
        claim: None,
        newest_fence: Fence(0),
        suspect: false,
        trigger: job.trigger,
        fires: job.fires,
        created: job.create_time,
        key: job.concurrency_key.as_deref().unwrap_or_default().to_owned(),
        serial: job.serial,
        limits: BTreeMap::new(),
        revoked: BTreeSet::new(),
        settled: BTreeMap::new(),
        settle_sent_ms: BTreeMap::new(),
        failures: 0,
        losses: 0,
        bodies: BTreeMap::new(),
        operations: Vec::new(),
    }
}

fn key_of(job: &NewJob) -> Option<(TaskCode, BizId)> {
    job.biz_id.clone().map(|biz_id| (job.task.clone(), biz_id))
}

/// Its number in the workload, from its payload.
fn wish_of(job: &NewJob) -> u32 {
    job.payload.as_deref().and_then(wish_in).unwrap_or(u32::MAX)
}

fn word(answer: &Submitted) -> String {
    match answer {
        Submitted::Stored { claimed, replaced } => format!("stored, claimed: {claimed}, instead of {}", replaced.len()),
        Submitted::Duplicate { id, .. } => format!("duplicate of {id}"),
        Submitted::Refused(refused) => format!("refused {}", refused.code),
    }
}
