//! The life of jobs as a client sees it.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::house::{House, house};

#[tokio::test]
async fn a_job_runs_and_shows_what_became_of_it() {
    let house = house().await;
    let payload = r#"{"zebra": 1.0, "apple": [true, "\u00e9"]}"#;
    let answer = house.post("/api/v1/jobs", format!(r#"{{"task":"done","bizId":"k","payload":{payload}}}"#)).await;
    assert_eq!(answer.status, 201);
    let receipt = answer.json();
    assert_eq!(
        (&receipt["task"], &receipt["bizId"], &receipt["duplicate"]),
        (&json!("done"), &json!("k"), &json!(false))
    );
    assert!(receipt.get("payloadDiffers").is_none());
    let id = receipt["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.headers["location"], format!("/api/v1/jobs/{id}").as_str());

    let job = house.until_status(&id, "SUCCESS").await;
    assert_eq!(
        (&job["resultSummary"], &job["taskName"], &job["trigger"]),
        (&json!("fine"), &json!("done"), &json!("SUBMIT"))
    );
    assert_eq!((&job["waitReason"], &job["allowedOperations"]), (&Value::Null, &json!([])));
    assert_eq!(job["deniedOperations"]["retry"], "SUCCEEDED");
    let instant = job["createTime"].as_str().unwrap();
    assert!(instant.ends_with('Z') && instant.len() == "2026-12-01T08:30:00.000Z".len(), "{instant}");
    let raw = house.get(&format!("/api/v1/jobs/{id}")).await.text;
    assert!(raw.contains(payload), "the payload is passed through as it came: {raw}");

    let attempts = house.get(&format!("/api/v1/jobs/{id}/attempts")).await.json();
    let attempt = &attempts["items"][0];
    assert_eq!(
        (&attempt["status"], &attempt["attempt"], &attempt["jobId"]),
        (&json!("SUCCESS"), &json!(1), &json!(id))
    );
    let attempt_id = attempt["id"].as_str().unwrap();
    assert_eq!(house.get(&format!("/api/v1/attempts/{attempt_id}")).await.json(), *attempt);
    let of_task = house.get("/api/v1/tasks/done/attempts?limit=1").await.json();
    assert_eq!(of_task["items"][0], *attempt);
    let output = house.get(&format!("/api/v1/attempts/{attempt_id}/output")).await.json();
    assert_eq!((&output["status"], &output["items"][0]["text"]), (&json!("SUCCESS"), &json!("hello")));
}

#[tokio::test]
async fn the_same_key_answers_the_first_job() {
    let house = house().await;
    let first = house.submit(r#"{"task":"waiting","bizId":"k","payload":1}"#).await;
    let check = |body: &'static str, differs: Value| {
        let (house, first) = (&house, &first);
        async move {
            let again = house.post("/api/v1/jobs", body).await;
            let seen = again.json();
            assert_eq!(again.status, 200, "{seen}");
            assert_eq!((&seen["id"], &seen["duplicate"]), (&json!(first), &json!(true)));
            assert_eq!(seen.get("payloadDiffers").cloned().unwrap_or(json!(false)), differs);
        }
    };
    check(r#"{"task":"waiting","bizId":"k","payload":1}"#, json!(false)).await;
    check(r#"{"task":"waiting","bizId":"k","payload":2}"#, json!(true)).await;
}

#[tokio::test]
async fn lists_go_on_where_they_ended() {
    let house = house().await;
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(house.submit(&format!(r#"{{"task":"done","delay":"1h","bizId":"n{number}","payload":[1]}}"#)).await);
    }
    ids.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = house.get(&format!("/api/v1/jobs?task=done&limit=3{cursor}")).await.json();
        for job in page["items"].as_array().unwrap() {
            assert_eq!((&job["waitReason"], job.get("payload")), (&json!("NOT_DUE"), None));
            seen.push(job["id"].as_str().unwrap().to_owned());
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ids);
    let by_key = house.get("/api/v1/jobs?bizId=n3&task=done").await.json();
    assert_eq!(by_key["items"].as_array().unwrap().len(), 1);
}

/// One job in every state that can be reached here.
async fn jobs_in_every_state(house: &House) -> Vec<(&'static str, String)> {
    let waiting = house.submit(r#"{"task":"waiting"}"#).await;
    let delayed = house.submit(r#"{"task":"done","delay":"1h"}"#).await;
    let running = house.submit(r#"{"task":"held"}"#).await;
    let success = house.submit(r#"{"task":"done"}"#).await;
    let failed = house.submit(r#"{"task":"failing"}"#).await;
    let cancelled = house.submit(r#"{"task":"done","delay":"1h"}"#).await;
    house.post(&format!("/api/v1/jobs/{cancelled}/cancel"), "").await;
    house.until_status(&running, "EXECUTING").await;
    house.until_status(&success, "SUCCESS").await;
    house.until_status(&failed, "FAILED").await;
    house.until_status(&cancelled, "CANCELLED").await;
    vec![
        ("waiting", waiting),
        ("delayed", delayed),
        ("running", running),
        ("success", success),
        ("failed", failed),
        ("cancelled", cancelled),
    ]
}

#[tokio::test]
async fn an_operation_is_accepted_exactly_when_it_is_listed() {
    for operation in ["retry", "cancel", "fail", "release"] {
        let house = house().await;
        for (state, id) in jobs_in_every_state(&house).await {
            let before = house.get(&format!("/api/v1/jobs/{id}")).await.json();
            let allowed = before["allowedOperations"].as_array().unwrap().contains(&json!(operation));
            let denied = before["deniedOperations"][operation].is_string();
            assert_ne!(allowed, denied, "{state} {operation}: {before}");
            let answer = house.post(&format!("/api/v1/jobs/{id}/{operation}"), "").await;
            let expect = if allowed { "200" } else { "409 OPERATION_NOT_ALLOWED" };
            assert_eq!(answer.verdict(), expect, "{state} {operation}");
            let problem = answer.json();
            if allowed {
                assert_eq!(problem["id"], before["id"], "{state} {operation}");
            } else {
                assert_eq!(problem["allowedOperations"], before["allowedOperations"], "{state} {operation}");
                assert_eq!(problem["deniedOperations"], before["deniedOperations"], "{state} {operation}");
            }
        }
    }
}

#[tokio::test]
async fn an_operation_with_a_request_id_is_carried_out_once() {
    let house = house().await;
    let id = house.submit(r#"{"task":"done","delay":"1h"}"#).await;
    let path = format!("/api/v1/jobs/{id}/cancel");
    let first = house.post(&path, r#"{"requestId":"press-1"}"#).await.json();
    assert_eq!((&first["status"], &first["duplicate"]), (&json!("CANCELLED"), &json!(false)));
    let second = house.post(&path, r#"{"requestId":"press-1"}"#).await.json();
    assert_eq!((&second["status"], &second["duplicate"]), (&json!("CANCELLED"), &json!(true)));
    let other = house.post(&path, r#"{"requestId":"press-2"}"#).await;
    assert_eq!(other.verdict(), "409 OPERATION_NOT_ALLOWED");
    let header = Request::post(&path).header("idempotency-key", "press-1").body(Body::empty()).unwrap();
    assert_eq!(house.send(header).await.json()["duplicate"], true);
    let both = Request::post(&path).header("idempotency-key", "x").header("content-type", "application/json");
    let both = both.body(Body::from(r#"{"requestId":"y"}"#)).unwrap();
    assert_eq!(house.send(both).await.verdict(), "422 VALIDATION requestId:CONTRADICTION");
}

#[tokio::test]
async fn simultaneous_presses_of_one_request_have_one_effect() {
    let house = house().await;
    let id = house.submit(r#"{"task":"done","delay":"1h"}"#).await;
    let path = format!("/api/v1/jobs/{id}/cancel");
    let presses = (0..8).map(|_| house.post(&path, r#"{"requestId":"press"}"#));
    let answers = futures_util::future::join_all(presses).await;
    let repeats = answers.iter().filter(|answer| answer.json()["duplicate"] == true).count();
    assert!(answers.iter().all(|answer| answer.json()["status"] == "CANCELLED"), "{answers:?}");
    assert_eq!(repeats, 7);
}

#[tokio::test]
async fn a_press_that_was_refused_is_not_taken_for_done() {
    let house = house().await;
    let id = house.submit(r#"{"task":"failing"}"#).await;
    house.until_status(&id, "FAILED").await;
    let cancel = format!("/api/v1/jobs/{id}/cancel");
    for _ in 0..2 {
        assert_eq!(house.post(&cancel, r#"{"requestId":"p"}"#).await.verdict(), "409 OPERATION_NOT_ALLOWED");
    }
}

#[tokio::test]
async fn every_attempt_of_a_job_can_be_reached() {
    let house = house().await;
    let id = house.submit(r#"{"task":"failing"}"#).await;
    for _ in 0..2 {
        house.until_status(&id, "FAILED").await;
        assert_eq!(house.post(&format!("/api/v1/jobs/{id}/retry"), "").await.verdict(), "200");
    }
    house.until_status(&id, "FAILED").await;
    let (mut fences, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = house.get(&format!("/api/v1/jobs/{id}/attempts?limit=2{cursor}")).await.json();
        fences.extend(page["items"].as_array().unwrap().iter().map(|attempt| attempt["fence"].as_i64().unwrap()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((fences.len(), fences.is_sorted_by(|newer, older| newer > older)), (3, true), "{fences:?}");
    assert_eq!(house.get("/api/v1/jobs/17/attempts").await.verdict(), "404 JOB_NOT_FOUND");
}

#[tokio::test]
async fn dead_jobs_are_listed_with_their_cause() {
    let house = house().await;
    let id = house.submit(r#"{"task":"failing"}"#).await;
    house.until_status(&id, "FAILED").await;
    let dead = house.get("/api/v1/dead-jobs?task=failing").await.json();
    assert_eq!((&dead["items"][0]["id"], &dead["items"][0]["cause"]), (&json!(id), &json!("FAILED_FOR_GOOD")));
    assert_eq!(house.get("/api/v1/dead-jobs?task=done").await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_full_pool_that_rejects_says_when_to_come_back() {
    let house = house().await;
    let narrow = r#"{"concurrency":1,"queueCapacity":1,"whenFull":"reject"}"#;
    assert_eq!(house.call("PUT", "/api/v1/pools/narrow", narrow).await.verdict(), "200");
    let task = r#"{"code":"queued","handler":"test.held","pool":"narrow"}"#;
    assert_eq!(house.post("/api/v1/tasks", task).await.verdict(), "201");
    let running = house.submit(r#"{"task":"queued"}"#).await;
    house.until_status(&running, "EXECUTING").await;
    house.submit(r#"{"task":"queued"}"#).await;
    let answer = house.post("/api/v1/jobs", r#"{"task":"queued"}"#).await;
    assert_eq!(answer.verdict(), "429 BACKLOG_FULL");
    assert!(answer.headers.contains_key("retry-after"));
}

fn short(item: &Value) -> String {
    match item.get("error") {
        Some(error) => {
            let fields = error["errors"].as_array().cloned().unwrap_or_default();
            let first =
                fields.first().map(|field| format!(" {}", field["field"].as_str().unwrap())).unwrap_or_default();
            format!("{}{first}", error["code"].as_str().unwrap())
        }
        None => format!("stored {}", item["duplicate"]),
    }
}

#[tokio::test]
async fn one_bad_item_never_stops_the_others() {
    let house = house().await;
    let jobs = [
        r#"{"task":"done"}"#,
        r#"{"task":"unknown"}"#,
        r#"{"task":"done","taks":1}"#,
        "7",
        r#"{"task":"done","bizId":"same"}"#,
        r#"{"task":"done","bizId":"same"}"#,
        r#"{"task":"done","payload":"\u0000"}"#,
        r#"{"task":"done"}"#,
    ];
    let expect = [
        "stored false",
        "TASK_NOT_FOUND",
        "VALIDATION taks",
        "VALIDATION body",
        "stored false",
        "stored true",
        "VALIDATION payload",
        "stored false",
    ];
    let answer = house.post("/api/v1/jobs/batch", format!(r#"{{"jobs":[{}]}}"#, jobs.join(","))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen: Vec<String> = answer.json()["items"].as_array().unwrap().iter().map(short).collect();
    assert_eq!(seen, expect);

    let lines = format!("{}\n\n{{not json\r\n{}", jobs.join("\n").replace("same", "other"), jobs[0]);
    let request = Request::post("/api/v1/jobs/batch").header("content-type", "application/x-ndjson");
    let answer = house.send(request.body(Body::from(lines)).unwrap()).await;
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    let seen: Vec<String> = answer.text.lines().map(|line| short(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(seen, [&expect[..], &["VALIDATION body", "stored false"]].concat());
}

#[tokio::test]
async fn batches_are_bounded() {
    let house = house().await;
    let of = |count: usize| format!(r#"{{"jobs":[{}]}}"#, vec![r#"{"task":"done","delay":"1h"}"#; count].join(","));
    let full = house.post("/api/v1/jobs/batch", of(10_000)).await;
    assert_eq!(full.json()["items"].as_array().unwrap().len(), 10_000);
    assert!(full.json()["items"].as_array().unwrap().iter().all(|item| item["id"].is_string()));
    let cases: Vec<(String, &str)> = vec![
        (of(0), "200"),
        (of(10_001), "422 VALIDATION jobs:TOO_MANY"),
        (r#"{"jobs":{}}"#.into(), "422 VALIDATION jobs:WRONG_TYPE"),
        (r#"{"job":[]}"#.into(), "422 VALIDATION jobs:REQUIRED job:UNKNOWN_FIELD"),
        (format!("{{\"jobs\":[\"{}\"]}}", "x".repeat(17 << 20)), "413 PAYLOAD_TOO_LARGE"),
        (format!("{{\"jobs\":[{}", "[".repeat(1 << 20)), "422 VALIDATION body:NOT_JSON"),
    ];
    for (body, expect) in cases {
        let shown = mainspring_model::text::excerpt(&body, 60);
        assert_eq!(house.post("/api/v1/jobs/batch", body).await.verdict(), expect, "{shown}");
    }
}

#[tokio::test]
async fn a_stream_of_lines_is_stored_as_it_comes() {
    let house = house().await;
    let lines = vec![r#"{"task":"done","delay":"1h"}"#; 25_000].join("\n");
    let pieces: Vec<Result<String, std::io::Error>> =
        lines.as_bytes().chunks(1_000).map(|piece| Ok(String::from_utf8(piece.to_vec()).unwrap())).collect();
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let request = Request::post("/api/v1/jobs/batch").header("content-type", "application/x-ndjson");
    let answer = house.send(request.body(body).unwrap()).await;
    assert_eq!(answer.text.lines().count(), 25_000);
    assert!(answer.text.lines().all(|line| line.contains("\"duplicate\":false")));

    // A line that is too long ends the stream; what came before it is stored and told.
    let long = format!("{}\n{}", r#"{"task":"done"}"#, "x".repeat(3 << 20));
    let request = Request::post("/api/v1/jobs/batch").header("content-type", "application/x-ndjson");
    let answer = house.send(request.body(Body::from(long)).unwrap()).await;
    let seen: Vec<String> = answer.text.lines().map(|line| short(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(seen, ["stored false", "PAYLOAD_TOO_LARGE"]);
}

#[tokio::test]
async fn a_followed_output_ends_with_its_attempt() {
    let house = house().await;
    let id = house.submit(r#"{"task":"held"}"#).await;
    house.until_status(&id, "EXECUTING").await;
    let attempts = house.get(&format!("/api/v1/jobs/{id}/attempts")).await.json();
    let attempt = attempts["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/attempts/{attempt}/output?follow=true");
    let follow = house.get(&path);
    house.gate.add_permits(1);
    let answer = follow.await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let events: Vec<&str> = answer.text.lines().filter(|line| line.starts_with("event:")).collect();
    assert_eq!(events.last(), Some(&"event: end"), "{}", answer.text);
    assert!(answer.text.contains("body 1") && answer.text.contains("let go"), "{}", answer.text);
    assert!(answer.text.contains(r#"data: {"status":"SUCCESS"}"#), "{}", answer.text);
    let resumed = Request::get(&path).header("last-event-id", "0").body(Body::empty()).unwrap();
    assert!(!house.send(resumed).await.text.contains("id: 0"), "what was seen is not sent again");
}
