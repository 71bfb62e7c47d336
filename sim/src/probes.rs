//! Jobs that have no reason to be late, sent when the faults have stopped: LIV-3 the store is back, LIV-4 whatever waits
//! elsewhere.

use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::{JobRequest, When};
use mainspring_model::time::Clock;
use mainspring_model::{BizId, Span, TaskCode};
use tokio::task::JoinSet;

use crate::workload::{self, PILE_FROM, PROBE_TASK, PROBES_FROM, TENANTS, TENANTS_TASK, Wanted};
use crate::world::World;
use crate::{clients, locked};

/// Jobs of one tenant, each a second long and one after the other.
const PILE_JOBS: u32 = 12;

pub(crate) fn send(world: &Arc<World>, asking: &mut JoinSet<()>) {
    let pile = (0..PILE_JOBS).map(|place| wanted(TENANTS_TASK, PILE_FROM + place * TENANTS, 0));
    let pile: Vec<Wanted> = pile.collect();
    let piling = world.clone();
    asking.spawn(async move { clients::submit(&piling, pile).await });
    // Of a pool that has room; the last two are of another tenant than the pile.
    let busy = PILE_FROM % TENANTS;
    let other = (PROBES_FROM + 100..).find(|number| number % TENANTS != busy).unwrap_or(0);
    let own_pool =
        (PROBES_FROM..).zip([0, 8_000, 9_000, 12_000]).map(|(number, after_ms)| (PROBE_TASK, number, after_ms));
    let beside = [(TENANTS_TASK, other, 8_500), (TENANTS_TASK, other + TENANTS, 11_000)];
    for (task, number, after_ms) in own_pool.chain(beside) {
        asking.spawn(probe(world.clone(), task, number, after_ms));
    }
}

fn wanted(task: &str, number: u32, after_ms: u64) -> Wanted {
    let mut request = JobRequest::new(TaskCode::stored(task));
    request.biz_id = Some(BizId::stored(&format!("probe-{number}")));
    request.payload = Some(workload::payload(number, 0));
    request.when = if after_ms == 0 { When::Now } else { When::After(Span::from_ms(after_ms)) };
    Wanted { number, at_ms: 0, in_bulk: false, request, acts: Vec::new() }
}

async fn probe(world: Arc<World>, task: &'static str, number: u32, after_ms: u64) {
    world.clock.sleep(Duration::from_millis(after_ms)).await;
    clients::submit(&world, vec![wanted(task, number, 1_500)]).await;
    let (invariant, bound_ms) = if after_ms == 0 { ("LIV-3", 10_000) } else { ("LIV-4", 2_000) };
    world.clock.sleep(Duration::from_millis(1_500 + bound_ms)).await;
    let ghost = locked(&world.ghost);
    let stored = ghost.wishes.get(&number).and_then(|wish| wish.stored.first());
    let began = stored.and_then(|id| ghost.jobs.get(id)).is_some_and(|job| !job.bodies.is_empty());
    drop(ghost);
    if !began {
        world.violate(invariant, format!("probe {number} did not start within {bound_ms} ms"));
    }
}
