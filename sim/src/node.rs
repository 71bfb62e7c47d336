//! The node: one engine at a time, started again whenever it ends. LIV-5 a polite stop ends within its bound.

use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::{Engine, Registry};
use mainspring_model::HandlerName;
use mainspring_model::time::Clock;

use crate::clock::NodeClock;
use crate::faulty_store::FaultyStore;
use crate::handlers::ActHandler;
use crate::link::Link;
use crate::locked;
use crate::workload::ODD_HANDLER;
use crate::world::World;

/// A started engine, for those who ask something of it.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) engine: Engine,
    pub(crate) link: Arc<Link>,
    /// All handlers are registered; a node of an older version lacks one.
    pub(crate) complete: bool,
}

/// Until the world ends.
pub(crate) async fn keep_running(world: Arc<World>) {
    let mut number = 0;
    while !world.is_ending() {
        number += 1;
        let link = Arc::new(Link::new(number));
        world.current.change(|current| *current = Some(link.clone()));
        tokio::select! {
            biased;
            () = link.died() => {}
            () = life(&world, &link, number) => {}
        }
        world.running.change(|running| *running = None);
        link.kill(); // the process is gone, with whatever still ran in it
        let pause_ms = if world.weather.is_calm() { 200 } else { world.dice(|dice| dice.u64(50..3_000)) };
        world.clock.sleep(Duration::from_millis(pause_ms)).await;
    }
}

async fn life(world: &Arc<World>, link: &Arc<Link>, number: u32) {
    let calm = world.weather.is_calm();
    let complete = calm || world.dice(|dice| dice.u32(..3)) > 0;
    let engine = match start(world, link, complete).await {
        Ok(engine) => engine,
        Err(error) => {
            world.event(&format!("node {number} does not start: {error}"));
            if calm {
                world.violate("LIV-3", format!("node {number} does not start: {error}"));
            }
            return;
        }
    };
    world.event(&format!("node {number} has started, complete: {complete}"));
    let here = Running { engine: engine.clone(), link: link.clone(), complete };
    world.running.change(|running| *running = Some(here));
    let limit = link.stop_asked().await;
    let (began_ms, calm) = (world.clock.elapsed_ms(), world.weather.is_calm());
    world.event(&format!("node {number} is asked to stop within {limit:?}"));
    let bound = stop_bound(limit, calm);
    tokio::select! {
        biased;
        report = engine.stop(limit) => {
            world.event(&format!("node {number} has stopped: {report:?}"));
            let paused = Duration::from_secs(10) * link.pauses();
            let took = Duration::from_millis(world.clock.elapsed_ms() - began_ms);
            if took > bound + paused {
                world.violate("LIV-5", format!("the stop of node {number} took {took:?}, at most {bound:?} are allowed"));
            }
        }
        () = world.clock.sleep(bound + Duration::from_secs(60)) => {
            world.violate("LIV-5", format!("the stop of node {number} does not end"));
        }
    }
}

/// The limit, the grace of bodies, then five writes that are insisted on: each for ten seconds, and a call that is
/// stalled when the ten seconds end is still waited for.
fn stop_bound(limit: Duration, calm: bool) -> Duration {
    let grace = Duration::from_secs(5);
    limit + grace + if calm { Duration::from_secs(5) } else { 5 * Duration::from_secs(10 + 15) }
}

async fn start(world: &Arc<World>, link: &Arc<Link>, complete: bool) -> Result<Engine, mainspring_engine::Error> {
    let clock = Arc::new(NodeClock { world: world.clock.clone(), link: link.clone() });
    let handler = Arc::new(ActHandler { world: world.clone(), link: link.clone(), clock: clock.clone() });
    let mut registry = Registry::default();
    registry.add(HandlerName::stored("act"), "async", "does what the workload says", handler.clone());
    if complete {
        registry.add(HandlerName::stored(ODD_HANDLER), "async", "is new", handler);
    }
    let store = Arc::new(FaultyStore { world: world.clone(), link: link.clone() });
    let mut builder = Engine::builder(store)
        .handlers(registry)
        .clock(clock)
        .seed(world.dice(|dice| dice.u64(..)))
        .node_name("sim".to_owned(), "1".to_owned())
        .on_callers_runtime();
    for pool in &world.workload.pools {
        locked(&world.ghost).allow(pool);
        builder = builder.pool(pool.clone());
    }
    for (code, definition) in world.workload.declared() {
        builder = builder.declare(code.clone(), definition.clone());
    }
    builder.start().await
}
