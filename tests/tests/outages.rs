//! DEV-11: the database is gone for a while, in four ways. Both nodes go on by themselves, and nothing that was acknowledged
//! is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use mainspring_e2e::{Cluster, Server, eventually, pause, stopwatch};
use mainspring_test_servers::{How, Kind};
use serde_json::json;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn postgres() {
    outages(Kind::Postgres);
}

#[test]
fn mariadb() {
    outages(Kind::MariaDb);
}

const OUTAGE: Duration = s(9);

fn outages(kind: Kind) {
    let cluster = Cluster::start(kind, 2);
    cluster.node(0).task("ok", "probe.ok", &json!({}));
    let tick = json!({"type": "cron", "every": "1s", "overlap": "ALLOW"});
    cluster.node(0).task("tick", "probe.ok", &tick);
    let database = &cluster.database;
    type Act<'a> = Box<dyn Fn() + 'a>;
    let ways: [(&str, Act<'_>, Act<'_>); 4] = [
        (
            "fast stop",
            Box::new(|| database.stop(How::Fast).expect("stops")),
            Box::new(|| database.start_again().expect("starts")),
        ),
        (
            "immediate stop",
            Box::new(|| database.stop(How::Immediate).expect("stops")),
            Box::new(|| database.start_again().expect("starts")),
        ),
        (
            "read-only",
            Box::new(|| database.set_read_only(true).expect("sets")),
            Box::new(|| database.set_read_only(false).expect("sets")),
        ),
        ("paused", Box::new(|| database.pause().expect("pauses")), Box::new(|| database.resume().expect("resumes"))),
    ];
    let mut acknowledged = BTreeSet::new();
    for (round, (way, begin, end)) in ways.iter().enumerate() {
        eventually(s(15), "both nodes are ready", || cluster.nodes().all(|node| node.get("/readyz").status == 200));
        begin();
        let clock = stopwatch();
        let mut not_ready = false;
        let mut number = 0;
        while clock() < OUTAGE {
            let asked = stopwatch();
            let key = format!("{round}-{number}");
            let answer = cluster.node(number % 2).try_post("/jobs", &json!({"task": "ok", "bizId": key}));
            assert!(asked() < s(8), "{way}: a submit waited {:?}", asked());
            if answer.is_some_and(|answer| answer.status == 201) {
                acknowledged.insert(key);
            }
            not_ready |= cluster.node(0).get("/readyz").status == 503;
            number += 1;
            pause(Duration::from_millis(100));
        }
        assert!(not_ready, "{way}: health said ready all the time");
        end();
        let back = stopwatch();
        for (at, node) in cluster.nodes().enumerate() {
            let key = format!("after-{round}-{at}");
            eventually(s(10), &format!("{way}: node {at} runs new jobs"), || runs(node, &key));
            acknowledged.insert(key);
        }
        assert!(back() < s(10), "{way}: it took {:?} until both nodes worked", back());
        let fires = || cluster.node(1).jobs_of("tick").len();
        let before = fires();
        eventually(s(10), &format!("{way}: it fires"), || fires() > before + 1);
    }
    for key in &acknowledged {
        let found = cluster.node(0).get(&format!("/jobs?bizId={key}")).body;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{key} was acknowledged");
    }
    for node in cluster.nodes() {
        let lines = node.log().lines().count();
        assert!(lines < 800, "{lines} lines about four outages of {OUTAGE:?}");
    }
    cluster.verify();
}

fn runs(node: &Server, key: &str) -> bool {
    let answer = node.try_post("/jobs", &json!({"task": "ok", "bizId": key}));
    let id = answer.and_then(|answer| answer.body["id"].as_str().map(str::to_owned));
    id.is_some_and(|id| {
        pause(Duration::from_millis(150));
        node.try_get(&format!("/jobs/{id}")).is_some_and(|job| job.body["status"] == "SUCCESS")
    })
}
