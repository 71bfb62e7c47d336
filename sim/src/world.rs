//! One run: a seed becomes a world that fails for a while and then heals; at the end the ghost has the last word.
//!
//! The safety phase is for INV-n (nothing wrong ever happens), the liveness phase for LIV-n (the right things happen
//! once the faults have stopped).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_model::JobId;
use mainspring_model::task::TaskSwitch;
use mainspring_model::time::Clock;
use mainspring_store::{MemoryStore, SqliteStore, Store};
use tokio::task::JoinSet;

use crate::clock::WorldClock;
use crate::ghost::{Counts, Ghost, Violation};
use crate::link::Link;
use crate::nemesis::Temper;
use crate::node::Running;
use crate::planted::{Bug, Planted};
use crate::steps::Desk;
use crate::trace::Trace;
use crate::watched::Watched;
use crate::weather::Weather;
use crate::workload::{self, Act, Workload};
use crate::{clients, locked, nemesis, node, people, probes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    Memory,
}

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub store: StoreKind,
    pub bug: Option<Bug>,
    /// Keep the whole trace, not only its end.
    pub whole_trace: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { store: StoreKind::Sqlite, bug: None, whole_trace: false }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub seed: u64,
    pub violations: Vec<Violation>,
    /// Of all events in their order: equal for two runs of a seed.
    pub hash: u64,
    pub events: u64,
    pub last_events: Vec<String>,
    pub simulated_ms: u64,
    pub jobs: u64,
    pub crashes: u64,
    pub pauses: u64,
    pub stops: u64,
    pub clock_steps: u64,
    pub outages: u64,
    pub operations: u64,
    pub store_calls: u64,
    pub refused_calls: u64,
    pub unknown_outcomes: u64,
    pub bodies: u64,
    pub repeated_bodies: u64,
    pub losses: u64,
    pub late_settlements: u64,
    pub fires: u64,
    pub skipped_fires: u64,
    pub replans: u64,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) clock: Arc<WorldClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ghost: Mutex<Ghost>,
    pub(crate) weather: Weather,
    pub(crate) planted: Planted,
    pub(crate) workload: Workload,
    /// The node that starts, runs or stops.
    pub(crate) current: Watched<Option<Arc<Link>>>,
    /// The same once its engine runs.
    pub(crate) running: Watched<Option<Running>>,
    dice: Mutex<fastrand::Rng>,
    ending: AtomicBool,
}

/// For those who still ask when the faults stop: one after the other, and some wait for a body each time.
const LAST_ANSWERS: Duration = Duration::from_secs(1_800);
/// Much longer than any run that ends.
const RUN_MAX: Duration = Duration::from_secs(2 * 3_600);
const CHECK_EVERY: Duration = Duration::from_millis(250);

pub fn run(seed: u64, options: Options) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing that can be missing");
    runtime.block_on(async {
        let mut dice = fastrand::Rng::with_seed(seed);
        let temper = Temper::draw(&mut dice);
        let world = Arc::new(World::new(seed, options, temper, dice));
        world.event(&format!("{temper:?}, {} jobs", world.workload.jobs.len()));
        tokio::select! {
            biased;
            () = live(&world, temper) => {}
            () = told_enough(&world) => {}
            () = world.clock.sleep(RUN_MAX) => world.violate("LIV-1", "the run does not end".to_owned()),
        }
        report(seed, &world)
    })
}

/// Whoever waits for a world that is broken may wait for ever.
async fn told_enough(world: &World) {
    while !world.is_broken() {
        world.clock.sleep(CHECK_EVERY).await;
    }
    world.clock.sleep(Duration::from_secs(30)).await;
}

impl World {
    fn new(seed: u64, options: Options, temper: Temper, mut dice: fastrand::Rng) -> World {
        let clock = Arc::new(WorldClock::new());
        let store: Arc<dyn Store> = match options.store {
            StoreKind::Memory => Arc::new(MemoryStore::new(clock.clone())),
            StoreKind::Sqlite => {
                Arc::new(SqliteStore::inline(clock.clone()).expect("a database in memory can always be made"))
            }
        };
        World {
            clock,
            store,
            ghost: Mutex::new(Ghost::new(Trace::new(seed, options.whole_trace))),
            weather: Weather::new(dice.fork(), temper.fault_per_mille),
            planted: Planted::new(options.bug),
            workload: workload::draw(&mut dice),
            current: Watched::default(),
            running: Watched::default(),
            dice: Mutex::new(dice),
            ending: AtomicBool::new(false),
        }
    }

    pub(crate) fn dice<T>(&self, throw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        throw(&mut locked(&self.dice))
    }

    pub(crate) fn event(&self, event: &str) {
        locked(&self.ghost).trace.add(self.clock.elapsed_ms(), event);
    }

    pub(crate) fn violate(&self, invariant: &'static str, detail: String) {
        locked(&self.ghost).violate(self.clock.elapsed_ms(), invariant, detail);
    }

    pub(crate) fn is_broken(&self) -> bool {
        !locked(&self.ghost).violations.is_empty()
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// `None` when the world ends first.
    pub(crate) async fn when_running(&self) -> Option<Running> {
        let found = self.running.when(Option::clone).await;
        Some(found).filter(|_| !self.is_ending())
    }

    /// What the body of this attempt does.
    pub(crate) fn act(&self, wish: Option<u32>, id: JobId, attempt: u32) -> Act {
        self.workload.act(wish.unwrap_or(u32::MAX), id, attempt)
    }
}

async fn live(world: &Arc<World>, temper: Temper) {
    let mut asking = JoinSet::new();
    let mut troubling = JoinSet::new();
    let mut nodes = JoinSet::new();
    nodes.spawn(node::keep_running(world.clone()));
    troubling.spawn(nemesis::harm(world.clone(), temper));
    troubling.spawn(people::intervene(world.clone()));
    for place in 0..clients::CLIENTS {
        asking.spawn(clients::submit_all(world.clone(), place));
    }
    while world.clock.elapsed_ms() < world.workload.safety_ms && !world.is_broken() {
        world.clock.sleep(CHECK_EVERY).await;
    }
    if !world.is_broken() {
        heal(world, &mut troubling).await;
        probes::send(world, &mut asking);
        tokio::select! {
            biased;
            () = async { while asking.join_next().await.is_some() {} } => {}
            () = world.clock.sleep(LAST_ANSWERS) => world.violate("LIV-1", "a submitter waits for ever".to_owned()),
        }
    }
    if !world.is_broken() {
        Desk::open(world, 0).check_schedules();
        people::switch_crons(world, TaskSwitch::Disabled).await;
    }
    if !world.is_broken() {
        all_end(world).await;
    }
    if !world.is_broken() {
        last_stop(world).await;
    }
    if !world.is_broken() || world.planted.is(Bug::UnknownToldAsRefused) {
        Desk::open(world, 0).check_end();
    }
    // Bodies that are dropped with the runtime must not write any more.
    if let Some(link) = world.current.look(Option::clone) {
        link.kill();
    }
}

/// Faults stop, whoever was about to interfere has done so, and a node that lacks a handler makes room for one that has
/// all.
async fn heal(world: &Arc<World>, troubling: &mut JoinSet<()>) {
    world.event("the faults stop");
    world.weather.calm_down();
    if let Some(link) = world.current.look(Option::clone) {
        link.resume();
    }
    while troubling.join_next().await.is_some() {}
    if let Some(running) = world.when_running().await
        && !running.complete
    {
        running.link.ask_to_stop(Duration::from_secs(1));
        running.link.died().await;
    }
    people::open_everything(world).await;
}

/// LIV-1: every accepted job ends, within a bound that is computed from what is left to do.
async fn all_end(world: &Arc<World>) {
    let bound_ms = world.clock.elapsed_ms() + bound_of_work_ms(world);
    while locked(&world.ghost).live_jobs() > 0 && !world.is_broken() {
        if world.clock.elapsed_ms() > bound_ms {
            let ghost = locked(&world.ghost);
            let left = ghost.jobs.iter().find(|(_, job)| !job.image.status.is_final());
            let detail = format!("{} jobs do not end, the first is {left:?}", ghost.live_jobs());
            drop(ghost);
            return world.violate("LIV-1", detail);
        }
        world.clock.sleep(CHECK_EVERY).await;
    }
    world.event("all jobs have ended");
}

/// As if all that is left ran one after the other, each as long and as often as it may.
fn bound_of_work_ms(world: &World) -> u64 {
    // The wall clock may have to come back to where rates were counted, twice as far as it strays.
    const SLACK_MS: u64 = 60_000 + 200_000;
    let (now, ghost) = (world.clock.now(), locked(&world.ghost));
    let live = ghost.jobs.values().filter(|job| !job.image.status.is_final());
    let work_ms = live.map(|job| {
        let wait_ms = job.image.due().map_or(0, |due| due.until(now).as_millis());
        let tries = u64::from(job.max_retry) + 1 + 3 + 4;
        u64::try_from(wait_ms).unwrap_or(u64::MAX) + tries * 10_000
    });
    SLACK_MS + work_ms.sum::<u64>()
}

/// LIV-5, with nothing in its way.
async fn last_stop(world: &Arc<World>) {
    let Some(running) = world.when_running().await else { return };
    world.ending.store(true, Ordering::Relaxed);
    running.link.ask_to_stop(Duration::from_secs(5));
    running.link.died().await;
}

fn report(seed: u64, world: &World) -> Report {
    let ghost = locked(&world.ghost);
    let Counts { calls, refused_calls, unknown, crashes, pauses, stops, clock_steps, outages, operations, .. } =
        ghost.counts;
    Report {
        seed,
        violations: ghost.violations.clone(),
        hash: ghost.trace.hash(),
        events: ghost.trace.events(),
        last_events: ghost.trace.last(),
        simulated_ms: world.clock.elapsed_ms(),
        jobs: ghost.jobs.len() as u64,
        crashes,
        pauses,
        stops,
        clock_steps,
        outages,
        operations,
        store_calls: calls,
        refused_calls,
        unknown_outcomes: unknown,
        bodies: ghost.counts.bodies,
        repeated_bodies: ghost.counts.repeated_bodies,
        losses: ghost.counts.lost,
        late_settlements: ghost.counts.late_settlements,
        fires: ghost.counts.fires,
        skipped_fires: ghost.counts.skipped_fires,
        replans: ghost.counts.replans,
    }
}
