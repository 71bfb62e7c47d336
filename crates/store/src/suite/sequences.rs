//! Random verbs on tasks with limits: nobody is held past a limit, no rate is exceeded, nobody waits for ever.
//!
//! The seed decides everything, so a failure is repeated by its seed.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_model::decide::Budget;
use mainspring_model::job::{OnLive, QueueState};
use mainspring_model::operations::JobOperation;
use mainspring_model::task::Overlap;
use mainspring_model::{AttemptStatus, Incarnation, Job, JobStatus, Priority, TaskDefinition, Timestamp};

use super::scheduled::{at_most, at_rate, of_key, of_task};
use super::world::{
    NODE, TASK, again, at, claim_request, definition, done, failed, held, operate, settlement, started, task,
};
use super::{Subject, World};
use crate::{Claim, GiveBack, JobFilter, NewJob, Operated, Settlement};

const RATE: &str = "2/1s";

fn tasks() -> Vec<(&'static str, TaskDefinition)> {
    let rate = RATE.parse().ok();
    vec![
        ("two", at_most(2)),
        ("one", at_most(1)),
        ("forbid", TaskDefinition { overlap: Overlap::Forbid, ..definition() }),
        ("replace", TaskDefinition { overlap: Overlap::Replace, ..definition() }),
        ("rate", at_rate(RATE)),
        ("both", TaskDefinition { rate_limit: rate, ..at_most(1) }),
        ("turn", definition()),
        ("two-in-turn", at_most(2)),
    ]
}

struct Run {
    world: World,
    dice: fastrand::Rng,
    now: Timestamp,
    node: Incarnation,
    next_id: i64,
    claims: Vec<Claim>,
    /// Those that run one after another.
    in_turn: BTreeSet<i64>,
    /// Of the tasks with a rate, per key.
    starts: BTreeMap<(String, Option<String>), Vec<Timestamp>>,
    limits: BTreeMap<&'static str, u32>,
}

pub async fn limits_hold_and_nobody_is_stuck(subject: &Subject, seed: u64, steps: u32) {
    let world = World::new(subject).await;
    for (code, definition) in tasks() {
        world.create(code, definition).await;
    }
    let limits = tasks().into_iter().filter_map(|(code, task)| Some((code, task.running_max()?))).collect();
    let mut run = Run {
        world,
        dice: fastrand::Rng::with_seed(seed),
        now: at(0),
        node: NODE,
        next_id: 1,
        claims: Vec::new(),
        in_turn: BTreeSet::new(),
        starts: BTreeMap::new(),
        limits,
    };
    for step in 0..steps {
        run.now = run.now.plus_ms(run.dice.i64(0..60));
        run.step().await;
        run.check(&format!("seed {seed}, step {step}")).await;
    }
    run.drain(&format!("seed {seed}, at the end")).await;
    run.check_rates(seed);
}

impl Run {
    async fn step(&mut self) {
        match self.dice.u32(0..100) {
            0..25 => self.submit().await,
            25..55 => drop(self.claim(self.now).await),
            55..60 => self.start().await,
            60..80 => self.settle().await,
            80..86 => self.give_back().await,
            86..96 => self.operate().await,
            96 => self.restart().await,
            _ => self.edit().await,
        }
    }

    async fn submit(&mut self) {
        let jobs = (0..self.dice.i64(1..6)).map(|_| self.new_job()).collect();
        let answers = self.world.store.submit(self.node, jobs).await.expect("submits");
        drop(answers);
    }

    fn new_job(&mut self) -> NewJob {
        let id = self.next_id;
        self.next_id += 1;
        let codes: Vec<&str> = tasks().iter().map(|(code, _)| *code).chain([TASK]).collect();
        let code = codes[self.dice.usize(0..codes.len())];
        let plain = match self.dice.u32(0..3) {
            0 => of_task(id, code),
            1 => of_key(id, code, "a"),
            _ => of_key(id, code, "b"),
        };
        let serial = code == "turn" || (code == "two-in-turn" && self.dice.bool());
        if serial {
            self.in_turn.insert(id);
        }
        NewJob {
            serial,
            priority: Priority::ALL[self.dice.usize(0..Priority::ALL.len())],
            execute_time: self.now.plus_ms(self.dice.i64(-200..200)),
            create_time: self.now,
            claim: self.dice.u32(0..4) == 0,
            on_live: if code == "replace" && self.dice.bool() { OnLive::Replace } else { OnLive::Join },
            ..plain
        }
    }

    async fn claim(&mut self, due_until: Timestamp) -> usize {
        let ahead = due_until.plus_ms(if self.dice.bool() { 100 } else { 0 });
        let request = claim_request(self.node, self.dice.u32(1..9), ahead, self.now);
        let jobs = self.world.claim_by(request).await.jobs;
        for claim in &jobs {
            if matches!(claim.task.as_str(), "rate" | "both") {
                let key = claim.lane.as_ref().expect("it has a limit").key.as_deref().map(str::to_owned);
                let lane = (claim.task.as_str().to_owned(), key);
                self.starts.entry(lane).or_default().push(claim.due.max(self.now));
            }
        }
        let count = jobs.len();
        self.claims.extend(jobs);
        count
    }

    fn some_claim(&mut self) -> Option<Claim> {
        let newest_first = self.claims.len().checked_sub(1 + self.dice.usize(0..10));
        newest_first.map(|index| self.claims[index].clone())
    }

    async fn start(&mut self) {
        if let Some(claim) = self.some_claim() {
            self.world.store.mark_started(vec![started(&claim, self.now)]).await.expect("starts");
        }
    }

    async fn settle(&mut self) {
        let Some(claim) = self.some_claim() else { return };
        let decision = match self.dice.u32(0..5) {
            0 => failed(false),
            1 => again(AttemptStatus::Failed, self.now.plus_ms(self.dice.i64(0..300)), Budget::Failure),
            _ => done(None),
        };
        // Now and then the node does not know that the job is in a lane: the limit came after the claim. Those that run
        // one after another are in theirs from the start.
        let lane = claim.lane.clone().filter(|lane| lane.serial || self.dice.u32(0..4) > 0);
        let settlement = Settlement { finish_time: self.now, lane, ..settlement(&claim, decision) };
        self.world.store.settle(vec![settlement], self.now).await.expect("settles");
    }

    async fn give_back(&mut self) {
        let Some(claim) = self.some_claim() else { return };
        let how = if self.dice.bool() { GiveBack::Release } else { GiveBack::Park };
        self.world.store.give_back(vec![held(&claim)], how, self.now).await.expect("gives back");
        if self.dice.bool() {
            self.unpark().await;
        }
    }

    async fn unpark(&self) {
        let codes = tasks().iter().map(|(code, _)| task(code)).chain([task(TASK)]).collect();
        self.world.store.unpark(codes).await.expect("unparks");
    }

    async fn operate(&mut self) {
        let id = self.dice.i64(1..self.next_id + 1);
        let Some(job) = self.world.store.job(mainspring_model::JobId(id)).await.expect("reads") else { return };
        let operation = JobOperation::ALL[self.dice.usize(0..JobOperation::ALL.len())];
        let answer = self.world.store.operate(operate(&job, operation, self.now)).await.expect("operates");
        if job.status.is_final() && matches!(answer, Operated::Done(_)) {
            self.in_turn.remove(&id);
        }
    }

    async fn restart(&mut self) {
        if self.dice.bool() {
            self.world.store.leave(self.node, self.now).await.expect("leaves");
        }
        self.node = Incarnation(self.node.0 + 1);
        self.world.join(self.node, self.now).await;
    }

    /// An edit of something else has the waiting ones judged anew, and lets nobody past a limit.
    async fn edit(&mut self) {
        let all = tasks();
        let (code, definition) = all[self.dice.usize(0..all.len())].clone();
        let name = format!("Name {}", self.dice.u32(0..1_000));
        self.world.edit(code, TaskDefinition { name, ..definition }).await;
    }

    async fn live(&self) -> Vec<Job> {
        let status = vec![JobStatus::Pending, JobStatus::Executing];
        let filter = JobFilter { status, ..JobFilter::default() };
        let (mut live, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.world.store.jobs(filter.clone(), 1_000, cursor).await.expect("reads");
            live.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return live;
            }
        }
    }

    async fn check(&self, context: &str) {
        let mut of_lanes: BTreeMap<(String, Option<String>), (u32, u32)> = BTreeMap::new();
        for job in self.live().await {
            let state = job.queue.expect("a live job is in the queue").state;
            if matches!(state, QueueState::Claimed | QueueState::Started) {
                let count = of_lanes.entry((job.task.as_str().to_owned(), job.concurrency_key)).or_default();
                count.0 += 1;
                count.1 += u32::from(self.in_turn.contains(&job.id.0));
            }
        }
        for ((code, key), (jobs, in_turn)) in of_lanes {
            let limit = self.limits.get(code.as_str()).copied().unwrap_or(u32::MAX);
            assert!(jobs <= limit && in_turn <= 1, "{context}: {jobs} ({in_turn} in turn) of {code} {key:?} are held");
        }
        let violations = self.world.store.verify().await.expect("verify answers");
        assert!(violations.is_empty(), "{context}: {violations:?}");
    }

    /// Bodies that end at once: all that was ever submitted comes to its end.
    async fn drain(&mut self, context: &str) {
        self.restart().await;
        for _ in 0..5_000 {
            self.unpark().await;
            self.claim(self.now).await;
            for claim in std::mem::take(&mut self.claims) {
                let end = Settlement { finish_time: self.now, ..settlement(&claim, done(None)) };
                self.world.store.settle(vec![end], self.now).await.expect("settles");
            }
            self.now = self.now.plus_ms(100);
            if self.live().await.is_empty() {
                return;
            }
        }
        panic!("{context}: these never end: {:?}", self.live().await);
    }

    fn check_rates(&self, seed: u64) {
        for (lane, starts) in &self.starts {
            let mut starts = starts.clone();
            starts.sort_unstable();
            for window in starts.windows(3) {
                assert!(window[2].ms_since(window[0]) >= 1_000, "seed {seed}: {lane:?} starts at {window:?}");
            }
        }
    }
}
