//! Pages of other sites, foreign names, panics, slow answers.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::middleware::from_fn_with_state;
use mainspring_server::{Hosts, Settings};
use tower::ServiceExt;

use crate::house::{house, house_with};

#[tokio::test]
async fn only_programs_and_our_own_pages_change_anything() {
    let house = house().await;
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "201"),
        (&[("host", "127.0.0.1:8700")], "201"),
        (&[("host", "localhost:8700"), ("origin", "http://localhost:8700")], "201"),
        (&[("host", "[::1]:8700"), ("sec-fetch-site", "same-origin")], "201"),
        (&[("host", "localhost:8700"), ("origin", "http://evil.example")], "403 FORBIDDEN_ORIGIN"),
        (&[("host", "localhost:8700"), ("origin", "http://localhost:9999")], "403 FORBIDDEN_ORIGIN"),
        (&[("host", "localhost:8700"), ("origin", "null")], "403 FORBIDDEN_ORIGIN"),
        (&[("host", "localhost:8700"), ("sec-fetch-site", "cross-site")], "403 FORBIDDEN_ORIGIN"),
        (&[("host", "localhost:8700"), ("sec-fetch-site", "same-site")], "403 FORBIDDEN_ORIGIN"),
        (&[("host", "rebound.example:8700")], "403 FORBIDDEN_HOST"),
        (&[("host", "127.0.0.1.rebound.example")], "403 FORBIDDEN_HOST"),
        (&[("host", "rebound.example"), ("origin", "http://rebound.example")], "403 FORBIDDEN_HOST"),
    ];
    for (headers, expect) in cases {
        let mut request = Request::post("/api/v1/jobs").header("content-type", "application/json");
        for (name, value) in *headers {
            request = request.header(*name, *value);
        }
        let answer = house.send(request.body(Body::from(r#"{"task":"done"}"#)).unwrap()).await;
        assert_eq!(answer.verdict(), *expect, "{headers:?}");
    }
    let read = Request::get("/api/v1/jobs").header("host", "rebound.example").body(Body::empty()).unwrap();
    assert_eq!(house.send(read).await.verdict(), "403 FORBIDDEN_HOST", "reading under a foreign name is refused too");
}

#[tokio::test]
async fn a_server_for_all_names_still_refuses_foreign_pages() {
    let house = house_with(Settings { hosts: Hosts::Any, ..Settings::default() }).await;
    let own = Request::get("/api/v1/pools").header("host", "jobs.example").body(Body::empty()).unwrap();
    assert_eq!(house.send(own).await.verdict(), "200");
    let foreign = Request::post("/api/v1/tasks/done/trigger").header("host", "jobs.example");
    let foreign = foreign.header("origin", "https://evil.example").body(Body::empty()).unwrap();
    assert_eq!(house.send(foreign).await.verdict(), "403 FORBIDDEN_ORIGIN");
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let house = house().await;
    for path in ["/api/v1/jobs", "/nowhere", "/healthz", "/openapi.json", "/docs", "/docs/style.css", "/api/v1/jobs/1"]
    {
        let answer = house.get(path).await;
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control-")), "{path}");
    }
}

#[tokio::test]
async fn a_panic_is_a_problem_with_an_id() {
    let house = house().await;
    async fn broken() -> &'static str {
        panic!("secret detail")
    }
    let router = axum::Router::new()
        .route("/broken", axum::routing::get(broken))
        .layer(from_fn_with_state(house.state.clone(), mainspring_server::guard));
    let response = router.oneshot(Request::get("/broken").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 500);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let problem: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(problem["code"], "INTERNAL");
    assert!(problem["id"].is_string() && !problem.to_string().contains("secret"), "{problem}");
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let house = house_with(Settings { request_timeout: Duration::from_millis(20), ..Settings::default() }).await;
    let never = Body::from_stream(futures_util::stream::pending::<Result<String, std::io::Error>>());
    let request = Request::post("/api/v1/jobs").header("content-type", "application/json").body(never).unwrap();
    let answer = house.send(request).await;
    assert_eq!(answer.verdict(), "503 TIMED_OUT");
    assert!(answer.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn the_caller_may_name_itself() {
    let house = house().await;
    let id = house.submit(r#"{"task":"done","delay":"1h"}"#).await;
    let name = "Ann\u{e9}".repeat(40);
    let request = Request::post(format!("/api/v1/jobs/{id}/fail")).header("x-requested-by", name.as_bytes());
    let job = house.send(request.body(Body::empty()).unwrap()).await.json();
    let error = job["errorMsg"].as_str().unwrap_or_default();
    assert!(error.contains("local/Ann") && error.chars().count() < 120, "{error}");
}
