//! Several nodes on one store: leases, take-over, and what one node hears of the others.

mod broadcast;
mod cluster;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{Cluster, Way, code};
use mainspring::{Every, JobFilter, JobOperation, JobStatus, Rhythm, Span, TaskDefinition, TaskSwitch, Timestamp};
use mainspring_store::Store;
use tokio::task::JoinSet;

const LEASE: Duration = Duration::from_secs(15);

fn definition(handler: &str) -> TaskDefinition {
    TaskDefinition::new("test", handler.parse().expect("a name"))
}

fn every_second(handler: &str) -> TaskDefinition {
    let every = Some(Every { span: Span::from_ms(1_000), rhythm: Rhythm::FixedRate });
    TaskDefinition { cron_expression: None, every, ..TaskDefinition::cron("t", handler.parse().expect("a name"), "") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_dead_node_run_elsewhere_within_lease_and_look() {
    let mut cluster = Cluster::with(&["a", "b"]).await;
    let id = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.pass(1).await;
    cluster.set_way("a", Way::Dead);
    let took = cluster.until("b has begun", async || cluster.began().len() == 2).await;
    assert_eq!(cluster.began(), [("a", id), ("b", id)]);
    assert!((LEASE - Duration::from_secs(5)..=LEASE + Duration::from_secs(6)).contains(&took), "{took:?}");
    assert_eq!(cluster.stopped(), [("a", id)], "it was out before");
    cluster.gate.add_permits(1);
    cluster.until_status(id, JobStatus::Success).await;
    assert_eq!(cluster.job(id).await.lost_count, 1);
    cluster.check().await;
}

/// The store goes away under a node in one way or another, and comes back.
async fn comes_back_from(way: Way) {
    let mut cluster = Cluster::with(&["a"]).await;
    let before = cluster.engine("a").node();
    let id = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.pass(1).await;
    cluster.set_way("a", way);
    let took = cluster.until("the body is stopped", async || cluster.stopped().len() == 1).await;
    assert!(took < LEASE, "before others may begin it: {took:?}");
    let health = async { cluster.engine("a").node().state };
    assert_eq!(health.await, mainspring::NodeState::Gone);
    cluster.pass(40).await;
    assert_eq!(cluster.began().len(), 1, "nothing begins without a lease");
    cluster.set_way("a", Way::Open);
    let took = cluster.until("it runs again", async || cluster.began().len() == 2).await;
    assert!(took <= Duration::from_secs(10), "{took:?}");
    let now = cluster.engine("a").node();
    assert_ne!(now.incarnation, before.incarnation);
    let health = cluster.engine("a").health().await;
    assert!(health.ready, "{:?}", health.problems);
    cluster.gate.add_permits(1);
    cluster.until_status(id, JobStatus::Success).await;
    let other = cluster.submit("a", "ok").await;
    cluster.until_status(other, JobStatus::Success).await;
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_reach_the_store_stops_its_bodies_and_comes_back() {
    comes_back_from(Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_store_hangs_stops_its_bodies_and_comes_back() {
    comes_back_from(Way::Hangs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_outage_costs_nothing() {
    let mut cluster = Cluster::with(&["a", "b"]).await;
    let before = cluster.engine("a").node().incarnation;
    let id = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.pass(5).await;
    for way in [Way::Cut, Way::Hangs] {
        cluster.set_way("a", way);
        cluster.pass(5).await;
        cluster.set_way("a", Way::Open);
        cluster.until("it is renewed", async || cluster.engine("a").node().lease_age < Duration::from_secs(1)).await;
    }
    cluster.gate.add_permits(1);
    cluster.until_status(id, JobStatus::Success).await;
    assert_eq!((cluster.engine("a").node().incarnation, cluster.began().len()), (before, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_had_ended_before_the_outage_is_written_after_it() {
    let mut cluster = Cluster::with(&["a"]).await;
    let id = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.pass(1).await;
    cluster.set_way("a", Way::Cut);
    cluster.gate.add_permits(1);
    cluster.pass(40).await;
    cluster.set_way("a", Way::Open);
    cluster.until_status(id, JobStatus::Success).await;
    assert_eq!(cluster.job(id).await.attempts, 1, "it ran once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_comes_after_the_lease_was_lost_changes_nothing() {
    let mut cluster = Cluster::with(&["b"]).await;
    let (tell_end, end) = std::sync::mpsc::sync_channel::<()>(1);
    let end = std::sync::Mutex::new(end);
    let spin = move |_: mainspring::Context, (): ()| {
        let _ = end.lock().expect("alone").recv();
        "late".to_owned()
    };
    cluster.start("a", |jobs| jobs.blocking("spin", spin)).await;
    let id = cluster.on("a").submit("spin", &()).retries(0).await.expect("stored").id;
    cluster.until_status(id, JobStatus::Executing).await;
    cluster.set_way("a", Way::Cut);
    cluster.pass(25).await;
    assert_eq!(cluster.job(id).await.status, JobStatus::Pending, "b has taken it over, and does not have its handler");
    cluster.set_way("a", Way::Open);
    let cancelled = cluster.engine("b").operate(id, JobOperation::Cancel, "ann").await.expect("allowed");
    tell_end.send(()).expect("it waits");
    cluster.pass(10).await;
    assert_eq!(cancelled.status, JobStatus::Cancelled);
    assert_eq!(cluster.job(id).await.status, JobStatus::Cancelled);
    assert_eq!(cluster.engine("a").health().await.totals.zombies_now, 0);
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_paused_for_longer_than_its_lease_begins_nothing_of_before() {
    let mut cluster = Cluster::with(&["a"]).await;
    let before = cluster.engine("a").node().incarnation;
    let id = cluster.on("a").submit("gated", &serde_json::Value::Null).delay(Duration::from_millis(900)).await;
    let id = id.expect("stored").id;
    cluster.until("it is held", async || cluster.engine("a").pools().await.is_ok_and(|pools| pools[0].held == 1)).await;
    let fence = cluster.job(id).await.fence;
    // All clocks go on at once, as for a process that was stopped and continues.
    cluster.set_way("a", Way::Open);
    cluster.clock.advance(Duration::from_secs(60));
    cluster.until_begun(1).await;
    assert_ne!(cluster.engine("a").node().incarnation, before);
    assert!(cluster.job(id).await.fence > fence, "it was claimed anew");
    assert_eq!(cluster.began().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_on_one_node_stops_the_body_on_another() {
    let cluster = Cluster::with(&["a", "b"]).await;
    let id = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.pass(2).await;
    let job = cluster.engine("b").operate(id, JobOperation::Cancel, "ann").await.expect("allowed");
    assert_eq!(job.status, JobStatus::Cancelled);
    let took = cluster.until("the body is stopped", async || cluster.stopped() == [("a", id)]).await;
    assert!(took <= Duration::from_secs(5), "{took:?}");
    cluster.pass(1).await;
    assert_eq!(cluster.job(id).await.status, JobStatus::Cancelled);
    let pools = cluster.engine("a").pools().await.expect("read");
    assert_eq!((pools[0].running, pools[0].zombies), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_is_seen_on_all_nodes_at_once_and_nothing_fires_after_it() {
    let cluster = Cluster::with(&["a", "b"]).await;
    let tick = code("tick");
    cluster.engine("a").create_task(tick.clone(), every_second("ok"), TaskSwitch::Enabled, "ann").await.expect("made");
    for _ in 0..3 {
        cluster.pass(3).await;
        cluster.engine("a").switch_task(&tick, TaskSwitch::Disabled, "ann").await.expect("paused");
        let paused_at = cluster.now();
        assert_eq!(cluster.engine("b").task(&tick).await.expect("known").switch, TaskSwitch::Disabled);
        cluster.pass(4).await;
        assert_eq!(cluster.engine("b").task(&tick).await.expect("known").switch, TaskSwitch::Disabled);
        let after = cluster.store.jobs(JobFilter { from: Some(paused_at), ..JobFilter::default() }, 9, None).await;
        assert_eq!(after.expect("read").items, []);
        cluster.engine("b").switch_task(&tick, TaskSwitch::Enabled, "ann").await.expect("resumed");
        assert_eq!(cluster.engine("a").task(&tick).await.expect("known").switch, TaskSwitch::Enabled);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fire_time_fires_once_whichever_node_is_first() {
    let cluster = Cluster::with(&["a", "b", "c"]).await;
    let begin = cluster.now();
    let codes: Vec<_> = (0..20).map(|number| code(&format!("tick{number}"))).collect();
    for tick in &codes {
        let made = cluster.engine("a").create_task(tick.clone(), every_second("ok"), TaskSwitch::Enabled, "ann").await;
        made.expect("made");
    }
    cluster.pass(20).await;
    for tick in &codes {
        let filter = JobFilter { task: Some(tick.clone()), ..JobFilter::default() };
        let jobs = cluster.store.jobs(filter, 200, None).await.expect("read").items;
        let times: BTreeSet<Timestamp> = jobs.iter().map(|job| job.fires.expect("fired").last).collect();
        assert_eq!(times.len(), jobs.len(), "no fire time twice");
        let first = times.first().expect("it has fired").ms_since(begin);
        let last = times.last().expect("it has fired").ms_since(begin);
        assert_eq!((first, last, times.len()), (500, 19_500, 20), "and none left out");
    }
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_leaves_jobs_alone_that_it_cannot_run() {
    let mut cluster = Cluster::with(&["a"]).await;
    let labelled = TaskDefinition { node_labels: vec!["gpu".to_owned()], ..definition("gated") };
    cluster.start("b", |jobs| jobs.handler("render", async |_: mainspring::Context, _: serde_json::Value| ())).await;
    cluster
        .engine("b")
        .create_task(code("render2"), definition("render"), TaskSwitch::Enabled, "ann")
        .await
        .expect("ok");
    cluster.engine("b").create_task(code("train"), labelled, TaskSwitch::Enabled, "ann").await.expect("ok");
    let rendered = cluster.submit("a", "render2").await;
    cluster.until_status(rendered, JobStatus::Success).await;

    cluster.on("b").stop(Duration::from_secs(1)).await;
    cluster.pass(2).await;
    let (waits, trains) = (cluster.submit("a", "render2").await, cluster.submit("a", "train").await);
    cluster.pass(3).await;
    let reason = async |id| {
        let job = cluster.job(id).await;
        assert_eq!((job.status, job.attempts, job.fence.0), (JobStatus::Pending, 0, 0), "it was never claimed");
        cluster.engine("a").wait_reason(&job).map(|reason| reason.as_str())
    };
    assert_eq!((reason(waits).await, reason(trains).await), (Some("NO_HANDLER"), Some("NO_NODE")));
    let pools = cluster.engine("a").pools().await.expect("read");
    assert_eq!((pools[0].queued.jobs, pools[0].no_handler.jobs), (0, 2));

    let render = async |_: mainspring::Context, _: serde_json::Value| ();
    cluster.start("c", |jobs| jobs.handler("render", render).label("eu").label("gpu")).await;
    cluster.until_status(waits, JobStatus::Success).await;
    cluster.until("c trains", async || cluster.began() == [("c", trains)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_drains_ends_what_runs_and_begins_nothing() {
    let mut cluster = Cluster::with(&["a"]).await;
    let running = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.start("b", |jobs| jobs).await;
    let incarnation = cluster.engine("a").node().incarnation;
    assert!(cluster.store.drain_node(incarnation, "ann".to_owned(), cluster.now()).await.expect("written"));
    cluster.until("a hears of it", async || cluster.engine("a").node().state == mainspring::NodeState::Draining).await;
    let other = cluster.submit("a", "gated").await;
    cluster.until_begun(2).await;
    assert_eq!(cluster.began(), [("a", running), ("b", other)], "what a takes in is b's");
    cluster.pass(40).await;
    assert_eq!(cluster.stopped(), [], "the lease is renewed until the last body is out");
    cluster.gate.add_permits(2);
    cluster.until_status(running, JobStatus::Success).await;
    assert_eq!(cluster.engine("a").health().await.problems, ["the node is draining"]);
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_drains_gives_back_what_it_holds() {
    let mut cluster = Cluster::new();
    cluster.start("a", |jobs| jobs.pool("default", 1)).await;
    let first = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    let held = cluster.submit("a", "gated").await;
    cluster.start("b", |jobs| jobs).await;
    cluster.pass(2).await;
    assert_eq!(cluster.began(), [("a", first)]);
    cluster.engine("a").drain("ann").await.expect("written");
    cluster.until_begun(2).await;
    assert_eq!(cluster.began(), [("a", first), ("b", held)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_bodies_before_others_may_begin_them() {
    let mut cluster = Cluster::with(&["a"]).await;
    let id = cluster.submit("a", "gated").await;
    cluster.until_begun(1).await;
    cluster.start("b", |jobs| jobs).await;
    let mut stop = JoinSet::new();
    let engine = cluster.engine("a").clone();
    stop.spawn(async move { engine.stop(Duration::from_secs(60)).await });
    cluster.pass(40).await;
    assert_eq!(cluster.began(), [("a", id)], "the lease is kept while it stops");
    cluster.gate.add_permits(1);
    cluster.until("it has stopped", async || stop.try_join_next().is_some()).await;
    assert_eq!(cluster.job(id).await.status, JobStatus::Success);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_all_nodes_holds_on_two() {
    let cluster = Cluster::with(&["a", "b"]).await;
    let pool = cluster.engine("a").pools().await.expect("read").remove(0).settings;
    let pool = mainspring::PoolSettings { cluster_concurrency: Some(3), ..pool };
    cluster.engine("a").put_pool(pool, "ann").await.expect("written");
    let mut ids = Vec::new();
    for node in ["a", "b"].repeat(5) {
        ids.push(cluster.submit(node, "gated").await);
    }
    for ended in 1..=ids.len() {
        cluster.until_begun(ended.min(8) + 2).await;
        cluster.pass(1).await;
        assert!(cluster.began().len() <= ended + 2, "{ended}");
        cluster.gate.add_permits(1);
        cluster.pass(1).await;
    }
    for id in ids {
        cluster.until_status(id, JobStatus::Success).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_hears_of_the_end_on_another_node() {
    let mut cluster = Cluster::with(&["a"]).await;
    cluster
        .start("b", |jobs| jobs.handler("far", async |_: mainspring::Context, _: serde_json::Value| "done".to_owned()))
        .await;
    let engine = cluster.engine("a").clone();
    let id = cluster.submit("a", "far").await;
    let mut wait = JoinSet::new();
    wait.spawn(async move { engine.wait(id).await });
    let mut heard = None;
    let took = cluster
        .until("it has heard", async || {
            heard = wait.try_join_next();
            heard.is_some()
        })
        .await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
    let end = heard.expect("it has heard").expect("no panic").expect("known");
    assert_eq!(end.result.as_deref(), Some("done"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_defines_the_others_know() {
    let cluster = Cluster::with(&["a", "b"]).await;
    let (a, b) = (cluster.engine("a"), cluster.engine("b"));
    a.create_task(code("new"), definition("ok"), TaskSwitch::Enabled, "ann").await.expect("made");
    let id = cluster.submit("b", "new").await;
    cluster.until_status(id, JobStatus::Success).await;
    let pool = a.pools().await.expect("read").remove(0).settings;
    a.put_pool(mainspring::PoolSettings { paused: true, ..pool.clone() }, "ann").await.expect("written");
    assert!(b.pools().await.expect("read")[0].settings.paused);
    let id = cluster.submit("b", "new").await;
    cluster.pass(2).await;
    assert_eq!(cluster.job(id).await.status, JobStatus::Pending, "paused on one is paused on all");
    b.put_pool(pool, "ann").await.expect("written");
    cluster.until_status(id, JobStatus::Success).await;
    a.delete_task(&code("new"), None, "ann").await.expect("deleted");
    assert!(b.task(&code("new")).await.is_err());
    cluster.pass(2).await;
    assert!(b.submit(mainspring_engine::JobRequest::new(code("new"))).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_declare_once() {
    let mut cluster = Cluster::new();
    let policy = |jobs: mainspring::Builder| {
        jobs.handler("expiry", async |_: mainspring::Context, _: serde_json::Value| ())
            .task("expiry", |task| task.every(Duration::from_secs(10)))
    };
    for name in ["a", "b", "c"] {
        cluster.start(name, policy).await;
    }
    cluster.pass(31).await;
    let filter = JobFilter { task: Some(code("expiry")), ..JobFilter::default() };
    assert_eq!(cluster.store.jobs(filter, 99, None).await.expect("read").items.len(), 3);
    assert_eq!(cluster.engine("c").task(&code("expiry")).await.expect("known").version, 1);
}
