//! Several nodes on one store: leases that run out by the store's clock, what is found of the dead, limits for all nodes
//! together, and jobs that a node cannot run.

use mainspring_model::job::Shard;
use mainspring_model::{Incarnation, JobId, JobStatus, NodeState, PoolName, QueueState};

use super::World;
use super::world::{NODE, T0, at, claim_request, definition, done, held, new_job, new_node, settlement, task};
use crate::{
    ClaimRequest, GiveBack, Held, NewJob, PoolRoom, PoolSettings, Replaces, Settled, StoreError, TakenOver, WhenFull,
};

const OTHER: Incarnation = Incarnation(12);

impl World {
    /// Beside those that are there, with a lease.
    pub(super) async fn join_beside(&self, incarnation: Incarnation, lease_ms: i64) -> u16 {
        let node = crate::NewNode { lease_ms, ..new_node(incarnation, Replaces::Nobody) };
        self.store.join(node, T0).await.expect("joins").node_number
    }

    async fn state_of(&self, incarnation: Incarnation) -> Option<NodeState> {
        let nodes = self.store.nodes().await.expect("reads");
        nodes.iter().find(|node| node.incarnation == incarnation).map(|node| node.state)
    }

    /// What is taken over once the store's clock has passed the end of the lease.
    async fn taken_over_in_time(&self) -> TakenOver {
        for _ in 0..LOOKS_MAX {
            let taken_over = self.store.take_over(at(10)).await.expect("takes over");
            if !taken_over.is_empty() {
                return taken_over;
            }
        }
        panic!("a lease of a millisecond never ends");
    }
}

/// The store's clock runs by itself: far more looks than fit into a millisecond.
const LOOKS_MAX: u32 = 1_000_000;

pub async fn nodes_side_by_side_have_numbers_of_their_own(world: &World) {
    assert_eq!(world.join_beside(OTHER, 15_000).await, 2);
    assert_eq!(world.join_beside(Incarnation(13), 15_000).await, 3);
    world.store.leave(OTHER, at(5)).await.expect("leaves");
    assert_eq!(world.join_beside(Incarnation(14), 15_000).await, 2, "the number of one that left is free");
    assert_eq!(world.join_beside(Incarnation(13), 15_000).await, 3, "a repetition changes nothing");
}

pub async fn a_node_that_joins_beside_others_takes_nothing_from_them(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    world.join_beside(OTHER, 15_000).await;
    assert_eq!(world.store.take_over(at(10)).await.expect("takes over"), TakenOver::default());
    assert_eq!(world.state_of(NODE).await, Some(NodeState::Active));
    assert_eq!(world.settle(settlement(&claim, done(None))).await, Settled::Applied);
}

pub async fn a_node_whose_lease_ran_out_is_taken_over_once(world: &World) {
    world.join_beside(OTHER, 1).await;
    world.stored((1..=3).map(new_job).collect()).await;
    let claims = world.claim_as(OTHER, 2, T0).await.jobs;
    assert!(world.start(&claims[1], at(5)).await);
    let taken_over = world.taken_over_in_time().await;
    assert_eq!(taken_over, TakenOver { nodes: vec![OTHER], released: 1, lost: 1, ..TakenOver::default() });
    assert_eq!(world.state_of(OTHER).await, Some(NodeState::Gone));
    assert_eq!(world.store.take_over(at(20)).await.expect("takes over"), TakenOver::default());
    assert_eq!(world.store.heartbeat(OTHER, 15_000).await.expect("beats").state, NodeState::Gone);
    assert_eq!(world.settle(settlement(&claims[0], done(None))).await, Settled::Lost);
    assert_eq!(world.claim(9, at(20)).await.jobs.len(), 3);
}

pub async fn a_renewed_lease_is_not_taken_over(world: &World) {
    world.join_beside(OTHER, 1).await;
    let beat = world.store.heartbeat(OTHER, 60_000).await.expect("beats");
    assert_eq!(beat.state, NodeState::Active);
    assert_eq!(world.store.take_over(at(10)).await.expect("takes over"), TakenOver::default());
}

pub async fn a_claim_that_was_committed_after_its_node_was_gone_is_found(world: &World) {
    world.join_beside(OTHER, 1).await;
    world.taken_over_in_time().await;
    world.stored(vec![new_job(1)]).await;
    assert_eq!(world.claim_as(OTHER, 1, T0).await.jobs.len(), 1);
    let taken_over = world.store.take_over(at(20)).await.expect("takes over");
    assert_eq!(taken_over, TakenOver { released: 1, ..TakenOver::default() });
}

pub async fn a_node_that_comes_back_replaces_its_own_past(world: &World) {
    world.join_beside(OTHER, 60_000).await;
    world.stored((1..=2).map(new_job).collect()).await;
    let own = world.claim_as(OTHER, 1, T0).await.jobs.remove(0);
    let others = world.claim(1, T0).await.jobs.remove(0);
    let again = new_node(Incarnation(13), Replaces::Own(OTHER));
    let joined = world.store.join(again, at(10)).await.expect("joins");
    assert_eq!(joined.taken_over, TakenOver { released: 1, ..TakenOver::default() });
    assert_eq!(world.settle(settlement(&own, done(None))).await, Settled::Lost);
    assert_eq!(world.settle(settlement(&others, done(None))).await, Settled::Applied);
}

pub async fn an_incarnation_that_is_gone_does_not_come_back(world: &World) {
    world.join_beside(OTHER, 60_000).await;
    world.store.leave(OTHER, at(5)).await.expect("leaves");
    let again = world.store.join(new_node(OTHER, Replaces::Nobody), at(10)).await;
    assert!(matches!(again, Err(StoreError::NotApplied { .. })), "{again:?}");
    assert_eq!(world.state_of(OTHER).await, Some(NodeState::Gone));
    assert_eq!(world.join_beside(Incarnation(13), 60_000).await, 2, "its number is free");
}

pub async fn a_claim_names_its_owner(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    let not_his = Held { owner: OTHER, ..held(&claim) };
    world.store.give_back(vec![not_his], GiveBack::Release, at(5)).await.expect("changes nothing");
    let start = crate::Started { held: not_his, ..super::world::started(&claim, at(5)) };
    assert_eq!(world.store.mark_started(vec![start]).await.expect("answers"), [false]);
    let of_other = crate::Settlement { held: not_his, ..settlement(&claim, done(None)) };
    assert_eq!(world.settle(of_other).await, Settled::Lost);
    assert_eq!(world.queue_state(1).await, Some(QueueState::Claimed));
    assert_eq!(world.settle(settlement(&claim, done(None))).await, Settled::Applied);
}

pub async fn a_draining_node_lives_on(world: &World) {
    let claim = world.claimed(new_job(1)).await;
    assert!(world.store.drain_node(NODE, "ann".to_owned(), at(5)).await.expect("drains"));
    assert!(!world.store.drain_node(OTHER, "ann".to_owned(), at(5)).await.expect("answers"), "there is none");
    assert_eq!(world.store.heartbeat(NODE, 15_000).await.expect("beats").state, NodeState::Draining);
    assert_eq!(world.store.take_over(at(10)).await.expect("takes over"), TakenOver::default());
    assert_eq!(world.settle(settlement(&claim, done(None))).await, Settled::Applied);
    world.store.leave(NODE, at(20)).await.expect("leaves");
    assert!(!world.store.drain_node(NODE, "ann".to_owned(), at(30)).await.expect("answers"), "it is gone");
}

pub async fn jobs_of_excluded_tasks_stay_for_others(world: &World) {
    world.create("other", definition()).await;
    let of_other = |id| NewJob { task: task("other"), ..new_job(id) };
    world.stored(vec![of_other(1), new_job(2), of_other(3)]).await;
    let excluding = |owner| ClaimRequest { excluded: vec![task("other")], ..claim_request(owner, 9, T0, T0) };
    let claimed = world.claim_by(excluding(NODE)).await;
    assert_eq!(claimed.jobs.iter().map(|claim| claim.id).collect::<Vec<_>>(), [JobId(2)]);
    assert_eq!(claimed.next_due, [(PoolName::default_pool(), None)], "it does not ask in vain");
    let left: Vec<_> = world.claim_as(OTHER, 9, T0).await.jobs.iter().map(|claim| claim.id).collect();
    assert_eq!(left, [JobId(1), JobId(3)]);
    world.store.leave(OTHER, T0).await.expect("leaves");
}

pub async fn a_pool_keeps_its_limit_for_all_nodes_together(world: &World) {
    world.join_beside(OTHER, 60_000).await;
    let pool = PoolSettings {
        name: PoolName::default_pool(),
        concurrency: 9,
        cluster_concurrency: Some(3),
        queue_capacity: 9,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: None,
    };
    world.store.put_pool(pool.clone(), "ann".to_owned(), at(1)).await.expect("puts");
    assert_eq!(world.store.pools().await.expect("reads"), [pool]);
    let claiming = |id| NewJob { claim: true, ..new_job(id) };
    assert_eq!(world.submit(vec![claiming(1)]).await, [super::world::stored()], "what it holds is counted at claims");
    world.stored((2..=6).map(new_job).collect()).await;
    let first = world.claim(2, T0).await.jobs;
    let claimed = world.claim_as(OTHER, 9, T0).await;
    assert_eq!((first.len(), claimed.jobs.len()), (2, 1));
    assert_eq!(claimed.next_due, [(PoolName::default_pool(), None)], "a full pool is not asked in vain");
    assert_eq!(world.claim(9, T0).await.jobs.len(), 0);
    world.settle(settlement(&first[0], done(None))).await;
    assert_eq!(world.claim_as(OTHER, 9, T0).await.jobs.len(), 1);
}

pub async fn claims_of_several_nodes_at_once_keep_the_limit_of_a_pool(world: &World) {
    world.join_beside(OTHER, 60_000).await;
    let pool = PoolSettings {
        name: PoolName::stored("narrow"),
        concurrency: 9,
        cluster_concurrency: Some(3),
        queue_capacity: 9,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: None,
    };
    world.store.put_pool(pool.clone(), "ann".to_owned(), at(1)).await.expect("puts");
    world.stored((1..=9).map(|id| NewJob { pool: pool.name.clone(), ..new_job(id) }).collect()).await;
    let request = |owner| ClaimRequest {
        rooms: vec![PoolRoom { pool: pool.name.clone(), jobs_max: 9 }],
        ..claim_request(owner, 9, T0, T0)
    };
    let (first, second) = tokio::join!(world.claim_by(request(NODE)), world.claim_by(request(OTHER)));
    assert_eq!(first.jobs.len() + second.jobs.len(), 3);
}

pub async fn a_part_of_a_broadcast_knows_which_it_is(world: &World) {
    let shard = Some(Shard { index: 1, total: 3 });
    let claim = world.claimed(NewJob { shard, ..new_job(1) }).await;
    assert_eq!((claim.shard, world.job(1).await.shard), (shard, shard));
    world.stored(vec![new_job(2)]).await;
    assert_eq!((world.claim(1, T0).await.jobs[0].shard, world.job(2).await.shard), (None, None));
}

pub async fn changes_of_definitions_are_news_and_fires_are_not(world: &World) {
    if !world.store.info().is_shared {
        return; // nobody else can change anything
    }
    let news = async || world.store.news().await.expect("reads");
    let before = news().await;
    world.create("new", definition()).await;
    let created = news().await;
    assert!(created.definitions > before.definitions, "{before:?} {created:?}");
    world.stored(vec![new_job(1)]).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    world.settle(settlement(&claim, done(None))).await;
    assert_eq!(news().await, created);
    assert_eq!(world.job(1).await.status, JobStatus::Success);
    assert_eq!(world.store.heartbeat(NODE, 15_000).await.expect("beats").news, created);
}
