//! What `verify` must find. Each case leaves a store that is not sound.

use mainspring_model::BizId;
use mainspring_model::job::Fires;

use super::World;
use super::scheduled::{CRON, fired};
use super::world::{T0, at};
use crate::NewJob;

async fn found(world: &World) -> Vec<&'static str> {
    world.store.verify().await.expect("verify answers").into_iter().map(|violation| violation.invariant).collect()
}

pub async fn a_fire_time_with_two_records_is_found(world: &World) {
    world.with_cron(super::scheduled::cron(mainspring_model::task::Overlap::Allow)).await;
    let submitted =
        |id, ms, key: &str| NewJob { biz_id: Some(BizId::stored(key)), ..fired(id, CRON, Fires::one(at(ms))) };
    world.stored(vec![submitted(1, 0, "a"), submitted(2, 1, "b")]).await;
    assert_eq!(found(world).await, [""; 0]);
    // No fire writes this: its key keeps it out.
    let twice = Fires { first: at(-9), last: T0, count: 2 };
    world.stored(vec![NewJob { biz_id: None, ..fired(3, CRON, twice) }]).await;
    assert_eq!(found(world).await, ["INV-13"]);
}
