//! A team outgrows one node: its embedded database moves to a server, with real processes, and work goes on there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use mainspring_e2e::{Options, Server, binary, eventually};
use mainspring_test_servers::{Kind, shared};
use rustix::process::Signal;
use serde_json::{Value, json};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn postgres() {
    a_team_moves(Kind::Postgres);
}

#[test]
fn mariadb() {
    a_team_moves(Kind::MariaDb);
}

/// What was there before, by the ids of its jobs.
struct Before {
    done: String,
    failed: String,
    delayed: String,
    running: String,
    all: BTreeSet<i64>,
}

const KEY: &str = "订单-42";

fn ids(server: &Server, task: &str) -> Vec<i64> {
    let id = |job: &Value| job["id"].as_str().expect("an id").parse().expect("a number");
    server.jobs_of(task).iter().map(id).collect()
}

fn work(server: &Server) -> Before {
    for (code, handler, more) in [
        ("ok", "probe.ok", json!({})),
        ("sleep", "probe.sleep", json!({})),
        ("fail", "probe.fail", json!({"retryCount": 0})),
        ("tick", "probe.ok", json!({"type": "cron", "every": "1s", "overlap": "ALLOW"})),
        ("paused", "probe.ok", json!({"type": "cron", "every": "1s"})),
    ] {
        server.task(code, handler, &more);
    }
    assert_eq!(server.post("/tasks/paused/disable", &json!({})).status, 200);
    let done = server.submit(&json!({"task": "ok", "bizId": KEY, "payload": {"note": "x".repeat(40_000)}}));
    let failed = server.submit(&json!({"task": "fail"}));
    let delayed = server.submit(&json!({"task": "ok", "delay": "6s"}));
    let running = server.submit(&json!({"task": "sleep", "payload": {"ms": 4_000}}));
    server.wait_for(&done, "SUCCESS", s(10));
    server.wait_for(&failed, "FAILED", s(10));
    server.wait_for(&running, "EXECUTING", s(10));
    eventually(s(10), "the schedule fires", || server.jobs_of("tick").len() > 1);
    let all = ["ok", "fail", "sleep", "tick"].iter().flat_map(|task| ids(server, task)).collect();
    Before { done, failed, delayed, running, all }
}

fn migrate(from: &Path, to: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(["migrate", "--format", "json", "--from"]).arg(format!("sqlite://{}", from.display()));
    command.args(["--to", to]).output().expect("migrate runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn a_team_moves(kind: Kind) {
    let dir = tempfile::tempdir().expect("a directory");
    let database = dir.path().join("data/mainspring.db");
    let url = shared(kind).expect("a database");
    let server = Server::start(dir.path());
    let before = work(&server);

    let early = migrate(&database, &url);
    assert_eq!(early.status.code(), Some(69), "{}", text(&early.stderr));
    assert!(text(&early.stderr).contains("in use by another process"), "{}", text(&early.stderr));
    server.signal(Signal::KILL);
    server.wait_exit(s(10));
    let moved = migrate(&database, &url);
    assert_eq!(moved.status.code(), Some(0), "{}", text(&moved.stderr));
    assert!(text(&moved.stderr).contains("compare  async_task"), "{}", text(&moved.stderr));
    let summary: Value = serde_json::from_slice(&moved.stdout).expect("JSON");
    let rows = |name: &str| summary["tables"].as_array()?.iter().find(|table| table["name"] == name)?["rows"].as_u64();
    assert!(rows("async_task") >= Some(before.all.len() as u64), "{summary}");

    let old = Command::new(binary()).arg("serve").arg("--data-dir").arg(dir.path().join("data")).output();
    let old = old.expect("it runs");
    assert_eq!(old.status.code(), Some(78), "{}", text(&old.stderr));
    assert!(text(&old.stderr).contains("was moved to"), "{}", text(&old.stderr));

    let server = Server::start_with(dir.path(), Options { database: Some(url.clone()), ..Options::default() });
    goes_on(&server, &before);
    let verified = Command::new(binary()).args(["verify", "--database", &url]).output().expect("verify runs");
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));
}

fn goes_on(server: &Server, before: &Before) {
    // What was there is seen, and keys are known.
    assert_eq!(server.status_of(&before.done), "SUCCESS");
    assert_eq!(server.job(&before.done)["payload"]["note"].as_str().map(str::len), Some(40_000));
    assert_eq!(server.attempts(&before.failed).len(), 1);
    let dead = server.get("/dead-jobs");
    assert!(dead.body["items"].as_array().is_some_and(|jobs| jobs.len() == 1), "{dead:?}");
    let again = server.post("/jobs", &json!({"task": "ok", "bizId": KEY}));
    assert_eq!((again.status, &again.body["id"]), (200, &json!(before.done)), "{again:?}");

    // What was due runs, and what ran when the process was killed runs again.
    server.wait_for(&before.delayed, "SUCCESS", s(20));
    server.wait_for(&before.running, "SUCCESS", s(30));
    assert_eq!(server.witness().starts_of(&before.delayed).len(), 1);
    assert_eq!(server.witness().starts_of(&before.running).len(), 2);

    // The schedule goes on, each fire time once, and the one that was paused rests.
    let fires = ids(server, "tick").len();
    eventually(s(15), "the schedule fires", || ids(server, "tick").len() > fires + 2);
    let jobs = server.jobs_of("tick");
    let times: BTreeSet<&str> = jobs.iter().filter_map(|job| job["fireTime"].as_str()).collect();
    assert_eq!(times.len(), jobs.len());
    assert_eq!(server.jobs_of("paused").len(), 0);

    // New ids come after the old ones.
    let new: i64 = server.submit(&json!({"task": "ok"})).parse().expect("a number");
    assert!(before.all.iter().all(|old| *old < new), "{new} among {:?}", before.all);
    let all = ["ok", "fail", "sleep", "tick"].map(|task| ids(server, task)).concat();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    assert!(before.all.iter().all(|old| all.contains(old)), "none is gone");
}
