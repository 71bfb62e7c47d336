//! Rates: never more starts in any period than allowed, and no start later than it must be.

use mainspring_model::job::QueueState;
use mainspring_model::operations::JobOperation;
use mainspring_model::{PoolName, TaskDefinition, Timestamp};

use super::World;
use super::scheduled::{at_most, at_rate, of_key, of_task};
use super::world::{NODE, T0, TASK, at, claim_request, definition, done, settlement, stored};
use crate::{Claim, Claimed, NewJob, PoolSettings, Submitted, WhenFull};

const PERIOD_MS: i64 = 1_000;

fn ids(claimed: &Claimed) -> Vec<i64> {
    claimed.jobs.iter().map(|claim| claim.id.0).collect()
}

/// The starts of all jobs, when a node claims as often as the store says that there may be something.
async fn starts(world: &World, from: i64, until: i64) -> Vec<(i64, Claim)> {
    let (mut starts, mut now) = (Vec::new(), from);
    while now <= until {
        let claimed = world.claim(100, at(now)).await;
        let next = claimed.next_due[0].1.map_or(until + 1, |due| due.ms_since(T0));
        starts.extend(claimed.jobs.into_iter().map(|claim| (now, claim)));
        now = next.max(now + 1);
    }
    starts
}

fn assert_rate(starts: &[i64], count: usize, period_ms: i64) {
    for window in starts.windows(count + 1) {
        assert!(window[count] - window[0] >= period_ms, "{} starts in {period_ms} ms: {window:?}", count + 1);
    }
}

pub async fn starts_keep_the_rate_in_every_window(world: &World) {
    world.create("slow", at_rate("3/1s")).await;
    let mut dice = fastrand::Rng::with_seed(7);
    let job = |id, due| NewJob { execute_time: at(due), ..of_task(id, "slow") };
    world.stored((1..=40).map(|id| job(id, dice.i64(0..9_000))).collect()).await;
    let seen: Vec<i64> = starts(world, 0, 30_000).await.into_iter().map(|(start, _)| start).collect();
    assert_eq!(seen.len(), 40, "each job has its start: {seen:?}");
    assert_rate(&seen, 3, PERIOD_MS);
    assert!(seen[39] <= 14_000, "and not later than the rate demands: {seen:?}");
}

pub async fn a_clock_that_went_far_back_closes_no_rate(world: &World) {
    world.create("slow", at_rate("1/1s")).await;
    let claim_next = async |id, now| {
        world.stored(vec![of_task(id, "slow")]).await;
        ids(&world.claim(10, at(now)).await)
    };
    assert_eq!(claim_next(1, 3_600_000).await, [1]);
    assert_eq!(claim_next(2, 5).await, [2]);
    assert_eq!(claim_next(3, 6).await, [0; 0], "and the rate is kept from there on");
}

pub async fn jobs_that_wait_for_a_rate_start_on_its_instant(world: &World) {
    world.create("slow", at_rate("2/1s")).await;
    world.stored((1..=5).map(|id| of_task(id, "slow")).collect()).await;
    let seen = starts(world, 0, 9_000).await;
    let seen: Vec<(i64, i64)> = seen.into_iter().map(|(start, claim)| (claim.id.0, start)).collect();
    assert_eq!(seen, [(1, 0), (2, 0), (3, 1_000), (4, 1_000), (5, 2_000)]);
}

pub async fn the_store_says_when_a_rate_opens(world: &World) {
    world.create("slow", at_rate("1/1s")).await;
    world.stored((1..=2).map(|id| of_task(id, "slow")).collect()).await;
    let claimed = world.claim(10, at(5)).await;
    assert_eq!((ids(&claimed), claimed.next_due[0].1), (vec![1], Some(at(1_005))));
    assert_eq!(world.queue_state(2).await, Some(QueueState::Throttled));
    assert_eq!(ids(&world.claim(10, at(1_004)).await), [0_i64; 0]);
    let claimed = world.claim(10, at(1_005)).await;
    assert_eq!((ids(&claimed), claimed.next_due[0].1), (vec![2], None));
}

pub async fn each_key_has_its_own_rate(world: &World) {
    world.create("slow", at_rate("1/1s")).await;
    let jobs = vec![
        of_key(1, "slow", "a"),
        of_key(2, "slow", "a"),
        of_key(3, "slow", "b"),
        of_task(4, "slow"),
        of_task(5, TASK),
    ];
    world.stored(jobs).await;
    assert_eq!(ids(&world.claim(10, at(0)).await), [1, 3, 4, 5]);
    assert_eq!(ids(&world.claim(10, at(1_000)).await), [2]);
}

pub async fn a_rate_hands_out_ahead_and_each_job_on_its_instant(world: &World) {
    world.create("slow", at_rate("1/1s")).await;
    let due = |id, ms| NewJob { execute_time: at(ms), ..of_task(id, "slow") };
    world.stored(vec![due(1, 900), due(2, 1_500), due(3, 1_900)]).await;
    let ahead = |now: i64| claim_request(NODE, 10, at(now + 1_000), at(now));
    assert_eq!(ids(&world.claim_by(ahead(0)).await), [1]);
    let claimed = world.claim_by(ahead(1_000)).await;
    assert_eq!((ids(&claimed), claimed.jobs[0].due), (vec![2], at(1_900)), "it begins when 1 is a period old");
    assert_eq!((world.queue_state(3).await, claimed.next_due[0].1), (Some(QueueState::Throttled), Some(at(2_900))));
    assert_eq!(ids(&world.claim_by(ahead(1_899)).await), [0_i64; 0]);
    let claimed = world.claim_by(ahead(1_900)).await;
    assert_eq!((ids(&claimed), claimed.jobs[0].due), (vec![3], at(2_900)), "a claim ahead, so that it begins on time");
}

fn pool(rate: Option<&str>) -> PoolSettings {
    PoolSettings {
        name: PoolName::default_pool(),
        concurrency: 64,
        queue_capacity: 100,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: rate.map(|rate| rate.parse().expect("a rate")),
        cluster_concurrency: None,
    }
}

pub async fn a_pool_keeps_its_rate_and_nobody_asks_in_vain(world: &World) {
    world.store.put_pool(pool(Some("2/1s")), "ann".to_owned(), T0).await.expect("writes");
    world.stored((1..=5).map(|id| of_task(id, TASK)).collect()).await;
    let claimed = world.claim(10, at(0)).await;
    assert_eq!((ids(&claimed), claimed.next_due[0].1), (vec![1, 2], Some(at(1_000))));
    assert_eq!(world.queue_state(3).await, Some(QueueState::Queued));
    let seen = starts(world, 1, 9_000).await;
    let seen: Vec<(i64, i64)> = seen.into_iter().map(|(start, claim)| (claim.id.0, start)).collect();
    assert_eq!(seen, [(3, 1_000), (4, 1_000), (5, 2_000)]);
    let later = NewJob { execute_time: at(9_000), ..of_task(6, TASK) };
    world.stored(vec![later]).await;
    assert_eq!(world.claim(10, at(2_001)).await.next_due[0].1, Some(at(9_000)));
    world.store.put_pool(pool(None), "ann".to_owned(), at(2_002)).await.expect("writes");
    world.stored((7..=9).map(|id| of_task(id, TASK)).collect()).await;
    assert_eq!(ids(&world.claim(10, at(2_002)).await), [7, 8, 9]);
}

pub async fn a_new_job_of_a_pool_with_a_rate_is_not_claimed_by_its_insert(world: &World) {
    world.store.put_pool(pool(Some("1/1s")), "ann".to_owned(), T0).await.expect("writes");
    let claiming = |id| NewJob { claim: true, ..of_task(id, TASK) };
    assert_eq!(world.submit(vec![claiming(1), claiming(2)]).await, [stored(), stored()]);
    assert_eq!(ids(&world.claim(10, at(0)).await), [1]);
}

pub async fn a_pool_whose_rate_changes_goes_on(world: &World) {
    world.stored((1..=100).map(|id| of_task(id, TASK)).collect()).await;
    let mut now = 0;
    for (rate, jobs) in [("4/1s", 4), ("2/1s", 2), ("7/1s", 7), ("1/2s", 1), ("5/500ms", 5)] {
        world.store.put_pool(pool(Some(rate)), "ann".to_owned(), at(now)).await.expect("writes");
        for round in 0..4 {
            // A period later all that was is of no account, whatever the ring held.
            now += 4_000;
            assert_eq!(world.claim(100, at(now)).await.jobs.len(), jobs, "{rate}, {round}");
            assert_eq!(world.claim(100, at(now + 1)).await.jobs.len(), 0, "{rate}, {round}");
        }
    }
}

pub async fn an_edit_of_a_rate_begins_anew(world: &World) {
    world.create("slow", at_rate("1/1h")).await;
    world.stored((1..=4).map(|id| of_task(id, "slow")).collect()).await;
    assert_eq!(ids(&world.claim(10, at(0)).await), [1]);
    world.edit("slow", TaskDefinition { name: "Other".to_owned(), ..at_rate("1/1h") }).await;
    assert_eq!(
        ids(&world.claim(10, at(1)).await),
        [0_i64; 0],
        "what has started is not forgotten with an edit of others"
    );
    world.edit("slow", at_rate("2/1h")).await;
    assert_eq!(ids(&world.claim(10, at(2)).await), [2, 3]);
    world.edit("slow", definition()).await;
    assert_eq!(ids(&world.claim(10, at(3)).await), [4]);
}

pub async fn a_job_that_is_ended_while_it_waits_takes_nobodys_time(world: &World) {
    world.create("slow", at_rate("1/1s")).await;
    world.stored((1..=3).map(|id| of_task(id, "slow")).collect()).await;
    assert_eq!(ids(&world.claim(10, at(0)).await), [1]);
    world.operate(2, JobOperation::Cancel, at(10)).await;
    assert_eq!(ids(&world.claim(10, at(1_000)).await), [3]);
    world.operate(3, JobOperation::Release, at(1_010)).await;
    // It was claimed, so it may have begun: its start counts.
    assert_eq!(ids(&world.claim(10, at(1_020)).await), [0_i64; 0]);
    assert_eq!(ids(&world.claim(10, at(2_000)).await), [3]);
    let claimed = world.claim(10, at(9_000)).await;
    assert_eq!((ids(&claimed), claimed.next_due[0].1), (vec![], None));
}

pub async fn a_new_job_under_a_rate_is_not_claimed_by_its_insert(world: &World) {
    world.create("slow", at_rate("1/1s")).await;
    let claiming = |id| NewJob { claim: true, ..of_task(id, "slow") };
    assert_eq!(world.submit(vec![claiming(1), claiming(2)]).await, [stored(), stored()]);
    let answers = world.submit(vec![NewJob { claim: true, ..of_task(3, TASK) }]).await;
    assert_eq!(answers, [Submitted::Stored { claimed: true, replaced: Vec::new() }]);
    assert_eq!(ids(&world.claim(10, at(0)).await), [1]);
}

pub async fn places_and_rates_hold_together(world: &World) {
    let both = TaskDefinition { rate_limit: Some("2/1s".parse().expect("a rate")), ..at_most(1) };
    world.create("slow", both).await;
    world.stored((1..=6).map(|id| of_task(id, "slow")).collect()).await;
    let (mut seen, mut now, mut running): (Vec<i64>, i64, Option<Claim>) = (Vec::new(), 0, None);
    while seen.len() < 6 {
        assert!(now < 20_000, "it goes on: {seen:?}");
        let claimed = world.claim(10, at(now)).await;
        assert!(claimed.jobs.len() <= usize::from(running.is_none()), "one at a time");
        seen.extend(claimed.jobs.iter().map(|_| now));
        running = claimed.jobs.into_iter().next().or(running);
        let violations = world.store.verify().await.expect("verify answers");
        assert!(violations.is_empty(), "{violations:?}");
        if now % 300 == 0
            && let Some(claim) = running.take()
        {
            world.settle(settlement(&claim, done(None))).await;
        }
        now += 100;
    }
    assert_rate(&seen, 2, PERIOD_MS);
}

pub async fn a_deleted_task_leaves_no_rate_behind(world: &World) {
    let delete = || world.store.delete_task(super::world::task("slow"), None, "ann".to_owned(), T0);
    for id in 1..=2 {
        world.create("slow", at_rate("1/1h")).await;
        world.stored(vec![of_task(id, "slow")]).await;
        let claim = world.claim(1, Timestamp::from_ms(at(id).as_ms())).await.jobs.remove(0);
        world.settle(settlement(&claim, done(None))).await;
        delete().await.expect("deletes");
    }
}

pub async fn jobs_that_wait_for_a_rate_are_judged_anew_on_request(world: &World) {
    world.create("slow", at_rate("1/1h")).await;
    world.stored(vec![of_task(1, "slow"), of_task(2, "slow")]).await;
    assert_eq!(ids(&world.claim(10, at(0)).await), [1]);
    assert_eq!(world.queue_state(2).await, Some(QueueState::Throttled));
    world.store.judge_rates_anew().await.expect("answers");
    assert_eq!(world.queue_state(2).await, Some(QueueState::Queued));
    assert_eq!(ids(&world.claim(10, at(10)).await), [0_i64; 0], "the rate is the same");
    assert_eq!(world.queue_state(2).await, Some(QueueState::Throttled));
    assert_eq!(world.store.verify().await.expect("answers"), []);
}
