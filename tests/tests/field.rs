//! Failures that users of other schedulers had, on one node and SQLite. Each test is named after its scenario.

use std::time::Duration;

use mainspring_e2e::{Options, Server, eventually, pause, stopwatch};
use rustix::process::Signal;
use serde_json::json;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// DEV-06: four bodies ignore their cancellation on four slots, and a command hides a child that ignores TERM.
#[test]
fn dev_06_timeout_of_a_body_that_ignores_cancellation() {
    let dir = tempfile::tempdir().expect("a directory");
    let mark = format!("{}", 30_000 + std::process::id() % 10_000);
    let script = format!("sleep {mark} & sh -c 'trap \"\" TERM; while :; do sleep 0.0{mark}; done'");
    let config = format!("[[commands]]\nname = \"stubborn\"\nprogram = \"/bin/sh\"\nargs = [\"-c\", {script:?}]\n");
    let server = Server::start_with(dir.path(), Options { config, not_dev: false, ..Options::default() });
    server
        .put("/pools/default", &json!({"concurrency": 4, "queueCapacity": 100, "paused": false, "whenFull": "spill"}));
    server.task("spin", "probe.spin", &json!({}));
    server.task("ok", "probe.ok", &json!({}));
    server.task("stubborn", "command.stubborn", &json!({"retryCount": 0}));
    let spin = || server.submit(&json!({"task": "spin", "timeoutSeconds": 5, "payload": {"ms": 25_000}}));
    let clock = stopwatch();
    let spinning: Vec<String> = (0..4).map(|_| spin()).collect();
    let quick: Vec<String> = (0..20).map(|_| server.submit(&json!({"task": "ok"}))).collect();
    let stubborn = server.submit(&json!({"task": "stubborn", "timeoutSeconds": 5}));
    for id in &spinning {
        server.wait_for(id, "TIMEOUT", s(8));
    }
    assert!(clock() < s(9), "{:?}", clock());
    for id in &quick {
        server.wait_for(id, "SUCCESS", s(15).saturating_sub(clock()));
    }
    let zombies = server.get("/pools").body.to_string();
    assert!(zombies.contains("\"zombies\":4"), "{zombies}");
    // The command started when a slot was replaced; from then on it has its 5 s.
    server.wait_for(&stubborn, "TIMEOUT", s(12));
    eventually(s(10), "nothing that the command started is alive", || {
        !is_running(&format!("sleep 0.0{mark}")) && !is_running(&format!("sleep {mark}"))
    });
    let before: Vec<_> = spinning.iter().map(|id| server.job(id)).collect();
    eventually(s(30), "the zombies are gone", || server.get("/pools").body.to_string().contains("\"zombies\":0"));
    for (id, before) in spinning.iter().zip(&before) {
        assert_eq!(&server.job(id)["status"], &before["status"], "a late end changed the job");
        assert_eq!(server.job(id)["updateTime"], before["updateTime"]);
    }
}

fn is_running(command: &str) -> bool {
    let found = std::process::Command::new("pgrep").args(["-f", &format!("^{command}$")]).output().expect("pgrep runs");
    found.status.success()
}

/// DEV-10, the part of one node: drain, then a limit that is too short.
#[test]
fn dev_10_polite_stop_while_work_is_running() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("sleep", "probe.sleep", &json!({}));
    let id = server.submit(&json!({"task": "sleep", "payload": {"ms": 3_000}}));
    server.wait_for(&id, "EXECUTING", s(5));
    let witness = server.witness();
    server.signal(Signal::TERM);
    pause(Duration::from_millis(500));
    let late = server.try_post("/jobs", &json!({"task": "sleep"}));
    assert!(late.is_none_or(|answer| answer.status == 503), "it takes new work after the signal");
    assert_eq!(server.wait_exit(s(20)).code(), Some(0));
    assert_eq!(witness.starts_of(&id).len(), 1);

    let config = "[shutdown]\ndrain_seconds = 1\n".to_owned();
    let server = Server::start_with(dir.path(), Options { config, not_dev: false, ..Options::default() });
    assert_eq!(server.status_of(&id), "SUCCESS", "it was settled during the drain");
    let long = server.submit(&json!({"task": "sleep", "payload": {"ms": 5_000}}));
    server.wait_for(&long, "EXECUTING", s(5));
    let clock = stopwatch();
    server.signal(Signal::INT);
    assert_eq!(server.wait_exit(s(15)).code(), Some(0));
    assert!(clock() < s(8), "the drain limit was 1 s: {:?}", clock());
    let server = Server::start(dir.path());
    server.wait_for(&long, "SUCCESS", s(20));
    let job = server.job(&long);
    assert_eq!(
        (job["retryCount"].as_u64(), job["lostCount"].as_u64()),
        (Some(0), Some(0)),
        "a polite stop spends nothing"
    );
}

/// DEV-12, the part of one node: long delays hold no slot and survive a restart.
#[test]
fn dev_12_a_delay_holds_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let delayed: Vec<String> = (0..50).map(|_| server.submit(&json!({"task": "ok", "delay": "8s"}))).collect();
    let clock = stopwatch();
    let quick: Vec<_> = (0..1_000).map(|_| json!({"task": "ok"})).collect();
    assert_eq!(server.post("/jobs/batch", &json!({"jobs": quick})).status, 200);
    eventually(s(5), "1,000 jobs end while 50 wait", || server.witness().lines().len() >= 2_000);
    assert!(clock() < s(7));
    let server = server.restart();
    for id in &delayed {
        server.wait_for(id, "SUCCESS", s(20));
        let job = server.job(id);
        let starts = server.witness().starts_of(id);
        assert_eq!(starts.len(), 1, "{starts:?}");
        let (due, began) = (ms_of(&job["executeTime"]), starts[0].wall_ms);
        assert!((0..2_000).contains(&(began - due)), "{} ms after its time", began - due);
    }
}

fn ms_of(time: &serde_json::Value) -> i64 {
    let time: mainspring::Timestamp = time.as_str().expect("a time").parse().expect("RFC 3339");
    time.as_ms()
}

/// DEV-14: a job that ends its process is dead after a few takes, and costs nobody else a retry.
#[test]
fn dev_14_the_task_that_kills_its_worker() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    server.task("die", "probe.die", &json!({"retryCount": 25}));
    let many: Vec<_> = (0..200).map(|n| json!({"task": "ok", "bizId": format!("ok-{n}")})).collect();
    let killer = json!({"task": "die", "bizId": "killer", "maxRetry": 25});
    let mut jobs = many.clone();
    jobs.insert(100, killer.clone());
    drop(server.try_post("/jobs/batch", &json!({"jobs": jobs})));
    let mut crashes = 0;
    loop {
        // A supervisor would do this: started again whenever it has died.
        let stays = (0..100).all(|_| {
            pause(Duration::from_millis(20));
            server.is_alive()
        });
        if stays {
            break;
        }
        crashes += 1;
        assert!(crashes <= 6, "the killer is taken again and again\n{}", server.log());
        server = Server::launch(dir.path(), Options::default());
        pause(Duration::from_millis(300));
    }
    server.wait_ready();
    // The whole batch once more: every key answers its first job, or is stored now.
    let answered = server.post("/jobs/batch", &json!({"jobs": many}));
    for item in answered.body["items"].as_array().expect("a list") {
        let id = item["id"].as_str().expect("an id");
        server.wait_for(id, "SUCCESS", s(10));
        assert_eq!(server.job(id)["retryCount"], 0, "a crash spent a retry");
    }
    let killer = server.post("/jobs", &killer);
    assert_eq!(killer.status, 200, "it was stored before the first crash: {killer:?}");
    let id = killer.body["id"].as_str().expect("an id");
    let job = server.job(id);
    assert_eq!(job["status"], "FAILED", "{job}");
    assert!(job["errorMsg"].as_str().is_some_and(|error| error.contains("worker lost 3 times")), "{job}");
    assert!(server.witness().starts_of(id).len() <= 4, "first take and three takeovers at most");
    assert_eq!(server.get("/dead-jobs").status, 200);
    assert_eq!(server.post(&format!("/jobs/{id}/retry"), &json!({})).status, 200, "it can be released by hand");
}

/// DEV-16: a job that was running when its node was killed frees its key soon after the restart.
#[test]
fn dev_16_the_orphan_that_blocks_its_own_successor() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("sync", "probe.sleep", &json!({"retryCount": 0, "onLost": "FAIL"}));
    let sync = json!({"task": "sync", "bizId": "sync", "unique": "LIVE", "payload": {"ms": 60_000}});
    let first = server.submit(&sync);
    server.wait_for(&first, "EXECUTING", s(5));
    let refused = server.post("/jobs", &sync);
    assert_eq!((refused.status, refused.body["duplicate"].as_bool()), (200, Some(true)));
    let shown = server.job(&first);
    assert!(shown["duplicates"] == 1 && shown["lastDuplicate"].is_string(), "a refused submit is not seen: {shown}");
    server.kill();
    let server = Server::start(dir.path());
    let clock = stopwatch();
    eventually(s(5), "the orphan has left EXECUTING", || server.status_of(&first) == "FAILED");
    let next = server.post("/jobs", &sync);
    assert_eq!(next.status, 201, "the key is free again: {next:?}");
    assert!(clock() < s(6));
}

/// DEV-17, the part of one node that restarts at once: serial work behind the killed one goes on too.
#[test]
fn dev_17_how_long_until_killed_work_runs_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.put("/pools/serial", &json!({"concurrency": 1, "queueCapacity": 100, "paused": false, "whenFull": "spill"}));
    server.task("sleep", "probe.sleep", &json!({}));
    server.task("serial", "probe.sleep", &json!({"pool": "serial"}));
    let wide: Vec<String> =
        (0..20).map(|_| server.submit(&json!({"task": "sleep", "payload": {"ms": 3_000}}))).collect();
    let line: Vec<String> =
        (0..10).map(|_| server.submit(&json!({"task": "serial", "payload": {"ms": 300}}))).collect();
    for id in &wide {
        server.wait_for(id, "EXECUTING", s(5));
    }
    server.kill();
    let server = Server::start(dir.path());
    let clock = stopwatch();
    eventually(s(10), "every interrupted job runs again", || {
        wide.iter().all(|id| server.witness().starts_of(id).len() == 2)
    });
    assert!(clock() < s(10));
    for id in wide.iter().chain(&line) {
        server.wait_for(id, "SUCCESS", s(30));
    }
    let attempts = server.attempts(&wide[0]);
    assert_eq!(attempts[0]["status"], "LOST", "{attempts:?}");
    assert_eq!(attempts[1]["status"], "SUCCESS", "{attempts:?}");
}

/// DEV-18: exactly 1 + 5 bodies, also across a restart, with doubling gaps.
#[test]
fn dev_18_the_retry_limit_is_a_limit() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("fail", "probe.fail", &json!({"retryCount": 5, "retryBase": "1s"}));
    server.task("fail-3", "probe.fail_n", &json!({"retryCount": 5, "retryBase": "100ms"}));
    let (id, other) =
        (server.submit(&json!({"task": "fail"})), server.submit(&json!({"task": "fail-3", "payload": {"n": 3}})));
    eventually(s(10), "two failures", || server.witness().starts_of(&id).len() >= 2);
    let server = server.restart();
    server.wait_for(&other, "SUCCESS", s(20));
    assert_eq!(server.witness().starts_of(&other).len(), 4);
    assert_eq!(server.job(&other)["retryCount"], 3);
    server.wait_for(&id, "FAILED", s(60));
    let starts = server.witness().starts_of(&id);
    let numbers: Vec<u32> = starts.iter().map(|line| line.attempt).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    for (step, pair) in starts.windows(2).enumerate() {
        let (gap, expect) = (pair[1].wall_ms - pair[0].wall_ms, 1_000_i64 << step);
        // The restart may hold one gap up by the time that it takes.
        let most = expect * 12 / 10 + if step == 1 { 2_500 } else { 300 };
        assert!(gap >= expect * 8 / 10 && gap <= most, "gap {step}: {gap} ms");
    }
    pause(s(3));
    assert_eq!(server.witness().starts_of(&id).len(), 6, "something ran after the end");
}
