//! Tasks, pools and what runs here.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::house::house;

#[tokio::test]
async fn a_task_is_created_changed_and_deleted() {
    let house = house().await;
    let body =
        r#"{"code":"report","handler":"test.done","name":"Report","retryBase":"2s","tags":["x"],"param":{"a":1}}"#;
    let made = house.post("/api/v1/tasks", body).await;
    assert_eq!((made.status.as_u16(), made.headers["location"].to_str().unwrap()), (201, "/api/v1/tasks/report"));
    let task = made.json();
    assert_eq!((&task["retryBase"], &task["retryCap"], &task["type"]), (&json!("2s"), &json!("1h"), &json!("async")));
    assert_eq!((&task["status"], &task["param"]), (&json!("ENABLED"), &json!({"a": 1})));
    assert_eq!(house.get("/api/v1/tasks/report").await.json(), task);
    let other = body.replace("Report", "Another");
    assert_eq!(house.post("/api/v1/tasks", other).await.verdict(), "409 TASK_EXISTS");

    let version = task["version"].as_i64().unwrap();
    let patch = house
        .call("PATCH", "/api/v1/tasks/report", format!(r#"{{"version":{version},"name":"R2","tags":null}}"#))
        .await;
    let patched = patch.json();
    assert_eq!((&patched["name"], &patched["tags"], &patched["retryBase"]), (&json!("R2"), &json!([]), &json!("2s")));
    let version = patched["version"].as_i64().unwrap();
    let put =
        house.call("PUT", "/api/v1/tasks/report", format!(r#"{{"version":{version},"handler":"test.done"}}"#)).await;
    let whole = put.json();
    assert_eq!((&whole["name"], &whole["retryBase"], &whole["param"]), (&json!("report"), &json!("1s"), &Value::Null));

    let version = whole["version"].as_i64().unwrap();
    let wrong = format!("/api/v1/tasks/report?version={}", version + 1);
    assert_eq!(house.call("DELETE", &wrong, "").await.verdict(), "409 VERSION_CONFLICT");
    let gone = house.call("DELETE", &format!("/api/v1/tasks/report?version={version}"), "").await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
    assert_eq!(house.get("/api/v1/tasks/report").await.verdict(), "404 TASK_NOT_FOUND");
}

#[tokio::test]
async fn a_task_says_on_which_nodes_its_jobs_run() {
    let house = house().await;
    let body = r#"{"code":"n","handler":"test.done","nodeLabels":["gpu","eu"],"broadcast":true}"#;
    let made = house.post("/api/v1/tasks", body).await.json();
    assert_eq!((&made["nodeLabels"], &made["broadcast"]), (&json!(["gpu", "eu"]), &json!(true)));
    let change = async |body: &str| {
        let version = house.task("n").await["version"].clone();
        house.call("PATCH", "/api/v1/tasks/n", body.replacen('{', &format!(r#"{{"version":{version},"#), 1)).await
    };
    let stays = change(r#"{"owner":"ann"}"#).await.json();
    assert_eq!((&stays["nodeLabels"], &stays["broadcast"]), (&json!(["gpu", "eu"]), &json!(true)));
    let refused = change(r#"{"maxRunning":2,"overlap":"QUEUE_ONE"}"#).await;
    let expect = "422 VALIDATION overlap:NOT_WITH_BROADCAST maxRunning:NOT_WITH_BROADCAST";
    assert_eq!(refused.verdict(), expect);
    assert_eq!(change(r#"{"nodeLabels":["a b"]}"#).await.verdict(), "422 VALIDATION nodeLabels:BAD_CHARACTER");
    assert_eq!(change(r#"{"nodeLabels":"gpu"}"#).await.verdict(), "422 VALIDATION nodeLabels:WRONG_TYPE");
    let plain = change(r#"{"nodeLabels":null,"broadcast":null,"maxRunning":2}"#).await.json();
    assert_eq!((&plain["nodeLabels"], &plain["broadcast"]), (&json!([]), &json!(false)));
    let whole = r#"{"tasks":[{"code":"n","handler":"test.done","nodeLabels":["gpu"],"maxRunning":2,"owner":"ann"}]}"#;
    let applied = house.post("/api/v1/tasks/apply", whole).await.json();
    assert_eq!(applied["results"][0]["differences"], json!([{"field": "nodeLabels", "from": [], "to": ["gpu"]}]));
}

#[tokio::test]
async fn a_writer_who_read_too_early_hears_the_current_version() {
    let house = house().await;
    let version = house.get("/api/v1/tasks/done").await.json()["version"].as_i64().unwrap();
    let first = house.call("PATCH", "/api/v1/tasks/done", format!(r#"{{"version":{version},"owner":"ann"}}"#)).await;
    let current = first.json()["version"].as_i64().unwrap();
    assert!(current > version);
    for (method, rest) in [("PATCH", r#""owner":"bob""#), ("PUT", r#""handler":"test.done","owner":"bob""#)] {
        let late = house.call(method, "/api/v1/tasks/done", format!(r#"{{"version":{version},{rest}}}"#)).await;
        assert_eq!(late.verdict(), "409 VERSION_CONFLICT", "{method}");
        let told = late.json();
        assert_eq!(
            (&told["currentVersion"], &told["current"]["version"]),
            (&json!(current), &json!(current)),
            "{method}"
        );
        assert_eq!((&told["current"]["owner"], &told["current"]["code"]), (&json!("ann"), &json!("done")), "{method}");
        let expect = json!([{"field": "owner", "yours": "bob", "stored": "ann"}]);
        assert_eq!(told["differences"], expect, "{method}");
        assert_eq!(house.get("/api/v1/tasks/done").await.json()["owner"], "ann", "{method} changed nothing");
    }
}

#[tokio::test]
async fn definitions_are_checked() {
    let house = house().await;
    let long = format!(r#"{{"code":"n","handler":"test.done","name":"{}"}}"#, "x".repeat(201));
    let cases: Vec<(&str, &str, &str, &str)> = vec![
        ("POST", "", r#"{"code":"n"}"#, "422 VALIDATION handler:REQUIRED"),
        ("POST", "", "{}", "422 VALIDATION code:REQUIRED handler:REQUIRED"),
        ("POST", "", r#"{"code":"n","handler":"nobody"}"#, "422 HANDLER_NOT_FOUND"),
        ("POST", "", r#"{"code":"n m","handler":"test.done"}"#, "422 VALIDATION code:BAD_CHARACTER"),
        ("POST", "", &long, "422 VALIDATION name:TOO_LONG"),
        (
            "POST",
            "",
            r#"{"code":"n","handler":"test.done","timeoutSeconds":0}"#,
            "422 VALIDATION timeoutSeconds:OUT_OF_RANGE",
        ),
        ("POST", "", r#"{"code":"n","handler":"test.done","retryBase":5}"#, "422 VALIDATION retryBase:WRONG_TYPE"),
        ("POST", "", r#"{"code":"n","handler":"test.done","type":"often"}"#, "422 VALIDATION type:UNKNOWN_WORD"),
        ("POST", "", r#"{"code":"n","handler":"test.done","tags":"x"}"#, "422 VALIDATION tags:WRONG_TYPE"),
        ("POST", "", r#"{"code":"n","handler":"test.done","handlr":"x"}"#, "422 VALIDATION handlr:UNKNOWN_FIELD"),
        ("POST", "", r#"{"code":"n","handler":"test.done","status":"ENABLED"}"#, "422 VALIDATION status:READ_ONLY"),
        (
            "POST",
            "",
            r#"{"code":"n","handler":"test.done","type":"async","every":"1m"}"#,
            "422 VALIDATION every:NOT_A_CRON_TASK",
        ),
        ("POST", "", r#"{"code":"n","handler":"test.done","pool":"unknown"}"#, "404 POOL_NOT_FOUND"),
        ("POST", "", r#"{"code":"n","handler":"test.done","param":"\u0000"}"#, "422 VALIDATION param:NUL"),
        ("PUT", "/done", r#"{"handler":"test.done"}"#, "422 VALIDATION version:REQUIRED"),
        ("PUT", "/done", r#"{"version":1}"#, "422 VALIDATION handler:REQUIRED"),
        ("PUT", "/done", r#"{"version":1,"code":"x","handler":"test.done"}"#, "422 VALIDATION code:READ_ONLY"),
        ("PATCH", "/done", r#"{"name":"x"}"#, "422 VALIDATION version:REQUIRED"),
        ("PATCH", "/done", r#"{"version":"1"}"#, "422 VALIDATION version:WRONG_TYPE"),
        ("PATCH", "/unknown", r#"{"version":1}"#, "404 TASK_NOT_FOUND"),
        ("PUT", "/unknown", r#"{"version":1,"handler":"test.done"}"#, "404 TASK_NOT_FOUND"),
    ];
    for (method, place, body, expect) in cases {
        let answer = house.call(method, &format!("/api/v1/tasks{place}"), body.to_owned()).await;
        assert_eq!(answer.verdict(), expect, "{method} {place} {}", mainspring_model::text::excerpt(body, 80));
    }
    let big = format!(r#"{{"code":"n","handler":"test.done","param":"{}"}}"#, "x".repeat(1 << 20));
    assert_eq!(house.post("/api/v1/tasks", big).await.verdict(), "413 PAYLOAD_TOO_LARGE");
}

#[tokio::test]
async fn tasks_are_found_sorted_and_paged() {
    let house = house().await;
    for (code, owner) in [("m1", "zoe"), ("m2", "ann"), ("m3", "max")] {
        let body = format!(r#"{{"code":"{code}","handler":"test.done","owner":"{owner}","tags":["t"]}}"#);
        assert_eq!(house.post("/api/v1/tasks", body).await.status, 201);
    }
    let check = |query: &'static str, total: i64, codes: &'static [&'static str]| {
        let house = &house;
        async move {
            let page = house.get(&format!("/api/v1/tasks?{query}")).await.json();
            let items = page["items"].as_array().unwrap();
            let seen: Vec<&str> = items.iter().map(|task| task["code"].as_str().unwrap()).collect();
            assert_eq!((page["total"].as_i64().unwrap(), seen.as_slice()), (total, codes), "{query}");
        }
    };
    check("tag=t", 3, &["m1", "m2", "m3"]).await;
    check("tag=t&sort=-code", 3, &["m3", "m2", "m1"]).await;
    check("tag=t&sort=owner", 3, &["m2", "m3", "m1"]).await;
    check("tag=t&size=2&page=2", 3, &["m3"]).await;
    check("tag=t&size=2&page=9", 3, &[]).await;
    check("q=ZOE", 1, &["m1"]).await;
    check("status=DISABLED", 0, &[]).await;
    check("status=RUNNING", 0, &[]).await;
    house.submit(r#"{"task":"m2","delay":"1h"}"#).await;
    check("status=RUNNING", 1, &["m2"]).await;
    assert_eq!(house.get("/api/v1/tasks/m2").await.json()["status"], "RUNNING");
}

#[tokio::test]
async fn a_disabled_task_takes_no_jobs() {
    let house = house().await;
    let off = house.post("/api/v1/tasks/done/disable", "").await.json();
    assert_eq!((&off["status"], &off["deniedOperations"]["trigger"]), (&json!("DISABLED"), &json!("TASK_DISABLED")));
    assert_eq!(house.post("/api/v1/jobs", r#"{"task":"done"}"#).await.verdict(), "409 TASK_DISABLED");
    assert_eq!(house.post("/api/v1/tasks/done/trigger", "").await.verdict(), "409 TASK_DISABLED");
    let again = house.post("/api/v1/tasks/done/disable", "").await;
    assert_eq!(again.verdict(), "409 OPERATION_NOT_ALLOWED");
    assert_eq!(again.json()["allowedOperations"], off["allowedOperations"]);
    let on = house.post("/api/v1/tasks/done/enable", r#"{"requestId":"a"}"#).await.json();
    assert_eq!((&on["status"], &on["duplicate"]), (&json!("ENABLED"), &json!(false)));
    assert_eq!(house.post("/api/v1/tasks/done/enable", r#"{"requestId":"a"}"#).await.json()["duplicate"], true);
    assert_eq!(house.post("/api/v1/jobs", r#"{"task":"done"}"#).await.verdict(), "201");
}

#[tokio::test]
async fn a_task_with_live_jobs_is_not_deleted() {
    let house = house().await;
    house.submit(r#"{"task":"done","delay":"1h"}"#).await;
    assert_eq!(house.call("DELETE", "/api/v1/tasks/done", "").await.verdict(), "409 TASK_RUNNING");
}

#[tokio::test]
async fn a_trigger_counts_once_per_request() {
    let house = house().await;
    let path = "/api/v1/tasks/done/trigger";
    let first = house.post(path, r#"{"requestId":"r1","param":{"x":1}}"#).await;
    assert_eq!(first.status, 202, "{first:?}");
    let first = first.json();
    assert_eq!((&first["duplicate"], &first["job"]["trigger"]), (&json!(false), &json!("MANUAL")));
    assert_eq!(first["job"]["payload"], json!({"x": 1}));
    let again = Request::post(path).header("idempotency-key", "r1").body(Body::empty()).unwrap();
    let again = house.send(again).await.json();
    assert_eq!((&again["duplicate"], &again["job"]["id"]), (&json!(true), &first["job"]["id"]));
    let other = house.post(path, "{}").await.json();
    assert_eq!(other["duplicate"], false);
    let cases = [
        (r#"{"requestId":""}"#, "422 VALIDATION requestId:REQUIRED"),
        (r#"{"requestId":"a\nb"}"#, "422 VALIDATION requestId:BAD_CHARACTER"),
        (r#"{"params":1}"#, "422 VALIDATION params:UNKNOWN_FIELD"),
    ];
    for (body, expect) in cases {
        assert_eq!(house.post(path, body).await.verdict(), expect, "{body}");
    }
}

#[tokio::test]
async fn a_running_task_that_forbids_overlap_is_not_triggered_again() {
    let house = house().await;
    let body = r#"{"code":"alone","handler":"test.held","overlap":"FORBID"}"#;
    assert_eq!(house.post("/api/v1/tasks", body).await.status, 201);
    let path = "/api/v1/tasks/alone/trigger";
    let presses = (0..8).map(|number| house.post(path, format!(r#"{{"requestId":"p{number}"}}"#)));
    let answers = futures_util::future::join_all(presses).await;
    let verdicts: Vec<String> = answers.iter().map(crate::house::Answer::verdict).collect();
    assert_eq!(verdicts.iter().filter(|verdict| *verdict == "202").count(), 1, "{verdicts:?}");
    assert_eq!(verdicts.iter().filter(|verdict| *verdict == "409 TASK_RUNNING").count(), 7, "{verdicts:?}");
    let winner = answers.iter().position(|answer| answer.status == 202).unwrap();
    let job = answers[winner].json()["job"]["id"].as_str().unwrap().to_owned();
    let repeat = house.post(path, format!(r#"{{"requestId":"p{winner}"}}"#)).await.json();
    assert_eq!((&repeat["duplicate"], &repeat["job"]["id"]), (&json!(true), &json!(job)));
    house.gate.add_permits(1);
    house.until_status(&job, "SUCCESS").await;
    house.gate.add_permits(1);
    assert_eq!(house.post(path, "").await.verdict(), "202");
}

#[tokio::test]
async fn pools_are_shown_and_changed() {
    let house = house().await;
    let names = |list: &Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|pool| pool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&house.get("/api/v1/pools").await.json()), ["default", "paused"]);
    let changed =
        house.call("PUT", "/api/v1/pools/paused", r#"{"concurrency":3,"whenFull":"callerRuns"}"#).await.json();
    assert_eq!((&changed["concurrency"], &changed["paused"]), (&json!(3), &json!(true)), "what is absent stays");
    assert_eq!(house.get("/api/v1/pools/paused").await.json()["whenFull"], "callerRuns");
    assert_eq!(house.call("PUT", "/api/v1/pools/new", "{}").await.json()["whenFull"], "spill");
    let limited = house.call("PUT", "/api/v1/pools/new", r#"{"rateLimit":"100/m"}"#).await.json();
    assert_eq!(limited["rateLimit"], "100/1m");
    assert_eq!(house.call("PUT", "/api/v1/pools/new", r#"{"concurrency":2}"#).await.json()["rateLimit"], "100/1m");
    assert_eq!(house.call("PUT", "/api/v1/pools/new", r#"{"rateLimit":null}"#).await.json()["rateLimit"], json!(null));
    let bounded = house.call("PUT", "/api/v1/pools/new", r#"{"clusterConcurrency":5}"#).await.json();
    assert_eq!((&bounded["clusterConcurrency"], &bounded["concurrency"]), (&json!(5), &json!(2)));
    assert_eq!(house.call("PUT", "/api/v1/pools/new", r#"{"paused":true}"#).await.json()["clusterConcurrency"], 5);
    let free = house.call("PUT", "/api/v1/pools/new", r#"{"clusterConcurrency":null}"#).await.json();
    assert_eq!(free["clusterConcurrency"], json!(null));
    let cases = [
        (r#"{"clusterConcurrency":0}"#, "422 VALIDATION clusterConcurrency:OUT_OF_RANGE"),
        (r#"{"clusterConcurrency":100001}"#, "422 VALIDATION clusterConcurrency:OUT_OF_RANGE"),
        (r#"{"clusterConcurrency":"many"}"#, "422 VALIDATION clusterConcurrency:WRONG_TYPE"),
        (r#"{"rateLimit":"often"}"#, "422 VALIDATION rateLimit:NOT_A_RATE"),
        (r#"{"concurrency":0}"#, "422 VALIDATION concurrency:OUT_OF_RANGE"),
        (r#"{"queueCapacity":20001}"#, "422 VALIDATION queueCapacity:OUT_OF_RANGE"),
        (r#"{"paused":"yes"}"#, "422 VALIDATION paused:WRONG_TYPE"),
        (r#"{"whenFull":"drop"}"#, "422 VALIDATION whenFull:UNKNOWN_WORD"),
        (r#"{"size":1}"#, "422 VALIDATION size:UNKNOWN_FIELD"),
    ];
    for (body, expect) in cases {
        assert_eq!(house.call("PUT", "/api/v1/pools/new", body).await.verdict(), expect, "{body}");
    }
}

#[tokio::test]
async fn handlers_nodes_and_health_are_told() {
    let house = house().await;
    let handlers = house.get("/api/v1/handlers").await.json();
    assert_eq!(handlers["items"][0]["name"], "test.done");
    let nodes = house.get("/api/v1/nodes").await.json();
    assert_eq!((nodes["items"].as_array().unwrap().len(), &nodes["items"][0]["state"]), (1, &json!("ACTIVE")));
    assert_eq!(house.get("/healthz").await.json(), json!({"status": "ok"}));
    let ready = house.get("/readyz").await;
    assert_eq!((ready.status.as_u16(), ready.json()["ready"].clone()), (200, json!(true)));
    house.engine.stop(std::time::Duration::from_secs(1)).await;
    let ready = house.get("/readyz").await;
    assert_eq!((ready.status.as_u16(), ready.json()["stopping"].clone()), (503, json!(true)));
    assert!(!ready.json()["problems"].as_array().unwrap().is_empty());
    let late = house.post("/api/v1/jobs", r#"{"task":"done"}"#).await;
    assert_eq!(late.verdict(), "503 STOPPING");
    assert!(late.headers.contains_key("retry-after"));
}
