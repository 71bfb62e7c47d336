//! The attempts that this node has in hand: from their first step until their outcome is written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use mainspring_model::decide::Ended;
use mainspring_model::time::Clock;
use mainspring_model::{AttemptId, Fence, JobId, Task, Timestamp, broadcast, limits};
use mainspring_store::{Claim, Held};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::dispatch::Pool;
use crate::execute::turn::Turn;
use crate::locked;
use crate::write_back::output::Output;

/// One attempt while it is in hand.
#[derive(Debug)]
pub(crate) struct LiveAttempt {
    pub(crate) claim: Claim,
    pub(crate) task: Arc<Task>,
    pub(crate) pool: Arc<Pool>,
    /// The number under which the node claimed it.
    pub(crate) node: u16,
    /// 1 for the first body of the job.
    pub(crate) number: u32,
    pub(crate) start_time: Timestamp,
    /// By the monotonic clock: a step of the wall clock neither shortens nor lengthens an attempt.
    pub(crate) started_at: Duration,
    pub(crate) limit: Duration,
    /// When the body began: its start may have had to be written first, however long the store took.
    began: OnceLock<Duration>,
    /// Tells the body that it should stop.
    pub(crate) cancel: CancellationToken,
    /// Tells the runner to drop the body, and when it was told.
    pub(crate) drop_body: CancellationToken,
    dropped_at: OnceLock<Duration>,
    /// A shorter grace than usual: the node has lost its lease.
    hurry: OnceLock<Duration>,
    pub(crate) start_written: AtomicBool,
    /// The body has a thread of its own and cannot be dropped.
    pub(crate) blocks: AtomicBool,
    pub(crate) output: Output,
    /// Given back when the outcome is written: until then the loss of this node would be counted against the job.
    turn: Mutex<Option<Turn>>,
    /// Whoever waits for the end of the body: dropped at it.
    waits: Mutex<Option<oneshot::Sender<()>>>,
    /// A zombie whose slot was not replaced, because there are too many already.
    pub(crate) keeps_slot: AtomicBool,
    phase: Mutex<Phase>,
}

/// Who may say how the attempt ended. It is taken once.
#[derive(Debug)]
enum Phase {
    /// The body may.
    Running,
    /// The body lost the right, for this reason; its own answer no longer counts. Since when, for the grace.
    Revoked { ended: Ended, since: Duration },
    /// It was said.
    Ended,
}

/// What a runner finds when its body has come to an end.
#[derive(Debug)]
pub(crate) enum BodyEnd {
    /// This is how the attempt ended.
    Counts(Ended),
    /// The attempt was over before: the body was a zombie.
    Late,
}

impl LiveAttempt {
    pub(crate) fn new(claim: Claim, task: Arc<Task>, pool: Arc<Pool>, node: u16, clock: Arc<dyn Clock>) -> LiveAttempt {
        let (start_time, started_at) = (clock.now(), clock.monotonic());
        let limit = match claim.timeout_ms {
            _ if broadcast::is_parent(&claim.pool) => Duration::from_secs(limits::COORDINATOR_SECONDS_MAX),
            None => Duration::from_secs(task.definition.timeout_seconds.into()),
            Some(ms) => Duration::from_millis(u64::try_from(ms).unwrap_or(1)),
        };
        LiveAttempt {
            number: claim.attempts.saturating_add(1),
            output: Output::new(AttemptId { job: claim.id, fence: claim.fence }, clock),
            claim,
            task,
            pool,
            node,
            start_time,
            started_at,
            limit,
            began: OnceLock::new(),
            cancel: CancellationToken::new(),
            drop_body: CancellationToken::new(),
            dropped_at: OnceLock::new(),
            hurry: OnceLock::new(),
            start_written: AtomicBool::new(false),
            blocks: AtomicBool::new(false),
            turn: Mutex::new(None),
            waits: Mutex::new(None),
            keeps_slot: AtomicBool::new(false),
            phase: Mutex::new(Phase::Running),
        }
    }

    pub(crate) fn id(&self) -> AttemptId {
        AttemptId { job: self.claim.id, fence: self.claim.fence }
    }

    pub(crate) fn tell_at_end(&self, waits: Option<oneshot::Sender<()>>) {
        *locked(&self.waits) = waits;
    }

    pub(crate) fn tell_end(&self) {
        drop(locked(&self.waits).take());
    }

    pub(crate) fn keep_turn(&self, turn: Turn) {
        *locked(&self.turn) = Some(turn);
    }

    pub(crate) fn end_turn(&self) {
        drop(locked(&self.turn).take());
    }

    pub(crate) fn held(&self) -> Held {
        self.claim.held()
    }

    /// The body begins. `false` when the attempt was taken from it before: it must not begin at all.
    pub(crate) fn begin(&self, now: Duration) -> bool {
        let _ = self.began.set(now);
        self.is_running()
    }

    pub(crate) fn began(&self) -> Option<Duration> {
        self.began.get().copied()
    }

    /// The instant at which the attempt is cancelled, as far as it is known.
    pub(crate) fn deadline(&self) -> Timestamp {
        let waited = self.began().unwrap_or(self.started_at).saturating_sub(self.started_at);
        self.start_time.plus(waited).plus(self.limit)
    }

    /// Has the body dropped. For how long that has been asked for.
    pub(crate) fn drop_body(&self, now: Duration) -> Duration {
        self.drop_body.cancel();
        now.saturating_sub(*self.dropped_at.get_or_init(|| now))
    }

    /// Of a body that was told to stop, this much is left.
    pub(crate) fn hurry(&self, grace: Duration) {
        let _ = self.hurry.set(grace);
    }

    pub(crate) fn grace(&self, usual: Duration) -> Duration {
        self.hurry.get().map_or(usual, |grace| usual.min(*grace))
    }

    /// Takes the right to answer from the body and asks it to stop. `false` when it has ended or lost it before.
    pub(crate) fn revoke(&self, ended: Ended, since: Duration) -> bool {
        let mut phase = locked(&self.phase);
        let revoked = matches!(*phase, Phase::Running);
        if revoked {
            *phase = Phase::Revoked { ended, since };
            drop(phase);
            self.cancel.cancel();
        }
        revoked
    }

    /// The body is gone, with this answer.
    pub(crate) fn body_ended(&self, answered: Ended) -> BodyEnd {
        match std::mem::replace(&mut *locked(&self.phase), Phase::Ended) {
            Phase::Running => BodyEnd::Counts(answered),
            Phase::Revoked { ended, .. } => BodyEnd::Counts(ended),
            Phase::Ended => BodyEnd::Late,
        }
    }

    /// Ends the attempt although its body goes on: it is a zombie from here on.
    pub(crate) fn abandon(&self) -> Option<Ended> {
        let mut phase = locked(&self.phase);
        match std::mem::replace(&mut *phase, Phase::Ended) {
            Phase::Revoked { ended: Ended::TimedOut { limit_ms, .. }, .. } => {
                Some(Ended::TimedOut { limit_ms, body_stopped: false })
            }
            Phase::Revoked { ended, .. } => Some(ended),
            other => {
                *phase = other;
                None
            }
        }
    }

    /// For how long the body has been asked to stop.
    pub(crate) fn revoked_for(&self, now: Duration) -> Option<Duration> {
        match &*locked(&self.phase) {
            Phase::Revoked { since, .. } => Some(now.saturating_sub(*since)),
            Phase::Running | Phase::Ended => None,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*locked(&self.phase), Phase::Running)
    }

    pub(crate) fn is_start_written(&self) -> bool {
        self.start_written.load(Ordering::Acquire)
    }
}

/// All of them, in a fixed order (the simulation repeats its traces).
#[derive(Debug, Default)]
pub(crate) struct LiveAttempts(Mutex<BTreeMap<Held, Arc<LiveAttempt>>>);

impl LiveAttempts {
    /// `true` when it is the only one: the watchers may be asleep.
    pub(crate) fn insert(&self, attempt: &Arc<LiveAttempt>) -> bool {
        let mut attempts = locked(&self.0);
        attempts.insert(attempt.held(), attempt.clone());
        attempts.len() == 1
    }

    /// Their outcomes are written, or were lost for good.
    pub(crate) fn remove(&self, settled: impl Iterator<Item = Held>) {
        let mut attempts = locked(&self.0);
        for held in settled {
            attempts.remove(&held);
        }
    }

    /// Attempts at the job whose fence is older than `before`.
    pub(crate) fn of_job(&self, id: JobId, before: Fence) -> Vec<Arc<LiveAttempt>> {
        let (from, to) = Held::before(id, before);
        locked(&self.0).range(from..to).map(|(_, attempt)| attempt.clone()).collect()
    }

    pub(crate) fn contains(&self, held: &Held) -> bool {
        locked(&self.0).contains_key(held)
    }

    pub(crate) fn all(&self) -> Vec<Arc<LiveAttempt>> {
        locked(&self.0).values().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.0).is_empty()
    }
}
