//! Dispatch: claiming what is due and may run, giving back, parking.

use mainspring_model::job::QueueState;
use mainspring_model::{Incarnation, JobId, PoolName, Priority, TaskCode, Timestamp};

use super::lanes::{Admission, RingId, is_held};
use super::{Data, Queued, Record};
use crate::rules::{self, CLAIM_ROUNDS_MAX, PRIORITIES, Window};
use crate::{Claim, ClaimRequest, Claimed, GiveBack, Held, PoolRoom};

/// How the choice for one pool goes on.
enum Round {
    /// Jobs were set aside for their lanes: others may take their room.
    ChooseAgain,
    Over,
}

impl Data {
    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Claimed {
        let turn = self.claims;
        self.claims += 1;
        self.open_rings(Window::of(request).until);
        let mut claimed = Claimed::default();
        for room in &request.rooms {
            let end = claimed.jobs.len() + self.room(room) as usize;
            for _ in 0..CLAIM_ROUNDS_MAX {
                let left = u32::try_from(end - claimed.jobs.len()).expect("it is at most the room");
                let left = PoolRoom { pool: room.pool.clone(), jobs_max: left };
                if let Round::Over = self.claim_round(request, &left, turn, &mut claimed.jobs) {
                    break;
                }
            }
        }
        for room in &request.rooms {
            claimed.next_due.push((room.pool.clone(), self.next_due(room, request)));
        }
        claimed
    }

    /// Of the room that a node has for the pool, what all nodes together leave it.
    fn room(&self, room: &PoolRoom) -> u32 {
        let limit = self.pools.get(&room.pool).and_then(|pool| pool.cluster_concurrency);
        let Some(max) = limit else { return room.jobs_max };
        let held =
            self.queue.iter().filter(|(id, queued)| queued.owner.is_some() && self.records[id].job.pool == room.pool);
        room.jobs_max.min(max.saturating_sub(u32::try_from(held.count()).unwrap_or(u32::MAX)))
    }

    fn claim_round(&mut self, request: &ClaimRequest, room: &PoolRoom, turn: u64, claims: &mut Vec<Claim>) -> Round {
        let pool: RingId = (rules::pool_scope(&room.pool), String::new());
        let pool_rate = self.pools.get(&room.pool).and_then(|pool| pool.rate_limit);
        let mut round = Round::Over;
        for id in self.choose(room, request, turn) {
            let queued = self.queue[&id].clone();
            let window = Window::of(request);
            let opens = pool_rate.and_then(|limit| self.rings.get(&pool).and_then(|ring| ring.opens_at(limit, window)));
            let Some(start) = window.start(queued.due, opens) else { return Round::Over };
            match self.admission(&queued, start, window) {
                Admission::At(start) => {
                    self.count_start(&queued, start);
                    if let Some(limit) = pool_rate {
                        self.count_pool_start(&pool, limit, start);
                    }
                    let queued = self.queue.get_mut(&id).expect("it was found in the queue under this lock");
                    (queued.owner, queued.state) = (Some(request.owner), QueueState::Claimed);
                    queued.fence = queued.fence.next();
                    let due = window.shown_due(queued.due, start);
                    claims.push(Claim { due, ..claim_of(&self.records[&id], queued, request.owner) });
                }
                admission => {
                    self.set_aside(id, admission);
                    round = Round::ChooseAgain;
                }
            }
        }
        round
    }

    fn choose(&self, room: &PoolRoom, request: &ClaimRequest, turn: u64) -> Vec<JobId> {
        let mut waiting: [Vec<(Timestamp, JobId)>; PRIORITIES] = Default::default();
        for (id, queued) in self.unclaimed(&room.pool, request).filter(|(_, queued)| queued.due <= request.due_until) {
            let at = Priority::ALL.iter().position(|priority| *priority == self.records[&id].job.priority);
            waiting[at.expect("ALL holds every priority")].push((queued.due, id));
        }
        let mut counts = [0; PRIORITIES];
        for (jobs, count) in waiting.iter_mut().zip(&mut counts) {
            jobs.sort();
            jobs.truncate(room.jobs_max as usize);
            *count = u32::try_from(jobs.len()).expect("it was cut to a u32");
        }
        let taken = rules::split(room.jobs_max, counts, turn);
        waiting
            .iter()
            .zip(taken)
            .flat_map(|(jobs, taken)| jobs.iter().take(taken as usize))
            .map(|(_, id)| *id)
            .collect()
    }

    fn unclaimed<'d>(
        &'d self,
        pool: &'d PoolName,
        request: &'d ClaimRequest,
    ) -> impl Iterator<Item = (JobId, &'d Queued)> {
        let free = |queued: &Queued| {
            queued.owner.is_none() && queued.state == QueueState::Queued && !request.excluded.contains(&queued.task)
        };
        let rows = self.queue.iter().map(|(id, queued)| (*id, queued));
        rows.filter(move |(id, queued)| free(queued) && self.records[id].job.pool == *pool)
    }

    /// When there may be something to claim. Not before the rate of the pool admits a start: nobody is to ask in vain.
    fn next_due(&self, room: &PoolRoom, request: &ClaimRequest) -> Option<Timestamp> {
        let (pool, window) = (&room.pool, Window::of(request));
        let is_full = self.room(&PoolRoom { jobs_max: 1, ..room.clone() }) == 0;
        // Whoever gives a place of a full pool back wakes the others.
        let due = self.unclaimed(pool, request).map(|(_, queued)| queued.due).min().filter(|_| !is_full);
        let limit = self.pools.get(pool).and_then(|pool| pool.rate_limit);
        let ring = self.rings.get(&(rules::pool_scope(pool), String::new()));
        let opens =
            ring.zip(limit).and_then(|(ring, limit)| ring.opens_at(limit, window)).filter(|opens| *opens > window.now);
        let next = [due, self.next_opening()].into_iter().flatten().min()?;
        Some(opens.map_or(next, |opens| next.max(opens)))
    }

    pub(super) fn give_back(&mut self, held: &[Held], how: GiveBack) {
        for held in held {
            let row = self.queue.get_mut(&held.id);
            if let Some(queued) = row.filter(|row| is_his(row, held) && row.state == QueueState::Claimed) {
                queued.owner = None;
                queued.state = match how {
                    GiveBack::Release => QueueState::Queued,
                    GiveBack::Park => QueueState::Parked,
                };
                let (task, lane) = (queued.task.clone(), queued.lane.clone());
                self.release_lane(&task, lane.as_ref());
            }
        }
    }

    pub(super) fn unpark(&mut self, tasks: &[TaskCode]) -> u64 {
        let mut jobs = 0;
        for queued in self.queue.values_mut() {
            if queued.state == QueueState::Parked && tasks.contains(&queued.task) {
                queued.state = QueueState::Queued;
                jobs += 1;
            }
        }
        jobs
    }

    /// The queue row of a job that is held under this fence.
    pub(super) fn held_row(&mut self, held: Held) -> Option<&mut Queued> {
        self.queue.get_mut(&held.id).filter(|row| is_held(row) && is_his(row, &held))
    }
}

fn is_his(row: &Queued, held: &Held) -> bool {
    (row.fence, row.owner) == (held.fence, Some(held.owner))
}

fn claim_of(record: &Record, queued: &Queued, owner: Incarnation) -> Claim {
    let job = &record.job;
    Claim {
        id: job.id,
        fence: queued.fence,
        owner,
        task: job.task.clone(),
        pool: job.pool.clone(),
        priority: job.priority,
        due: queued.due,
        attempts: job.attempts,
        retry_count: job.retry_count,
        max_retry: job.max_retry,
        lost_count: job.lost_count,
        suspect: queued.suspect,
        timeout_ms: job.timeout_ms,
        payload: job.payload.clone(),
        biz_id: job.biz_id.clone(),
        unique: record.unique,
        trigger: job.trigger,
        fire_time: job.fires.map(|fires| fires.last),
        create_time: job.create_time,
        shard: job.shard,
        lane: queued.lane.clone(),
    }
}
