//! The binary from outside: a server, commands that talk to it, signals, exit codes.

#![expect(clippy::disallowed_methods, reason = "real processes take real time")]

mod server;

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use server::{LIMIT, MAINSPRING, Server, eventually, run_in, text};

const WITNESS: &str = "[probes]\nwitness = 'witness.tsv'\n";

#[test]
fn the_first_command_that_the_server_names_works_as_it_is_pasted() {
    let server = Server::start("");
    let line = server.hello.lines().find_map(|line| line.trim().strip_prefix("first")).expect("a first command");
    let line = line.replace("mainspring ", &format!("{MAINSPRING} "));
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    assert!(text(&output.stdout).contains("SUCCESS"), "{}", text(&output.stdout));
}

#[test]
fn a_job_from_submit_to_its_output() {
    let server = Server::start(
        "[[commands]]\nname = 'greet'\nprogram = 'sh'\nargs = ['-c', 'echo hello $1; cat >&2', 'sh', '{payload.who}']\n\
         [[tasks]]\ncode = 'greet'\nhandler = 'command.greet'\n",
    );
    let job = server.json(&["submit", "greet", "--payload", r#"{"who": "任"}"#, "--biz-id", "k", "--wait"]);
    assert_eq!((&job["status"], &job["resultSummary"]), (&json!("SUCCESS"), &json!("hello 任")));
    let again = server.json(&["submit", "greet", "--payload", r#"{"who": "任"}"#, "--biz-id", "k"]);
    assert_eq!((&again["id"], &again["duplicate"]), (&job["id"], &json!(true)));
    let id = job["id"].as_str().expect("an id");
    for follow in [&["job", "output", id][..], &["job", "output", "--follow", id]] {
        let output = server.run(follow);
        let said = text(&output.stdout);
        assert!(output.status.success() && said.contains("hello 任\n") && said.contains("\"who\""), "{said}");
    }
    let shown = text(&server.run(&["job", "show", id]).stdout);
    assert!(shown.contains("SUCCESS") && shown.contains(&format!("{id}-1")), "{shown}");
    assert!(text(&server.run(&["job", "list", "--task", "greet"]).stdout).contains(id));
    assert!(text(&server.run(&["task", "list"]).stdout).contains("command.greet"));
}

#[test]
fn a_repeated_request_says_that_it_was_done_before() {
    let server = Server::start("");
    server.task("late", "probe.ok");
    let job = server.json(&["submit", "late", "--delay", "1h"]);
    let id = job["id"].as_str().expect("an id");
    let check = |args: &[&str], expect: &str| {
        let output = server.run(args);
        assert!(output.status.success() && text(&output.stdout).contains(expect), "{args:?}: {output:?}");
    };
    check(&["job", "list"], "NOT_DUE");
    let cancel = ["job", "cancel", id, "--request-id", "c"];
    check(&cancel, "CANCELLED");
    check(&["job", "retry", id, "--request-id", "r"], "status");
    eventually("it ends", || server.json(&["job", "show", id])["status"] == "SUCCESS");
    check(&cancel, &format!("job {id} was cancelled by this request before; it is SUCCESS now\n"));
    assert_eq!(server.json(&cancel)["status"], "CANCELLED", "programs get the first answer");
    let delete = ["task", "delete", "late", "--request-id", "d"];
    check(&delete, "task late is deleted");
    let listed = text(&server.run(&["job", "list"]).stdout);
    assert!(!listed.contains("REASON") && !listed.contains("FIRE TIME"), "nothing waits: {listed}");
    check(&delete, "task late was deleted by this request before\n");
    assert_eq!(server.json(&delete), json!({"duplicate": true}));
}

#[test]
fn nodes_are_listed_and_drained() {
    let server = Server::start("[node]\nname = 'here'\nlabels = ['gpu', 'eu']\n");
    let nodes = server.json(&["node", "list"]);
    let (id, name) = (nodes["items"][0]["id"].as_str().expect("an id"), nodes["items"][0]["name"].clone());
    assert_eq!((name, &nodes["items"][0]["labels"]), (json!("here#1"), &json!(["gpu", "eu"])));
    assert!(text(&server.run(&["node", "list"]).stdout).contains("gpu, eu"));
    let drain = ["node", "drain", id, "--request-id", "d"];
    assert_eq!(server.json(&drain)["state"], "DRAINING");
    assert_eq!(server.json(&drain)["duplicate"], true);
    assert_eq!(server.run(&["node", "drain", "0123456789abcdef"]).status.code(), Some(2));
}

#[test]
fn a_pool_is_limited_on_all_nodes_together() {
    let server = Server::start("[[pools]]\nname = 'p'\ncluster_concurrency = 7\n");
    let limit = |pools: &Value| {
        let pool = pools["items"].as_array().expect("pools").iter().find(|pool| pool["name"] == "p");
        pool.expect("it is declared")["clusterConcurrency"].clone()
    };
    assert_eq!(limit(&server.json(&["pool", "list"])), 7);
    assert_eq!(server.json(&["pool", "set", "p", "--cluster-concurrency", "3"])["clusterConcurrency"], 3);
    assert_eq!(server.run(&["pool", "set", "p", "--cluster-concurrency", "0"]).status.code(), Some(2));
    server.json(&["pool", "set", "p", "--cluster-concurrency", "none"]);
    assert_eq!(limit(&server.json(&["pool", "list"])), Value::Null);
}

#[test]
fn a_task_is_told_on_which_nodes_it_runs() {
    let server = Server::start("");
    let create =
        ["task", "create", "b", "--handler", "probe.ok", "--node-label", "gpu", "--node-label", "eu", "--broadcast"];
    let task = server.json(&create);
    assert_eq!((&task["nodeLabels"], &task["broadcast"]), (&json!(["gpu", "eu"]), &json!(true)));
    let task = server.json(&["task", "edit", "b", "--node-label=", "--broadcast=false"]);
    assert_eq!((&task["nodeLabels"], &task["broadcast"]), (&json!([]), &json!(false)));
    let refused = server.run(&["task", "edit", "b", "--broadcast", "--max-running", "2"]);
    assert!(text(&refused.stderr).contains("maxRunning cannot be used with broadcast"), "{refused:?}");
}

#[test]
fn the_password_of_a_database_is_shown_nowhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let check = |url: &str, shown: &str| {
        for args in [
            &["config", "explain"][..],
            &["config", "explain", "--format", "json"],
            &["verify"],
            &["serve", "--listen", "127.0.0.1:0"],
        ] {
            let all = [args, &["--database", url]].concat();
            let output = run_in(dir.path(), &all);
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(!said.contains("hunter2"), "{args:?}: {said}");
            assert!(args[0] != "config" || said.contains(shown), "{args:?}: {said}");
        }
    };
    check("postgres://me:hunter2@127.0.0.1:1/jobs?sslmode=disable", "postgres://…@127.0.0.1:1/jobs");
    check("mysql://127.0.0.1:1/jobs?password=hunter2", "mysql://127.0.0.1:1/jobs?…");
    check("mariadb://me:hunter2", "mariadb://…");
    assert!(!dir.path().join("mainspring-data").exists(), "a database server needs no directory");
}

#[test]
fn exit_codes_tell_failed_refused_and_unavailable_apart() {
    let server = Server::start("");
    server.task("fails", "probe.fail");
    let check = |args: &[&str], code: i32, said: &str| {
        let output = server.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
    };
    check(&["submit", "fails", "--wait"], 1, "");
    check(&["submit", "missing"], 2, "TASK_NOT_FOUND");
    check(&["submit", "fails", "--payload", "{"], 2, "not JSON");
    check(&["submit", "fails", "--payload", "@/no/such/file"], 2, "/no/such/file cannot be read");
    check(&["submit"], 2, "Usage");
    check(&["verify"], 69, "in use by another process");
    let problem = server.run(&["submit", "missing", "--format", "json"]);
    let problem: Value = serde_json::from_slice(&problem.stdout).expect("a problem");
    assert_eq!(problem["code"], "TASK_NOT_FOUND");

    let dir = tempfile::tempdir().expect("a directory");
    let alone = |args: &[&str], code: i32, said: &str| {
        let output = run_in(dir.path(), args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).lines().count() <= 2, "{}", text(&output.stderr));
    };
    alone(&["job", "list", "--server", "http://127.0.0.1:1"], 69, "start one with `mainspring serve`");
    alone(&["job", "list", "--server", "nowhere"], 2, "is not a server's URL");
    alone(&["serve", "--listen", "0.0.0.0:0"], 78, "there are no accounts yet");
    alone(&["serve", "--config", "missing.toml"], 78, "missing.toml cannot be read");
    alone(
        &["serve", "--listen", "127.0.0.1:0", "--database", "oracle://x"],
        78,
        "is not a database that this build knows",
    );
    alone(&["serve", "--listen", server.url.strip_prefix("http://").expect("a URL")], 69, "something else listens");
    alone(&["verify"], 78, "there is no database of Mainspring at sqlite://mainspring-data/mainspring.db");
}

#[test]
fn a_second_server_on_the_same_data_is_turned_away() {
    let server = Server::start("");
    let output = run_in(server.dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(69), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("in use by another process"));
}

#[test]
fn the_first_signal_lets_running_jobs_end() {
    let mut server = Server::start(WITNESS);
    server.task("sleeps", "probe.sleep");
    server.json(&["submit", "sleeps", "--payload", r#"{"ms": 700}"#]);
    eventually("the body runs", || server.witness().contains("start"));
    server.signal(Signal::TERM);
    assert!(server.wait_exit(LIMIT).success(), "{}", server.log());
    assert!(server.witness().contains("end"));
    let output = run_in(server.dir.path(), &["verify"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn the_second_signal_gives_back_at_once() {
    let mut server = Server::start(WITNESS);
    server.task("sleeps", "probe.sleep");
    let job = server.json(&["submit", "sleeps", "--payload", r#"{"ms": 600000}"#]);
    eventually("the body runs", || server.witness().contains("start"));
    let start = Instant::now();
    server.signal(Signal::INT);
    eventually("the drain begins", || server.log().contains("a second signal"));
    server.signal(Signal::TERM);
    assert!(server.wait_exit(LIMIT).success(), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(job["id"].is_string());
    assert!(run_in(server.dir.path(), &["verify"]).status.success());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(MAINSPRING)
        .args(["config", "explain"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let status = child.wait().expect("ends");
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(status.success() && said.is_empty(), "{status}: {said}");
}

#[test]
fn explain_says_where_each_value_comes_from() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("mainspring.toml"), "log.level = 'warn'\n").expect("written");
    let output = Command::new(MAINSPRING)
        .args(["config", "explain", "--dev", "--listen", "127.0.0.1:1", "--format", "json"])
        .env("MAINSPRING_DATA__DIR", "elsewhere")
        .current_dir(dir.path())
        .output()
        .expect("runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let from = |key: &str| {
        let items = shown["items"].as_array().expect("a list");
        let item = items.iter().find(|item| item["key"] == key).expect(key);
        item["from"].as_str().expect("text").to_owned()
    };
    assert_eq!(from("log.level"), "mainspring.toml");
    assert_eq!(from("data.dir"), "environment MAINSPRING_DATA__DIR");
    assert_eq!(from("server.listen"), "--listen");
    assert_eq!(from("http.allow"), "--dev");
    assert_eq!(from("log.format"), "default");
}

#[test]
fn probes_misbehave_as_they_are_asked_to() {
    let server = Server::start(WITNESS);
    for (task, handler) in [("panics", "probe.panic"), ("fails", "probe.fail"), ("spins", "probe.spin")] {
        server.task(task, handler);
    }
    server.json(&["task", "create", "recovers", "--handler", "probe.fail_n", "--retry-base", "10ms"]);
    let end = |task: &str, payload: &str| {
        let output = server.run(&["submit", task, "--payload", payload, "--wait", "--format", "json"]);
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    assert_eq!(end("recovers", r#"{"n": 2}"#)["attempts"], 3);
    assert_eq!(end("spins", r#"{"ms": 20}"#)["status"], "SUCCESS");
    assert_eq!(end("fails", "null")["status"], "FAILED");
    assert!(end("panics", "null")["errorMsg"].as_str().expect("text").contains("as it was asked to"));
    let witness = server.witness();
    assert_eq!(witness.matches("\tstart\n").count(), 6, "{witness}");
    assert_eq!(witness.matches("\tend\n").count(), 6, "{witness}");
    assert!(witness.lines().all(|line| line.split('\t').count() == 6), "{witness}");
}

#[test]
fn the_bench_measures_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().to_str().expect("text");
    let output = run_in(dir.path(), &["bench", "--jobs", "500", "--data-dir", at]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("PER SECOND"), "{}", text(&output.stdout));
    assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 0);
}

#[test]
fn cron_expressions_are_previewed_without_a_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let berlin = ["--tz", "Europe/Berlin", "--from", "2026-03-28T12:00:00Z", "--count", "2"];
    let run = |expression: &str, more: &[&str]| {
        run_in(dir.path(), &[&["cron", "preview", expression], &berlin[..], more].concat())
    };
    let answer: Value = serde_json::from_slice(&run("30 2 * * *", &["--format", "json"]).stdout).expect("JSON");
    let fires = ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"];
    assert_eq!(answer, json!({"dialect": "crontab", "nextFires": fires}));
    let never: Value = serde_json::from_slice(&run("0 0 30 2 *", &["--format", "json"]).stdout).expect("JSON");
    assert_eq!(never["nextFires"], json!([]));
    let table = text(&run("30 2 * * *", &[]).stdout);
    assert!(table.starts_with("at 02:30, every day\n每天，02:30\n") && table.contains(fires[0]), "{table}");
    assert!(table.contains("warning IN_DST_GAP"), "{table}");

    let refused = run("0 25 * * *", &["--format", "json"]);
    let problem: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    assert_eq!((refused.status.code(), &problem["code"]), (Some(2), &json!("CRON_INVALID")));
    assert_eq!(
        (&problem["class"], &problem["field"], &problem["position"]),
        (&json!("RANGE"), &json!("hour"), &json!(3))
    );
    assert!(text(&refused.stderr).contains("\n  0 25 * * *\n    ^\n"), "{}", text(&refused.stderr));
}
