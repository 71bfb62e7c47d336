//! Failures that users of other schedulers had with several machines, on PostgreSQL and on MariaDB, with real processes.
//! Each test is named after its scenario; each ends with the database's own check.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainspring_e2e::{Cluster, NodeOptions, eventually, pause, stopwatch, wall_ms};
use mainspring_test_servers::Kind;
use rustix::process::Signal;
use serde_json::{Value, json};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// One test per kind of database.
macro_rules! on_both {
    ($($(#[$doc:meta])* $name:ident = $body:path;)+) => {
        mod postgres {
            $($(#[$doc])* #[test] fn $name() { $body(mainspring_test_servers::Kind::Postgres) })+
        }
        mod mariadb {
            $($(#[$doc])* #[test] fn $name() { $body(mainspring_test_servers::Kind::MariaDb) })+
        }
    };
}

on_both! {
    dev_03_a_pause_holds_on_both_nodes_at_once = super::a_pause_holds_on_both_nodes_at_once;
    dev_04_nodes_die_between_choosing_a_fire_time_and_running_it = super::nodes_die_while_tasks_fire;
    dev_08_a_report_that_comes_after_the_lease_was_lost = super::a_late_report_changes_nothing;
    dev_10_a_polite_stop_while_work_is_still_running = super::a_polite_stop_keeps_its_work;
    dev_12_a_delay_longer_than_the_lease = super::delayed_jobs_start_once_and_never_early;
    dev_13_nodes_declare_their_schedules_again = super::declarations_of_two_nodes_make_one_task;
    dev_14_the_job_that_kills_its_node = super::a_killer_is_stopped_and_costs_nobody_else;
    dev_15_a_node_that_does_not_know_the_handler = super::a_node_leaves_alone_what_it_cannot_run;
    dev_17_how_long_until_killed_work_runs_again = super::killed_work_runs_again_within_the_bound;
    dev_18_the_retry_limit_is_a_limit = super::a_node_killed_between_retries_spends_none;
    a_cancel_on_one_node_stops_the_body_on_another = super::a_cancel_reaches_the_other_node;
    labels_drain_and_limits_hold_for_all_nodes = super::labels_drain_and_limits;
}

fn every(cluster: &Cluster, code: &str, more: &Value) {
    let mut fields = json!({"type": "cron"});
    fields.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    cluster.node(0).task(code, "probe.ok", &fields);
}

fn second(instant: &Value) -> Option<i64> {
    let instant: mainspring::Timestamp = instant.as_str()?.parse().ok()?;
    Some(instant.as_ms() / 1_000)
}

fn a_pause_holds_on_both_nodes_at_once(kind: Kind) {
    let cluster = Cluster::start(kind, 2);
    let codes: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
    for code in &codes {
        every(&cluster, code, &json!({"every": "1s"}));
    }
    for round in 0..3 {
        std::thread::scope(|scope| {
            for (at, code) in codes.iter().enumerate() {
                let (cluster, node) = (&cluster, (at + round) % 2);
                scope.spawn(move || pause_one(cluster, node, code, round as u64));
            }
        });
    }
    for (at, code) in codes.iter().enumerate() {
        let node = cluster.node(at % 2);
        let version = node.get(&format!("/tasks/{code}")).body["version"].clone();
        let daily = json!({"version": version, "cronExpression": "0 3 * * *", "every": null});
        let edited = node.patch(&format!("/tasks/{code}"), &daily);
        assert_eq!(edited.status, 200, "{edited:?}");
    }
    pause(s(3));
    for node in cluster.nodes() {
        for code in &codes {
            let task = node.get(&format!("/tasks/{code}")).body;
            assert_eq!((&task["cronExpression"], &task["every"]), (&json!("0 3 * * *"), &Value::Null));
        }
    }
    cluster.verify();
}

fn pause_one(cluster: &Cluster, node: usize, code: &str, round: u64) {
    pause(Duration::from_millis(1_000 + (round * 271 + code.len() as u64 * 97) % 1_000));
    let paused = cluster.node(node).post(&format!("/tasks/{code}/disable"), &json!({}));
    assert_eq!(paused.status, 200, "{paused:?}");
    let returned_ms = wall_ms();
    while wall_ms() < returned_ms + 4_000 {
        for node in cluster.nodes() {
            let task = node.get(&format!("/tasks/{code}")).body;
            assert_eq!((&task["status"], &task["nextFireTime"]), (&json!("DISABLED"), &Value::Null), "{code}");
        }
        pause(Duration::from_millis(400));
    }
    let fires = cluster.node(node).jobs_of(code);
    let latest = fires.iter().filter_map(|job| second(&job["fireTime"])).max().unwrap_or(0);
    assert!(latest * 1_000 <= returned_ms + 1_000, "{code} fired at {latest}, paused at {returned_ms}");
    let resumed = cluster.node(1 - node).post(&format!("/tasks/{code}/enable"), &json!({}));
    assert_eq!(resumed.status, 200, "{resumed:?}");
}

fn nodes_die_while_tasks_fire(kind: Kind) {
    let mut cluster = Cluster::start(kind, 2);
    let all: Vec<String> = (0..15).map(|number| format!("all{number:02}")).collect();
    let skip: Vec<String> = (0..15).map(|number| format!("skip{number:02}")).collect();
    for code in &all {
        every(&cluster, code, &json!({"every": "2s", "misfire": "FIRE_ALL"}));
    }
    for code in &skip {
        every(&cluster, code, &json!({"every": "2s", "misfire": "SKIP", "misfireGraceSeconds": 1}));
    }
    let begin = wall_ms() / 1_000 + 1;
    let mut dice = fastrand::Rng::with_seed(4);
    for _ in 0..8 {
        pause(Duration::from_millis(dice.u64(1_500..4_500)));
        cluster.kill_and_restart(dice.usize(0..2), Duration::from_millis(dice.u64(0..3_000)));
    }
    pause(s(15));
    let end = wall_ms() / 1_000 - 2;
    for code in &all {
        let jobs = cluster.node(0).jobs_of(code);
        let seen = unique_fires(code, &jobs);
        let missing: Vec<i64> = due(begin, end).filter(|time| !seen.contains(time)).collect();
        assert!(missing.is_empty(), "{code} misses {missing:?}");
        let settled = |job: &&Value| second(&job["fireTime"]).is_some_and(|time| time <= end - 12);
        let not_run: Vec<_> = jobs.iter().filter(settled).filter(|job| job["status"] != "SUCCESS").collect();
        assert!(not_run.is_empty(), "{code}: {not_run:?}");
    }
    for code in &skip {
        let jobs = cluster.node(1).jobs_of(code);
        unique_fires(code, &jobs);
        let covered: i64 = jobs.iter().map(|job| covers(job, begin, end)).sum();
        assert_eq!(covered, due(begin, end).count() as i64, "fired and skipped are all ({code})");
    }
    cluster.verify();
}

fn due(begin: i64, end: i64) -> impl Iterator<Item = i64> {
    (begin..=end).filter(|second| second % 2 == 0)
}

fn unique_fires(code: &str, jobs: &[Value]) -> BTreeSet<i64> {
    let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
    for time in jobs.iter().filter_map(|job| second(&job["fireTime"])) {
        *counts.entry(time).or_default() += 1;
    }
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "{code} fired twice: {doubled:?}");
    counts.into_keys().collect()
}

fn covers(job: &Value, begin: i64, end: i64) -> i64 {
    let Some(last) = second(&job["fireTime"]) else { return 0 };
    let first = second(&job["fires"]["first"]).unwrap_or(last);
    due(first.max(begin), last.min(end)).count() as i64
}

fn a_late_report_changes_nothing(kind: Kind) {
    let cluster = Cluster::start(kind, 2);
    cluster.node(0).task("sleep", "probe.sleep", &json!({"retryCount": 0}));
    let id = cluster.node(0).submit(&json!({"task": "sleep", "payload": {"ms": 9_000}}));
    eventually(s(5), "it runs", || !cluster.witness().starts_of(&id).is_empty());
    let first = cluster.node_of(&cluster.witness().starts_of(&id)[0]);
    let other = 1 - first;
    pause(s(2));
    cluster.node(first).signal(Signal::STOP);
    eventually(s(20), "the other node takes it over", || cluster.witness().starts_of(&id).len() == 2);
    let second_start = cluster.witness().starts_of(&id).remove(1);
    assert_eq!(cluster.node_of(&second_start), other);
    cluster.node(other).wait_for(&id, "SUCCESS", s(15));
    let settled = cluster.node(other).job(&id);
    cluster.node(first).signal(Signal::CONT);
    let end = wall_ms() + 12_000;
    while wall_ms() < end {
        let job = cluster.node(other).job(&id);
        let of = |job: &Value| (job["status"].clone(), job["fence"].clone(), job["finishTime"].clone());
        assert_eq!(of(&job), of(&settled), "a final state changed");
        pause(Duration::from_millis(300));
    }
    assert_eq!((&settled["lostCount"], &settled["retryCount"]), (&json!(1), &json!(0)));
    let ends: Vec<_> = cluster.node(other).attempts(&id).iter().map(|attempt| attempt["status"].clone()).collect();
    assert_eq!(ends, ["LOST", "SUCCESS"]);
    // The node that was paused is a node again, under a new name.
    eventually(s(10), "it works again", || {
        let id = cluster.node(first).submit(&json!({"task": "sleep", "payload": {"ms": 1}}));
        pause(Duration::from_millis(300));
        cluster.node(first).status_of(&id) == "SUCCESS"
    });
    eventually(s(10), "it is ready", || cluster.node(first).get("/readyz").status == 200);
    cluster.verify();
}

fn a_polite_stop_keeps_its_work(kind: Kind) {
    let mut cluster = Cluster::start(kind, 1);
    cluster.node(0).task("sleep", "probe.sleep", &json!({}));
    let id = cluster.node(0).submit(&json!({"task": "sleep", "payload": {"ms": 14_000}}));
    cluster.node(0).wait_for(&id, "EXECUTING", s(5));
    cluster.add(&NodeOptions::default());
    let stopping = cluster.take(0);
    stopping.signal(Signal::TERM);
    // Longer than the lease: it is renewed until the last body is out.
    assert_eq!(stopping.wait_exit(s(30)).code(), Some(0));
    cluster.node(1).wait_for(&id, "SUCCESS", s(2));
    assert_eq!(cluster.witness().starts_of(&id).len(), 1, "the other node began it during the drain");

    let short = NodeOptions { config: "[shutdown]\ndrain_seconds = 2\n".to_owned(), ..NodeOptions::default() };
    let given_up = cluster.add(&short);
    let drained = cluster.node(1).get("/nodes").body;
    let id_of = |name: &str| {
        let nodes = drained["items"].as_array().expect("a list");
        let node = nodes.iter().find(|node| node["host"] == name && node["state"] == "ACTIVE").expect("it lives");
        node["id"].as_str().expect("an id").to_owned()
    };
    let answer = cluster.node(given_up).post(&format!("/nodes/{}/drain", id_of("n1")), &json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    eventually(s(15), "node 1 drains", || {
        let nodes = cluster.node(given_up).get("/nodes").body;
        let nodes = nodes["items"].as_array().expect("a list").clone();
        nodes.iter().any(|node| node["host"] == "n1" && node["state"] == "DRAINING")
    });
    pause(s(3)); // it hears of it with its next heartbeat
    let long = cluster.node(1).submit(&json!({"task": "sleep", "payload": {"ms": 6_000}}));
    eventually(s(5), "the node that does not drain takes it", || !cluster.witness().starts_of(&long).is_empty());
    assert_eq!(cluster.node_of(&cluster.witness().starts_of(&long)[0]), given_up);
    let stopping = cluster.take(given_up);
    let clock = stopwatch();
    let fresh = cluster.add(&NodeOptions::default());
    stopping.signal(Signal::INT);
    assert_eq!(stopping.wait_exit(s(15)).code(), Some(0));
    assert!(clock() < s(14), "the drain limit was 2 s: {:?}", clock());
    cluster.node(fresh).wait_for(&long, "SUCCESS", s(20));
    let job = cluster.node(fresh).job(&long);
    assert_eq!((&job["retryCount"], &job["lostCount"]), (&json!(0), &json!(0)), "a polite stop spends nothing");
    cluster.verify();
}

fn delayed_jobs_start_once_and_never_early(kind: Kind) {
    let mut cluster = Cluster::start(kind, 2);
    cluster.node(0).task("ok", "probe.ok", &json!({}));
    let submit = |at: usize| cluster.node(at % 2).submit(&json!({"task": "ok", "delay": "15s"}));
    let delayed: Vec<String> = (0..50).map(submit).collect();
    let quick: Vec<_> = (0..1_000).map(|_| json!({"task": "ok"})).collect();
    assert_eq!(cluster.node(0).post("/jobs/batch", &json!({"jobs": quick})).status, 200);
    eventually(s(10), "1,000 jobs end while 50 wait", || cluster.witness().lines().len() >= 2_000);
    cluster.restart(0);
    pause(s(2));
    cluster.restart(1);
    for id in &delayed {
        cluster.node(0).wait_for(id, "SUCCESS", s(30));
        let job = cluster.node(1).job(id);
        let starts = cluster.witness().starts_of(id);
        assert_eq!(starts.len(), 1, "{starts:?}");
        let due: mainspring::Timestamp = job["executeTime"].as_str().expect("a time").parse().expect("RFC 3339");
        let late = starts[0].wall_ms - due.as_ms();
        assert!((0..2_000).contains(&late), "{late} ms after its time");
    }
    cluster.verify();
}

fn declarations_of_two_nodes_make_one_task(kind: Kind) {
    let mut cluster = Cluster::start(kind, 0);
    let files: Vec<_> = (0..2).map(|at| cluster.folder().join(format!("tasks{at}.toml"))).collect();
    let declare = |at: usize, every: &str| {
        let task =
            format!("[[task]]\ncode = \"expiry\"\ntype = \"cron\"\nhandler = \"probe.ok\"\nevery = \"{every}\"\n");
        std::fs::write(&files[at], task).expect("the file can be written");
    };
    declare(0, "2s");
    declare(1, "2s");
    for file in &files {
        let config = format!("[tasks]\nfiles = [{file:?}]\n");
        cluster.add(&NodeOptions { config, ..NodeOptions::default() });
    }
    let fires = |cluster: &Cluster| {
        let jobs = cluster.node(1).jobs_of("expiry");
        unique_fires("expiry", &jobs)
    };
    eventually(s(15), "it fires three times", || fires(&cluster).len() >= 3);
    cluster.restart(0);
    cluster.restart(1);
    let tasks = cluster.node(0).get("/tasks").body;
    assert_eq!(tasks["total"], 1, "{tasks}");
    // A new rhythm on one node; the other still carries the old one.
    declare(0, "5s");
    cluster.restart(0);
    let changed = wall_ms() / 1_000;
    pause(s(1));
    cluster.restart(1);
    pause(s(12));
    for node in cluster.nodes() {
        assert_eq!(node.get("/tasks/expiry").body["every"], "5s", "the old node put its rhythm back");
    }
    let late: Vec<i64> = fires(&cluster).into_iter().filter(|time| *time > changed + 3 && time % 5 != 0).collect();
    assert!(late.is_empty(), "the old rhythm goes on: {late:?}");
    cluster.verify();
}

fn a_killer_is_stopped_and_costs_nobody_else(kind: Kind) {
    let mut cluster = Cluster::start(kind, 2);
    cluster.node(0).task("ok", "probe.ok", &json!({}));
    cluster.node(0).task("die", "probe.die", &json!({"retryCount": 25}));
    let ok: Vec<String> = (0..200).map(|n| cluster.node(n % 2).submit(&json!({"task": "ok", "delay": "1s"}))).collect();
    let killer = cluster.node(0).submit(&json!({"task": "die", "bizId": "killer", "maxRetry": 25, "delay": "1s"}));
    let mut crashes = 0;
    let end = stopwatch();
    let mut dead = false;
    while !dead {
        assert!(end() < s(110), "the killer is not dead after {crashes} crashes");
        for at in 0..2 {
            let mut server = cluster.take(at);
            if !server.is_alive() {
                crashes += 1;
                server = server.restart();
            }
            let answer = server.try_get(&format!("/jobs/{killer}"));
            dead |= answer.is_some_and(|job| job.body["status"] == "FAILED");
            cluster.put_back(at, server);
        }
        pause(Duration::from_millis(200));
    }
    assert!(crashes <= 4, "the killer was taken {crashes} times");
    let job = cluster.node(0).job(&killer);
    assert!(job["errorMsg"].as_str().is_some_and(|text| text.contains("lost")), "{job}");
    for id in &ok {
        cluster.node(1).wait_for(id, "SUCCESS", s(30));
        assert_eq!(cluster.node(1).job(id)["retryCount"], 0, "a crash spent a retry");
    }
    cluster.verify();
}

fn a_node_leaves_alone_what_it_cannot_run(kind: Kind) {
    let mut cluster = Cluster::start(kind, 1);
    cluster.add(&NodeOptions { has_probes: false, ..NodeOptions::default() });
    cluster.node(0).task("t2", "probe.sleep", &json!({}));
    let submit = |at: usize| cluster.node(at % 2).submit(&json!({"task": "t2", "payload": {"ms": 3_000}}));
    let ids: Vec<String> = (0..40).map(submit).collect();
    eventually(s(10), "three run", || cluster.witness().lines().iter().filter(|line| line.is_start).count() >= 3);
    cluster.kill(0);
    let begun = cluster.witness().lines().len();
    let waits = || cluster.node(1).job(ids.last().expect("some"))["waitReason"].clone();
    eventually(s(20), "people are told why", || waits() == "NO_HANDLER");
    pause(s(8));
    assert_eq!(cluster.witness().lines().len(), begun, "a node ran what it does not know");
    let knowing = cluster.add(&NodeOptions::default());
    for id in &ids {
        cluster.node(knowing).wait_for(id, "SUCCESS", s(40));
        assert_eq!(cluster.node(knowing).job(id)["retryCount"], 0);
    }
    cluster.verify();
}

fn killed_work_runs_again_within_the_bound(kind: Kind) {
    let default_lease = NodeOptions { lease: "15s", ..NodeOptions::default() };
    let mut cluster = Cluster::start_with(kind, 2, &default_lease);
    cluster.node(0).task("sleep", "probe.sleep", &json!({}));
    cluster.node(0).task("serial", "probe.sleep", &json!({"maxRunning": 1}));
    let victim = cluster.node(0);
    let ids: Vec<String> =
        (0..10).map(|_| victim.submit(&json!({"task": "sleep", "payload": {"ms": 4_000}}))).collect();
    let serial: Vec<String> =
        (0..4).map(|_| victim.submit(&json!({"task": "serial", "payload": {"ms": 1_500}}))).collect();
    eventually(s(10), "they run", || cluster.witness().lines().iter().filter(|line| line.is_start).count() >= 9);
    // A body that has just begun is not known to have: it would be nobody's loss.
    eventually(s(10), "a start is written", || ids.iter().any(|id| cluster.node(1).job(id)["status"] == "EXECUTING"));
    cluster.kill(0);
    let killed_ms = wall_ms();
    let clock = stopwatch();
    for id in ids.iter().chain(&serial) {
        cluster.node(1).wait_for(id, "SUCCESS", s(45).saturating_sub(clock()) + s(5));
    }
    for id in &ids {
        let starts = cluster.witness().starts_of(id);
        let again: Vec<_> = starts.iter().filter(|start| start.wall_ms > killed_ms).collect();
        for start in again {
            assert!(start.wall_ms - killed_ms <= 21_000, "{id} began again after {} ms", start.wall_ms - killed_ms);
        }
    }
    let lost = ids.iter().filter(|id| cluster.node(1).attempts(id).iter().any(|attempt| attempt["status"] == "LOST"));
    assert!(lost.count() > 0, "the interrupted attempts are shown as lost");
    cluster.verify();
}

fn a_node_killed_between_retries_spends_none(kind: Kind) {
    let mut cluster = Cluster::start(kind, 2);
    cluster.node(0).task("fail", "probe.fail", &json!({"retryBase": "500ms", "retryCount": 5}));
    cluster.node(0).task("fail_n", "probe.fail_n", &json!({"retryBase": "300ms", "retryCount": 5}));
    let id = cluster.node(0).submit(&json!({"task": "fail", "bizId": "limited"}));
    let healed = cluster.node(1).submit(&json!({"task": "fail_n", "payload": {"n": 3}}));
    eventually(s(15), "it failed twice", || cluster.node(1).job(&id)["retryCount"].as_u64() >= Some(2));
    cluster.kill_and_restart(0, Duration::from_millis(200));
    cluster.node(1).wait_for(&id, "FAILED", s(60));
    cluster.node(1).wait_for(&healed, "SUCCESS", s(30));
    pause(s(2));
    let job = cluster.node(1).job(&id);
    assert_eq!(job["retryCount"], 5, "{job}");
    let failed: Vec<_> =
        cluster.node(1).attempts(&id).into_iter().filter(|attempt| attempt["status"] == "FAILED").collect();
    assert_eq!(failed.len(), 6, "1 + 5 bodies failed");
    cluster.verify();
}

fn a_cancel_reaches_the_other_node(kind: Kind) {
    let cluster = Cluster::start(kind, 2);
    cluster.node(0).task("sleep", "probe.sleep", &json!({}));
    let id = cluster.node(0).submit(&json!({"task": "sleep", "payload": {"ms": 60_000}}));
    eventually(s(5), "it runs", || !cluster.witness().starts_of(&id).is_empty());
    let runs_on = cluster.node_of(&cluster.witness().starts_of(&id)[0]);
    cluster.node(0).wait_for(&id, "EXECUTING", s(5));
    let cancelled = cluster.node(1 - runs_on).post(&format!("/jobs/{id}/cancel"), &json!({}));
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let pool_is_free = || {
        let pools = cluster.node(runs_on).get("/pools").body;
        pools["items"].as_array().expect("a list").iter().all(|pool| pool["running"] == 0)
    };
    eventually(s(8), "its slot is free", pool_is_free);
    assert_eq!(cluster.node(runs_on).status_of(&id), "CANCELLED");
    cluster.verify();
}

fn labels_drain_and_limits(kind: Kind) {
    let mut cluster = Cluster::start(kind, 1);
    cluster.add(&NodeOptions { labels: &["gpu"], ..NodeOptions::default() });
    let node = cluster.node(0);
    node.task("train", "probe.ok", &json!({"nodeLabels": ["gpu"]}));
    let limited = node.put("/pools/narrow", &json!({"concurrency": 8, "clusterConcurrency": 3}));
    assert_eq!(limited.status, 200, "{limited:?}");
    node.task("narrow", "probe.sleep", &json!({"pool": "narrow"}));
    let trained: Vec<String> = (0..10).map(|at| cluster.node(at % 2).submit(&json!({"task": "train"}))).collect();
    for id in &trained {
        cluster.node(0).wait_for(id, "SUCCESS", s(10));
        assert_eq!(cluster.node_of(&cluster.witness().starts_of(id)[0]), 1, "the label was not heeded");
    }
    let narrow: Vec<String> =
        (0..12).map(|at| cluster.node(at % 2).submit(&json!({"task": "narrow", "payload": {"ms": 700}}))).collect();
    for id in &narrow {
        cluster.node(1).wait_for(id, "SUCCESS", s(30));
    }
    assert!(most_at_once(&cluster, &narrow) <= 3, "the limit for all nodes together was passed");
    cluster.verify();
}

/// By the witness, which is outside of the product.
fn most_at_once(cluster: &Cluster, jobs: &[String]) -> i64 {
    let mut lines: Vec<_> = cluster.witness().lines().into_iter().filter(|line| jobs.contains(&line.job)).collect();
    // An end and a start in one millisecond: the end came first.
    lines.sort_by_key(|line| (line.wall_ms, line.is_start));
    let (mut now, mut most) = (0, 0);
    for line in lines {
        now += if line.is_start { 1 } else { -1 };
        most = most.max(now);
    }
    most
}
