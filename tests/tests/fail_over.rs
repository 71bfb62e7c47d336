//! A fail-over to a standby that lay behind: commits are lost that were acknowledged, and nothing else goes wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use mainspring_e2e::{Cluster, NodeOptions, eventually, pause};
use mainspring_test_servers::{CutProxy, How, Kind};
use serde_json::json;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Two nodes that reach the database through proxies of their own.
fn two_nodes() -> (Cluster, Vec<CutProxy>) {
    let mut cluster = Cluster::start(Kind::Postgres, 0);
    let proxies: Vec<_> = (0..2).map(|_| CutProxy::before(&cluster.database).expect("a proxy")).collect();
    for proxy in &proxies {
        let url = Some(proxy.url_of(&cluster.url).expect("the proxy has a port"));
        cluster.add(&NodeOptions { url, ..NodeOptions::default() });
    }
    (cluster, proxies)
}

#[test]
fn a_standby_that_lay_behind_takes_over() {
    let (mut cluster, proxies) = two_nodes();
    let node = cluster.node(0);
    node.task("ok", "probe.ok", &json!({}));
    node.task("sleep", "probe.sleep", &json!({"retryCount": 0}));
    node.task("tick", "probe.ok", &json!({"type": "cron", "every": "1s", "overlap": "ALLOW"}));
    let standby = cluster.database.standby().expect("a standby");
    let ended = node.submit(&json!({"task": "ok", "bizId": "ended"}));
    let begun = cluster.node(1).submit(&json!({"task": "sleep", "bizId": "begun", "payload": {"ms": 15_000}}));
    let waits: Vec<String> = (0..20).map(|_| node.submit(&json!({"task": "ok", "delay": "4s"}))).collect();
    node.wait_for(&ended, "SUCCESS", s(10));
    node.wait_for(&begun, "EXECUTING", s(10));
    standby.wait_until_it_has_all_of(&cluster.database).expect("it follows");

    standby.stop_following().expect("it stops");
    let lost: Vec<String> =
        (0..20).map(|n| node.submit(&json!({"task": "ok", "bizId": format!("lost-{n}")}))).collect();
    // What the standby has as waiting ends here, which it does not hear.
    waits.iter().chain(&lost).for_each(|id| cluster.node(1).wait_for(id, "SUCCESS", s(15)));
    cluster.database.stop(How::Kill).expect("it is killed");
    let promoted = standby.promote().expect("it is promoted");
    for proxy in &proxies {
        proxy.lead_to(&promoted);
        proxy.cut_all();
    }
    cluster.url = promoted.url_of(&cluster.url).expect("a port");

    for at in 0..2 {
        let works = || {
            let answer = cluster.node(at).try_post("/jobs", &json!({"task": "ok", "bizId": format!("after-{at}")}));
            answer.is_some_and(|answer| answer.status < 300)
        };
        eventually(s(10), &format!("node {at} takes jobs"), works);
        eventually(s(10), &format!("node {at} is ready"), || cluster.node(at).get("/readyz").status == 200);
    }
    let noticed = cluster.nodes().filter(|node| node.log().contains("history lost")).count();
    assert!(noticed >= 1, "nobody noticed that commits are gone");
    // Accepted, and gone: nothing pretends otherwise, and the key stores it anew.
    for (n, id) in lost.iter().enumerate() {
        assert_eq!(cluster.node(1).get(&format!("/jobs/{id}")).status, 404, "lost-{n}");
        let again = json!({"task": "ok", "bizId": format!("lost-{n}")});
        let is_stored = || cluster.node(0).try_post("/jobs", &again).is_some_and(|answer| answer.status < 300);
        eventually(s(5), "its key stores it anew", is_stored);
    }
    // What had ended after the standby's last news runs again, under a fence that no claim of before had.
    for id in waits.iter().chain([&begun]) {
        cluster.node(0).wait_for(id, "SUCCESS", s(60));
    }
    pause(s(3));
    no_claim_is_given_twice(&cluster, &waits);
    for id in waits.iter().chain([&ended, &begun]) {
        let attempts = cluster.node(0).attempts(id);
        let successes = attempts.iter().filter(|attempt| attempt["status"] == "SUCCESS").count();
        assert_eq!(successes, 1, "{attempts:?}");
    }
    assert_eq!(cluster.witness().starts_of(&ended).len(), 1, "what the standby knew as ended stays so");
    fires_go_on(&cluster);
    cluster.verify();
}

/// By the witness, over both histories.
fn no_claim_is_given_twice(cluster: &Cluster, run_again: &[String]) {
    let starts: Vec<_> = cluster.witness().lines().into_iter().filter(|line| line.is_start).collect();
    let claims: BTreeSet<_> = starts.iter().map(|start| (&start.job, start.fence)).collect();
    assert_eq!(claims.len(), starts.len(), "one fence for two bodies");
    for id in run_again {
        let fences: Vec<_> = starts.iter().filter(|start| start.job == *id).map(|start| start.fence).collect();
        assert!(fences.len() == 2 && fences[0] < fences[1], "{id}: {fences:?}");
    }
}

fn fires_go_on(cluster: &Cluster) {
    let times = || -> Vec<String> {
        let jobs = cluster.node(1).jobs_of("tick");
        jobs.iter().filter_map(|job| job["fireTime"].as_str().map(str::to_owned)).collect()
    };
    let before = times().len();
    eventually(s(10), "it fires", || times().len() > before + 2);
    let times = times();
    assert_eq!(times.iter().collect::<BTreeSet<_>>().len(), times.len(), "a fire time has two jobs");
}
