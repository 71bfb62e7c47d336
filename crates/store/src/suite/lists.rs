//! Lists and numbers, for people.

use mainspring_model::job::QueueState;
use mainspring_model::operations::JobOperation;
use mainspring_model::{AttemptId, BizId, Fence, JobId, JobStatus, PoolName, Trigger, Unique};

use super::World;
use super::world::{T0, TASK, at, definition, done, failed, keyed, new_job, settlement, task};
use crate::{GiveBack, JobFilter, LiveCount, NewJob, PoolBacklog};

async fn all(world: &World, filter: &JobFilter, limit: u32) -> Vec<i64> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    for _ in 0..1_000 {
        let page = world.store.jobs(filter.clone(), limit, cursor).await.expect("reads");
        assert!(page.items.len() <= limit as usize && page.items.iter().all(|job| job.payload.is_none()));
        ids.extend(page.items.iter().map(|job| job.id.0));
        cursor = page.next;
        if cursor.is_none() {
            return ids;
        }
    }
    panic!("the pages never end");
}

pub async fn pages_make_the_whole_list_under_inserts(world: &World) {
    world.stored((1..=50).map(|n| new_job(n * 10)).collect()).await;
    let (mut seen, mut cursor, mut newer) = (Vec::new(), None, 1_000);
    loop {
        let page = world.store.jobs(JobFilter::default(), 7, cursor).await.expect("reads");
        seen.extend(page.items.iter().map(|job| job.id.0));
        cursor = page.next;
        newer += 1;
        world.stored(vec![new_job(newer)]).await;
        if cursor.is_none() {
            break;
        }
    }
    let expect: Vec<i64> = (1..=50).rev().map(|n| n * 10).collect();
    assert_eq!(seen, expect);
}

/// 1 success, 2 failed, 3 cancelled, 4 runs, 5 and 6 wait; 6 is of another task, pool and trigger.
async fn some_jobs(world: &World) {
    world.create("other", definition()).await;
    let other = NewJob {
        task: task("other"),
        pool: PoolName::stored("slow"),
        trigger: Trigger::Manual,
        create_time: at(9),
        ..keyed(6, "k", Unique::Live)
    };
    world.stored((1..=4).map(new_job).chain([keyed(5, "k", Unique::Live), other]).collect()).await;
    let claims = world.claim(4, T0).await.jobs;
    world.settle(settlement(&claims[0], done(None))).await;
    world.settle(settlement(&claims[1], failed(false))).await;
    world.operate(3, JobOperation::Cancel, at(40)).await;
    world.start(&claims[3], at(5)).await;
}

pub async fn filters_find_what_they_say(world: &World) {
    some_jobs(world).await;
    let with = |status: &[JobStatus], code: Option<&str>| JobFilter {
        status: status.to_vec(),
        task: code.map(task),
        ..JobFilter::default()
    };
    use JobStatus as S;
    let cases: Vec<(JobFilter, &[i64])> = vec![
        (JobFilter::default(), &[6, 5, 4, 3, 2, 1]),
        (with(&[], Some(TASK)), &[5, 4, 3, 2, 1]),
        (with(&[], Some("other")), &[6]),
        (with(&[S::Success], None), &[1]),
        (with(&[S::Failed], None), &[2]),
        (with(&[S::Cancelled, S::Failed], None), &[3, 2]),
        (with(&[S::Cancelled, S::Failed], Some(TASK)), &[3, 2]),
        (with(&[S::Failed], Some("other")), &[]),
        (with(&[S::Executing], None), &[4]),
        (with(&[S::Executing, S::Failed], None), &[4, 2]),
        (with(&[S::Executing], Some("other")), &[]),
        (with(&[S::Pending], None), &[6, 5]),
        (with(&[S::Pending, S::Executing, S::Pending], None), &[6, 5, 4]),
        (with(&[S::Pending, S::Failed], Some(TASK)), &[5, 2]),
        (with(&[S::Pending, S::Success, S::Timeout], None), &[6, 5, 1]),
        (with(&[S::Skipped, S::Waiting], None), &[]),
        (JobFilter { biz_id: Some(BizId::stored("k")), ..JobFilter::default() }, &[6, 5]),
        (JobFilter { biz_id: Some(BizId::stored("k")), ..with(&[], Some(TASK)) }, &[5]),
        (JobFilter { biz_id: Some(BizId::stored("none")), ..JobFilter::default() }, &[]),
        (JobFilter { pool: Some(PoolName::stored("slow")), ..with(&[S::Pending], None) }, &[6]),
        (JobFilter { trigger: Some(Trigger::Submit), ..with(&[S::Pending], None) }, &[5]),
    ];
    for (filter, expect) in cases {
        for limit in [1, 2, 100] {
            assert_eq!(all(world, &filter, limit).await, expect, "{filter:?} by {limit}");
        }
    }
    let first = JobId::first_at(at(0)).0;
    world.stored(vec![new_job(first + 5), new_job(JobId::first_at(at(10)).0 + 1)]).await;
    let between = JobFilter { from: Some(at(0)), to: Some(at(10)), ..JobFilter::default() };
    assert_eq!(all(world, &between, 10).await, [first + 5]);
}

pub async fn a_rare_match_goes_on_with_the_next_page(world: &World) {
    let slow = NewJob { pool: PoolName::stored("slow"), ..new_job(1) };
    world.stored(vec![slow]).await;
    for chunk in 0..21_i64 {
        world.stored((0..1_000).map(|n| new_job(2 + chunk * 1_000 + n)).collect()).await;
    }
    let filter = JobFilter { pool: Some(PoolName::stored("slow")), task: Some(task(TASK)), ..JobFilter::default() };
    assert_eq!(all(world, &filter, 10).await, [1]);
}

pub async fn attempts_come_newest_first(world: &World) {
    world.stored((1..=6).map(new_job).collect()).await;
    for claim in world.claim(6, T0).await.jobs {
        world.settle(settlement(&claim, failed(false))).await;
        world.operate(claim.id.0, JobOperation::Retry, at(50)).await;
    }
    for claim in world.claim(6, at(50)).await.jobs {
        let mut later = settlement(&claim, done(None));
        (later.start_time, later.finish_time) = (at(60 + claim.id.0), at(90));
        world.settle(later).await;
    }
    let of_job = async |limit, cursor| {
        let page = world.store.attempts_of_job(JobId(1), limit, cursor).await.expect("reads");
        (page.items.iter().map(|row| row.fence.0).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(of_job(10, None).await, (vec![3, 1], None));
    assert_eq!(of_job(2, None).await, (vec![3, 1], None));
    let (newest, next) = of_job(1, None).await;
    assert_eq!((newest, next.is_some()), (vec![3], true));
    assert_eq!(of_job(1, next).await, (vec![1], None));
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = world.store.attempts_of_task(&task(TASK), 5, cursor).await.expect("reads");
        seen.extend(page.items.iter().map(|row| (row.job.0, row.fence.0)));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expect: Vec<_> = (1..=6).rev().map(|id| (id, 3)).chain((1..=6).rev().map(|id| (id, 1))).collect();
    assert_eq!(seen, expect);
}

pub async fn dead_jobs_come_newest_first_until_taken_up(world: &World) {
    world.stored((1..=5).map(new_job).collect()).await;
    for claim in world.claim(5, T0).await.jobs {
        let mut end = settlement(&claim, failed(false));
        end.finish_time = at(1_000 - claim.id.0);
        world.settle(end).await;
    }
    world.operate(2, JobOperation::Retry, at(2_000)).await;
    for of in [None, Some(task(TASK))] {
        let first = world.store.dead_jobs(of.clone(), 3, None).await.expect("reads");
        let second = world.store.dead_jobs(of, 3, first.next).await.expect("reads");
        let ids: Vec<i64> = first.items.iter().chain(&second.items).map(|dead| dead.id.0).collect();
        assert_eq!((ids, second.next), (vec![1, 3, 4, 5], None));
    }
    let none = world.store.dead_jobs(Some(task("other")), 3, None).await.expect("reads");
    assert_eq!(none.items, []);
}

pub async fn numbers_are_bounded(world: &World) {
    let slow = |id, ms| NewJob { pool: PoolName::stored("slow"), execute_time: at(ms), ..new_job(id) };
    world.stored((1..=4).map(new_job).chain([slow(5, 70), slow(6, 60)]).collect()).await;
    let claims = world.claim(2, T0).await.jobs;
    world.start(&claims[0], at(5)).await;
    world.store.give_back(vec![super::world::held(&claims[1])], GiveBack::Park, at(5)).await.expect("parks");
    let count = |jobs, capped| LiveCount { jobs, capped };
    let row = |pool: &str, state, jobs, oldest| PoolBacklog {
        pool: PoolName::stored(pool),
        state,
        jobs,
        oldest_due: Some(at(oldest)),
    };
    let expect = [
        row("default", QueueState::Queued, count(2, false), 0),
        row("default", QueueState::Started, count(1, false), 0),
        row("default", QueueState::Parked, count(1, false), 0),
        row("slow", QueueState::Queued, count(2, false), 60),
    ];
    assert_eq!(world.store.backlog(3).await.expect("reads"), expect);
    assert_eq!(world.store.backlog(2).await.expect("reads")[0].jobs, count(2, true));
    assert_eq!(world.store.live_jobs_of_task(&task(TASK), 100).await.expect("reads"), count(6, false));
    assert_eq!(world.store.live_jobs_of_task(&task(TASK), 5).await.expect("reads"), count(5, true));
}

pub async fn live_jobs_of_all_tasks_are_counted_in_one_bounded_pass(world: &World) {
    world.create("other", definition()).await;
    world.create("idle", definition()).await;
    let other = |id| NewJob { task: task("other"), ..new_job(id) };
    world.stored(vec![new_job(1), new_job(2), other(3), new_job(4), other(5)]).await;
    let claim = world.claim(1, T0).await.jobs.remove(0);
    world.settle(settlement(&claim, done(None))).await;
    let live = world.store.live_jobs(10).await.expect("reads");
    let count = |jobs, capped| LiveCount { jobs, capped };
    let counts = |live: &crate::LiveJobs| [TASK, "other", "idle"].map(|code| live.of(&task(code)));
    assert_eq!(counts(&live), [count(2, false), count(2, false), count(0, false)]);
    let live = world.store.live_jobs(2).await.expect("reads");
    assert_eq!(counts(&live), [count(1, true), count(1, true), count(0, true)], "the oldest two");
}

pub async fn a_key_finds_the_jobs_that_have_freed_it_too(world: &World) {
    let key = |task| JobFilter { task, biz_id: Some(BizId::stored("k")), ..JobFilter::default() };
    world.create("other", definition()).await;
    for id in 1..=3 {
        let claim = world.claimed(keyed(id, "k", Unique::Live)).await;
        world.settle(settlement(&claim, done(None))).await;
    }
    let other = NewJob { task: task("other"), ..keyed(4, "k", Unique::Live) };
    world.stored(vec![other, keyed(5, "k", Unique::Live), keyed(6, "l", Unique::Live), new_job(7)]).await;
    for limit in [1, 2, 100] {
        assert_eq!(all(world, &key(None), limit).await, [5, 4, 3, 2, 1]);
        assert_eq!(all(world, &key(Some(task(TASK))), limit).await, [5, 3, 2, 1]);
        let ended = JobFilter { status: vec![JobStatus::Success], ..key(None) };
        assert_eq!(all(world, &ended, limit).await, [3, 2, 1]);
    }
}

pub async fn unknown_things_are_none(world: &World) {
    assert_eq!(world.store.job(JobId(99)).await.expect("reads"), None);
    assert_eq!(world.store.job_end(JobId(99)).await.expect("reads"), None);
    assert_eq!(world.store.task(&task("none")).await.expect("reads"), None);
    let id = AttemptId { job: JobId(99), fence: Fence(1) };
    assert_eq!(world.store.attempt(id).await.expect("reads"), None);
    assert_eq!(world.store.output(id, None, 5).await.expect("reads"), []);
}
