//! `kill -9` in a loop, submits going on: nothing acknowledged is lost, every job ends, no settled job changes.

#![expect(clippy::disallowed_methods, reason = "submitters are plain threads beside the server")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_e2e::{Server, eventually, pause};
use serde_json::{Value, json};

const ROUNDS: usize = 200;
const SUBMITTERS: u64 = 3;

/// The kinds of work that go on while the server is killed.
fn job(number: u64) -> Value {
    let key = format!("key-{number}");
    match number % 6 {
        0 => json!({"task": "sleep", "bizId": key, "payload": {"ms": 150}}),
        1 => json!({"task": "fail-once", "bizId": key, "payload": {"n": 1}}),
        2 => json!({"task": "ok", "bizId": key, "delay": "300ms"}),
        3 => json!({"task": "fail", "bizId": key, "maxRetry": 1}),
        _ => json!({"task": "ok", "bizId": key}),
    }
}

fn tasks(server: &Server) {
    server.task("ok", "probe.ok", &json!({}));
    server.task("sleep", "probe.sleep", &json!({}));
    server.task("fail", "probe.fail", &json!({"retryBase": "20ms"}));
    server.task("fail-once", "probe.fail_n", &json!({"retryBase": "20ms"}));
}

/// What was acknowledged: key → id. The same key must give the same id for ever.
type Acknowledged = Arc<Mutex<BTreeMap<u64, String>>>;

fn submit_until(stop: &AtomicBool, next: &AtomicU64, acknowledged: &Acknowledged, base: &Mutex<Option<String>>) {
    mainspring_e2e::client_needs_a_provider();
    let client =
        reqwest::blocking::Client::builder().timeout(Duration::from_secs(5)).no_proxy().build().expect("a client");
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        // The same request again, until it is answered: its key makes that safe.
        while !stop.load(Ordering::Relaxed) {
            let Some(base) = base.lock().expect("no panic").clone() else {
                pause(Duration::from_millis(5));
                continue;
            };
            let sent = client.post(format!("{base}/api/v1/jobs")).json(&job(number)).send();
            let Some(answer) = sent.ok().filter(|answer| answer.status().is_success()) else {
                pause(Duration::from_millis(5));
                continue;
            };
            let Ok(body) = answer.json::<Value>() else { continue };
            let id = body["id"].as_str().expect("an id").to_owned();
            let earlier = acknowledged.lock().expect("no panic").insert(number, id.clone());
            assert!(earlier.is_none_or(|earlier| earlier == id), "key {number} has two jobs");
            break;
        }
        pause(Duration::from_millis(3));
    }
}

#[test]
fn two_hundred_kills_lose_and_double_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut dice = fastrand::Rng::with_seed(2026);
    let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (acknowledged, base) = (Acknowledged::default(), Arc::new(Mutex::new(None)));
    let submitters: Vec<_> = (0..SUBMITTERS)
        .map(|_| {
            let (stop, next, acknowledged, base) = (stop.clone(), next.clone(), acknowledged.clone(), base.clone());
            std::thread::spawn(move || submit_until(&stop, &next, &acknowledged, &base))
        })
        .collect();
    let mut settled: BTreeMap<String, Value> = BTreeMap::new();
    for round in 0..ROUNDS {
        let server = Server::start(dir.path());
        if round == 0 {
            tasks(&server);
        }
        *base.lock().expect("no panic") = Some(server.base().to_owned());
        pause(Duration::from_millis(dice.u64(5..400)));
        if round % 10 == 9 {
            look_at_settled(&server, &acknowledged, &mut settled, &mut dice);
        }
        *base.lock().expect("no panic") = None;
        server.kill();
    }
    let server = Server::start(dir.path());
    *base.lock().expect("no panic") = Some(server.base().to_owned());
    pause(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    submitters.into_iter().for_each(|submitter| submitter.join().expect("no panic"));
    let acknowledged = acknowledged.lock().expect("no panic").clone();
    assert!(acknowledged.len() > 1_000, "only {} jobs were acknowledged: the test tested little", acknowledged.len());
    for (number, id) in &acknowledged {
        eventually(Duration::from_secs(60), &format!("job {id} of key {number} ends"), || is_final(&server.job(id)));
        check_end(*number, &server.job(id));
    }
    for (id, before) in &settled {
        assert_eq!(&essence(&server.job(id)), before, "a settled job changed");
    }
    assert_eq!(server.get("/jobs?status=PENDING").body["items"].as_array().map(Vec::len), Some(0));
    server.kill();
    verify(dir.path());
}

fn is_final(job: &Value) -> bool {
    !matches!(job["status"].as_str(), Some("PENDING" | "EXECUTING"))
}

fn essence(job: &Value) -> Value {
    json!([job["status"], job["finishTime"], job["retryCount"], job["fence"], job["resultSummary"], job["errorMsg"]])
}

fn check_end(number: u64, job: &Value) {
    // Three losses make a job dead; in 200 kills this happens to a few sleepers.
    let poisoned = job["lostCount"] == 3;
    let expect = if number % 6 == 3 { "FAILED" } else { "SUCCESS" };
    assert!(job["status"] == expect || poisoned, "key {number}: {job}");
    assert!(job["retryCount"].as_u64() <= Some(1), "crashes spend no retries: {job}");
}

/// Jobs that are final now must look the same at the end.
fn look_at_settled(
    server: &Server,
    acknowledged: &Acknowledged,
    settled: &mut BTreeMap<String, Value>,
    dice: &mut fastrand::Rng,
) {
    let known: Vec<String> = acknowledged.lock().expect("no panic").values().cloned().collect();
    for _ in 0..20 {
        let Some(id) = dice.choice(&known) else { return };
        let job = server.job(id);
        if is_final(&job) {
            settled.insert(id.clone(), essence(&job));
        }
    }
}

/// The invariants, in the database.
fn verify(dir: &std::path::Path) {
    let verified = std::process::Command::new(mainspring_e2e::binary())
        .args(["verify", "--data-dir"])
        .arg(dir.join("data"))
        .output()
        .expect("verify runs");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}
