//! Who makes the world fail, until the safety phase is over.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::limits;
use mainspring_model::time::Clock;

use crate::locked;
use crate::world::World;

/// How rough a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Temper {
    pub(crate) fault_per_mille: u32,
    pause_between_ms: u64,
    crash_weight: u32,
    clock_steps: bool,
}

impl Temper {
    pub(crate) fn draw(dice: &mut fastrand::Rng) -> Temper {
        Temper {
            fault_per_mille: [0, 10, 30, 30, 60][dice.usize(..5)],
            pause_between_ms: [700, 1_500, 1_500, 4_000][dice.usize(..4)],
            crash_weight: dice.u32(0..5),
            clock_steps: dice.bool(),
        }
    }
}

/// The wall clock strays no further than this from where it began; sometimes so far that going back is another matter.
const WALL_OFFSET_MS_MAX: i64 = 20_000;
const WALL_FAR_MS_MAX: i64 = 90_000;

pub(crate) async fn harm(world: Arc<World>, temper: Temper) {
    while world.clock.elapsed_ms() < world.workload.safety_ms {
        let pause_ms = world.dice(|dice| dice.u64(100..=temper.pause_between_ms * 2));
        world.clock.sleep(Duration::from_millis(pause_ms)).await;
        if world.clock.elapsed_ms() >= world.workload.safety_ms {
            return;
        }
        let kind = world.dice(|dice| dice.u32(0..12 + temper.crash_weight));
        match kind {
            0 | 1 => pause(&world).await,
            2 => {
                let until_ms = later(&world, 500, 12_000);
                world.event(&format!("the store refuses all calls until {until_ms}"));
                world.weather.outage_until(until_ms);
                locked(&world.ghost).counts.outages += 1;
            }
            3 => {
                let until_ms = later(&world, 200, 8_000);
                world.event(&format!("the store stalls until {until_ms}"));
                world.weather.stall_until(until_ms);
            }
            4 => {
                let until_ms = later(&world, 500, 6_000);
                world.event(&format!("the store is slow until {until_ms}"));
                world.weather.slow_until(until_ms);
            }
            5 | 7 if temper.clock_steps => step_clock(&world),
            6 => stop(&world),
            5 | 7..12 => {}
            _ => crash(&world),
        }
    }
}

fn later(world: &World, from_ms: u64, to_ms: u64) -> u64 {
    world.clock.elapsed_ms() + world.dice(|dice| dice.u64(from_ms..to_ms))
}

fn crash(world: &World) {
    let Some(link) = world.current.look(Option::clone) else { return };
    if !link.is_dead() {
        world.event(&format!("node {} crashes", link.number));
        locked(&world.ghost).counts.crashes += 1;
        link.kill();
    }
}

fn stop(world: &World) {
    if let Some(running) = world.running.look(Option::clone) {
        locked(&world.ghost).counts.stops += 1;
        running.link.ask_to_stop(Duration::from_millis(world.dice(|dice| dice.u64(0..6_000))));
    }
}

async fn pause(world: &World) {
    let Some(link) = world.current.look(Option::clone) else { return };
    let length_ms = world.dice(|dice| dice.u64(500..9_500));
    world.event(&format!("node {} pauses for {length_ms} ms", link.number));
    locked(&world.ghost).counts.pauses += 1;
    link.pause();
    world.clock.sleep(Duration::from_millis(length_ms)).await;
    world.event(&format!("node {} goes on", link.number));
    link.resume();
}

fn step_clock(world: &World) {
    let max_ms = if world.dice(|dice| dice.u32(..2)) == 0 { WALL_FAR_MS_MAX } else { WALL_OFFSET_MS_MAX };
    let aim_ms = world.dice(|dice| dice.i64(-max_ms..=max_ms));
    let by_ms = aim_ms - world.clock.offset_ms();
    world.clock.step(by_ms);
    world.event(&format!("the wall clock steps by {by_ms} ms"));
    let mut ghost = locked(&world.ghost);
    ghost.counts.clock_steps += 1;
    ghost.schedules.clock_is_at(world.clock.now());
    ghost.schedules.silent_ms += (-by_ms).clamp(0, limits::CLOCK_BACK_MS + limits::CLOCK_JUMP_MS);
}
