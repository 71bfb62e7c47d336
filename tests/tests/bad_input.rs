//! Bad input and bad disks: each gets a clear error, and nothing is lost.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use mainspring_e2e::{Answer, Options, Server, binary, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn bad_requests_are_refused_with_their_reason_and_store_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let job = |more: &str| format!(r#"{{"task": "ok"{more}}}"#).into_bytes();
    let deep = format!(", \"payload\": {}{}", "[".repeat(5_000), "]".repeat(5_000));
    let large = format!(", \"payload\": \"{}\"", "x".repeat(1_100_000));
    let check = |body: Vec<u8>, status: u16, code: &str, named: &str| {
        let shown = String::from_utf8_lossy(&body).chars().take(80).collect::<String>();
        let answer = server.post_raw("/jobs", "application/json", body);
        assert_eq!((answer.status, answer.body["code"].as_str()), (status, Some(code)), "{shown}: {answer:?}");
        assert!(answer.body.to_string().contains(named), "{shown}: `{named}` is not named in {}", answer.body);
        assert!(answer.body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{shown}: no detail");
    };
    check(br#"{"task": "okk"}"#.to_vec(), 404, "TASK_NOT_FOUND", "did you mean");
    check(br#"{"task": 7}"#.to_vec(), 422, "VALIDATION", "task");
    check(br#"{"payload": {}}"#.to_vec(), 422, "VALIDATION", "task");
    check(job(r#", "maxRetry": "many""#), 422, "VALIDATION", "maxRetry");
    check(job(r#", "maxRetry": -1"#), 422, "VALIDATION", "maxRetry");
    check(job(r#", "bizid": "x""#), 422, "VALIDATION", "bizId");
    check(job(r#", "bizId": """#), 422, "VALIDATION", "bizId");
    check(job(r#", "bizId": "a\u0000b""#), 422, "VALIDATION", "bizId");
    check(job(r#", "payload": {"a": "\u0000"}"#), 422, "VALIDATION", "NUL");
    check(job(r#", "delay": "soon""#), 422, "VALIDATION", "delay");
    check(job(r#", "executeTime": "tomorrow""#), 422, "VALIDATION", "executeTime");
    check(job(r#", "executeTime": "99999-01-01T00:00:00Z""#), 422, "VALIDATION", "executeTime");
    check(job(r#", "priority": "urgent""#), 422, "VALIDATION", "priority");
    check(job(&deep), 422, "VALIDATION", "TOO_DEEP");
    check(job(&large), 413, "PAYLOAD_TOO_LARGE", "bytes");
    check(b"{\"task\": \"ok\", \"payload\": \"\xff\xfe\"}".to_vec(), 422, "VALIDATION", "UTF-8");
    check(br#"{"task": "ok""#.to_vec(), 422, "VALIDATION", "JSON");
    check(Vec::new(), 422, "VALIDATION", "");
    let listed = server.get("/jobs");
    assert_eq!(listed.body["items"], json!([]), "something was stored");
    assert_eq!(server.get("/jobs?pool=default").body["code"], "FILTER_NOT_INDEXED");
    assert_eq!(server.get("/jobs?colour=red").status, 422);
    assert_eq!(server.get("/jobs/17").body["code"], "JOB_NOT_FOUND");
}

#[test]
fn times_at_the_ends_of_the_calendar_are_understood() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let past = server.submit(&json!({"task": "ok", "executeTime": "1999-12-31T23:59:59Z"}));
    server.wait_for(&past, "SUCCESS", LIMIT);
    let far = server.submit(&json!({"task": "ok", "executeTime": "9999-12-30T00:00:00Z"}));
    let server = server.restart();
    let job = server.job(&far);
    assert_eq!((&job["status"], &job["executeTime"]), (&json!("PENDING"), &json!("9999-12-30T00:00:00.000Z")));
    assert_eq!(job["waitReason"], "NOT_DUE");
}

#[test]
fn a_batch_is_answered_item_by_item_and_bounded() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let mixed = json!({"jobs": [{"task": "ok"}, {"task": "none"}, {"task": "ok", "maxRetry": "x"}, {"task": "ok"}]});
    let answer = server.post("/jobs/batch", &mixed);
    let items = answer.body["items"].as_array().expect("a list");
    let stored: Vec<bool> = items.iter().map(|item| item["id"].is_string()).collect();
    assert_eq!(stored, [true, false, false, true], "{answer:?}");
    assert_eq!(items[1]["error"]["code"], "TASK_NOT_FOUND");
    let too_many: Vec<Value> = (0..10_001).map(|_| json!({"task": "ok"})).collect();
    let answer = server.post("/jobs/batch", &json!({"jobs": too_many}));
    assert!(answer.status == 422 || answer.status == 413, "{}", answer.status);
}

fn serve_once(dir: &Path) -> Output {
    let mut command = Command::new(binary());
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir);
    command.output().expect("it can be started")
}

#[track_caller]
fn assert_refused(output: &Output, code: i32, named: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for name in named {
        assert!(said.contains(name), "`{name}` is not in: {said}");
    }
}

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let second = serve_once(&dir.path().join("data"));
    assert_refused(&second, 69, &["in use by another process", &server.pid().to_string()]);
    let id = server.submit(&json!({"task": "ok"}));
    server.wait_for(&id, "SUCCESS", LIMIT);
}

#[test]
fn a_second_process_is_refused_also_under_another_name_of_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let file = dir.path().join("data/mainspring.db");
    let (soft, hard) = (dir.path().join("soft.db"), dir.path().join("hard.db"));
    std::os::unix::fs::symlink(&file, &soft).expect("a link");
    std::fs::hard_link(&file, &hard).expect("a link");
    for alias in [soft, hard] {
        let mut command = Command::new(binary());
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path().join("other"));
        command.arg("--database").arg(format!("sqlite://{}", alias.display()));
        assert_refused(&command.output().expect("it can be started"), 69, &["in use by another process"]);
    }
    server.task("ok", "probe.ok", &json!({}));
    let id = server.submit(&json!({"task": "ok"}));
    server.wait_for(&id, "SUCCESS", LIMIT);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(dir.path().join("data")).expect("it is there"));
    assert_eq!(mode & 0o777, 0o700, "payloads and results are in it");
}

#[test]
fn a_job_of_a_deleted_task_is_not_retried() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("gone", "probe.ok", &json!({}));
    let id = server.submit(&json!({"task": "gone", "delay": "1h"}));
    assert_eq!(server.post(&format!("/jobs/{id}/cancel"), &json!({})).status, 200);
    assert_eq!(server.delete("/tasks/gone").status, 204);
    assert_eq!(server.job(&id)["deniedOperations"]["retry"], "TASK_DELETED");
    let refused = server.post(&format!("/jobs/{id}/retry"), &json!({}));
    assert_eq!((refused.status, refused.body["code"].as_str()), (409, Some("OPERATION_NOT_ALLOWED")), "{refused:?}");
}

#[test]
fn a_corrupted_file_is_named_and_left_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let many: Vec<Value> = (0..500).map(|_| json!({"task": "ok", "payload": "x".repeat(200)})).collect();
    server.post("/jobs/batch", &json!({"jobs": many}));
    server.kill();
    let data = dir.path().join("data");
    let file = data.join("mainspring.db");
    // Everything into the main file first, so that its damage is not hidden behind the log.
    let database = rusqlite::Connection::open(&file).expect("it opens");
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("it is written back");
    drop(database);
    let whole = std::fs::read(&file).expect("it can be read");
    let damage = |from: usize, to: usize| {
        let mut bytes = whole.clone();
        bytes[from..to].iter_mut().for_each(|byte| *byte ^= 0x5a);
        bytes
    };
    for (what, bytes) in [("header", damage(0, 100)), ("pages", damage(4_096 * 3, 4_096 * 12))] {
        std::fs::write(&file, &bytes).expect("it can be damaged");
        let refused = serve_once(&data);
        assert_refused(&refused, 78, &["fails its check", "restore a backup"]);
        assert_eq!(std::fs::read(&file).expect("it can be read"), bytes, "the damaged {what} was changed");
    }
    std::fs::write(&file, &whole).expect("the backup is restored");
    let server = Server::start(dir.path());
    assert_eq!(server.get("/jobs?limit=200").body["items"].as_array().map(Vec::len), Some(200));
}

#[test]
fn addresses_beyond_loopback_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(binary());
    let output = command.args(["serve", "--listen", "0.0.0.0:8700", "--data-dir"]).arg(dir.path()).output();
    assert_refused(&output.expect("it can be started"), 78, &["could be reached by others", "127.0.0.1"]);
}

/// A file system of its own, which can be full or read-only. Unmounted at the end.
struct Disk<'a>(&'a Path);

impl Disk<'_> {
    fn mount<'a>(at: &'a Path, size: &str) -> Disk<'a> {
        std::fs::create_dir_all(at).expect("a directory");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).status();
        assert!(mounted.is_ok_and(|status| status.success()), "this test mounts a small disk and needs root for it");
        Disk(at)
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(self.0).status();
        assert!(done.is_ok_and(|status| status.success()), "remount {how}");
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_submits_and_recovers_by_itself() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let _disk = Disk::mount(&data, "6m");
    let server = Server::start_with(dir.path(), Options::default());
    server.task("ok", "probe.ok", &json!({}));
    let filler = data.join("filler");
    let first = server.submit(&json!({"task": "ok"}));
    server.wait_for(&first, "SUCCESS", LIMIT);
    std::fs::write(&filler, vec![1; 5_000_000]).ok(); // as much as there is room for
    let mut acknowledged = Vec::new();
    let refused = loop {
        let payload = "x".repeat(100_000);
        let answer = server.post("/jobs", &json!({"task": "ok", "delay": "1h", "payload": payload}));
        match answer.status {
            201 => acknowledged.push(answer.body["id"].as_str().expect("an id").to_owned()),
            _ => break answer,
        }
        assert!(acknowledged.len() < 200, "the disk never fills");
    };
    assert_eq!((refused.status, refused.body["code"].as_str()), (507, Some("STORAGE_FULL")), "{refused:?}");
    assert_eq!(server.job(&first)["status"], "SUCCESS", "reading lives");
    std::fs::remove_file(&filler).expect("it is there");
    eventually(LIMIT, "submits are taken again without a restart", || {
        server.post("/jobs", &json!({"task": "ok"})).status == 201
    });
    for id in &acknowledged {
        assert_eq!(server.status_of(id), "PENDING", "an acknowledged job is lost");
    }
}

#[test]
fn a_read_only_disk_is_named_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let disk = Disk::mount(&data, "64m");
    let server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    let waits = server.submit(&json!({"task": "ok", "delay": "1s"}));
    server.kill();
    disk.remount("ro");
    assert_refused(&serve_once(&data), 78, &["cannot be", "ead-only"]);
    disk.remount("rw");
    let server = Server::start(dir.path());
    server.wait_for(&waits, "SUCCESS", LIMIT);
    server.kill();
}

/// System calls of a running server fail, until this is dropped.
struct Failing(Child);

impl Failing {
    fn inject(server: &Server, calls: &str, error: &str) -> Failing {
        let what = format!("inject={calls}:error={error}");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e", &what]);
        strace.args(["-p", &server.pid().to_string()]).stderr(Stdio::piped());
        let mut strace = strace.spawn().expect("strace is installed (cargo xtask test installs it)");
        let said = BufReader::new(strace.stderr.take().expect("piped")).lines().next();
        let said = said.and_then(Result::ok).unwrap_or_default();
        assert!(said.contains("attached"), "this test traces a process and needs the right to do so: {said}");
        Failing(strace)
    }
}

impl Drop for Failing {
    /// At this signal strace lets go of the server. It holds every thread of it: killed, it would take it along.
    fn drop(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).expect("a pid")).expect("not zero");
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Submits with keys while writing fails. Which were acknowledged, which hang.
fn submit_keyed(server: &Server, keys: std::ops::Range<u32>) -> (Vec<u32>, Vec<u32>) {
    let job = |key: &u32| json!({"task": "ok", "delay": "1h", "bizId": format!("key-{key}")});
    let outcomes: Vec<(u32, Answer)> = std::thread::scope(|scope| {
        let calls: Vec<_> = keys.map(|key| (key, scope.spawn(move || server.post("/jobs", &job(&key))))).collect();
        calls.into_iter().map(|(key, call)| (key, call.join().expect("it is answered"))).collect()
    });
    let (mut acknowledged, mut open) = (Vec::new(), Vec::new());
    for (key, answer) in outcomes {
        match answer.status {
            200 | 201 => acknowledged.push(key),
            503 | 507 => {
                assert!(answer.retry_after.is_some(), "nobody is told when to come back: {answer:?}");
                open.push(key);
            }
            _ => panic!("neither stored nor unavailable: {answer:?}"),
        }
    }
    (acknowledged, open)
}

/// One job for each key that was acknowledged, at most one for each other one.
#[track_caller]
fn assert_stored(server: &Server, acknowledged: &[u32], open: &[u32]) {
    let jobs_of = |key: u32| {
        let found = server.get(&format!("/jobs?bizId=key-{key}"));
        found.body["items"].as_array().unwrap_or_else(|| panic!("no list: {found:?}")).len()
    };
    for key in acknowledged {
        assert_eq!(jobs_of(*key), 1, "acknowledged job {key}");
    }
    for key in open {
        assert!(jobs_of(*key) <= 1, "job {key} was stored twice");
    }
}

/// Writing fails under a server at work: it says so, stays, recovers by itself and loses nothing.
fn survives(calls: &str, error: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    server.task("ok", "probe.ok", &json!({}));
    server.task("slow", "probe.sleep", &json!({}));
    let (mut acknowledged, open) = submit_keyed(&server, 0..20);
    assert!(open.is_empty(), "nothing fails yet: {open:?}");
    let first = server.submit(&json!({"task": "slow", "payload": {"ms": 1_500}}));
    server.wait_for(&first, "EXECUTING", LIMIT);

    let failing = Failing::inject(&server, calls, error);
    let (stored, open) = submit_keyed(&server, 20..40);
    assert!(stored.is_empty(), "acknowledged and cannot have been written: {stored:?}");
    eventually(LIMIT, "the server says that it is not ready", || server.get("/readyz").status == 503);
    let problems = server.get("/readyz").body["problems"].to_string();
    assert!(problems.contains("takes no writes"), "{problems}");
    assert_eq!(server.get(&format!("/jobs/{first}")).status, 200, "reading lives");
    assert!(server.is_alive(), "it crashed\n{}", server.log());
    drop(failing);

    eventually(LIMIT, "it is ready again without a restart", || server.get("/readyz").status == 200);
    server.wait_for(&first, "SUCCESS", LIMIT);
    assert_eq!(server.witness().starts_of(&first).len(), 1, "the outcome waited in memory");
    assert_stored(&server, &acknowledged, &open);
    let (again, still_open) = submit_keyed(&server, 20..40);
    assert!(still_open.is_empty(), "{still_open:?}");
    acknowledged.extend(again);
    let server = server.restart();
    assert_stored(&server, &acknowledged, &[]);
    assert_eq!(server.status_of(&first), "SUCCESS");
    server.kill();
    let mut verify = Command::new(binary());
    let verified = verify.args(["verify", "--data-dir"]).arg(dir.path().join("data")).output();
    assert_refused(&verified.expect("it can be started"), 0, &[]);
}

#[test]
fn a_disk_that_turns_read_only_under_a_running_server_loses_nothing() {
    survives("pwrite64,pwritev,ftruncate,fallocate", "EROFS");
}

#[test]
fn a_failing_sync_acknowledges_nothing_and_loses_nothing() {
    survives("fsync,fdatasync", "EIO");
}
