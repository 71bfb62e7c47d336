//! The same random verbs on two stores: equal answers, equal rows.
//!
//! The seed decides everything, so a failure is repeated by its seed.

mod schedule;

use mainspring_model::decide::{Budget, Decision, Next};
use mainspring_model::job::DeadCause;
use mainspring_model::operations::JobOperation;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{AttemptStatus, BizId, Fence, Incarnation, JobStatus, PoolName, Priority, Timestamp, Unique};

use self::schedule::FIRST_FIRED;
use super::world::{T0, TASK, at, definition, keyed, new_job, new_node, operate, settlement, started, task};
use super::{Subject, World};
use crate::{
    Claim, ClaimRequest, Fire, GiveBack, Held, JobFilter, NewJob, NodeRow, PoolRoom, Replaces, Settlement, Store,
    StoreError,
};

/// Of the tasks, those whose limits change all the time come last.
const CODES: [&str; 4] = [TASK, "other", "third", "fourth"];

/// The two stores, what the callers remember, and the dice.
struct Pair<'s> {
    stores: [&'s dyn Store; 2],
    dice: fastrand::Rng,
    now: Timestamp,
    node: Incarnation,
    next_id: i64,
    /// Claims that a node has or had: verbs come with stale ones too.
    claims: Vec<Claim>,
    settled: Vec<Settlement>,
    fired: Vec<Fire>,
    next_fired: i64,
}

/// Does `steps` random verbs on both and compares every answer, then all rows.
pub async fn two_stores_agree(first: &Subject, second: &Subject, seed: u64, steps: u32) {
    for subject in [first, second] {
        let world = World::new(subject).await;
        for code in &CODES[1..] {
            world.create(code, definition()).await;
        }
    }
    let mut pair = Pair {
        stores: [&*first.store, &*second.store],
        dice: fastrand::Rng::with_seed(seed),
        now: at(0),
        node: super::world::NODE,
        next_id: 1,
        claims: Vec::new(),
        settled: Vec::new(),
        fired: Vec::new(),
        next_fired: FIRST_FIRED,
    };
    for step in 0..steps {
        pair.now = pair.now.plus_ms(pair.dice.i64(0..40));
        let context = format!("seed {seed}, step {step}");
        pair.step(&context).await;
    }
    pair.compare_rows(&format!("seed {seed}, at the end")).await;
}

/// Each store has a clock of its own.
async fn nodes_but_their_times(store: &dyn Store) -> Result<Vec<NodeRow>, StoreError> {
    let mut nodes = store.nodes().await?;
    nodes.sort_unstable_by_key(|node| node.incarnation);
    for node in &mut nodes {
        (node.heartbeat_at, node.expires_at) = (T0, T0);
    }
    Ok(nodes)
}

/// A store may leave numbers out: a task that was in the way has used one.
fn without_task_ids(answer: &impl std::fmt::Debug) -> String {
    let text = format!("{answer:?}");
    let mut parts = text.split("Task { id: ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str("Task { ");
        kept.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    kept
}

/// Runs a verb on both stores and insists on one answer.
macro_rules! both {
    ($pair:expr, $context:expr, |$store:ident| $verb:expr) => {{
        let $store = $pair.stores[0];
        let first = $verb.await.expect($context);
        let $store = $pair.stores[1];
        let second = $verb.await.expect($context);
        assert_eq!(
            $crate::suite::differential::without_task_ids(&first),
            $crate::suite::differential::without_task_ids(&second),
            "{}",
            $context
        );
        first
    }};
}
use both;

impl Pair<'_> {
    async fn step(&mut self, context: &str) {
        match self.dice.u32(0..120) {
            0..20 => self.submit(context).await,
            20..47 => self.claim(context).await,
            47..56 => self.start(context).await,
            56..76 => self.settle(context).await,
            76..81 => self.give_back(context).await,
            81..90 => self.operate(context).await,
            90..92 => self.change_task(context).await,
            92 => self.restart(context).await,
            93..103 => self.fire(context).await,
            103..105 => self.replan(context).await,
            105..108 => self.edit(context).await,
            108..111 => self.switch(context).await,
            111 => self.put_pool(context).await,
            112 => self.keep_calendar(context).await,
            113..115 => self.press(context).await,
            _ => self.compare_lists(context).await,
        }
    }

    async fn submit(&mut self, context: &str) {
        let count = self.dice.i64(1..5);
        let jobs: Vec<NewJob> = (0..count).map(|_| self.new_job()).collect();
        let node = self.node;
        both!(self, context, |store| store.submit(node, jobs.clone()));
    }

    fn new_job(&mut self) -> NewJob {
        // Now and then an id comes again: a repetition after an unknown outcome.
        let repeats = self.dice.u32(0..10) == 0 && self.next_id > 1;
        let id = if repeats { self.dice.i64(1..self.next_id) } else { self.next_id };
        self.next_id = self.next_id.max(id + 1);
        let mut of_id = fastrand::Rng::with_seed(id.unsigned_abs());
        let unique = if of_id.bool() { Unique::Live } else { Unique::Always };
        let plain = match of_id.u32(0..3) {
            0 => new_job(id),
            _ => keyed(id, &format!("k{}", of_id.u32(0..12)), unique),
        };
        NewJob {
            task: task(CODES[of_id.usize(0..CODES.len())]),
            priority: Priority::ALL[of_id.usize(0..Priority::ALL.len())],
            execute_time: at(of_id.i64(0..3_000)),
            pool: PoolName::stored(if of_id.bool() { "default" } else { "slow" }),
            claim: of_id.u32(0..5) == 0,
            on_live: Self::some_on_live(&mut of_id),
            concurrency_key: Self::some_key(&mut of_id),
            ..plain
        }
    }

    async fn claim(&mut self, context: &str) {
        let mut rooms = vec![PoolRoom { pool: PoolName::default_pool(), jobs_max: self.dice.u32(0..6) }];
        if self.dice.bool() {
            rooms.push(PoolRoom { pool: PoolName::stored("slow"), jobs_max: self.dice.u32(1..4) });
        }
        let ahead_ms = if self.dice.bool() { 100 } else { 0 };
        let due_until = self.now.plus_ms(ahead_ms);
        let request = ClaimRequest { owner: self.node, now: self.now, due_until, rooms, excluded: Vec::new() };
        let claimed = both!(self, context, |store| store.claim(request.clone()));
        self.claims.extend(claimed.jobs);
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
        let batch = match self.dice.usize(0..8) {
            // An earlier one again, as after an unknown outcome.
            0 if !self.settled.is_empty() => vec![self.settled[self.dice.usize(0..self.settled.len())].clone()],
            _ => {
                let decision = self.decision();
                let times = Settlement { start_time: self.now, ..settlement(&claim, decision) };
                vec![Settlement { finish_time: self.now.plus_ms(self.dice.i64(0..20)), ..times }]
            }
        };
        let now = self.now;
        both!(self, context, |store| store.settle(batch.clone(), now));
        self.settled.extend(batch);
    }

    fn decision(&mut self) -> Decision {
        let due = self.now.plus_ms(self.dice.i64(0..500));
        let (attempt, next) = match self.dice.u32(0..9) {
            0 => (AttemptStatus::Failed, Next::Again { due, spends: Budget::Failure }),
            1 => (AttemptStatus::Skipped, Next::Again { due, spends: Budget::Nothing }),
            2 => (AttemptStatus::Failed, self.end(JobStatus::Failed, Some(DeadCause::RetriesSpent))),
            3 => (AttemptStatus::Timeout, self.end(JobStatus::Timeout, Some(DeadCause::TimedOut))),
            4 => (AttemptStatus::Cancelled, self.end(JobStatus::Cancelled, None)),
            5 => (AttemptStatus::Skipped, self.end(JobStatus::Skipped, None)),
            _ => (AttemptStatus::Success, self.end(JobStatus::Success, None)),
        };
        let result = (attempt == AttemptStatus::Success).then(|| "r".repeat(self.dice.usize(0..1_200)));
        Decision { attempt, next, result, error: None }
    }

    fn end(&mut self, status: JobStatus, dead: Option<DeadCause>) -> Next {
        Next::Final { status, dead, stop_task: dead.is_some() && self.dice.u32(0..5) == 0 }
    }

    async fn give_back(&mut self, context: &str) {
        let Some(claim) = self.some_claim() else { return };
        let held = Held { fence: if self.dice.bool() { claim.fence } else { Fence(1) }, ..claim.held() };
        let how = if self.dice.bool() { GiveBack::Release } else { GiveBack::Park };
        let now = self.now;
        both!(self, context, |store| store.give_back(vec![held], how, now));
        if self.dice.bool() {
            both!(self, context, |store| store.unpark(vec![task(TASK)]));
        }
    }

    async fn operate(&mut self, context: &str) {
        let id = self.some_job();
        let Some(job) = both!(self, context, |store| store.job(id)) else { return };
        let operation = JobOperation::ALL[self.dice.usize(0..JobOperation::ALL.len())];
        let request = operate(&job, operation, self.now);
        both!(self, context, |store| store.operate(request.clone()));
    }

    /// Tasks come and go.
    async fn change_task(&mut self, context: &str) {
        let code = self.some_code();
        let (by, now) = ("ann".to_owned(), self.now);
        let (new, next) = (self.some_definition(), Some(now).filter(|_| self.dice.bool()));
        match self.dice.bool() {
            true => drop(both!(self, context, |store| store.delete_task(code.clone(), None, by.clone(), now))),
            false => {
                drop(both!(self, context, |store| store.create_task(
                    code.clone(),
                    new.clone(),
                    TaskSwitch::Enabled,
                    next,
                    by.clone(),
                    now
                )));
            }
        }
    }

    /// The node dies, or leaves, and the next one comes.
    async fn restart(&mut self, context: &str) {
        let (node, now) = (self.node, self.now);
        if self.dice.bool() {
            both!(self, context, |store| store.leave(node, now));
        }
        self.node = Incarnation(node.0 + 1);
        let next = new_node(self.node, Replaces::Everyone);
        both!(self, context, |store| store.join(next.clone(), now));
        both!(self, context, |store| store.held(node));
        both!(self, context, |store| nodes_but_their_times(store));
    }

    async fn compare_lists(&mut self, context: &str) {
        let status = (0..self.dice.usize(0..3)).map(|_| JobStatus::ALL[self.dice.usize(0..8)]).collect();
        let filter = JobFilter { status, task: self.dice.bool().then(|| task(TASK)), ..JobFilter::default() };
        let mut cursor = None;
        // Cursors may differ between stores where a page ends exactly; what they list may not.
        for store in self.stores {
            let (mut ids, mut next) = (Vec::new(), None);
            loop {
                let page = store.jobs(filter.clone(), 7, next).await.expect(context);
                ids.extend(page.items.into_iter().map(|job| format!("{job:?}")));
                next = page.next;
                if next.is_none() {
                    break;
                }
            }
            let expect = cursor.get_or_insert_with(|| ids.clone());
            assert_eq!(*expect, ids, "{context}: {filter:?}");
        }
        let key = JobFilter { biz_id: Some(BizId::stored("k3")), ..JobFilter::default() };
        both!(self, context, |store| store.jobs(key.clone(), 1_000, None));
        both!(self, context, |store| store.live_jobs(50));
        both!(self, context, |store| store.backlog(50));
        both!(self, context, |store| store.dead_jobs(None, 50, None));
    }

    async fn compare_rows(&mut self, context: &str) {
        for id in self.job_ids() {
            both!(self, context, |store| store.job(id));
            both!(self, context, |store| store.job_end(id));
            both!(self, context, |store| store.attempts_of_job(id, 1_000, None));
        }
        both!(self, context, |store| store.tasks());
        both!(self, context, |store| store.backlog(1_000));
        both!(self, context, |store| store.dead_jobs(Some(task(TASK)), 1_000, None));
        for store in self.stores {
            let violations = store.verify().await.expect(context);
            assert!(violations.is_empty(), "{context}: {violations:?}");
        }
    }
}
