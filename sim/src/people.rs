//! Operators: they look, and they intervene. INV-4 what the node shows of its memory stays within its bounds.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::operations::JobOperation;
use mainspring_model::time::Clock;
use mainspring_model::{JobId, TaskCode};
use mainspring_store::PoolSettings;

use crate::locked;
use crate::node::Running;
use crate::workload::QUIET_POOL;
use crate::world::World;

const BY: &str = "ann";
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn intervene(world: Arc<World>) {
    while world.clock.elapsed_ms() < world.workload.safety_ms {
        let pause_ms = world.dice(|dice| dice.u64(100..1_500));
        world.clock.sleep(Duration::from_millis(pause_ms)).await;
        let Some(running) = world.when_running().await else { return };
        if world.clock.elapsed_ms() >= world.workload.safety_ms {
            return;
        }
        let act = act(&world, &running);
        tokio::select! {
            biased;
            () = act => {}
            () = running.link.died() => {}
            () = world.clock.sleep(PATIENCE) => {}
        }
    }
}

async fn act(world: &Arc<World>, running: &Running) {
    match world.dice(|dice| dice.u32(..20)) {
        0..=9 => operate(world, running).await,
        10..=11 => switch(world, running).await,
        12..=13 => set_pool(world, running).await,
        14 => edit(world, running).await,
        15..=17 => look(world, running).await,
        _ => wait_for(world, running).await,
    }
}

/// One of the newer jobs.
fn some_job(world: &World) -> Option<JobId> {
    let ids: Vec<JobId> = locked(&world.ghost).jobs.keys().rev().take(25).copied().collect();
    if ids.is_empty() { None } else { Some(ids[world.dice(|dice| dice.usize(..ids.len()))]) }
}

async fn operate(world: &World, running: &Running) {
    let Some(id) = some_job(world) else { return };
    let operation = JobOperation::ALL[world.dice(|dice| dice.usize(..JobOperation::ALL.len()))];
    // Refusals and failures are all the same to an operator who clicks at random.
    drop(running.engine.operate(id, operation, BY).await);
}

fn some_task(world: &World) -> TaskCode {
    let tasks = &world.workload.tasks;
    // The probe is last and left alone.
    tasks[world.dice(|dice| dice.usize(..tasks.len() - 1))].0.clone()
}

async fn switch(world: &World, running: &Running) {
    let code = some_task(world);
    drop(running.engine.switch_task(&code, false, BY).await);
    let pause_ms = world.dice(|dice| dice.u64(200..4_000));
    world.clock.sleep(Duration::from_millis(pause_ms)).await;
    drop(running.engine.switch_task(&code, true, BY).await);
}

async fn set_pool(world: &World, running: &Running) {
    let pools = &world.workload.pools;
    let pool = pools[world.dice(|dice| dice.usize(..pools.len()))].clone();
    if pool.name.as_str() == QUIET_POOL {
        return;
    }
    if world.dice(|dice| dice.bool()) {
        let concurrency = world.dice(|dice| dice.u32(1..6));
        let queue_capacity = world.dice(|dice| dice.u32(1..24));
        drop(running.engine.put_pool(PoolSettings { concurrency, queue_capacity, ..pool }, BY).await);
        return;
    }
    drop(running.engine.put_pool(PoolSettings { paused: true, ..pool.clone() }, BY).await);
    let pause_ms = world.dice(|dice| dice.u64(200..5_000));
    world.clock.sleep(Duration::from_millis(pause_ms)).await;
    drop(running.engine.put_pool(pool, BY).await);
}

async fn edit(world: &World, running: &Running) {
    let Ok(task) = running.engine.task(&some_task(world)).await else { return };
    let mut definition = task.definition.clone();
    definition.timeout_seconds = world.dice(|dice| dice.u32(1..5));
    definition.description = Some("edited".to_owned());
    drop(running.engine.update_task(&task.code, task.version, definition, BY).await);
}

async fn look(world: &World, running: &Running) {
    let Ok(views) = running.engine.pools().await else { return };
    for view in views {
        let name = view.settings.name.clone();
        let ceiling = locked(&world.ghost).ceilings.get(&name).copied().unwrap_or_default();
        let too_many = view.running > ceiling.concurrency && !ceiling.callers_run;
        if too_many || view.held > ceiling.capacity {
            let detail = format!("pool {name} runs {} and holds {}, at most {ceiling:?}", view.running, view.held);
            world.violate("INV-4", detail);
        }
    }
}

async fn wait_for(world: &World, running: &Running) {
    let Some(id) = some_job(world) else { return };
    if let Ok(end) = running.engine.wait(id).await
        && !end.status.is_final()
    {
        world.violate("INV-8", format!("who waited for job {id} was told that it ended {}", end.status));
    }
}

/// After the safety phase: nothing is paused or switched off any more.
pub(crate) async fn open_everything(world: &Arc<World>) {
    for pool in world.workload.pools.clone() {
        while let Some(running) = world.when_running().await {
            let done = tokio::select! {
                biased;
                done = running.engine.put_pool(pool.clone(), BY) => done.is_ok(),
                () = running.link.died() => false,
            };
            if done {
                break;
            }
            world.clock.sleep(Duration::from_millis(200)).await;
        }
    }
}
