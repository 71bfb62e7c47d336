//! Failures of schedules that users of other schedulers had, on one node and SQLite, with the real binary. Each test is
//! named after its scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainspring_e2e::{FakeClock, Options, Server, eventually, pause, wall_ms};
use serde_json::{Value, json};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Seconds since 1970 of an instant such as `2017-10-29T01:30:00Z`.
fn second(instant: &str) -> i64 {
    let instant: mainspring::Timestamp = instant.parse().expect(instant);
    instant.as_ms() / 1_000
}

fn preview(server: &Server, expression: &str, zone: &str, from: &str, count: u32) -> Vec<i64> {
    let wanted = json!({"expression": expression, "timeZone": zone, "from": from, "count": count});
    let shown = server.post("/cron/preview", &wanted);
    assert_eq!(shown.status, 200, "{shown:?}");
    let fires = shown.body["nextFires"].as_array().expect("a list");
    fires.iter().map(|fire| second(fire.as_str().expect("an instant"))).collect()
}

fn instants(instants: &[&str]) -> Vec<i64> {
    instants.iter().map(|instant| second(instant)).collect()
}

fn cron(server: &Server, code: &str, handler: &str, more: &Value) {
    let mut fields = json!({"type": "cron"});
    fields.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    server.task(code, handler, &fields);
}

/// Fire times of a task's jobs, in seconds, with what became of each.
fn fired(server: &Server, task: &str) -> Vec<(i64, String)> {
    let jobs = server.jobs_of(task);
    let fire =
        |job: &Value| Some((second(job["fireTime"].as_str()?), job["status"].as_str().expect("a status").to_owned()));
    jobs.iter().filter_map(fire).collect()
}

/// DEV-01: the half-past job in the night in which the clocks go back.
#[test]
fn dev_01_half_past_job_across_the_autumn_clock_change() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = FakeClock::at(dir.path(), second("2017-10-29T01:29:56Z"));
    let server = Server::start_with(dir.path(), Options { clock: Some(clock.clone()), ..Options::default() });
    let halves = ["23:30", "24:30", "25:30", "26:30", "27:30", "28:30"];
    let midnight = second("2017-10-28T00:00:00Z");
    let expect: Vec<i64> = (0..halves.len() as i64).map(|hour| midnight + 23 * 3_600 + 1_800 + hour * 3_600).collect();
    assert_eq!(preview(&server, "30 * * * *", "Europe/Helsinki", "2017-10-28T23:00:00Z", 6), expect);
    let from_the_second_pass = preview(&server, "30 * * * *", "Europe/Helsinki", "2017-10-29T01:45:00Z", 1);
    assert_eq!(from_the_second_pass, instants(&["2017-10-29T02:30:00Z"]));
    // The written rule: fixed times fire in the first pass of a doubled hour only.
    let odd_hours = preview(&server, "0 1-23/2 * * *", "Europe/London", "2024-10-26T22:30:00Z", 6);
    let doubled = ["2024-10-27T00:00:00Z", "2024-10-27T03:00:00Z", "2024-10-27T05:00:00Z", "2024-10-27T07:00:00Z"];
    assert_eq!(odd_hours[..4], instants(&doubled));

    cron(&server, "cleanup", "probe.ok", &json!({"cronExpression": "30 * * * *", "timeZone": "Europe/Helsinki"}));
    cron(&server, "other", "probe.ok", &json!({"every": "1s"}));
    eventually(s(15), "01:30 fires", || fired(&server, "cleanup").len() == 1);
    clock.set(second("2017-10-29T02:29:57Z"));
    eventually(s(15), "02:30 fires", || fired(&server, "cleanup").len() == 2);
    pause(s(2));
    let times: Vec<i64> = fired(&server, "cleanup").into_iter().map(|(time, _)| time).collect();
    assert_eq!(times, instants(&["2017-10-29T01:30:00Z", "2017-10-29T02:30:00Z"]), "one firing for each instant");
    assert!(fired(&server, "other").iter().any(|(time, _)| *time > second("2017-10-29T02:29:58Z")));
    let spent = cpu_seconds(server.pid());
    pause(s(3));
    assert!(cpu_seconds(server.pid()) - spent < 0.6, "waiting takes more than a fifth of a core");
}

fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process lives");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("its numbers").split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

/// DEV-02: the midnight job around the spring change, and what is next after it has run.
#[test]
fn dev_02_daily_midnight_job_the_day_after_the_spring_clock_change() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = FakeClock::at(dir.path(), second("2022-03-13T07:59:57Z"));
    let server = Server::start_with(dir.path(), Options { clock: Some(clock), ..Options::default() });
    let days = preview(&server, "0 0 * * *", "America/Los_Angeles", "2022-03-12T08:00:01Z", 3);
    assert_eq!(days, instants(&["2022-03-13T08:00:00Z", "2022-03-14T07:00:00Z", "2022-03-15T07:00:00Z"]));
    let weekdays = preview(&server, "0 0 * * MON-FRI", "America/Chicago", "2021-03-12T06:00:01Z", 2);
    assert_eq!(weekdays, instants(&["2021-03-15T05:00:00Z", "2021-03-16T05:00:00Z"]));
    // 02:30 does not exist on that day: once, right after the gap.
    let missing = preview(&server, "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2);
    assert_eq!(missing, instants(&["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]));

    cron(&server, "newday", "probe.ok", &json!({"cronExpression": "0 0 * * *", "timeZone": "America/Los_Angeles"}));
    eventually(s(15), "it fires", || fired(&server, "newday").len() == 1);
    let task = server.get("/tasks/newday").body;
    assert_eq!(task["nextFireTime"], "2022-03-14T07:00:00.000Z");
    assert_eq!(fired(&server, "newday")[0].0, second("2022-03-13T08:00:00Z"));
}

/// DEV-03, the part of one node: pause, and an edit of the expression, in the middle of a tick.
#[test]
fn dev_03_pause_pressed_while_the_scheduler_is_in_the_middle_of_a_tick() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let codes: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
    for code in &codes {
        cron(&server, code, "probe.ok", &json!({"every": "1s"}));
    }
    for round in 0..4 {
        std::thread::scope(|scope| {
            for code in &codes {
                scope.spawn(|| pause_one(&server, code, round));
            }
        });
    }
    for code in &codes {
        let version = server.get(&format!("/tasks/{code}")).body["version"].clone();
        let daily = json!({"version": version, "cronExpression": "0 3 * * *", "every": null});
        let edited = server.patch(&format!("/tasks/{code}"), &daily);
        assert_eq!(edited.status, 200, "{edited:?}");
    }
    pause(s(3));
    for code in &codes {
        let task = server.get(&format!("/tasks/{code}")).body;
        assert_eq!((&task["cronExpression"], &task["every"]), (&json!("0 3 * * *"), &Value::Null));
        assert!(task["nextFireTime"].as_str().is_some_and(|next| next.ends_with("03:00:00.000Z")), "{task}");
    }
}

fn pause_one(server: &Server, code: &str, round: u64) {
    pause(Duration::from_millis(1_000 + (round * 271 + code.len() as u64 * 97) % 1_000));
    let paused = server.post(&format!("/tasks/{code}/disable"), &json!({}));
    assert_eq!(paused.status, 200, "{paused:?}");
    let returned_ms = wall_ms();
    let until = returned_ms + 4_000;
    while wall_ms() < until {
        let task = server.get(&format!("/tasks/{code}")).body;
        assert_eq!((&task["status"], &task["nextFireTime"]), (&json!("DISABLED"), &Value::Null));
        pause(Duration::from_millis(400));
    }
    let latest = fired(server, code).into_iter().map(|(time, _)| time * 1_000).max().unwrap_or(0);
    assert!(latest <= returned_ms, "{code} fired at {latest}, paused at {returned_ms}");
    let resumed = server.post(&format!("/tasks/{code}/enable"), &json!({}));
    assert_eq!(resumed.status, 200, "{resumed:?}");
}

/// DEV-04, the part of one node: it is killed again and again and restarted at once.
#[test]
fn dev_04_a_node_dies_between_choosing_a_fire_time_and_running_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    let all: Vec<String> = (0..25).map(|number| format!("all{number:02}")).collect();
    let skip: Vec<String> = (0..25).map(|number| format!("skip{number:02}")).collect();
    for code in &all {
        cron(&server, code, "probe.ok", &json!({"every": "2s", "misfire": "FIRE_ALL"}));
    }
    for code in &skip {
        let fields = json!({"every": "2s", "misfire": "SKIP", "misfireGraceSeconds": 1});
        cron(&server, code, "probe.ok", &fields);
    }
    let begin = wall_ms() / 1_000 + 1;
    let mut dice = fastrand::Rng::with_seed(4);
    for _ in 0..8 {
        pause(Duration::from_millis(dice.u64(1_500..4_500)));
        server.signal(rustix::process::Signal::KILL);
        pause(Duration::from_millis(dice.u64(0..3_000)));
        server = server.restart();
    }
    pause(s(6));
    let end = wall_ms() / 1_000 - 2;
    for code in &all {
        let fires = fired(&server, code);
        assert_unique(code, &fires);
        let seen: BTreeSet<i64> = fires.iter().map(|(time, _)| *time).collect();
        let missing: Vec<i64> = due(begin, end).filter(|time| !seen.contains(time)).collect();
        assert!(missing.is_empty(), "{code} misses {missing:?}");
        let not_run: Vec<_> = fires.iter().filter(|(time, status)| *time <= end - 10 && status != "SUCCESS").collect();
        assert!(not_run.is_empty(), "{code}: {not_run:?}");
    }
    for code in &skip {
        assert_unique(code, &fired(&server, code));
        let covered: i64 = server.jobs_of(code).iter().map(|job| covers(job, begin, end)).sum();
        assert_eq!(covered, due(begin, end).count() as i64, "fired and skipped are all ({code})");
    }
    assert_eq!(server.get("/tasks/all00").body["version"], 1, "the scheduler changes no definition");
}

fn due(begin: i64, end: i64) -> impl Iterator<Item = i64> {
    (begin..=end).filter(|second| second % 2 == 0)
}

fn assert_unique(code: &str, fires: &[(i64, String)]) {
    let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
    for (time, _) in fires {
        *counts.entry(*time).or_default() += 1;
    }
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "{code} fired twice: {doubled:?}");
}

/// How many fire times between `begin` and `end` a job's record stands for.
fn covers(job: &Value, begin: i64, end: i64) -> i64 {
    let Some(last) = job["fireTime"].as_str().map(second) else { return 0 };
    let first = job["fires"]["first"].as_str().map_or(last, second);
    due(first.max(begin), last.min(end)).count() as i64
}

/// DEV-13, the part of one node: the application declares its schedules at every start.
#[test]
fn dev_13_the_application_registers_its_schedules_again_at_every_start() {
    let dir = tempfile::tempdir().expect("a directory");
    let declare = |every: &str| {
        let task =
            format!("[[task]]\ncode = \"expiry\"\ntype = \"cron\"\nhandler = \"probe.ok\"\nevery = \"{every}\"\n");
        std::fs::write(dir.path().join("tasks.toml"), task).expect("the file can be written");
    };
    let config = "[tasks]\nfiles = [\"tasks.toml\"]\n".to_owned();
    declare("1s");
    let mut server = Server::start_with(dir.path(), Options { config, ..Options::default() });
    eventually(s(10), "it fires three times", || fired(&server, "expiry").len() >= 3);
    let again = json!({"tasks": [{"code": "expiry", "type": "cron", "handler": "probe.ok", "every": "1s"}]});
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let applied = server.post("/tasks/apply", &again);
                assert_eq!(applied.body["results"][0]["change"], "UNCHANGED", "{applied:?}");
            });
        }
    });
    for _ in 0..2 {
        server = server.restart();
    }
    let page = server.get("/tasks?q=expiry").body;
    assert_eq!((&page["total"], &page["items"][0]["version"]), (&json!(1), &json!(1)));
    pause(s(3));
    assert_unique("expiry", &fired(&server, "expiry"));
    let before = fired(&server, "expiry").len();
    assert_eq!(server.post("/tasks/expiry/disable", &json!({})).status, 200);

    // A newer program: its declaration is written, what a person switched stays.
    declare("2s");
    server = server.restart();
    let task = server.get("/tasks/expiry").body;
    assert_eq!((&task["every"], &task["status"]), (&json!("2s"), &json!("DISABLED")));
    assert!(fired(&server, "expiry").len() >= before, "the history stays");
    // The older program is started once more: it does not put the old rhythm back.
    declare("1s");
    server = server.restart();
    assert_eq!(server.get("/tasks/expiry").body["every"], "2s");
    assert_eq!(server.post("/tasks/expiry/enable", &json!({})).status, 200);
    let enabled = wall_ms() / 1_000;
    pause(s(5));
    let odd: Vec<_> =
        fired(&server, "expiry").into_iter().filter(|(time, _)| *time > enabled && time % 2 == 1).collect();
    assert!(odd.is_empty(), "the old rhythm: {odd:?}");
}

/// The wall clock goes back by ten minutes and forward by an hour while the server runs.
#[test]
fn f13_the_wall_clock_jumps_while_tasks_fire() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = FakeClock::at(dir.path(), second("2026-06-01T12:00:00Z"));
    let server = Server::start_with(dir.path(), Options { clock: Some(clock.clone()), ..Options::default() });
    cron(&server, "tick", "probe.ok", &json!({"every": "1s"}));
    cron(&server, "hourly", "probe.ok", &json!({"cronExpression": "0 * * * *"}));
    let limited = json!({"every": "1s", "overlap": "ALLOW", "rateLimit": "1/2s"});
    cron(&server, "limited", "probe.ok", &limited);
    let ended = |server: &Server| server.jobs_of("limited").iter().filter(|job| job["status"] == "SUCCESS").count();
    eventually(s(10), "it fires", || fired(&server, "tick").len() >= 2 && ended(&server) >= 2);
    clock.set(second("2026-06-01T11:50:00Z"));
    let before = ended(&server);
    let back = |server: &Server| {
        let fires = fired(server, "tick");
        fires.iter().filter(|(time, _)| *time < second("2026-06-01T11:55:00Z")).count()
    };
    eventually(s(10), "it goes on after the step back", || back(&server) >= 2);
    eventually(s(10), "and so does what has a rate", || ended(&server) >= before + 2);
    let hourly = server.get("/tasks/hourly").body;
    assert_eq!(hourly["nextFireTime"], "2026-06-01T12:00:00.000Z", "planned anew");
    clock.set(second("2026-06-01T13:10:00Z"));
    eventually(s(10), "what was jumped over fires once", || fired(&server, "hourly").len() == 1);
    let jobs = server.jobs_of("hourly");
    assert_eq!((&jobs[0]["trigger"], &jobs[0]["fires"]["count"]), (&json!("MISFIRE"), &json!(2)));
    assert_unique("tick", &fired(&server, "tick"));
    assert!(server.log().contains("the wall clock has jumped"), "{}", server.log());
}
