//! Tasks that fire, and what may be done to them in which state.

use serde_json::{Value, json};

use crate::house::{House, house, house_at};

const NOON: &str = "2026-12-01T12:00:00Z";

async fn create(house: &House, task: Value) -> Value {
    let answer = house.post("/api/v1/tasks", task.to_string()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn a_cron_task_shows_its_schedule_and_fires() {
    let house = house_at(NOON).await;
    let made = create(
        &house,
        json!({"code": "daily", "handler": "test.done", "type": "cron", "cronExpression": "30 13 * * *",
               "timeZone": "Europe/Berlin", "startDeadlineSeconds": 60}),
    )
    .await;
    assert_eq!((&made["status"], &made["overlap"]), (&json!("ENABLED"), &json!("FORBID")));
    assert_eq!((&made["nextFireTime"], &made["lastJob"]), (&json!("2026-12-01T12:30:00.000Z"), &Value::Null));
    let fires = house.get("/api/v1/tasks/daily/next-fires?count=2").await.json();
    let expect = json!(["2026-12-01T13:30:00+01:00", "2026-12-02T13:30:00+01:00"]);
    assert_eq!((&fires["nextFires"], &fires["timeZone"]), (&expect, &json!("Europe/Berlin")));
    assert_eq!((&fires["task"], &fires["status"]), (&json!("daily"), &json!("ENABLED")));

    house.advance(1_800);
    let fired = house.until_at("/api/v1/tasks/daily", |task| task["lastJob"].is_string()).await;
    let job = house.until_status(fired["lastJob"].as_str().unwrap(), "SUCCESS").await;
    assert_eq!((&job["trigger"], &job["fireTime"]), (&json!("CRON"), &json!("2026-12-01T12:30:00.000Z")));
    assert_eq!((&job["skipReason"], job.get("fires")), (&Value::Null, None));
    let fired = house.until_at("/api/v1/tasks/daily", |task| task["status"] == "ENABLED").await;
    assert_eq!(
        (&fired["prevFireTime"], &fired["nextFireTime"]),
        (&json!("2026-12-01T12:30:00.000Z"), &json!("2026-12-02T12:30:00.000Z"))
    );
    assert_eq!(house.get("/api/v1/jobs?task=daily&trigger=CRON").await.json()["items"][0]["id"], fired["lastJob"]);

    // Nobody looked for three days: one job stands for what was missed.
    house.advance(3 * 86_400);
    let id = |list: &Value| list["items"][0]["id"].as_str().map(str::to_owned);
    let missed = house.until_at("/api/v1/jobs?task=daily&trigger=MISFIRE", |list| id(list).is_some()).await;
    let expect = json!({"first": "2026-12-02T12:30:00.000Z", "last": "2026-12-04T12:30:00.000Z", "count": 3});
    assert_eq!((&missed["items"][0]["fires"], &missed["items"][0]["fireTime"]), (&expect, &expect["last"]));
}

#[tokio::test]
async fn an_interval_is_read_and_shown() {
    let house = house_at(NOON).await;
    let task = json!({"code": "beat", "handler": "test.done", "type": "cron", "every": "90s", "overlap": "ALLOW",
                      "startAt": "2026-12-01T12:00:10Z", "endAt": "2026-12-01T12:03:10Z"});
    let made = create(&house, task).await;
    assert_eq!((&made["every"], &made["everyRhythm"]), (&json!("1m30s"), &json!("FIXED_RATE")));
    assert_eq!((&made["startAt"], &made["overlap"]), (&json!("2026-12-01T12:00:10.000Z"), &json!("ALLOW")));
    let fires = house.get("/api/v1/tasks/beat/next-fires").await.json();
    let expect = json!(["2026-12-01T12:00:10+00:00", "2026-12-01T12:01:40+00:00", "2026-12-01T12:03:10+00:00"]);
    assert_eq!(fires["nextFires"], expect, "fewer than asked for: it ends");
    let version = made["version"].as_i64().unwrap();
    let patch = json!({"version": version, "everyRhythm": "FIXED_DELAY", "startAt": null, "endAt": null});
    let patched = house.call("PATCH", "/api/v1/tasks/beat", patch.to_string()).await.json();
    assert_eq!((&patched["everyRhythm"], &patched["overlap"]), (&json!("FIXED_DELAY"), &json!("ALLOW")));
    let fires = house.get("/api/v1/tasks/beat/next-fires").await.json();
    assert_eq!(fires["nextFires"], json!(["2026-12-01T12:01:30+00:00"]), "the others follow from the ends of jobs");
    let version = patched["version"].as_i64().unwrap();
    let patch = json!({"version": version, "every": null, "cronExpression": "@daily"});
    let patched = house.call("PATCH", "/api/v1/tasks/beat", patch.to_string()).await.json();
    assert_eq!((&patched["every"], &patched["everyRhythm"]), (&Value::Null, &Value::Null));
    assert_eq!(patched["overlap"], "ALLOW", "what is stored stays");
}

#[tokio::test]
async fn schedules_are_checked() {
    let house = house_at(NOON).await;
    let check = async |fields: Value, expect: &str| {
        let mut task = json!({"code": "n", "handler": "test.done", "type": "cron"});
        task.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = house.post("/api/v1/tasks", task.to_string()).await;
        assert_eq!(answer.verdict(), expect, "{fields}");
        answer.json()
    };
    check(json!({}), "422 VALIDATION cronExpression:REQUIRED").await;
    let wrong = check(json!({"cronExpression": "0 25 * * *"}), "422 CRON_INVALID cronExpression:RANGE").await;
    assert_eq!((&wrong["class"], &wrong["field"], &wrong["position"]), (&json!("RANGE"), &json!("hour"), &json!(3)));
    let nowhere = json!({"cronExpression": "@daily", "timeZone": "Mars/Base", "timeoutSeconds": 0});
    let wrong = check(nowhere, "422 CRON_INVALID timeZone:ZONE").await;
    assert_eq!(wrong["class"], "ZONE", "before the other complaints");
    check(json!({"cronExpression": "0 0 30 2 *"}), "422 CRON_NEVER_FIRES").await;
    check(json!({"cronExpression": "0 0 30 2 *", "enabled": false}), "422 CRON_NEVER_FIRES").await;
    check(json!({"every": "1m", "endAt": "2026-12-01T11:00:00Z"}), "422 CRON_NEVER_FIRES").await;
    check(json!({"every": "1ms"}), "422 VALIDATION every:OUT_OF_RANGE").await;
    check(json!({"every": "1m", "cronExpression": "@daily"}), "422 VALIDATION every:TWO_SCHEDULES").await;
    check(
        json!({"everyRhythm": "FIXED_DELAY", "cronExpression": "@daily"}),
        "422 VALIDATION everyRhythm:WITHOUT_EVERY",
    )
    .await;
    check(json!({"every": "1m", "everyRhythm": "SOMETIMES"}), "422 VALIDATION everyRhythm:UNKNOWN_WORD").await;
    check(json!({"every": "1m", "calendar": "none"}), "422 VALIDATION calendar:NOT_FOUND").await;
    check(json!({"every": "1m", "startAt": "tomorrow"}), "422 VALIDATION startAt:NOT_A_TIME").await;
    check(json!({"every": "1m", "rateLimit": "10"}), "422 VALIDATION rateLimit:NOT_A_RATE").await;
    check(
        json!({"every": "1m", "concurrencyKey": "tenant"}),
        "422 VALIDATION concurrencyKey:NOT_A_POINTER concurrencyKey:WITHOUT_LIMIT",
    )
    .await;
    check(json!({"every": "1m", "startDeadlineSeconds": 0}), "422 VALIDATION startDeadlineSeconds:OUT_OF_RANGE").await;
    check(json!({"every": "1m", "disabledReason": "x"}), "422 VALIDATION disabledReason:READ_ONLY").await;
    let put = json!({"version": 1, "handler": "test.done", "enabled": false});
    let put = house.call("PUT", "/api/v1/tasks/done", put.to_string()).await;
    assert_eq!(put.verdict(), "422 VALIDATION enabled:READ_ONLY");
}

#[tokio::test]
async fn a_whole_definition_that_says_when_is_of_type_cron() {
    let house = house_at(NOON).await;
    for (code, when) in [("a", json!({"cronExpression": "@daily"})), ("b", json!({"every": "1m", "type": null}))] {
        let mut task = json!({"code": code, "handler": "test.done"});
        task.as_object_mut().unwrap().extend(when.as_object().unwrap().clone());
        let made = create(&house, task).await;
        assert_eq!((&made["type"], &made["overlap"]), (&json!("cron"), &json!("FORBID")), "{when}");
    }
    let put = json!({"version": 1, "handler": "test.done", "every": "1m"}).to_string();
    assert_eq!(house.call("PUT", "/api/v1/tasks/done", put).await.json()["type"], "cron");
    let put = json!({"version": 2, "handler": "test.done"}).to_string();
    assert_eq!(house.call("PUT", "/api/v1/tasks/done", put).await.json()["type"], "async");
    let explicit = json!({"code": "c", "handler": "test.done", "type": "async", "every": "1m"}).to_string();
    assert_eq!(house.post("/api/v1/tasks", explicit).await.verdict(), "422 VALIDATION every:NOT_A_CRON_TASK");

    // A change of some fields changes no type unasked.
    let patch = json!({"version": 3, "cronExpression": "@daily"}).to_string();
    let refused = house.call("PATCH", "/api/v1/tasks/done", patch).await;
    assert_eq!(refused.verdict(), "422 VALIDATION cronExpression:NOT_A_CRON_TASK");
    assert!(refused.json()["hint"].as_str().unwrap().contains(r#""type": "cron""#), "{refused:?}");
}

#[tokio::test]
async fn a_task_can_begin_disabled() {
    let house = house_at(NOON).await;
    let task = json!({"code": "later", "handler": "test.done", "type": "cron", "every": "1m", "enabled": false});
    let made = create(&house, task).await;
    assert_eq!((&made["status"], &made["nextFireTime"]), (&json!("DISABLED"), &Value::Null));
    let fires = house.get("/api/v1/tasks/later/next-fires?count=1").await.json();
    assert_eq!((&fires["status"], &fires["nextFires"]), (&json!("DISABLED"), &json!(["2026-12-01T12:01:00+00:00"])));
    let on = house.post("/api/v1/tasks/later/enable", "").await.json();
    assert_eq!((&on["status"], &on["nextFireTime"]), (&json!("ENABLED"), &json!("2026-12-01T12:01:00.000Z")));
    let plain = house.get("/api/v1/tasks/done/next-fires").await.json();
    assert_eq!((&plain["nextFires"], &plain["timeZone"]), (&json!([]), &json!("UTC")));
    let cases = [
        ("done/next-fires?count=0", "422 VALIDATION count:OUT_OF_RANGE"),
        ("done/next-fires?count=101", "422 VALIDATION count:OUT_OF_RANGE"),
        ("done/next-fires?cuont=1", "422 VALIDATION cuont:UNKNOWN_PARAMETER"),
        ("unknown/next-fires", "404 TASK_NOT_FOUND"),
    ];
    for (place, expect) in cases {
        assert_eq!(house.get(&format!("/api/v1/tasks/{place}")).await.verdict(), expect, "{place}");
    }
}

#[tokio::test]
async fn a_copy_has_the_same_definition_and_begins_disabled() {
    let house = house_at(NOON).await;
    let made = create(
        &house,
        json!({"code": "one", "handler": "test.done", "type": "cron", "cronExpression": "@hourly", "tags": ["x"]}),
    )
    .await;
    let copy = house.post("/api/v1/tasks/one/copy", r#"{"code":"two","requestId":"c"}"#).await;
    assert_eq!((copy.status.as_u16(), copy.headers["location"].to_str().unwrap()), (201, "/api/v1/tasks/two"));
    let copied = copy.json();
    assert_eq!(
        (&copied["status"], &copied["name"], &copied["duplicate"]),
        (&json!("DISABLED"), &json!("two"), &json!(false))
    );
    assert_eq!((&copied["cronExpression"], &copied["tags"]), (&made["cronExpression"], &made["tags"]));
    let again = house.post("/api/v1/tasks/one/copy", r#"{"code":"two","requestId":"c"}"#).await;
    assert_eq!((again.status, again.json()["duplicate"].clone()), (copy.status, json!(true)));
    assert_eq!(again.headers["location"], copy.headers["location"]);
    let cases = [
        (r#"{"code":"two"}"#, "409 TASK_EXISTS"),
        ("{}", "422 VALIDATION code:REQUIRED"),
        (r#"{"code":"t w o"}"#, "422 VALIDATION code:BAD_CHARACTER"),
        (r#"{"code":"x","nmae":"y"}"#, "422 VALIDATION nmae:UNKNOWN_FIELD"),
    ];
    for (body, expect) in cases {
        assert_eq!(house.post("/api/v1/tasks/one/copy", body).await.verdict(), expect, "{body}");
    }
    assert_eq!(house.post("/api/v1/tasks/none/copy", r#"{"code":"x"}"#).await.verdict(), "404 TASK_NOT_FOUND");
}

#[tokio::test]
async fn fire_times_of_the_past_are_run_after_the_fact() {
    let house = house_at(NOON).await;
    create(&house, json!({"code": "hourly", "handler": "test.done", "type": "cron", "cronExpression": "@hourly"}))
        .await;
    let path = "/api/v1/tasks/hourly/backfill";
    let range = r#""from":"2026-12-01T09:00:00Z","to":"2026-12-01T11:30:00Z""#;
    let dry = house.post(path, format!(r#"{{{range},"dryRun":true}}"#)).await;
    let times = |answer: &Value, member: &str| -> Vec<String> {
        let fires = answer[member].as_array().unwrap().iter();
        fires.map(|fire| fire["fireTime"].as_str().or(fire.as_str()).unwrap()[11..16].to_owned()).collect()
    };
    assert_eq!(
        (dry.status.as_u16(), times(&dry.json(), "fires")),
        (200, vec!["09:00".into(), "10:00".into(), "11:00".into()])
    );
    assert_eq!(dry.json()["fires"][0]["job"], Value::Null);
    assert_eq!(house.get("/api/v1/jobs?task=hourly").await.json()["items"], json!([]), "only told");

    let first = house.post(path, format!(r#"{{{range},"requestId":"b"}}"#)).await;
    assert_eq!((first.status.as_u16(), first.json()["duplicate"].clone()), (202, json!(false)));
    let id = first.json()["fires"][0]["job"].as_str().unwrap().to_owned();
    let job = house.until_status(&id, "SUCCESS").await;
    assert_eq!((&job["fireTime"], &job["trigger"]), (&json!("2026-12-01T09:00:00.000Z"), &json!("MANUAL")));
    let again = house.post(path, format!(r#"{{{range},"requestId":"b"}}"#)).await.json();
    assert_eq!((&again["fires"], &again["duplicate"]), (&first.json()["fires"], &json!(true)));
    let wider = r#"{"from":"2026-12-01T08:00:00Z","to":"2026-12-01T10:00:00Z"}"#;
    let wider = house.post(path, wider).await.json();
    assert_eq!(
        (times(&wider, "fires"), times(&wider, "ranBefore")),
        (vec!["08:00".into()], vec!["09:00".into(), "10:00".into()])
    );

    let cases = [
        ("hourly", r#"{"from":"2026-12-01T08:00:00Z"}"#, "422 VALIDATION to:REQUIRED"),
        ("hourly", r#"{"from":"2026-12-01T08:00:00Z","to":"2026-12-02T08:00:00Z"}"#, "422 VALIDATION to:OUT_OF_RANGE"),
        (
            "hourly",
            r#"{"from":"2026-12-01T08:00:00Z","to":"2026-11-01T08:00:00Z"}"#,
            "422 VALIDATION from:OUT_OF_RANGE",
        ),
        ("hourly", r#"{"from":"2020-01-01T08:00:00Z","to":"2026-11-01T08:00:00Z"}"#, "422 VALIDATION to:TOO_MANY"),
        ("done", r#"{"from":"2026-12-01T08:00:00Z","to":"2026-12-01T09:00:00Z"}"#, "409 OPERATION_NOT_ALLOWED"),
    ];
    for (task, body, expect) in cases {
        let answer = house.post(&format!("/api/v1/tasks/{task}/backfill"), body).await;
        assert_eq!(answer.verdict(), expect, "{task} {body}");
    }
}

#[tokio::test]
async fn lists_are_filtered_and_sorted_by_schedule() {
    let house = house_at(NOON).await;
    assert_eq!(house.call("PUT", "/api/v1/calendars/cn", "{}").await.status, 200);
    for (code, more) in [
        ("a", json!({"every": "1h", "calendar": "cn"})),
        ("b", json!({"every": "1m"})),
        ("c", json!({"every": "1m", "enabled": false})),
        ("d", json!({"every": "1s", "endAt": "2026-12-01T12:00:01Z"})),
    ] {
        let mut task = json!({"code": code, "handler": "test.done", "type": "cron", "tags": ["t"]});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        create(&house, task).await;
    }
    house.advance(1);
    house.until_at("/api/v1/tasks/d", |task| task["status"] == "COMPLETED").await;
    let check = async |query: &str, codes: &[&str]| {
        let page = house.get(&format!("/api/v1/tasks?tag=t&{query}")).await.json();
        let seen: Vec<&str> =
            page["items"].as_array().unwrap().iter().map(|task| task["code"].as_str().unwrap()).collect();
        assert_eq!((seen.as_slice(), page["total"].as_u64()), (codes, Some(codes.len() as u64)), "{query}");
    };
    check("calendar=cn", &["a"]).await;
    check("status=COMPLETED", &["d"]).await;
    check("status=DISABLED", &["c"]).await;
    check("status=ENABLED&type=cron", &["a", "b"]).await;
    check("sort=nextFireTime", &["b", "a", "c", "d"]).await;
    check("sort=-nextFireTime,-code", &["a", "b", "d", "c"]).await;
    check("sort=-prevFireTime", &["d", "a", "b", "c"]).await;
    check("sort=status,-code", &["d", "c", "b", "a"]).await;
    for (query, expect) in [
        ("status=OFTEN", "422 VALIDATION status:UNKNOWN_WORD"),
        ("sort=running", "422 VALIDATION sort:UNKNOWN_WORD"),
        ("calender=cn", "422 VALIDATION calender:UNKNOWN_PARAMETER"),
    ] {
        assert_eq!(house.get(&format!("/api/v1/tasks?{query}")).await.verdict(), expect, "{query}");
    }
}

#[tokio::test]
async fn a_job_that_waits_for_a_limit_says_so() {
    let house = house().await;
    let task = json!({"code": "one", "handler": "test.held", "maxRunning": 1, "concurrencyKey": "/tenant"});
    create(&house, task).await;
    let first = house.submit(r#"{"task":"one","payload":{"tenant":"a"}}"#).await;
    house.until_status(&first, "EXECUTING").await;
    let second = house.submit(r#"{"task":"one","payload":{"tenant":"a"}}"#).await;
    let waits = house.until(&second, |job| job["waitReason"] == "MAX_RUNNING").await;
    assert_eq!(waits["concurrencyKey"], "a");
    let pool = house.get("/api/v1/pools/default").await.json();
    assert_eq!((&pool["queued"], &pool["limited"]), (&json!(0), &json!(1)));
    assert_eq!(pool["oldestDue"], waits["executeTime"], "also of what waits elsewhere");
    let other = house.submit(r#"{"task":"one","payload":{"tenant":"b"}}"#).await;
    house.until_status(&other, "EXECUTING").await;
    house.gate.add_permits(3);
    house.until_status(&second, "SUCCESS").await;

    create(&house, json!({"code": "slow", "handler": "test.done", "rateLimit": "1/1h"})).await;
    let first = house.submit(r#"{"task":"slow"}"#).await;
    house.until_status(&first, "SUCCESS").await;
    let second = house.submit(r#"{"task":"slow"}"#).await;
    house.until(&second, |job| job["waitReason"] == "RATE_LIMIT").await;
    let pool = house.get("/api/v1/pools/default").await.json();
    assert_eq!((&pool["rateLimited"], &pool["limited"], &pool["noHandler"]), (&json!(1), &json!(0), &json!(0)));
    assert!(pool["oldestDue"].is_string(), "{pool}");
}

/// The states of a task that decide what may be done to it.
async fn tasks_in_every_state(house: &House) -> Vec<String> {
    let mut codes = Vec::new();
    for overlap in ["FORBID", "QUEUE_ONE", "ALLOW", "REPLACE"] {
        for (kind, schedule) in [
            ("async", json!({})),
            ("cron", json!({"cronExpression": "@yearly"})),
            ("cron-delay", json!({"every": "300d", "everyRhythm": "FIXED_DELAY"})),
            ("cron-ended", json!({"every": "1s", "endAt": "2026-12-01T12:00:01Z"})),
        ] {
            for live in 0..3 {
                for end in ["on", "off"] {
                    let code = format!("{}.{kind}.{live}.{end}", overlap.to_lowercase());
                    let kind = kind.split('-').next().unwrap();
                    let mut task = json!({"code": code, "handler": "test.done", "type": kind, "overlap": overlap});
                    task.as_object_mut().unwrap().extend(schedule.as_object().unwrap().clone());
                    create(house, task).await;
                    codes.push(code);
                }
            }
        }
    }
    house.advance(1);
    for code in &codes {
        if code.contains("cron-ended") {
            house.until_at(&format!("/api/v1/tasks/{code}"), |task| task["status"] == "COMPLETED").await;
        }
        let live: u32 = code.split('.').nth(2).unwrap().parse().unwrap();
        for _ in 0..live {
            house.submit(&format!(r#"{{"task":"{code}","delay":"1h"}}"#)).await;
        }
        if code.ends_with(".off") {
            assert_eq!(house.post(&format!("/api/v1/tasks/{code}/disable"), "").await.status, 200, "{code}");
        }
    }
    codes
}

#[tokio::test]
async fn an_operation_is_accepted_exactly_when_it_is_listed() {
    for operation in ["edit", "enable", "disable", "trigger", "delete", "copy", "backfill"] {
        let house = house_at(NOON).await;
        let mut accepted = 0;
        let codes = tasks_in_every_state(&house).await;
        for code in &codes {
            let before = house.task(code).await;
            let allowed = before["allowedOperations"].as_array().unwrap().contains(&json!(operation));
            let denied = before["deniedOperations"][operation].is_string();
            assert_ne!(allowed, denied, "{code} {operation}: {before}");
            let path = format!("/api/v1/tasks/{code}");
            let answer = match operation {
                "edit" => {
                    house.call("PATCH", &path, json!({"version": before["version"], "owner": "ann"}).to_string()).await
                }
                "delete" => house.call("DELETE", &path, "").await,
                "copy" => house.post(&format!("{path}/copy"), format!(r#"{{"code":"{code}.copy"}}"#)).await,
                "backfill" => {
                    let range = r#"{"from":"2026-11-30T00:00:00Z","to":"2026-11-30T00:00:01Z"}"#;
                    house.post(&format!("{path}/backfill"), range).await
                }
                verb => house.post(&format!("{path}/{verb}"), "").await,
            };
            assert_eq!(answer.status.is_success(), allowed, "{code} {operation}: {before} {answer:?}");
            accepted += usize::from(allowed);
            if !allowed && answer.code() == "OPERATION_NOT_ALLOWED" && operation != "backfill" {
                assert_eq!(
                    answer.json()["deniedOperations"][operation],
                    before["deniedOperations"][operation],
                    "{code}"
                );
            }
        }
        let always = matches!(operation, "edit" | "copy");
        assert!(accepted > 0 && (accepted == codes.len()) == always, "{operation}: {accepted} of {}", codes.len());
    }
}
