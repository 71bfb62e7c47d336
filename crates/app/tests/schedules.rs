//! Schedules on the command line: tasks that fire, calendars, files of tasks.

#![expect(clippy::disallowed_methods, reason = "real processes take real time")]

#[expect(dead_code, reason = "the tests of processes use the rest of it")]
mod server;

use serde_json::{Value, json};

use server::{Server, eventually, run_in, text};

fn table(server: &Server, args: &[&str]) -> String {
    let output = server.run(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn assert_says(said: &str, expect: &[&str]) {
    for part in expect {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
}

#[test]
fn a_scheduled_task_from_create_to_its_fires() {
    let server = Server::start("");
    let said = table(&server, &["task", "create", "tick", "--handler", "probe.ok", "--every", "1s", "--owner", "ann"]);
    assert_says(&said, &["every", "FIXED_RATE", "overlap", "FORBID", "next fires (UTC)", "+00:00\n"]);
    eventually("it fires", || server.json(&["task", "show", "tick"])["lastJob"].is_string());
    let jobs = server.json(&["job", "list", "--task", "tick", "--trigger", "CRON"]);
    assert!(jobs["items"][0]["fireTime"].is_string(), "{jobs}");
    assert_says(&table(&server, &["job", "list", "--task", "tick", "--trigger", "CRON"]), &["FIRE TIME", "tick"]);
    assert_says(&table(&server, &["task", "list"]), &["SCHEDULE", "every 1s", "NEXT FIRE TIME"]);

    let said = table(&server, &["task", "edit", "tick", "--cron", "30 6 * * MON-FRI", "--tz", "Europe/Berlin"]);
    assert_says(&said, &["cronExpression", "30 6 * * MON-FRI", "next fires (Europe/Berlin)", "T06:30:00+0"]);
    let task = server.json(&["task", "edit", "tick", "--owner=", "--max-running", "3", "--overlap", "ALLOW"]);
    assert_eq!((&task["owner"], &task["maxRunning"], &task["every"]), (&Value::Null, &json!(3), &Value::Null));
    let task = server.json(&["task", "edit", "tick", "--max-running=", "--overlap="]);
    assert_eq!((&task["maxRunning"], &task["overlap"]), (&Value::Null, &json!("FORBID")));
    let fires = server.json(&["task", "fires", "tick", "--count", "3"]);
    assert_eq!(fires["nextFires"].as_array().map(Vec::len), Some(3));

    for (there, to) in [("cronExpression", ["--cron=", "--every=1h"]), ("every", ["--every=", "--cron=30 6 * * *"])] {
        let task = server.json(&[&["task", "edit", "tick"][..], &to].concat());
        assert_eq!(task[there], Value::Null, "{task}");
    }
    server.json(&["task", "create", "plain", "--handler", "probe.ok"]);
    assert_says(&table(&server, &["task", "fires", "plain"]), &["task plain has no schedule: "]);
    let said = table(&server, &["task", "trigger", "plain", "--wait", "--request-id", "w"]);
    assert_says(&said, &["is stored; waiting for its end\n", "SUCCESS"]);
    let said = table(&server, &["task", "trigger", "plain", "--wait", "--request-id", "w"]);
    assert_says(&said, &["was triggered before; waiting", "SUCCESS"]);

    assert_eq!(server.json(&["task", "copy", "tick", "tock"])["status"], "DISABLED");
    assert_says(&table(&server, &["task", "fires", "tock"]), &["if it were enabled it would fire (Europe/Berlin)"]);
    let on = server.json(&["task", "enable", "tock", "--request-id", "r"]);
    assert_eq!(server.json(&["task", "enable", "tock", "--request-id", "r"])["duplicate"], true, "{on}");

    let repeat = ["task", "enable", "tock", "--request-id", "r"];
    assert_says(&table(&server, &repeat), &["task tock was enabled by this request before; it is ENABLED now\n"]);
    table(&server, &["task", "disable", "tock"]);
    let said = table(&server, &repeat);
    assert_says(&said, &["it is DISABLED now\n", "status   DISABLED\n"]);
    table(&server, &["task", "enable", "tock"]);

    let past = ["--from", "2026-06-01T00:00:00Z", "--to", "2026-06-02T12:00:00Z"];
    let backfill = [&["task", "backfill", "tock"][..], &past].concat();
    let dry = [&backfill[..], &["--dry-run"]].concat();
    assert_says(&table(&server, &dry), &["FIRE TIME", "2026-06-01T04:30:00.000Z", "2 fire times would run"]);
    assert_says(&table(&server, &backfill), &["JOB", "2 fire times run\n"]);
    assert_says(&table(&server, &backfill), &["0 fire times run; 2 have run before"]);
}

#[test]
fn what_is_wrong_with_a_schedule_is_said() {
    let server = Server::start("");
    server.json(&["task", "create", "t", "--handler", "probe.ok"]);
    let check = |args: &[&str], said: &[&str]| {
        let output = server.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_says(&text(&output.stderr), said);
    };
    check(
        &["task", "create", "x", "--handler", "probe.ok", "--cron", "0 25 * * *"],
        &["the hour is 0 to 23 (CRON_INVALID RANGE, column 3)\n  0 25 * * *\n    ^\n"],
    );
    check(&["task", "create", "x", "--handler", "probe.ok", "--cron", "0 0 30 2 *"], &["CRON_NEVER_FIRES"]);
    check(&["task", "create", "x", "--handler", "probe.ok", "--cron", "@daily", "--every", "1s"], &["cannot be used"]);
    check(
        &["task", "edit", "t", "--cron", "* * * * MOO"],
        &["\n  * * * * MOO\n          ^\n  the names are SUN to SAT"],
    );
    std::fs::write(
        server.dir.path().join("wrong.toml"),
        "[[task]]\ncode = 'ok'\nhandler = 'probe.ok'\n[[task]]\ncode = 'x'\nhandler = 'probe.ok'\ncronExpression = '* * * * MOO'\n",
    )
    .expect("written");
    let applied = server.run(&["task", "apply", "-f", "wrong.toml"]);
    assert_says(&text(&applied.stdout), &["column 9)\n      * * * * MOO\n              ^\n      the names are"]);
    let once = server.run(&["submit", "t", "--delay", "soon"]);
    assert_eq!(text(&once.stderr).matches("`soon`").count(), 1, "{}", text(&once.stderr));
    check(&["task", "edit", "t"], &["nothing is said to be changed"]);
    check(
        &["task", "edit", "t", "--owner", "ann", "--version", "7"],
        &["VERSION_CONFLICT", "owner: yours \"ann\", stored null"],
    );
    check(&["task", "backfill", "t", "--from", "yesterday", "--to", "today"], &["from", "is not an RFC 3339 instant"]);
}

#[test]
fn calendars_are_put_from_plain_lines() {
    let server = Server::start("");
    let file = server.dir.path().join("days.txt");
    std::fs::write(&file, "\u{feff}# National days\n2026-10-01/2026-10-07\n+2026-10-10\n").expect("written");
    let put = ["calendar", "put", "cn", "-f", "days.txt", "--description", "National days"];
    assert_says(
        &table(&server, &put),
        &["National days", "excluded\n  2026-10-01/2026-10-07\n", "working\n  +2026-10-10"],
    );
    server.json(&["task", "create", "t", "--handler", "probe.ok", "--cron", "@daily", "--calendar", "cn"]);
    let task = server.json(&[
        "task",
        "create",
        "once",
        "--handler",
        "probe.ok",
        "--cron",
        "0 0 0 1 1 ? 2099",
        "--calendar",
        "cn",
    ]);
    assert!(task["nextFireTime"].is_string());
    std::fs::write(&file, "2099-01-01").expect("written");
    assert_says(&table(&server, &put), &["no fire time is left because of it for: once\n"]);
    std::fs::write(&file, "2026-10-01/2026-10-07").expect("written");
    let said = table(&server, &put);
    assert!(!said.contains("no fire time is left"), "{said}");
    server.json(&["task", "delete", "once"]);
    assert_says(&table(&server, &["calendar", "list"]), &["NAME", "cn", "7", "National days", "t"]);
    assert_eq!(server.json(&["task", "list", "--calendar", "cn"])["total"], 1);
    let refused = server.run(&["calendar", "delete", "cn"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_says(&text(&refused.stderr), &["CALENDAR_IN_USE"]);
    table(&server, &["task", "edit", "t", "--calendar="]);
    assert_says(&table(&server, &["calendar", "delete", "cn"]), &["calendar cn is deleted"]);
    let missing = server.run(&["calendar", "put", "cn", "-f", "none.txt"]);
    assert_says(&text(&missing.stderr), &["none.txt cannot be read"]);
}

#[test]
fn a_file_of_tasks_is_applied() {
    let server = Server::start("");
    let write = |text: &str| std::fs::write(server.dir.path().join("tasks.toml"), text).expect("written");
    write("[[task]]\ncode = 'a'\nhandler = 'probe.ok'\nevery = '1h'\n[[task]]\ncode = 'b'\nhandler = 'probe.ok'\n");
    let dry = table(&server, &["task", "apply", "-f", "tasks.toml", "--dry-run"]);
    assert_says(&dry, &["+ a\n", "    every: 1h\n", "2 created (dry run: nothing was written)"]);
    assert_eq!(server.json(&["task", "list"])["total"], 0);
    assert_says(&table(&server, &["task", "apply", "-f", "tasks.toml"]), &["+ b\n", "2 created\n"]);
    write(
        "[[task]]\ncode = 'a'\nhandler = 'probe.ok'\ntype = 'cron'\nevery = '2h'\n[[task]]\ncode = 'b'\nhandler = 'nobody'\n",
    );
    let output = server.run(&["task", "apply", "-f", "tasks.toml"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(2), ""));
    let expect = ["~ a\n    every: 1h → 2h\n", "! b\n", "(HANDLER_NOT_FOUND)", "1 updated, 1 failed\n"];
    assert_says(&text(&output.stdout), &expect);
    let output = server.run(&["task", "apply", "-f", "tasks.toml", "--format", "json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (output.status.code(), &answer["failed"], &answer["results"][0]["change"]),
        (Some(2), &json!(1), &json!("UNCHANGED"))
    );
    write("[[tusk]]\ncode = 'a'\n");
    let output = server.run(&["task", "apply", "-f", "tasks.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(&text(&output.stderr), &["tasks.toml: there is no key `tusk`"]);
}

#[test]
fn tasks_in_files_are_there_when_the_server_has_started() {
    let dir = tempfile::tempdir().expect("a directory");
    let shared = dir.path().join("shared.toml");
    std::fs::write(&shared, "[[task]]\ncode = 'declared'\nhandler = 'probe.ok'\nevery = '1s'\n").expect("written");
    let config = format!("tasks.files = ['{}']\n", shared.display());
    let server = Server::start(&config);
    eventually("it fires", || server.json(&["task", "show", "declared"])["lastJob"].is_string());
    drop(server);

    let alone = |tasks: &str, expect: &[&str]| {
        std::fs::write(dir.path().join("tasks.toml"), tasks).expect("written");
        std::fs::write(dir.path().join("mainspring.toml"), "tasks.files = ['tasks.toml']\n").expect("written");
        let output = run_in(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(78), "{}", text(&output.stderr));
        assert_says(&text(&output.stderr), expect);
    };
    alone(
        "[[task]]\ncode = 'x'\nhandler = 'h'\nevry = '1s'\n",
        &["tasks.toml: task `x`: evry:", "did you mean `every`?"],
    );
    alone(
        "[[task]]\ncode = 'x'\nhandler = 'h'\ntype = 'cron'\nevery = '1s'\ncalendar = 'none'\n",
        &["tasks.toml: task `x`: there is no calendar `none`"],
    );
    alone(
        "[[task]]\ncode = 'x'\nhandler = 'h'\ntype = 'cron'\ncronExpression = '0 0 30 2 *'\n",
        &["tasks.toml: task `x`: ", "no fire time"],
    );
    std::fs::remove_file(dir.path().join("tasks.toml")).expect("removed");
    let output = run_in(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_says(&text(&output.stderr), &["mainspring.toml: tasks.files: tasks.toml cannot be read"]);
}
