//! Operators who look after schedules: they press buttons, run fire times of the past, make and delete tasks, keep the
//! calendar.

use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::{Act, Error};
use mainspring_model::task::TaskSwitch;
use mainspring_model::time::Clock;
use mainspring_model::{JobId, TaskCode};

use crate::crons::{self, CronTask};
use crate::ghost::Ack;
use crate::locked;
use crate::node::Running;
use crate::people::BY;
use crate::world::World;

const TRIES_MAX: u32 = 5;

fn some_cron(world: &World) -> &CronTask {
    let crons = &world.workload.crons;
    &crons[world.dice(|dice| dice.usize(..crons.len()))]
}

/// A button that is pressed until it answers: INV-2 one job comes of it.
pub(crate) async fn trigger(world: &Arc<World>, running: &Running) {
    let (code, _) = &some_cron(world).task;
    let request = world.dice(|dice| format!("press-{}", dice.u32(..10_000)));
    let mut first: Option<JobId> = None;
    for _ in 0..TRIES_MAX {
        match running.engine.trigger_task(code, Some(&request), None, BY).await {
            Ok(receipt) => {
                if first.is_some_and(|first| first != receipt.id) {
                    world.violate("INV-2", format!("{request} was answered with {first:?} and {}", receipt.id));
                }
                let ack = Ack { id: receipt.id, task: receipt.task, wish: u32::MAX, duplicate: true };
                locked(&world.ghost).acks.push(ack);
                // Once more, as an impatient person does.
                if first.replace(receipt.id).is_some() {
                    return;
                }
            }
            Err(Error::Refused(_)) => return,
            Err(Error::Unavailable(_)) => world.clock.sleep(Duration::from_millis(300)).await,
        }
    }
}

pub(crate) async fn backfill(world: &Arc<World>, running: &Running) {
    let (code, _) = &some_cron(world).task;
    let began_ms = world.clock.elapsed_ms();
    locked(&world.ghost).schedules.backfills.entry(code.clone()).or_insert(began_ms);
    let to = world.clock.now().plus_ms(-world.dice(|dice| dice.i64(0..15_000)));
    let from = to.plus_ms(-world.dice(|dice| dice.i64(1_000..8_000)));
    let act = if world.dice(|dice| dice.u32(..5)) == 0 { Act::Show } else { Act::Do };
    if running.engine.backfill(code, from, to, act, BY).await.is_ok() {
        let mut ghost = locked(&world.ghost);
        if ghost.schedules.backfills.get(code) == Some(&began_ms) {
            ghost.schedules.backfills.remove(code);
        }
    }
}

pub(crate) async fn set_calendar(world: &Arc<World>, running: &Running) {
    let calendar = world.dice(crons::draw_calendar);
    if running.engine.put_calendar(calendar.clone(), BY).await.is_err() {
        return;
    }
    let mut ghost = locked(&world.ghost);
    let versions = ghost.schedules.calendars.entry(calendar.name).or_default();
    if let Some(version) = versions.last_mut() {
        version.acknowledged = true;
    }
}

/// A person makes a task that is not declared, or deletes one; a declared one comes back with the next node.
pub(crate) async fn make_or_delete(world: &Arc<World>, running: &Running) {
    let cron = some_cron(world);
    let (code, definition) = &cron.task;
    if !cron.declared && running.engine.task(code).await.is_err() {
        drop(running.engine.create_task(code.clone(), definition.clone(), TaskSwitch::Enabled, BY).await);
        return;
    }
    if world.dice(|dice| dice.bool()) {
        delete(world, running, code).await;
        drop(running.engine.create_task(code.clone(), definition.clone(), TaskSwitch::Enabled, BY).await);
    }
}

/// Its live jobs are in the way: it is disabled first, and they are cancelled.
async fn delete(world: &Arc<World>, running: &Running, code: &TaskCode) {
    drop(running.engine.switch_task(code, TaskSwitch::Disabled, BY).await);
    let live = locked(&world.ghost).live_of(code);
    for id in live {
        drop(running.engine.operate(id, mainspring_model::operations::JobOperation::Cancel, BY).await);
    }
    drop(running.engine.delete_task(code, None, BY).await);
}
