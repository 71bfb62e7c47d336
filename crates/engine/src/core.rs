//! What all stages of one running engine share.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use mainspring_model::time::Clock;
use mainspring_model::{Incarnation, JobId, Timestamp, limits};
use mainspring_store::{Claim, Store, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{Notify, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::dispatch::Pools;
use crate::error::Error;
use crate::execute::{LiveAttempts, Seats};
use crate::handler::Registry;
use crate::locked;
use crate::node::Node;
use crate::submit::Intake;
use crate::tasks::Tasks;
use crate::view::Totals;
use crate::waiters::Waiters;
use crate::write_back::WriteBack;

pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) node: Node,
    pub(crate) registry: Registry,
    pub(crate) cancel_grace: Duration,
    /// How long the claimer rests when nobody wakes it.
    pub(crate) claim_poll: Duration,

    pub(crate) tasks: Tasks,
    pub(crate) pools: Pools,
    pub(crate) intake: Intake,
    pub(crate) live: LiveAttempts,
    pub(crate) write_back: WriteBack,
    pub(crate) waiters: Waiters,
    pub(crate) counts: Counts,

    /// Held (shared) while a store call is under way that makes this node an owner, until memory knows of it.
    pub(crate) owning: RwLock<()>,
    /// Held while fire times are moved: what is planned anew must not miss a fire that is under way by the old plan.
    pub(crate) planning: tokio::sync::Mutex<()>,
    /// The store did not take what was planned anew: the next look does it again.
    pub(crate) must_plan_again: AtomicBool,
    /// Who may run beside whom after a crash.
    pub(crate) suspects: Arc<Seats>,

    pub(crate) claim_wake: Notify,
    pub(crate) start_wake: Notify,
    pub(crate) schedule_wake: Notify,
    pub(crate) watch_wake: Notify,
    pub(crate) show_wake: Notify,
    /// A body has ended; a stop waits for this.
    pub(crate) body_ended: Notify,

    dice: Mutex<fastrand::Rng>,
    stopping: AtomicBool,
    /// The node has given back what it held, or is about to: nothing may become its own any more.
    left: AtomicBool,
    /// Ends the loops.
    pub(crate) quit: CancellationToken,
    /// The engine's own loops: a runtime that bodies cannot starve.
    loops: Handle,
    /// The same for what keeps the lease alone.
    lease_loop: Handle,
    /// Where bodies run.
    bodies: Handle,
    pub(crate) tracker: TaskTracker,
}

pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) node: Node,
    pub(crate) registry: Registry,
    pub(crate) cancel_grace: Duration,
    pub(crate) claim_poll: Duration,
    pub(crate) pools: Pools,
    pub(crate) dice: fastrand::Rng,
    pub(crate) loops: Handle,
    pub(crate) lease_loop: Handle,
    pub(crate) bodies: Handle,
    pub(crate) quit: CancellationToken,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Core {
        Core {
            store: parts.store,
            clock: parts.clock,
            node: parts.node,
            registry: parts.registry,
            cancel_grace: parts.cancel_grace,
            claim_poll: parts.claim_poll,
            tasks: Tasks::default(),
            pools: parts.pools,
            intake: Intake::default(),
            live: LiveAttempts::default(),
            write_back: WriteBack::default(),
            waiters: Waiters::default(),
            counts: Counts::default(),
            owning: RwLock::new(()),
            planning: tokio::sync::Mutex::new(()),
            must_plan_again: AtomicBool::new(false),
            suspects: Arc::default(),
            claim_wake: Notify::new(),
            start_wake: Notify::new(),
            schedule_wake: Notify::new(),
            watch_wake: Notify::new(),
            show_wake: Notify::new(),
            body_ended: Notify::new(),
            dice: Mutex::new(parts.dice),
            stopping: AtomicBool::new(false),
            left: AtomicBool::new(false),
            quit: parts.quit,
            loops: parts.loops,
            lease_loop: parts.lease_loop,
            bodies: parts.bodies,
            tracker: TaskTracker::new(),
        }
    }

    pub(crate) fn next_id(&self, now: Timestamp) -> JobId {
        self.node.next_id(now)
    }

    pub(crate) fn dice(&self) -> u64 {
        locked(&self.dice).u64(..)
    }

    pub(crate) fn new_incarnation(&self) -> Incarnation {
        Incarnation(locked(&self.dice).i64(1..))
    }

    /// May anything new become this node's: a claim, a fire, a job that it stores?
    pub(crate) fn takes_work(&self) -> bool {
        !self.is_stopping() && !self.node.is_draining() && self.node.holds_lease(self.clock.monotonic())
    }

    /// Asked when a slot was found and again when the body is about to begin.
    pub(crate) fn may_begin(&self, claim: &Claim) -> bool {
        self.node.may_begin(claim, self.clock.monotonic())
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    pub(crate) fn begin_to_leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Jobs due up to here are taken into memory.
    pub(crate) fn claim_until(&self, now: Timestamp) -> Timestamp {
        now.plus_ms(limits::CLAIM_AHEAD_MS)
    }

    /// A loop of the engine. One that panics is a bug; it is begun anew, and health says so.
    pub(crate) fn spawn_loop<F>(self: &Arc<Core>, name: &'static str, begin: fn(Arc<Core>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = self.without_end(name, begin);
        self.spawn_once(work);
    }

    pub(crate) fn spawn_lease_loop<F>(self: &Arc<Core>, begin: fn(Arc<Core>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = self.without_end("lease", begin);
        self.spawn_on(work, &self.lease_loop);
    }

    fn without_end<F>(
        self: &Arc<Core>,
        name: &'static str,
        begin: fn(Arc<Core>) -> F,
    ) -> impl Future<Output = ()> + use<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let core = self.clone();
        async move {
            while AssertUnwindSafe(begin(core.clone())).catch_unwind().await.is_err() {
                tracing::error!(name, "a loop of the engine panicked and is begun anew");
                core.counts.add(Count::LoopPanics, 1);
                core.clock.sleep(Duration::from_secs(1)).await;
            }
        }
    }

    /// Work of the engine's own that ends by itself, or with the engine.
    pub(crate) fn spawn_once(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.spawn_on(work, &self.loops);
    }

    fn spawn_on(&self, work: impl Future<Output = ()> + Send + 'static, runtime: &Handle) {
        let quit = self.quit.clone();
        let bounded = async move {
            tokio::select! {
                biased;
                () = quit.cancelled() => {}
                () = work => {}
            }
        };
        self.tracker.spawn_on(bounded, runtime);
    }

    /// Work whose caller may go away in the middle: what the store has written, memory must follow.
    pub(crate) async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let (tell, told) = tokio::sync::oneshot::channel();
        self.spawn_once(async move {
            let _ = tell.send(work.await);
        });
        told.await.map_err(|_| Error::stopping())
    }

    pub(crate) fn spawn_body(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Detached: a stop waits for bodies by their slots, and gives up on those that do not end.
        drop(self.bodies.spawn(work));
    }

    /// The same guarded statement again and again, until the store answers or `patience` is over. Only for verbs that
    /// can be repeated after an unknown outcome.
    pub(crate) async fn insist<T, F>(&self, patience: Duration, mut call: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let end = self.clock.monotonic().saturating_add(patience);
        let mut pause = Duration::from_millis(20);
        let mut unknown = None;
        loop {
            match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    self.counts.add(Count::StoreErrors, 1);
                    if self.clock.monotonic() + pause >= end || self.quit.is_cancelled() {
                        // A last try that was not applied says nothing of those before it.
                        return Err(unknown.unwrap_or(error));
                    }
                    tracing::debug!(%error, "store call is repeated");
                    if matches!(error, StoreError::Unknown { .. }) {
                        unknown = Some(error);
                    }
                }
            }
            self.clock.sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("node", &self.node.me()).finish_non_exhaustive()
    }
}

/// What is counted since the start of the node.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Submitted,
    Duplicates,
    Started,
    Settled,
    Succeeded,
    Failed,
    Retried,
    TimedOut,
    Panicked,
    Discarded,
    Fired,
    FiresSkipped,
    /// Fire times that were planned anew because the world around their schedule changed.
    Replanned,
    ZombiesEver,
    StoreErrors,
    LoopPanics,
    /// How often the node has lost its lease and stopped what it ran.
    LeasesLost,
}

#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; 17]);

impl Counts {
    pub(crate) fn add(&self, count: Count, by: u64) {
        self.0[count as usize].fetch_add(by, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn totals(&self, zombies_now: u64) -> Totals {
        Totals {
            submitted: self.get(Count::Submitted),
            duplicates: self.get(Count::Duplicates),
            started: self.get(Count::Started),
            settled: self.get(Count::Settled),
            succeeded: self.get(Count::Succeeded),
            failed: self.get(Count::Failed),
            retried: self.get(Count::Retried),
            timed_out: self.get(Count::TimedOut),
            panicked: self.get(Count::Panicked),
            discarded: self.get(Count::Discarded),
            fired: self.get(Count::Fired),
            fires_skipped: self.get(Count::FiresSkipped),
            replanned: self.get(Count::Replanned),
            zombies_now,
            zombies_ever: self.get(Count::ZombiesEver),
            store_errors: self.get(Count::StoreErrors),
            leases_lost: self.get(Count::LeasesLost),
        }
    }
}
