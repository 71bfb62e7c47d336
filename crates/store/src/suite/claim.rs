//! Claim: order, room, priorities, fences, giving back, parking.

use std::collections::BTreeSet;

use mainspring_model::job::QueueState;
use mainspring_model::{Fence, Incarnation, PoolName, Priority};

use super::World;
use super::world::{NODE, T0, TASK, at, held, new_job, task};
use crate::{ClaimRequest, Claimed, GiveBack, Held, NewJob, PoolRoom};

fn ids(claimed: &Claimed) -> Vec<i64> {
    claimed.jobs.iter().map(|claim| claim.id.0).collect()
}

fn due(id: i64, ms: i64) -> NewJob {
    NewJob { execute_time: at(ms), ..new_job(id) }
}

pub async fn due_jobs_come_in_order_of_their_time(world: &World) {
    world.stored(vec![due(1, -10), due(2, -30), due(3, 0), due(4, -20)]).await;
    assert_eq!(ids(&world.claim(10, T0).await), [2, 4, 1, 3]);
}

pub async fn nothing_is_claimed_before_its_time(world: &World) {
    world.stored(vec![due(1, 1_000), due(2, 1_001)]).await;
    assert_eq!(ids(&world.claim(10, at(999)).await), [0_i64; 0]);
    assert_eq!(ids(&world.claim(10, at(1_000)).await), [1]);
}

pub async fn the_urgent_go_first_and_the_others_get_their_part(world: &World) {
    let mut jobs = Vec::new();
    for (row, priority) in Priority::ALL.iter().enumerate() {
        let first = row as i64 * 100 + 1;
        jobs.extend((first..first + 40).map(|id| NewJob { priority: *priority, ..new_job(id) }));
    }
    world.stored(jobs).await;
    let claimed = world.claim(32, T0).await;
    let of = |priority| claimed.jobs.iter().filter(|claim| claim.priority == priority).count();
    assert_eq!(Priority::ALL.iter().map(|priority| of(*priority)).collect::<Vec<_>>(), [26, 2, 2, 2]);
}

pub async fn two_claimers_never_share_a_job(world: &World) {
    world.stored((1..=100).map(new_job).collect()).await;
    let (first, second) = tokio::join!(world.claim_as(NODE, 60, T0), world.claim_as(Incarnation(12), 60, T0));
    let all: BTreeSet<i64> = ids(&first).into_iter().chain(ids(&second)).collect();
    assert_eq!((all.len(), first.jobs.len() + second.jobs.len()), (100, 100));
    // It never joined: what it holds would be held by nobody.
    world.store.leave(Incarnation(12), T0).await.expect("leaves");
}

pub async fn a_claim_takes_no_more_than_its_room(world: &World) {
    world.stored((1..=5).map(new_job).collect()).await;
    assert_eq!(world.claim(0, T0).await.jobs, []);
    assert_eq!(ids(&world.claim(2, T0).await), [1, 2]);
    assert_eq!(ids(&world.claim(9, T0).await), [3, 4, 5]);
}

pub async fn pools_are_apart(world: &World) {
    let pool = PoolName::stored("mail");
    world.stored(vec![new_job(1), NewJob { pool: pool.clone(), ..new_job(2) }]).await;
    let rooms = vec![PoolRoom { pool: pool.clone(), jobs_max: 10 }];
    let claimed = world
        .store
        .claim(ClaimRequest { owner: NODE, now: T0, due_until: T0, rooms, excluded: Vec::new() })
        .await
        .expect("claims");
    assert_eq!((ids(&claimed), claimed.next_due), (vec![2], vec![(pool, None)]));
}

pub async fn every_claim_adds_one_to_the_fence(world: &World) {
    world.stored(vec![new_job(1)]).await;
    for expect in 1..=3 {
        let claims = world.claim(1, T0).await.jobs;
        assert_eq!((claims[0].fence, world.job(1).await.fence), (Fence(expect), Fence(expect)));
        world.store.give_back(vec![held(&claims[0])], GiveBack::Release, T0).await.expect("gives back");
    }
}

pub async fn a_given_back_job_is_claimed_again_and_not_suspect(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.store.give_back(vec![held(&claim)], GiveBack::Release, T0).await.expect("gives back");
    let again = world.claim(1, T0).await.jobs.remove(0);
    assert_eq!((again.suspect, again.attempts, again.retry_count, again.lost_count), (false, 0, 0, 0));
}

pub async fn giving_back_needs_the_fence(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let old = Held { fence: Fence(0), ..claim.held() };
    world.store.give_back(vec![old], GiveBack::Release, T0).await.expect("gives back");
    assert_eq!(world.queue_state(1).await, Some(QueueState::Claimed));
}

pub async fn a_parked_job_rests_until_its_task_is_known(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.store.give_back(vec![held(&claim)], GiveBack::Park, T0).await.expect("parks");
    assert_eq!((world.queue_state(1).await, world.claim(1, T0).await.jobs.len()), (Some(QueueState::Parked), 0));
    assert_eq!(world.store.unpark(vec![task("other")]).await.expect("unparks"), 0);
    assert_eq!(world.store.unpark(vec![task("other"), task(TASK)]).await.expect("unparks"), 1);
    assert_eq!(world.claim(1, T0).await.jobs[0].fence, Fence(2));
}

pub async fn the_next_due_time_is_told(world: &World) {
    let low = NewJob { priority: Priority::Low, ..due(3, 400) };
    world.stored(vec![due(1, 0), due(2, 500), low]).await;
    let claimed = world.claim(10, T0).await;
    assert_eq!(claimed.next_due, [(PoolName::default_pool(), Some(at(400)))]);
}

pub async fn a_node_can_ask_what_it_holds(world: &World) {
    world.stored((1..=4).map(new_job).collect()).await;
    let claims = world.claim(3, T0).await.jobs;
    world.start(&claims[0], at(5)).await;
    world.store.give_back(vec![held(&claims[1])], GiveBack::Release, T0).await.expect("gives back");
    let own = world.store.held(NODE).await.expect("reads");
    assert_eq!(own, [held(&claims[0]), held(&claims[2])]);
    assert_eq!(world.store.held(Incarnation(99)).await.expect("reads"), []);
}
