//! Claims and what becomes of them without a body: INV-4 a claim brings no more than there is room, INV-5 the fence
//! grows with every claim, INV-10 nobody takes what a live claim holds, INV-16 nothing is claimed before its time,
//! INV-18 a claim tells the true budgets.

use mainspring_model::job::QueueEntry;
use mainspring_model::{JobId, PoolName, QueueState, TaskCode, Timestamp};
use mainspring_store::{Claim, ClaimRequest, Claimed, GiveBack, Held};

use super::{Answer, Desk, at_once, claimed as claimed_entry, queued};
use crate::ghost::{GhostClaim, Image};

impl Desk<'_> {
    pub(crate) fn claim(&mut self, request: ClaimRequest) -> Answer<Claimed> {
        let answer = self.world.planted.claim(self.world.store.as_ref(), &request);
        let claimed = self.sound("claim", answer)?;
        for room in &request.rooms {
            let brought = claimed.jobs.iter().filter(|claim| claim.pool == room.pool).count();
            if brought > room.jobs_max as usize {
                let detail = format!("{brought} jobs were claimed for {} places of {}", room.jobs_max, room.pool);
                self.violate("INV-4", detail);
            }
        }
        for claim in &claimed.jobs {
            self.event(format_args!("claims {}-{} due {}", claim.id, claim.fence, claim.due.as_ms()));
            self.claimed(&request, claim);
        }
        Ok(claimed)
    }

    fn claimed(&mut self, request: &ClaimRequest, claim: &Claim) {
        let id = claim.id;
        let Some(job) = self.job(id) else {
            return self.violate("INV-1", format!("job {id} was claimed, nobody submitted it"));
        };
        let before = job.image.clone();
        let (held_by, newest, suspect) = (job.claim, job.newest_fence, job.suspect);
        if before.status.is_final() {
            self.violate("INV-8", format!("job {id} was claimed, it is {}", before.status));
        }
        if let Some(holder) = held_by {
            let detail = format!("job {id} was claimed, {} holds it with fence {}", holder.owner, holder.fence);
            self.violate("INV-10", detail);
        }
        if claim.fence <= newest {
            let detail = format!("job {id} was claimed with fence {}, a claim before had {newest}", claim.fence);
            self.violate("INV-5", detail);
        }
        let due = before.due().unwrap_or_default();
        // A rate can make it later.
        let is_rated = self.is_rated(&claim.task, &claim.pool);
        if claim.due > request.due_until || claim.due < due || (claim.due > due && !is_rated) {
            let detail = format!("job {id} is due {due:?}, claimed with {:?} until {:?}", claim.due, request.due_until);
            self.violate("INV-16", detail);
        }
        let told = (claim.retry_count, claim.lost_count, claim.attempts, claim.suspect);
        if told != (before.retry_count, before.lost_count, before.attempts, suspect) {
            let detail =
                format!("claim of job {id} tells retries, losses, attempts, suspect {told:?}, it is {before:?}");
            self.violate("INV-18", detail);
        }
        let expected = Image { fence: before.fence.next(), queue: claimed_entry(due, request.owner), ..before };
        let since_ms = self.now_ms();
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            job.newest_fence = claim.fence;
            job.claim = Some(GhostClaim { due: claim.due, ..GhostClaim::new(claim.fence, request.owner, since_ms) });
        }
        self.judge("claim", id, expected);
        self.handed_out(id, claim.fence, claim.due.max(request.now));
    }

    pub(crate) fn give_back(&mut self, held: &[Held], how: GiveBack, now: Timestamp) -> Answer<()> {
        let answer = self.world.planted.give_back(self.world.store.as_ref(), held, how, now);
        self.sound("give_back", answer)?;
        let before = self.images(held.iter().map(|held| held.id));
        for held in held {
            let in_memory = self.ghost.holds(*held)
                && self.job(held.id).and_then(|job| job.image.queue).is_some_and(|at| at.state == QueueState::Claimed);
            self.event(format_args!("gives back {}-{}: {how:?} {in_memory}", held.id, held.fence));
            let Some(job) = self.ghost.jobs.get_mut(&held.id).filter(|_| in_memory) else { continue };
            let state = match how {
                GiveBack::Release => QueueState::Queued,
                GiveBack::Park => QueueState::Parked,
            };
            job.claim = None;
            let due = job.image.due().unwrap_or_default();
            job.image.queue = Some(QueueEntry { state, due, owner: None });
        }
        let of_lane: Vec<JobId> =
            before.keys().filter(|id| self.job(**id).is_some_and(|job| self.is_limited(&job.task))).copied().collect();
        self.judge_all("give_back", before);
        for id in of_lane {
            let Some(job) = self.job(id) else { continue };
            if job.claim.is_none() && job.image.queue.is_some_and(|entry| entry.owner.is_some()) {
                self.violate("INV-20", format!("job {id} was given back and still counts against its lane"));
            }
        }
        Ok(())
    }

    fn is_rated(&self, code: &TaskCode, pool: &PoolName) -> bool {
        let task = self.ghost.tasks.get(code);
        task.is_some_and(|task| task.definition.rate_limit.is_some()) || self.ghost.pool_rates.contains_key(pool)
    }

    fn is_limited(&self, code: &TaskCode) -> bool {
        self.ghost.tasks.get(code).is_some_and(|task| crate::crons::lane_limit(&task.definition).is_some())
    }

    pub(crate) fn unpark(&mut self, tasks: Vec<TaskCode>) -> Answer<u64> {
        let answer = at_once(self.world.store.unpark(tasks.clone()));
        let freed = self.sound("unpark", answer)?;
        let parked = |image: &Image| image.queue.is_some_and(|entry| entry.state == QueueState::Parked);
        let mut waiting = Vec::new();
        for (id, job) in &self.ghost.jobs {
            if parked(&job.image) && tasks.contains(&job.task) {
                let due = job.image.due().unwrap_or_default();
                waiting.push((*id, Image { queue: queued(due), ..job.image.clone() }));
            }
        }
        if freed != waiting.len() as u64 {
            self.violate("INV-24", format!("{freed} parked jobs were freed, {} waited", waiting.len()));
        }
        self.event(format_args!("unparks {freed}"));
        for (id, expected) in waiting {
            self.judge("unpark", id, expected);
        }
        Ok(freed)
    }
}
