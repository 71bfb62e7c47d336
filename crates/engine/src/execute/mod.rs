//! 4 EXECUTE: one attempt as a line of steps: begin → write the start when the job is under suspicion → perform behind
//! the panic wall → finish. A slot goes on to the next due job by itself, without asking the dispatcher.
//!
//! Deadlines are kept elsewhere (`watch`), on threads that bodies cannot starve.

mod broadcast;
pub mod egress;
#[cfg(feature = "http")]
pub mod http;
mod live;
mod panic;
pub mod process;
pub mod shim;
mod turn;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_model::broadcast::is_parent;
use mainspring_model::decide::{Care, Ended, care};
use mainspring_model::{Task, Timestamp, Trigger, Verdict};
use mainspring_store::{Claim, Held, Started};
use tokio::sync::oneshot;

pub(crate) use live::{BodyEnd, LiveAttempt, LiveAttempts};
pub(crate) use turn::Seats;
pub(crate) use watch::{enforce_deadlines, show_progress};

use crate::context::Context;
use crate::core::{Core, Count};
use crate::dispatch::Pool;
use crate::handler::{BlockingHandler, Body, Registered};

/// How often a job that has its turn looks for its slot. It has been waiting for others' commits and bodies.
const SLOT_POLL: Duration = Duration::from_millis(5);

/// A slot of the pool was taken for this job.
pub(crate) fn start(core: &Arc<Core>, pool: Arc<Pool>, claim: Claim) {
    core.spawn_body(run_slot(core.clone(), pool, claim));
}

/// The same, for somebody who waits for the end of this one attempt.
pub(crate) fn start_for(core: &Arc<Core>, pool: Arc<Pool>, claim: Claim, ended: oneshot::Sender<()>) {
    let runner = core.clone();
    core.spawn_body(async move {
        if run_one(&runner, &pool, claim, Some(ended)).await == Slot::Kept {
            go_on(runner, pool).await;
        }
    });
}

/// What became of the slot in which an attempt ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Kept,
    /// A thread has it, or it was replaced while its body was a zombie.
    Gone,
}

async fn run_slot(core: Arc<Core>, pool: Arc<Pool>, first: Claim) {
    if run_one(&core, &pool, first, None).await == Slot::Kept {
        go_on(core, pool).await;
    }
}

/// Job after job, as long as there are due ones.
async fn go_on(core: Arc<Core>, pool: Arc<Pool>) {
    while let Some(next) = free_slot(&core, &pool) {
        // Short bodies never wait, so the loop itself has to let others on.
        tokio::task::consume_budget().await;
        if run_one(&core, &pool, next, None).await == Slot::Gone {
            return;
        }
    }
}

fn free_slot(core: &Core, pool: &Pool) -> Option<Claim> {
    let (next, wants_more) = pool.next_in_slot(core.clock.now());
    if wants_more {
        core.claim_wake.notify_one();
    }
    if core.is_stopping() {
        core.body_ended.notify_waiters();
    }
    next
}

async fn run_one(core: &Arc<Core>, pool: &Arc<Pool>, claim: Claim, ended: Option<oneshot::Sender<()>>) -> Slot {
    let held = claim.held();
    let task = core.tasks.get(&claim.task);
    let registered = task.as_ref().and_then(|task| core.registry.get(&task.definition.handler)).cloned();
    let (Some(task), Some(registered)) = (task, registered) else {
        // Deleted or edited since the claim: it is others' from here on.
        return not_begun(core, pool, held).await;
    };
    if !core.may_begin(&claim) {
        return not_begun(core, pool, held).await;
    }
    let care = care(claim.lost_count, claim.suspect, task.definition.on_lost);
    let turn = match turn::turn_at_once(core, care) {
        Some(turn) => turn,
        None => wait_without_slot(core, pool, care).await,
    };
    if core.is_stopping() || core.node.is_draining() || !core.may_begin(&claim) {
        // It waited for its turn or its slot when the stop began: no body begins any more.
        return not_begun(core, pool, held).await;
    }
    let number = core.node.me().number;
    let attempt = Arc::new(LiveAttempt::new(claim, task, pool.clone(), number, core.clock.clone()));
    attempt.tell_at_end(ended);
    core.counts.add(Count::Started, 1);
    make_live(core, &attempt);
    if let Some(by) = pool.has_started(&held) {
        attempt.revoke(Ended::Cancelled { by }, attempt.started_at);
    }
    if !core.may_begin(&attempt.claim) {
        // The lease was lost in between, and whoever stops the bodies has not seen this one.
        attempt.revoke(Ended::GivenUp, attempt.started_at);
    }
    let careful = turn.is_careful();
    attempt.keep_turn(turn);
    if careful && !write_start(core, &attempt).await {
        attempt.end_turn();
        core.live.remove([attempt.held()].into_iter());
        return Slot::Kept; // somebody else has the job by now
    }
    if !attempt.begin(core.clock.monotonic()) {
        // Cancelled while its start was being written.
        return finish(core, &attempt, Ended::Answered(Verdict::Cancelled));
    }
    if let Some(waited_ms) = waited_too_long(&attempt.task, &attempt.claim, attempt.start_time) {
        return finish(core, &attempt, Ended::Expired { waited_ms });
    }
    match body_of(core, &attempt, registered) {
        Body::Async(handler) => {
            let context = Context { attempt: attempt.clone() };
            let body = async move { handler.handle(context).await };
            let ended = tokio::select! {
                biased;
                ended = panic::guarded(body) => ended,
                () = attempt.drop_body.cancelled() => Ended::Answered(Verdict::Cancelled),
            };
            finish(core, &attempt, ended)
        }
        Body::Blocking(handler) => {
            attempt.blocks.store(true, Ordering::Release);
            on_own_thread(core, attempt, handler)
        }
    }
}

/// A broadcast is carried out by its parts.
fn body_of(core: &Arc<Core>, attempt: &LiveAttempt, registered: Registered) -> Body {
    if is_parent(&attempt.claim.pool) { broadcast::coordinator(core) } else { registered.body }
}

/// A claimed job that does not run here goes back, if it is still this node's to give.
async fn not_begun(core: &Core, pool: &Pool, held: Held) -> Slot {
    core.give_back(vec![held]).await;
    pool.has_started(&held);
    Slot::Kept
}

/// A fired job that has not begun within its task's start deadline: for how long it has waited. One that has begun before
/// is retried.
pub(crate) fn waited_too_long(task: &Task, claim: &Claim, now: Timestamp) -> Option<i64> {
    let is_fired = matches!(claim.trigger, Trigger::Cron | Trigger::Misfire) && claim.attempts == 0;
    let deadline_ms = i64::from(task.definition.start_deadline_seconds.filter(|_| is_fired)?) * 1_000;
    let waited_ms = now.ms_since(claim.create_time);
    (waited_ms > deadline_ms).then_some(waited_ms)
}

/// A job that this node holds and that has waited too long, without a slot.
pub(crate) fn expire(core: &Arc<Core>, pool: &Arc<Pool>, claim: Claim) {
    let held = claim.held();
    let now = core.clock.now();
    if let (Some(task), None) = (core.tasks.get(&claim.task), pool.has_started(&held)) {
        let waited_ms = now.ms_since(claim.create_time);
        let number = core.node.me().number;
        let attempt = Arc::new(LiveAttempt::new(claim, task, pool.clone(), number, core.clock.clone()));
        make_live(core, &attempt);
        // No slot goes on: it had none.
        let _ = finish(core, &attempt, Ended::Expired { waited_ms });
    }
}

/// Those who watch sleep while there is nothing to watch: the first attempt wakes them.
fn make_live(core: &Core, attempt: &Arc<LiveAttempt>) {
    if core.live.insert(attempt) {
        core.watch_wake.notify_one();
        core.show_wake.notify_one();
    }
}

/// Whoever waits for its turn holds no slot meanwhile: others can use it.
async fn wait_without_slot(core: &Arc<Core>, pool: &Arc<Pool>, care: Care) -> turn::Turn {
    if let Some(next) = free_slot(core, pool) {
        start(core, pool.clone(), next);
    }
    let turn = turn::wait_for_turn(core, care).await;
    pool.await_slot();
    while !pool.take_awaited_slot(core.is_stopping() || core.node.is_draining()) {
        core.clock.sleep(SLOT_POLL).await;
    }
    turn
}

/// Commits the start before the body runs, so that the loss of this node would be counted. `false`: the fence is gone.
async fn write_start(core: &Core, attempt: &LiveAttempt) -> bool {
    let mark = || core.store.mark_started(vec![started(attempt)]);
    let holds = core.insist(Duration::MAX, mark).await.is_ok_and(|holds| holds == [true]);
    attempt.start_written.store(holds, Ordering::Release);
    holds
}

fn started(attempt: &LiveAttempt) -> Started {
    Started {
        held: attempt.held(),
        task: attempt.claim.task.clone(),
        attempt: attempt.number,
        node: attempt.node,
        start_time: attempt.start_time,
    }
}

/// A blocking body gets a thread of its own, and the slot goes with it.
fn on_own_thread(core: &Arc<Core>, attempt: Arc<LiveAttempt>, handler: Arc<dyn BlockingHandler>) -> Slot {
    let (core, name) = (core.clone(), format!("job-{}", attempt.claim.id));
    let (core_if_refused, attempt_if_refused) = (core.clone(), attempt.clone());
    let body = move || {
        let context = Context { attempt: attempt.clone() };
        let ended = panic::guarded_blocking(|| handler.handle(context));
        let slot = finish(&core, &attempt, ended);
        if slot == Slot::Kept
            && let Some(next) = free_slot(&core, &attempt.pool)
        {
            start(&core, attempt.pool.clone(), next);
        }
    };
    match std::thread::Builder::new().name(name).spawn(body) {
        Ok(_) => Slot::Gone,
        Err(error) => {
            let ended = Ended::Answered(Verdict::retry(format!("no thread for a blocking handler: {error}")));
            finish(&core_if_refused, &attempt_if_refused, ended)
        }
    }
}

fn finish(core: &Core, attempt: &Arc<LiveAttempt>, answered: Ended) -> Slot {
    attempt.tell_end();
    match attempt.body_ended(answered) {
        BodyEnd::Counts(ended) => {
            core.write_back.add(attempt.clone(), ended, core.clock.now());
            Slot::Kept
        }
        BodyEnd::Late => {
            core.counts.add(Count::Discarded, 1);
            tracing::info!(attempt = %attempt.id(), "a body ended after its attempt was over; its result is discarded");
            attempt.pool.zombie_ended();
            if attempt.keeps_slot.load(Ordering::Acquire) { Slot::Kept } else { Slot::Gone }
        }
    }
}
