//! Limits of what runs and of how often it starts, on every store, with a clock that is moved by hand.

mod stores;
mod world;

use std::time::Duration;

use mainspring::prelude::*;
use mainspring::{Builder, Engine, Job, JobStatus, PoolSettings, TaskDefinition, Timestamp, WhenFull};
use stores::{LIMIT, within};
use world::World;

on_every_store!(
    the_running_jobs_of_a_key_are_limited_and_block_no_other,
    a_rate_is_kept_in_any_window,
    a_pool_that_the_program_gives_a_rate_keeps_it,
);

use JobStatus::Success;

async fn the_running_jobs_of_a_key_are_limited_and_block_no_other(jobs: Builder) {
    let world = World::on(jobs).await;
    let key = Some("/tenant".to_owned());
    let definition = TaskDefinition::new("t", "gated".parse().expect("a name"));
    world.define("t", TaskDefinition { concurrency_key: key, max_running: Some(2), ..definition }).await;
    for tenant in ["a", "a", "a", "a", "b"] {
        world.jobs.submit("t", &serde_json::json!({ "tenant": tenant })).await.expect("stored");
    }
    let running = |jobs: &[Job], key: &str| {
        let of_key = |job: &&Job| job.concurrency_key.as_deref() == Some(key) && job.start_time.is_some();
        jobs.iter().filter(of_key).count()
    };
    world.pass(1).await;
    world.until("t", |jobs| running(jobs, "b") == 1 && running(jobs, "a") == 2).await;
    world.pass(1).await;
    assert_eq!(running(&world.jobs_of("t").await, "a"), 2);
    let waiting = world.jobs_of("t").await.into_iter().find(|job| job.start_time.is_none()).expect("two wait");
    assert_eq!(world.engine().wait_reason(&waiting).map(|reason| reason.as_str()), Some("MAX_RUNNING"));
    world.gate.add_permits(5);
    world.clock.advance(Duration::from_millis(200));
    world.statuses("t", &[Success; 5]).await;
    world.end().await;
}

async fn a_rate_is_kept_in_any_window(jobs: Builder) {
    let world = World::on(jobs).await;
    let definition = TaskDefinition::new("t", "ok".parse().expect("a name"));
    world.define("t", TaskDefinition { rate_limit: Some("3/2s".parse().expect("a rate")), ..definition }).await;
    for _ in 0..10 {
        world.jobs.submit("t", &serde_json::Value::Null).await.expect("stored");
    }
    world.pass(8).await;
    let jobs = world.statuses("t", &[Success; 10]).await;
    let mut starts: Vec<Timestamp> = jobs.iter().filter_map(|job| job.start_time).collect();
    starts.sort();
    for four in starts.windows(4) {
        // A start is counted when it is handed out, and seen in the next step of this test's clock.
        assert!(four[3].ms_since(four[0]) >= 2_000 - 500, "{starts:?}");
    }
    world.end().await;
}

async fn a_pool_that_the_program_gives_a_rate_keeps_it(jobs: Builder) {
    let world = World::on(jobs).await;
    let (store, clock) = (world.engine().store().clone(), world.clock.clone());
    world.end().await;
    let pool = PoolSettings {
        name: "slow".parse().expect("a name"),
        concurrency: 4,
        queue_capacity: 100,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: Some("1/1h".parse().expect("a rate")),
        cluster_concurrency: None,
    };
    let engine = Engine::builder(store).clock(clock).pool(pool).start().await.expect("starts");
    let view = engine.pools().await.expect("read").into_iter().find(|view| view.settings.name.as_str() == "slow");
    let stored = engine.store().pools().await.expect("read");
    assert_eq!(stored, [view.expect("it is there").settings], "where claims look");
    within(engine.stop(LIMIT)).await;
}
