//! What is refused, and with which words.

use axum::body::Body;
use axum::http::Request;

use crate::house::house;

#[tokio::test]
async fn a_body_is_accepted_or_told_what_is_wrong_with_each_field() {
    let house = house().await;
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let cases: Vec<(String, &str)> = vec![
        (r#"{"task":"done"}"#.into(), "201"),
        (r#"{"task":"done","payload":{"a":[1,2,{"b":null}]},"priority":"high","maxRetry":0}"#.into(), "201"),
        (r#"{"task":"done","bizId":null,"payload":null,"delay":null}"#.into(), "201"),
        (r#"{"task":"done","executeTime":"1999-12-31T23:59:59Z"}"#.into(), "201"),
        (r#"{"task":"done","executeTime":"9999-12-30T00:00:00.000Z"}"#.into(), "201"),
        (r#"{"task":"done","executeTime":"2030-01-01T00:00:00+08:00"}"#.into(), "201"),
        (r#"{"task":"done","delay":"1h30m","bizId":"订单 42","unique":"LIVE"}"#.into(), "201"),
        (format!(r#"{{"task":"done","payload":{}}}"#, deep(64)), "201"),
        ("{}".into(), "422 VALIDATION task:REQUIRED"),
        ("".into(), "422 VALIDATION body:NOT_JSON"),
        ("{".into(), "422 VALIDATION body:NOT_JSON"),
        ("nope".into(), "422 VALIDATION body:NOT_JSON"),
        ("[]".into(), "422 VALIDATION body:NOT_AN_OBJECT"),
        ("null".into(), "422 VALIDATION body:NOT_AN_OBJECT"),
        (r#"{"task":"done"} {}"#.into(), "422 VALIDATION body:NOT_JSON"),
        (r#"{"task":"done","taks":1}"#.into(), "422 VALIDATION taks:UNKNOWN_FIELD"),
        (r#"{"task":"done","biz_id":"1"}"#.into(), "422 VALIDATION biz_id:UNKNOWN_FIELD"),
        (r#"{"task":7,"bizId":7}"#.into(), "422 VALIDATION task:WRONG_TYPE bizId:WRONG_TYPE"),
        (r#"{"task":"done","task":"done"}"#.into(), "422 VALIDATION task:REPEATED"),
        (r#"{"task":"done","maxRetry":"3"}"#.into(), "422 VALIDATION maxRetry:WRONG_TYPE"),
        (r#"{"task":"done","maxRetry":-1}"#.into(), "422 VALIDATION maxRetry:OUT_OF_RANGE"),
        (r#"{"task":"done","maxRetry":10001}"#.into(), "422 VALIDATION maxRetry:OUT_OF_RANGE"),
        (r#"{"task":"done","timeoutSeconds":0}"#.into(), "422 VALIDATION timeoutSeconds:OUT_OF_RANGE"),
        (r#"{"task":"done","priority":"urgent"}"#.into(), "422 VALIDATION priority:UNKNOWN_WORD"),
        (r#"{"task":"done","unique":"LIVE"}"#.into(), "422 VALIDATION unique:NEEDS_BIZ_ID"),
        (r#"{"task":"done","bizId":""}"#.into(), "422 VALIDATION bizId:REQUIRED"),
        (r#"{"task":"done","bizId":"a\u0000b"}"#.into(), "422 VALIDATION bizId:BAD_CHARACTER"),
        (r#"{"task":"a b"}"#.into(), "422 VALIDATION task:BAD_CHARACTER"),
        (format!(r#"{{"task":"{}"}}"#, "x".repeat(101)), "422 VALIDATION task:TOO_LONG"),
        (format!(r#"{{"task":"done","bizId":"{}"}}"#, "x".repeat(201)), "422 VALIDATION bizId:TOO_LONG"),
        (r#"{"task":"done","executeTime":"tomorrow"}"#.into(), "422 VALIDATION executeTime:NOT_A_TIME"),
        (r#"{"task":"done","executeTime":1700000000}"#.into(), "422 VALIDATION executeTime:WRONG_TYPE"),
        (r#"{"task":"done","executeTime":"+010000-01-01T00:00:00Z"}"#.into(), "422 VALIDATION executeTime:NOT_A_TIME"),
        (r#"{"task":"done","executeTime":"1969-12-31T23:59:59Z"}"#.into(), "422 VALIDATION executeTime:NOT_A_TIME"),
        (r#"{"task":"done","delay":"soon"}"#.into(), "422 VALIDATION delay:NOT_A_DURATION"),
        (r#"{"task":"done","delay":"-5s"}"#.into(), "422 VALIDATION delay:NOT_A_DURATION"),
        (r#"{"task":"done","delay":"9999999999d"}"#.into(), "422 VALIDATION delay:OUT_OF_RANGE"),
        (
            r#"{"task":"done","delay":"1s","executeTime":"2030-01-01T00:00:00Z"}"#.into(),
            "422 VALIDATION delay:CONTRADICTION",
        ),
        (r#"{"task":"done","payload":"\u0000"}"#.into(), "422 VALIDATION payload:NUL"),
        (format!(r#"{{"task":"done","payload":{}}}"#, deep(65)), "422 VALIDATION payload:TOO_DEEP"),
        (format!(r#"{{"task":"done","payload":{}}}"#, deep(300_000)), "422 VALIDATION payload:TOO_DEEP"),
        (format!(r#"{{"task":{}}}"#, deep(300_000)), "422 VALIDATION task:WRONG_TYPE"),
        (deep(300_000), "422 VALIDATION body:NOT_AN_OBJECT"),
        (format!(r#"{{"task":"done","payload":"{}"}}"#, "x".repeat(1024 * 1024)), "413 PAYLOAD_TOO_LARGE"),
        (format!(r#"{{"task":"done","payload":"{}"}}"#, "x".repeat(3 * 1024 * 1024)), "413 PAYLOAD_TOO_LARGE"),
        (r#"{"task":"unknown"}"#.into(), "404 TASK_NOT_FOUND"),
    ];
    for (body, expect) in cases {
        let shown = mainspring_model::text::excerpt(&body, 100);
        let answer = house.post("/api/v1/jobs", body).await;
        assert_eq!(answer.verdict(), expect, "{shown}");
    }
}

#[tokio::test]
async fn a_slip_is_answered_with_the_nearest_name() {
    let house = house().await;
    let answer = house.post("/api/v1/jobs", r#"{"task":"done","biz_id":"1"}"#).await;
    assert!(answer.text.contains("did you mean `bizId`?"), "{}", answer.text);
    let answer = house.get("/api/v1/jobs?limt=3").await;
    assert_eq!(answer.verdict(), "422 VALIDATION limt:UNKNOWN_PARAMETER");
    assert!(answer.text.contains("did you mean `limit`?"), "{}", answer.text);
}

#[tokio::test]
async fn only_json_in_utf8_is_read() {
    let house = house().await;
    const GOOD: &[u8] = br#"{"task":"done"}"#;
    type Case = (&'static [(&'static str, &'static str)], &'static [u8], &'static str);
    let cases: &[Case] = &[
        (&[("content-type", "application/json; charset=utf-8")], GOOD, "201"),
        (&[("content-type", "Application/JSON")], GOOD, "201"),
        (&[], GOOD, "415 UNSUPPORTED_MEDIA_TYPE"),
        (&[("content-type", "text/plain")], GOOD, "415 UNSUPPORTED_MEDIA_TYPE"),
        (&[("content-type", "application/x-www-form-urlencoded")], b"task=done", "415 UNSUPPORTED_MEDIA_TYPE"),
        (&[("content-type", "application/json; charset=latin1")], GOOD, "415 UNSUPPORTED_MEDIA_TYPE"),
        (&[("content-type", "application/json"), ("content-encoding", "gzip")], GOOD, "415 UNSUPPORTED_MEDIA_TYPE"),
        (&[("content-type", "application/json")], b"{\"task\":\"\xff\xfe\"}", "422 VALIDATION body:NOT_UTF8"),
    ];
    for (headers, body, expect) in cases {
        let mut request = Request::post("/api/v1/jobs");
        for (name, value) in *headers {
            request = request.header(*name, *value);
        }
        let answer = house.send(request.body(Body::from(body.to_vec())).unwrap()).await;
        assert_eq!(answer.verdict(), *expect, "{headers:?}");
    }
}

#[tokio::test]
async fn parameters_are_checked_like_fields() {
    let house = house().await;
    let cases = [
        ("/api/v1/jobs?task=done&status=PENDING&status=FAILED&limit=200", "200"),
        ("/api/v1/jobs?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00.000Z", "200"),
        ("/api/v1/jobs?status=done", "422 VALIDATION status:UNKNOWN_WORD"),
        ("/api/v1/jobs?limit=0", "422 VALIDATION limit:OUT_OF_RANGE"),
        ("/api/v1/jobs?limit=201", "422 VALIDATION limit:OUT_OF_RANGE"),
        ("/api/v1/jobs?limit=many", "422 VALIDATION limit:WRONG_TYPE"),
        ("/api/v1/jobs?limit=1&limit=2", "422 VALIDATION limit:REPEATED"),
        ("/api/v1/jobs?from=yesterday", "422 VALIDATION from:NOT_A_TIME"),
        ("/api/v1/jobs?cursor=%27%3B--", "422 VALIDATION cursor:NOT_A_CURSOR"),
        ("/api/v1/jobs?bizId=a%00b", "422 VALIDATION bizId:BAD_CHARACTER"),
        ("/api/v1/jobs?pool=default", "422 FILTER_NOT_INDEXED"),
        ("/api/v1/jobs/1?x=1", "422 VALIDATION x:UNKNOWN_PARAMETER"),
        ("/api/v1/tasks?sort=-createTime,name&size=200&page=4294967295", "200"),
        ("/api/v1/tasks?sort=password", "422 VALIDATION sort:UNKNOWN_WORD"),
        ("/api/v1/tasks?page=0", "422 VALIDATION page:OUT_OF_RANGE"),
        ("/api/v1/tasks?size=201", "422 VALIDATION size:OUT_OF_RANGE"),
        ("/api/v1/tasks?type=cron&status=RUNNING&pool=default&tag=x&q=%25_'", "200"),
        ("/api/v1/tasks?status=GONE", "422 VALIDATION status:UNKNOWN_WORD"),
        ("/api/v1/dead-jobs?task=a%20b", "422 VALIDATION task:BAD_CHARACTER"),
        ("/api/v1/attempts/1-1/output?follow=maybe", "422 VALIDATION follow:WRONG_TYPE"),
        ("/api/v1/pools?page=1", "422 VALIDATION page:UNKNOWN_PARAMETER"),
    ];
    for (path, expect) in cases {
        assert_eq!(house.get(path).await.verdict(), expect, "{path}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_missing() {
    let house = house().await;
    let cases = [
        ("GET", "/nowhere", "404 NOT_FOUND"),
        ("GET", "/api/v1", "404 NOT_FOUND"),
        ("GET", "/api/v2/jobs", "404 NOT_FOUND"),
        ("DELETE", "/api/v1/jobs", "405 METHOD_NOT_ALLOWED"),
        ("POST", "/healthz", "405 METHOD_NOT_ALLOWED"),
        ("GET", "/api/v1/jobs/1", "404 JOB_NOT_FOUND"),
        ("GET", "/api/v1/jobs/-1", "404 JOB_NOT_FOUND"),
        ("GET", "/api/v1/jobs/first", "404 JOB_NOT_FOUND"),
        ("GET", "/api/v1/jobs/99999999999999999999", "404 JOB_NOT_FOUND"),
        ("GET", "/api/v1/jobs/1/attempts", "404 JOB_NOT_FOUND"),
        ("POST", "/api/v1/jobs/1/retry", "404 JOB_NOT_FOUND"),
        ("GET", "/api/v1/tasks/unknown", "404 TASK_NOT_FOUND"),
        ("GET", "/api/v1/tasks/a%20b", "404 TASK_NOT_FOUND"),
        ("GET", "/api/v1/tasks/%00", "404 TASK_NOT_FOUND"),
        ("GET", "/api/v1/tasks/%ff", "404 NOT_FOUND"),
        ("GET", "/api/v1/tasks/unknown/attempts", "404 TASK_NOT_FOUND"),
        ("POST", "/api/v1/tasks/unknown/trigger", "404 TASK_NOT_FOUND"),
        ("POST", "/api/v1/tasks/unknown/enable", "404 TASK_NOT_FOUND"),
        ("DELETE", "/api/v1/tasks/unknown", "404 TASK_NOT_FOUND"),
        ("GET", "/api/v1/attempts/1-1", "404 ATTEMPT_NOT_FOUND"),
        ("GET", "/api/v1/attempts/one", "404 ATTEMPT_NOT_FOUND"),
        ("GET", "/api/v1/attempts/1-1/output", "404 ATTEMPT_NOT_FOUND"),
        ("GET", "/api/v1/pools/unknown", "404 POOL_NOT_FOUND"),
    ];
    for (method, path, expect) in cases {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let answer = house.send(request).await;
        assert_eq!(answer.verdict(), expect, "{method} {path}");
    }
    let answer = house.send(Request::delete("/api/v1/jobs").body(Body::empty()).unwrap()).await;
    assert!(answer.headers.contains_key("allow"), "{answer:?}");
}
