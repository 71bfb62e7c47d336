//! Broadcasts: parents stand in lanes for their parts, and parts never wait for a node that takes no new work.

use mainspring_model::decide::Budget;
use mainspring_model::job::{OnLive, Shard};
use mainspring_model::operations::JobOperation;
use mainspring_model::task::{OnLost, Overlap, TaskSwitch};
use mainspring_model::{AttemptStatus, BizId, Incarnation, JobId, JobStatus, PoolName, TaskDefinition, broadcast};

use super::World;
use super::scheduled::{at_most, of_task, replaced_ids};
use super::world::{NODE, T0, again, at, claim_request, definition, done, failed, new_node, settlement, stored, task};
use crate::{Claim, ClaimRequest, NewJob, Operated, PoolRoom, Replaces, Submitted, TakenOver};

const OTHER: Incarnation = Incarnation(12);
const CODE: &str = "everywhere";

fn parent(id: i64) -> NewJob {
    NewJob { pool: PoolName::of_broadcasts(), ..of_task(id, CODE) }
}

/// Two of them, with the ids after their parent's.
fn part(of: i64, index: u32, node: Incarnation) -> NewJob {
    NewJob {
        biz_id: Some(broadcast::part_key(JobId(of), index)),
        pool: PoolName::of_node(node),
        shard: Some(Shard { index, total: 2 }),
        ..of_task(of + 1 + i64::from(index), CODE)
    }
}

fn ids(claims: &[Claim]) -> Vec<i64> {
    claims.iter().map(|claim| claim.id.0).collect()
}

impl World {
    async fn with_broadcast(&self, definition: TaskDefinition) {
        self.create(CODE, TaskDefinition { broadcast: true, ..definition }).await;
    }

    async fn claim_in(&self, owner: Incarnation, pools: &[PoolName]) -> Vec<Claim> {
        let rooms = pools.iter().map(|pool| PoolRoom { pool: pool.clone(), jobs_max: 9 }).collect();
        self.claim_by(ClaimRequest { rooms, ..claim_request(owner, 9, at(1_000), at(1_000)) }).await.jobs
    }

    async fn claim_everywhere(&self) -> Vec<Claim> {
        self.claim_in(NODE, &[PoolName::of_broadcasts(), PoolName::of_node(NODE), PoolName::default_pool()]).await
    }

    async fn pool_of(&self, id: i64) -> String {
        self.job(id).await.pool.to_string()
    }
}

pub async fn a_parent_stands_in_the_lane_for_its_parts(world: &World) {
    world.with_broadcast(TaskDefinition { overlap: Overlap::Forbid, ..definition() }).await;
    let trigger = |id| NewJob { on_live: OnLive::JoinBelow(1), ..parent(id) };
    assert_eq!(world.submit(vec![trigger(1)]).await, [stored()]);
    let claims = world.claim_everywhere().await;
    assert_eq!((ids(&claims), claims[0].lane.is_some()), (vec![1], true));
    let claiming = |index| NewJob { claim: true, ..part(1, index, NODE) };
    let answers = world.submit(vec![claiming(0), part(1, 1, NODE)]).await;
    assert_eq!(answers, [Submitted::Stored { claimed: true, replaced: Vec::new() }, stored()]);
    let parts = world.claim_everywhere().await;
    assert_eq!((ids(&parts), parts[0].lane.clone()), (vec![3], None), "they wait neither for it nor for each other");
    assert!(matches!(world.submit(vec![trigger(5)]).await[0], Submitted::Refused(_)), "its parent is live");
    world.settle(settlement(&claims[0], done(None))).await;
    assert_eq!(world.submit(vec![trigger(5)]).await, [stored()], "parts do not count");
    world.settle(settlement(&parts[0], failed(false))).await;
    world.operate(3, JobOperation::Retry, at(50)).await;
    assert_eq!(ids(&world.claim_everywhere().await), [5, 3], "a part that is taken up again waits for nobody");
}

pub async fn a_parent_is_replaced_without_its_parts(world: &World) {
    world.with_broadcast(TaskDefinition { overlap: Overlap::Replace, ..definition() }).await;
    world.stored(vec![parent(1)]).await;
    world.stored(vec![part(1, 0, NODE), part(1, 1, NODE)]).await;
    let answers = world.submit(vec![NewJob { on_live: OnLive::Replace, ..parent(5) }]).await;
    assert_eq!(replaced_ids(answers[0].replaced()), [1]);
    assert_eq!(ids(&world.claim_everywhere().await), [5, 2, 3]);
}

pub async fn parts_enter_no_lane_when_their_task_gets_a_limit(world: &World) {
    world.with_broadcast(definition()).await;
    world.stored(vec![parent(1)]).await;
    world.stored(vec![part(1, 0, NODE), part(1, 1, NODE)]).await;
    world.edit(CODE, at_most(1)).await;
    let claims = world.claim_everywhere().await;
    assert_eq!(ids(&claims), [1, 2, 3]);
    assert_eq!(claims.iter().map(|claim| claim.lane.is_some()).collect::<Vec<_>>(), [true, false, false]);
    world.edit(CODE, definition()).await;
}

pub async fn parts_of_a_broadcast_that_was_accepted_are_taken(world: &World) {
    world.with_broadcast(definition()).await;
    world.stored(vec![parent(1)]).await;
    world.store.switch_task(task(CODE), TaskSwitch::Disabled, None, "ann".to_owned(), at(5)).await.expect("switches");
    assert!(matches!(world.submit(vec![parent(9)]).await[0], Submitted::Refused(_)));
    world.stored(vec![part(1, 0, NODE), part(1, 1, NODE)]).await;
    let repeated = NewJob { id: JobId(7), ..part(1, 1, NODE) };
    assert!(matches!(world.submit(vec![repeated]).await[0], Submitted::Duplicate { id: JobId(3), .. }));
}

pub async fn parts_that_wait_for_a_node_that_is_gone_go_to_the_pool_of_their_task(world: &World) {
    let pool = PoolName::stored("reports");
    world.with_broadcast(TaskDefinition { pool: pool.clone(), ..definition() }).await;
    world.join_beside(OTHER, 60_000).await;
    world.stored(vec![parent(1), part(1, 0, OTHER), part(1, 1, NODE)]).await;
    world.stored(vec![parent(11), part(11, 0, OTHER), part(11, 1, OTHER)]).await;
    let claims = world.claim_in(OTHER, &[PoolName::of_node(OTHER)]).await;
    assert_eq!(ids(&claims), [2, 12, 13]);
    assert!(world.start(&claims[0], at(5)).await);
    world.settle(settlement(&claims[1], again(AttemptStatus::Failed, at(500), Budget::Failure))).await;
    assert_eq!(world.store.take_over(at(10)).await.expect("takes over"), TakenOver::default());
    let past = new_node(Incarnation(13), Replaces::Own(OTHER));
    let joined = world.store.join(past, at(10)).await.expect("joins");
    // The first was lost, the second waits for its next try, the third was in memory.
    assert_eq!(joined.taken_over, TakenOver { released: 1, lost: 1, rerouted: 3, ..TakenOver::default() });
    let mut pools = Vec::new();
    for id in [1, 2, 3, 11, 12, 13] {
        pools.push(world.pool_of(id).await);
    }
    assert_eq!(pools, ["@broadcast", "reports", "@11", "@broadcast", "reports", "reports"]);
    assert_eq!(world.store.take_over(at(20)).await.expect("takes over"), TakenOver::default(), "once");
    let mut anywhere = world.claim_in(NODE, &[pool]).await;
    anywhere.sort_by_key(|claim| claim.id);
    assert_eq!(ids(&anywhere), [2, 12, 13]);
    assert_eq!(anywhere[2].shard, Some(Shard { index: 1, total: 2 }), "it keeps its index");
    assert_eq!(ids(&world.claim_in(NODE, &[PoolName::of_node(NODE)]).await), [3]);
}

pub async fn parts_that_wait_for_a_draining_node_go_elsewhere(world: &World) {
    world.with_broadcast(definition()).await;
    world.join_beside(OTHER, 60_000).await;
    world.stored(vec![part(1, 0, OTHER), part(1, 1, OTHER)]).await;
    let claim = world.claim_by(ClaimRequest {
        rooms: vec![PoolRoom { pool: PoolName::of_node(OTHER), jobs_max: 1 }],
        ..claim_request(OTHER, 1, T0, T0)
    });
    let claim = claim.await.jobs.remove(0);
    assert!(world.store.drain_node(OTHER, "ann".to_owned(), at(5)).await.expect("drains"));
    let taken_over = world.store.take_over(at(10)).await.expect("takes over");
    assert_eq!(taken_over, TakenOver { rerouted: 1, ..TakenOver::default() });
    assert_eq!((world.pool_of(claim.id.0).await, world.pool_of(3).await), ("@12".to_owned(), "default".to_owned()));
}

pub async fn a_part_that_is_taken_up_again_waits_for_no_node_that_is_gone(world: &World) {
    world.with_broadcast(definition()).await;
    world.join_beside(OTHER, 60_000).await;
    world.stored(vec![part(1, 0, OTHER)]).await;
    let claim = world.claim_in(OTHER, &[PoolName::of_node(OTHER)]).await.remove(0);
    world.settle(settlement(&claim, failed(false))).await;
    world.store.leave(OTHER, at(40)).await.expect("leaves");
    let Operated::Done(job) = world.operate(2, JobOperation::Retry, at(50)).await else { panic!("it may be retried") };
    assert_eq!(job.status, JobStatus::Pending);
    world.store.take_over(at(60)).await.expect("takes over");
    assert_eq!(ids(&world.claim_everywhere().await), [2]);
}

pub async fn a_lost_coordinator_is_repeated_whatever_its_task_says_of_lost_bodies(world: &World) {
    world.with_broadcast(TaskDefinition { on_lost: OnLost::Fail, ..definition() }).await;
    world.join_beside(OTHER, 60_000).await;
    let keyed = NewJob { biz_id: Some(BizId::stored("k")), ..parent(1) };
    world.stored(vec![keyed, part(1, 0, OTHER)]).await;
    for claim in world.claim_in(OTHER, &[PoolName::of_broadcasts(), PoolName::of_node(OTHER)]).await {
        assert!(world.start(&claim, at(5)).await);
    }
    let past = new_node(Incarnation(13), Replaces::Own(OTHER));
    let joined = world.store.join(past, at(10)).await.expect("joins");
    assert_eq!(joined.taken_over, TakenOver { lost: 1, dead: 1, ..TakenOver::default() });
    let (parent, part) = (world.job(1).await, world.job(2).await);
    assert_eq!((parent.status, parent.lost_count, part.status), (JobStatus::Pending, 1, JobStatus::Failed));
}
