//! Two nodes behind PgBouncer in transaction mode: few sessions of the server, and none that lasts.

use std::time::Duration;

use mainspring_e2e::{Cluster, NodeOptions, eventually, pause, wall_ms};
use mainspring_test_servers::{Kind, pgbouncer};
use serde_json::{Value, json};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn two_nodes_work_through_a_pooler_in_transaction_mode() {
    let mut cluster = Cluster::start(Kind::Postgres, 0);
    let pooler = pgbouncer(&cluster.database).expect("a pooler");
    let through = pooler.url_of(&cluster.url).expect("a port");
    for _ in 0..2 {
        let url = Some(format!("{through}?pooler=transaction"));
        cluster.add(&NodeOptions { url, ..NodeOptions::default() });
    }
    let node = cluster.node(0);
    node.task("ok", "probe.ok", &json!({}));
    node.task("sleep", "probe.sleep", &json!({}));
    node.task("flaky", "probe.fail_n", &json!({"retryBase": "200ms"}));
    node.task("serial", "probe.sleep", &json!({"maxRunning": 1}));
    let since_ms = wall_ms();
    node.task("tick", "probe.ok", &json!({"type": "cron", "every": "1s", "overlap": "ALLOW"}));

    let quick: Vec<Value> = (0..300).map(|n| json!({"task": "ok", "bizId": format!("quick-{n}")})).collect();
    for node in cluster.nodes() {
        // The second node hears of the same keys.
        assert_eq!(node.post("/jobs/batch", &json!({"jobs": quick})).status, 200);
    }
    let submit = |at: usize, job: Value| cluster.node(at % 2).submit(&job);
    let mut ids: Vec<String> = (0..10).map(|n| submit(n, json!({"task": "flaky"}))).collect();
    ids.extend((0..10).map(|n| submit(n, json!({"task": "ok", "delay": "1500ms"}))));
    ids.extend((0..6).map(|n| submit(n, json!({"task": "serial", "payload": {"ms": 150}}))));
    for id in &ids {
        cluster.node(0).wait_for(id, "SUCCESS", s(20));
    }
    assert_eq!(cluster.node(1).jobs_of("ok").len(), 310, "one job per key");
    eventually(s(20), "all quick jobs end", || {
        cluster.node(1).jobs_of("ok").iter().all(|job| job["status"] == "SUCCESS")
    });
    one_after_another(&cluster, "serial");
    a_cancel_reaches_the_other_node(&cluster);
    fires_are_complete(&cluster, since_ms);
    work_of_a_killed_node_goes_on(cluster);
    assert!(pooler.log().contains("login attempt"), "nothing went through the pooler");
}

fn one_after_another(cluster: &Cluster, task: &str) {
    let jobs: Vec<String> =
        cluster.node(0).jobs_of(task).iter().filter_map(|job| job["id"].as_str().map(str::to_owned)).collect();
    let mut lines: Vec<_> = cluster.witness().lines().into_iter().filter(|line| jobs.contains(&line.job)).collect();
    lines.sort_by_key(|line| (line.wall_ms, line.is_start));
    let is_in_turn = lines.chunks(2).all(|pair| pair[0].is_start && !pair[1].is_start && pair[0].job == pair[1].job);
    assert!(is_in_turn && lines.len() == 2 * jobs.len(), "{lines:#?}");
}

fn a_cancel_reaches_the_other_node(cluster: &Cluster) {
    let id = cluster.node(0).submit(&json!({"task": "sleep", "payload": {"ms": 60_000}}));
    cluster.node(0).wait_for(&id, "EXECUTING", s(10));
    let runs_on = cluster.node_of(&cluster.witness().starts_of(&id)[0]);
    let cancelled = cluster.node(1 - runs_on).post(&format!("/jobs/{id}/cancel"), &json!({}));
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let is_out = || cluster.witness().lines().iter().any(|line| line.job == id && !line.is_start);
    eventually(s(8), "its body is out", is_out);
    assert_eq!(cluster.node(runs_on).status_of(&id), "CANCELLED");
}

/// Each second has one job.
fn fires_are_complete(cluster: &Cluster, since_ms: i64) {
    pause(s(2));
    let end_ms = wall_ms() - 1_500;
    let jobs = cluster.node(1).jobs_of("tick");
    let time = |job: &Value| job["fireTime"].as_str().and_then(|time| time.parse::<mainspring::Timestamp>().ok());
    let mut fired: Vec<i64> = jobs.iter().filter_map(time).map(|time| time.as_ms()).collect();
    fired.retain(|time| (since_ms + 1_000..=end_ms).contains(time));
    fired.sort_unstable();
    let first = (since_ms + 1_000 + 999) / 1_000 * 1_000;
    let due: Vec<i64> = (first..=end_ms).step_by(1_000).collect();
    assert_eq!(fired, due);
}

fn work_of_a_killed_node_goes_on(mut cluster: Cluster) {
    let ids: Vec<String> =
        (0..8).map(|n| cluster.node(n % 2).submit(&json!({"task": "sleep", "payload": {"ms": 3_000}}))).collect();
    for id in &ids {
        eventually(s(5), "it runs", || !cluster.witness().starts_of(id).is_empty());
    }
    cluster.kill(0);
    for id in &ids {
        cluster.node(1).wait_for(id, "SUCCESS", s(25));
    }
    cluster.verify();
}
