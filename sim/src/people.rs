//! Operators: they look, and they intervene. INV-4 what the node shows of its memory stays within its bounds.

use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::Error;
use mainspring_model::operations::JobOperation;
use mainspring_model::task::{Overlap, TaskKind, TaskSwitch};
use mainspring_model::time::Clock;
use mainspring_model::{JobId, TaskCode};
use mainspring_store::PoolSettings;

use crate::node::Running;
use crate::workload::{PROBE_TASKS, QUIET_POOL, draw_limits};
use crate::world::World;
use crate::{crons, locked, planners};

pub(crate) const BY: &str = "ann";
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
    match world.dice(|dice| dice.u32(..30)) {
        0..=9 => operate(world, running).await,
        10..=12 => switch(world, running).await,
        13..=14 => set_pool(world, running).await,
        15..=17 => edit(world, running).await,
        18..=20 => look(world, running).await,
        21..=22 => wait_for(world, running).await,
        23..=24 => planners::trigger(world, running).await,
        25..=26 => planners::backfill(world, running).await,
        27 => planners::set_calendar(world, running).await,
        _ => planners::make_or_delete(world, running).await,
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

/// Any of them, but those for probes.
fn some_task(world: &World) -> TaskCode {
    let (tasks, crons) = (&world.workload.tasks, &world.workload.crons);
    let ordinary = tasks.len() - PROBE_TASKS;
    match world.dice(|dice| dice.usize(..ordinary + 2 * crons.len())) {
        at if at < ordinary => tasks[at].0.clone(),
        at => crons[(at - ordinary) % crons.len()].task.0.clone(),
    }
}

async fn switch(world: &World, running: &Running) {
    let code = some_task(world);
    drop(running.engine.switch_task(&code, TaskSwitch::Disabled, BY).await);
    let pause_ms = world.dice(|dice| dice.u64(200..4_000));
    world.clock.sleep(Duration::from_millis(pause_ms)).await;
    drop(running.engine.switch_task(&code, TaskSwitch::Enabled, BY).await);
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
    world.dice(|dice| match dice.u32(..4) {
        0 => {
            definition.timeout_seconds = dice.u32(1..5);
            definition.description = Some(format!("edited {}", dice.u32(..100)));
        }
        1 => {
            // The key by which they count stays.
            let key = definition.concurrency_key.clone();
            draw_limits(dice, &mut definition);
            definition.concurrency_key = key;
            if definition.concurrency_key.is_some() && definition.rate_limit.is_none() {
                definition.max_running = Some(2);
            }
        }
        _ if definition.kind == TaskKind::Cron => match dice.bool() {
            true => crons::draw_schedule(dice, &mut definition),
            false => crons::draw_policies(dice, &mut definition),
        },
        _ => definition.overlap = Overlap::ALL[dice.usize(..Overlap::ALL.len())],
    });
    drop(running.engine.update_task(&task.code, task.version, definition, BY).await);
}

async fn look(world: &World, running: &Running) {
    let Ok(views) = running.engine.pools().await else { return };
    for view in views {
        let name = view.settings.name.clone();
        let ceiling = locked(&world.ghost).ceilings.get(&name).copied().unwrap_or_default();
        // In a stop, jobs that wait for their turn without a slot count as running until they are given back.
        let counts = !ceiling.callers_run && !running.link.is_to_stop();
        let too_many = counts && view.running > ceiling.concurrency;
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
    for pool in &world.workload.pools {
        let put = |running: Running| async move { running.engine.put_pool(pool.clone(), BY).await.is_ok() };
        until_done(world, put).await;
    }
    switch_crons(world, TaskSwitch::Enabled).await;
}

/// Before the last look nothing fires any more.
pub(crate) async fn switch_crons(world: &Arc<World>, to: TaskSwitch) {
    for (code, _) in world.workload.crons.iter().map(|cron| &cron.task) {
        let switch = |running: Running| async move {
            // A schedule that has ended cannot be enabled, and some tasks are deleted.
            !matches!(running.engine.switch_task(code, to, BY).await, Err(Error::Unavailable(_)))
        };
        until_done(world, switch).await;
    }
}

async fn until_done<F: Future<Output = bool>>(world: &Arc<World>, act: impl Fn(Running) -> F) {
    while let Some(running) = world.when_running().await {
        let link = running.link.clone();
        let done = tokio::select! {
            biased;
            done = act(running) => done,
            () = link.died() => false,
        };
        if done || world.is_broken() {
            return;
        }
        world.clock.sleep(Duration::from_millis(200)).await;
    }
}
