//! Request ids: an operation that is asked for twice is carried out once and answered twice.

use mainspring_model::JobId;
use mainspring_store::Press;
use serde_json::{Value, json};

use crate::house::{House, house, house_at};

/// Every operation that takes a request id, once it can be carried out: method, place, body.
async fn operations(house: &House) -> Vec<(&'static str, String, Value)> {
    let task = json!({"code": "t", "handler": "test.done", "type": "cron", "cronExpression": "@hourly"});
    assert_eq!(house.post("/api/v1/tasks", task.to_string()).await.status, 201);
    let jobs = [
        ("cancel", house.submit(r#"{"task":"done","delay":"1h"}"#).await),
        ("fail", house.submit(r#"{"task":"done","delay":"1h"}"#).await),
        ("retry", house.submit(r#"{"task":"done","delay":"1h"}"#).await),
    ];
    let mut all: Vec<(&str, String, Value)> =
        jobs.into_iter().map(|(verb, id)| ("POST", format!("jobs/{id}/{verb}"), json!({}))).collect();
    all.push(("POST", "tasks/done/trigger".to_owned(), json!({"param": 1e300})));
    let range = json!({"from": "2026-12-01T09:00:00Z", "to": "2026-12-01T10:00:00Z"});
    all.push(("POST", "tasks/t/backfill".to_owned(), range));
    all.push(("POST", "tasks/t/copy".to_owned(), json!({"code": "t2"})));
    all.push(("POST", "tasks/failing/disable".to_owned(), json!({})));
    all.push(("POST", "tasks/failing/enable".to_owned(), json!({})));
    all.push(("POST", "tasks/apply".to_owned(), json!({"tasks": [{"code": "new", "handler": "test.done"}]})));
    all.push(("DELETE", "tasks/t2".to_owned(), json!({})));
    let node = house.engine.health().await.node.incarnation;
    all.push(("POST", format!("nodes/{node}/drain"), json!({})));
    all
}

#[tokio::test]
async fn every_operation_answers_its_first_result_again() {
    let house = house_at("2026-12-01T12:00:00Z").await;
    for (number, (method, place, mut body)) in operations(&house).await.into_iter().enumerate() {
        body["requestId"] = json!(format!("r{number}"));
        let path = format!("/api/v1/{place}");
        let first = house.call(method, &path, body.to_string()).await;
        assert!(first.status.is_success(), "{place}: {first:?}");
        let again = house.call(method, &path, body.to_string()).await;
        if method == "DELETE" {
            assert_eq!(
                (first.status.as_u16(), again.status.as_u16(), again.text.as_str()),
                (204, 200, r#"{"duplicate":true}"#)
            );
        } else {
            let expect = first.text.replace(r#""duplicate":false"#, r#""duplicate":true"#);
            assert_eq!((again.status, &again.text), (first.status, &expect), "{place}");
            assert_ne!(first.text, expect, "{place}");
        }
        let other =
            house.post("/api/v1/tasks/waiting/disable", json!({"requestId": format!("r{number}")}).to_string()).await;
        assert_eq!(other.verdict(), "422 VALIDATION requestId:OTHER_OPERATION", "{place}");
    }
}

#[tokio::test]
async fn a_request_that_was_refused_can_be_sent_again() {
    let house = house().await;
    let enable = "/api/v1/tasks/done/enable";
    for _ in 0..2 {
        assert_eq!(house.post(enable, r#"{"requestId":"p"}"#).await.verdict(), "409 OPERATION_NOT_ALLOWED");
    }
    assert_eq!(house.post("/api/v1/tasks/done/disable", "").await.status, 200);
    assert_eq!(house.post(enable, r#"{"requestId":"p"}"#).await.json()["duplicate"], false);
    assert_eq!(house.post(enable, r#"{"requestId":"p"}"#).await.json()["duplicate"], true);
}

#[tokio::test]
async fn simultaneous_presses_have_one_effect_and_one_answer() {
    let house = house().await;
    let body = r#"{"requestId":"p","param":{"x":1}}"#;
    let presses = (0..8).map(|_| house.post("/api/v1/tasks/done/trigger", body));
    let answers = futures_util::future::join_all(presses).await;
    let ids: std::collections::BTreeSet<String> =
        answers.iter().map(|answer| answer.json()["job"]["id"].as_str().unwrap().to_owned()).collect();
    let repeats = answers.iter().filter(|answer| answer.json()["duplicate"] == true).count();
    assert_eq!((ids.len(), repeats), (1, 7), "{answers:?}");
}

#[tokio::test]
async fn a_request_whose_node_died_is_under_way_until_it_is_forgotten() {
    let house = house().await;
    let now = house.engine.clock().now();
    let press = |now| Press { request_id: "p".to_owned(), operation: "disable task done".to_owned(), now };
    house.engine.store().press(press(now)).await.unwrap();
    let answer = house.post("/api/v1/tasks/done/disable", r#"{"requestId":"p"}"#).await;
    assert_eq!(answer.verdict(), "409 REQUEST_UNDER_WAY");
    assert!(answer.headers.contains_key("retry-after"));
    // As if the first press had been long ago.
    house.engine.store().answer_press("p".to_owned(), None).await.unwrap();
    let kept = mainspring_model::limits::REQUEST_ID_KEPT_MS;
    house.engine.store().press(press(now.plus_ms(-kept - 1))).await.unwrap();
    assert_eq!(house.post("/api/v1/tasks/done/disable", r#"{"requestId":"p"}"#).await.json()["duplicate"], false);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_whole_answer() {
    let house = house().await;
    let body = r#"{"requestId":"p"}"#;
    let call = Box::pin(house.post("/api/v1/tasks/done/trigger", body));
    // Dropped at its first pause: the operation has begun and not ended.
    assert!(futures_util::FutureExt::now_or_never(call).is_none());
    let again = house.post("/api/v1/tasks/done/trigger", body).await.json();
    let id: JobId = again["job"]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(again["duplicate"], true);
    let jobs = house.get("/api/v1/jobs?task=done").await.json();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1, "{id}");
}

#[tokio::test]
async fn a_large_answer_is_kept_without_its_payload() {
    let house = house().await;
    let body = json!({"requestId": "p", "param": "x".repeat(100_000)}).to_string();
    let first = house.post("/api/v1/tasks/done/trigger", body.clone()).await.json();
    assert_eq!(first["job"]["payload"].as_str().map(str::len), Some(100_000));
    let again = house.post("/api/v1/tasks/done/trigger", body).await.json();
    assert_eq!((&again["job"]["id"], again["job"].get("payload")), (&first["job"]["id"], None));
}
