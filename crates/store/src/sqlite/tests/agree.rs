//! Random verbs of schedules, lanes and rates on two stores: equal answers, equal rows, and no limit is ever passed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring_model::decide::{Budget, Decision, Next};
use mainspring_model::job::{DeadCause, Fires, OnLive, SkipReason};
use mainspring_model::operations::JobOperation;
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Overlap, TaskSwitch};
use mainspring_model::{
    AttemptStatus, Incarnation, JobId, JobStatus, PoolName, Priority, QueueState, TaskDefinition, Timestamp, Trigger,
};

use crate::suite::scheduled::{at_most, at_rate, cron, fired, fixed_delay};
use crate::suite::world::{NODE, at, new_job, operate, settlement, started, task};
use crate::suite::{Subject, World};
use crate::{
    Claim, ClaimRequest, Fire, FireEntry, Fired, GiveBack, Held, NewJob, NewNode, NextFireChange, PoolRoom,
    PoolSettings, Replan, Settlement, Store, TaskChange, WhenFull,
};

const TASKS: [&str; 4] = ["a", "b", "c", "d"];
const POOLS: [&str; 2] = ["default", "slow"];

struct Pair<'s> {
    stores: [&'s dyn Store; 2],
    dice: fastrand::Rng,
    now: Timestamp,
    node: Incarnation,
    next_id: i64,
    claims: Vec<Claim>,
    submitted: Vec<NewJob>,
    fires: Vec<Fire>,
}

pub(super) async fn two_stores_agree(first: &Subject, second: &Subject, seed: u64, steps: u32) {
    let mut pair = Pair {
        stores: [&*first.store, &*second.store],
        dice: fastrand::Rng::with_seed(seed),
        now: at(0),
        node: NODE,
        next_id: 1,
        claims: Vec::new(),
        submitted: Vec::new(),
        fires: Vec::new(),
    };
    for code in TASKS {
        let definition = pair.definition();
        for subject in [first, second] {
            World::of(subject).create_firing(code, definition.clone(), Some(at(0))).await;
        }
    }
    for subject in [first, second] {
        World::of(subject).join(NODE, at(0)).await;
    }
    for step in 0..steps {
        pair.now = pair.now.plus_ms(pair.dice.i64(0..30));
        pair.step(&format!("seed {seed}, step {step}")).await;
    }
    pair.compare_rows(&format!("seed {seed}, at the end")).await;
    pair.drain(&format!("seed {seed}, after the end")).await;
}

/// Runs a verb on both stores and insists on one answer.
macro_rules! both {
    ($pair:expr, $context:expr, |$store:ident| $verb:expr) => {{
        let $store = $pair.stores[0];
        let first = $verb.await.expect($context);
        let $store = $pair.stores[1];
        let second = $verb.await.expect($context);
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "{}", $context);
        first
    }};
}

impl Pair<'_> {
    async fn step(&mut self, context: &str) {
        match self.dice.u32(0..100) {
            0..15 => self.submit(context).await,
            15..30 => self.fire(context).await,
            30..58 => self.claim(context).await,
            58..63 => self.start(context).await,
            63..80 => self.settle(context).await,
            80..85 => self.give_back(context).await,
            85..92 => self.operate(context).await,
            92..95 => self.edit(context).await,
            95 => self.switch(context).await,
            96 => self.put_pool(context).await,
            97 => self.restart(context).await,
            _ => self.compare_rows(context).await,
        }
    }

    fn definition(&mut self) -> TaskDefinition {
        let limited = match self.dice.u32(0..9) {
            0 => at_most(self.dice.u32(1..4)),
            1 | 2 => TaskDefinition { max_running: Some(2), ..at_rate("3/100ms") },
            3 => at_rate("2/60ms"),
            4 => cron(Overlap::Forbid),
            5 => cron(Overlap::QueueOne),
            6 => cron(Overlap::Replace),
            7 => fixed_delay(if self.dice.bool() { Overlap::Allow } else { Overlap::Forbid }),
            _ => cron(Overlap::Allow),
        };
        TaskDefinition { end_at: (self.dice.u32(0..8) == 0).then(|| self.now.plus_ms(900)), ..limited }
    }

    fn on_live(&mut self) -> OnLive {
        match self.dice.u32(0..6) {
            0 => OnLive::JoinBelow(1),
            1 => OnLive::JoinBelow(3),
            2 => OnLive::Replace,
            _ => OnLive::Join,
        }
    }

    fn job(&mut self) -> NewJob {
        let id = self.next_id;
        self.next_id += 1;
        NewJob {
            task: task(TASKS[self.dice.usize(0..TASKS.len())]),
            priority: Priority::ALL[self.dice.usize(1..3)],
            execute_time: self.now.plus_ms(self.dice.i64(-50..120)),
            create_time: self.now,
            pool: PoolName::stored(POOLS[usize::from(self.dice.u32(0..4) == 0)]),
            claim: self.dice.u32(0..3) == 0,
            on_live: self.on_live(),
            serial: self.dice.u32(0..5) == 0,
            concurrency_key: (self.dice.bool()).then(|| Arc::from(if self.dice.bool() { "x" } else { "" })),
            ..new_job(id)
        }
    }

    async fn submit(&mut self, context: &str) {
        let mut jobs: Vec<NewJob> = (0..self.dice.i64(1..5)).map(|_| self.job()).collect();
        if !self.submitted.is_empty() && self.dice.u32(0..6) == 0 {
            jobs.push(self.submitted[self.dice.usize(0..self.submitted.len())].clone());
        }
        let node = self.node;
        both!(self, context, |store| store.submit(node, jobs.clone()));
        self.submitted.extend(jobs);
    }

    async fn fire(&mut self, context: &str) {
        let code = task(TASKS[self.dice.usize(0..TASKS.len())]);
        let row = both!(self, context, |store| store.task(&code)).expect("it is never deleted");
        let now = self.now;
        if self.dice.u32(0..5) == 0 {
            let to = Some(now.plus_ms(self.dice.i64(0..40)));
            let replan = Replan { task: code, version: row.version, from: row.next_fire_time, to };
            both!(self, context, |store| store.replan(vec![replan.clone()], now));
            return;
        }
        let due = row.next_fire_time.unwrap_or(now);
        let entries = (0..self.dice.i64(0..4)).map(|turn| self.entry(due.plus_ms(turn))).collect::<Vec<_>>();
        let entries =
            entries.into_iter().map(|entry| FireEntry { job: NewJob { task: code.clone(), ..entry.job }, ..entry });
        let next = match self.dice.u32(0..12) {
            0 => NextFire::Never,
            1..4 => NextFire::AfterEnd,
            _ => NextFire::At(due.plus_ms(self.dice.i64(1..60))),
        };
        let mut batch = vec![Fire { task: code.clone(), version: row.version, due, next, entries: entries.collect() }];
        if !self.fires.is_empty() && self.dice.u32(0..4) == 0 {
            batch.push(self.fires[self.dice.usize(0..self.fires.len())].clone());
        }
        let node = self.node;
        let answers = both!(self, context, |store| store.fire(node, batch.clone(), now));
        if matches!(answers[0], Fired::Done(_)) {
            self.fires.push(batch.swap_remove(0));
        }
    }

    fn entry(&mut self, time: Timestamp) -> FireEntry {
        let job = self.job();
        let fires = Fires { first: time.plus_ms(-self.dice.i64(0..2)), last: time, count: self.dice.u32(1..3) };
        let of_schedule = fired(job.id.0, "x", fires);
        let trigger = if self.dice.bool() { Trigger::Cron } else { Trigger::Misfire };
        let job = NewJob { biz_id: of_schedule.biz_id, fires: of_schedule.fires, trigger, ..job };
        FireEntry { job, skip: (self.dice.u32(0..6) == 0).then_some(SkipReason::Misfire) }
    }

    fn request(&mut self) -> ClaimRequest {
        let mut rooms = vec![PoolRoom { pool: PoolName::default_pool(), jobs_max: self.dice.u32(0..6) }];
        if self.dice.bool() {
            rooms.push(PoolRoom { pool: PoolName::stored("slow"), jobs_max: self.dice.u32(1..4) });
        }
        let due_until = self.now.plus_ms(self.dice.i64(0..50));
        ClaimRequest { owner: self.node, now: self.now, due_until, rooms }
    }

    async fn claim(&mut self, context: &str) {
        let request = self.request();
        let claimed = both!(self, context, |store| store.claim(request.clone()));
        self.claims.extend(claimed.jobs);
        self.check_limits(context).await;
    }

    /// Of what is held, as the definitions stand, no lane has more than its limit; those that were held before an edit
    /// are not counted against it.
    async fn check_limits(&mut self, context: &str) {
        let mut held: BTreeMap<(String, String), u32> = BTreeMap::new();
        for job in self.live().await {
            let is_held = job.queue.is_some_and(|q| matches!(q.state, QueueState::Claimed | QueueState::Started));
            if is_held {
                *held.entry((job.task.to_string(), job.concurrency_key.unwrap_or_default())).or_default() += 1;
            }
        }
        for ((code, key), jobs) in held {
            let row = self.stores[1].task(&task(&code)).await.expect(context).expect(context);
            let max = row.definition.running_max().filter(|_| row.version == 1);
            assert!(max.is_none_or(|max| jobs <= max), "{context}: {jobs} jobs of {code} {key} are held");
        }
    }

    async fn live(&self) -> Vec<mainspring_model::Job> {
        let status = vec![JobStatus::Pending, JobStatus::Executing];
        let filter = crate::JobFilter { status, ..crate::JobFilter::default() };
        self.stores[1].jobs(filter, 10_000, None).await.expect("reads").items
    }

    fn some_claim(&mut self) -> Option<Claim> {
        let newest_first = self.claims.len().checked_sub(1 + self.dice.usize(0..12));
        newest_first.map(|index| self.claims[index].clone())
    }

    async fn start(&mut self, context: &str) {
        let Some(claim) = self.some_claim() else { return };
        let start = started(&claim, self.now);
        both!(self, context, |store| store.mark_started(vec![start.clone()]));
    }

    async fn settle(&mut self, context: &str) {
        let Some(claim) = self.some_claim() else { return };
        let due = self.now.plus_ms(self.dice.i64(0..200));
        let end = |status, dead, stop_task| Next::Final { status, dead, stop_task };
        let (attempt, next) = match self.dice.u32(0..10) {
            0 => (AttemptStatus::Failed, Next::Again { due, spends: Budget::Failure }),
            1 => {
                let stop = self.dice.u32(0..4) == 0;
                (AttemptStatus::Failed, end(JobStatus::Failed, Some(DeadCause::RetriesSpent), stop))
            }
            2 => (AttemptStatus::Skipped, end(JobStatus::Skipped, None, false)),
            _ => (AttemptStatus::Success, end(JobStatus::Success, None, false)),
        };
        let decision = Decision { attempt, next, result: None, error: None };
        let (start_time, finish_time) = (self.now, self.now.plus_ms(self.dice.i64(0..20)));
        let settlement = Settlement { start_time, finish_time, ..settlement(&claim, decision) };
        let now = self.now;
        both!(self, context, |store| store.settle(vec![settlement.clone()], now));
    }

    async fn give_back(&mut self, context: &str) {
        let Some(claim) = self.some_claim() else { return };
        let held = Held { id: claim.id, fence: claim.fence };
        let how = if self.dice.bool() { GiveBack::Release } else { GiveBack::Park };
        let now = self.now;
        both!(self, context, |store| store.give_back(vec![held], how, now));
        if self.dice.bool() {
            both!(self, context, |store| store.unpark(TASKS.map(task).to_vec()));
        }
    }

    async fn operate(&mut self, context: &str) {
        let id = JobId(self.dice.i64((self.next_id - 25).max(1)..self.next_id + 1));
        let Some(job) = both!(self, context, |store| store.job(id)) else { return };
        let operation = JobOperation::ALL[self.dice.usize(0..JobOperation::ALL.len())];
        let request = operate(&job, operation, self.now);
        both!(self, context, |store| store.operate(request.clone()));
    }

    async fn edit(&mut self, context: &str) {
        let code = task(TASKS[self.dice.usize(0..TASKS.len())]);
        let row = both!(self, context, |store| store.task(&code)).expect("it is never deleted");
        let definition = self.definition();
        let next = match self.dice.u32(0..3) {
            0 => NextFireChange::Set(None),
            1 => NextFireChange::Set(Some(self.now)),
            _ => NextFireChange::Keep,
        };
        let now = self.now;
        let change = both!(self, context, |store| store.update_task(
            code.clone(),
            row.version,
            definition.clone(),
            next,
            "ann".to_owned(),
            now
        ));
        assert!(matches!(change, TaskChange::Written(_)), "{context}");
    }

    async fn switch(&mut self, context: &str) {
        let code = task(TASKS[self.dice.usize(0..TASKS.len())]);
        let now = self.now;
        for to in [TaskSwitch::Disabled, TaskSwitch::Enabled] {
            both!(self, context, |store| store.switch_task(code.clone(), to, Some(now), "ann".to_owned(), now));
        }
    }

    async fn put_pool(&mut self, context: &str) {
        let rate_limit = match self.dice.u32(0..3) {
            0 => None,
            1 => Some("2/80ms".parse().expect("a rate")),
            _ => Some("5/50ms".parse().expect("a rate")),
        };
        let pool = PoolSettings {
            name: PoolName::stored(POOLS[self.dice.usize(0..2)]),
            concurrency: 4,
            queue_capacity: 10,
            paused: false,
            when_full: WhenFull::Spill,
            rate_limit,
        };
        let now = self.now;
        both!(self, context, |store| store.put_pool(pool.clone(), "ann".to_owned(), now));
        both!(self, context, |store| store.pools());
    }

    async fn restart(&mut self, context: &str) {
        let (node, now) = (self.node, self.now);
        if self.dice.bool() {
            both!(self, context, |store| store.leave(node, now));
        }
        self.node = Incarnation(node.0 + 1);
        let next = NewNode { incarnation: self.node, host: "h".to_owned(), pid: 1, version: "1".to_owned() };
        both!(self, context, |store| store.join(next.clone(), now));
    }

    async fn compare_rows(&mut self, context: &str) {
        for id in (1..self.next_id).map(JobId) {
            both!(self, context, |store| store.job(id));
            both!(self, context, |store| store.attempts_of_job(id, 1_000, None));
        }
        both!(self, context, |store| store.tasks());
        both!(self, context, |store| store.backlog(1_000));
        both!(self, context, |store| store.live_jobs(1_000));
        for store in self.stores {
            let violations = store.verify().await.expect(context);
            assert!(violations.is_empty(), "{context}: {violations:?}");
        }
    }

    /// Whatever waits gets its turn: a node that claims and ends jobs again and again runs the queue dry.
    async fn drain(&mut self, context: &str) {
        both!(self, context, |store| store.unpark(TASKS.map(task).to_vec()));
        self.restart(context).await;
        for _ in 0..20_000 {
            if self.live().await.is_empty() {
                self.compare_rows(context).await;
                return;
            }
            self.now = self.now.plus_ms(20);
            let rooms = POOLS.map(|pool| PoolRoom { pool: PoolName::stored(pool), jobs_max: 3 }).to_vec();
            let request = ClaimRequest { owner: self.node, now: self.now, due_until: self.now, rooms };
            let claimed = both!(self, context, |store| store.claim(request.clone()));
            for claim in claimed.jobs {
                let next = Next::Final { status: JobStatus::Success, dead: None, stop_task: false };
                let decision = Decision { attempt: AttemptStatus::Success, next, result: None, error: None };
                let now = self.now;
                both!(self, context, |store| store.settle(vec![settlement(&claim, decision.clone())], now));
            }
        }
        panic!("{context}: jobs wait for ever: {:?}", self.live().await);
    }
}
