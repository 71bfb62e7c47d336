//! The `http` handler against a server that answers with fixed bytes, or with nothing.

#![expect(clippy::disallowed_methods, reason = "a real server for the length of one test")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mainspring_engine::execute::egress::Egress;
use mainspring_engine::execute::http::HttpHandler;
use mainspring_engine::execute::process::JobFacts;
use mainspring_model::{Shard, Verdict, Wait};
use mainspring_store::clock::ManualClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

enum Answer {
    Bytes(Vec<u8>),
    Silence,
}

struct Witness {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

async fn witness(answer: Answer) -> Witness {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let port = listener.local_addr().expect("bound").port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut bytes = vec![0; 64 * 1024];
            let count = connection.read(&mut bytes).await.unwrap_or(0);
            seen.lock().expect("no panic").push(String::from_utf8_lossy(&bytes[..count]).into_owned());
            match &answer {
                Answer::Bytes(answer) => connection.write_all(answer).await.unwrap_or(()),
                Answer::Silence => std::future::pending().await,
            }
        }
    });
    Witness { port, requests }
}

fn handler(allow: &[&str]) -> HttpHandler {
    rustls::crypto::ring::default_provider().install_default().ok();
    let clock = ManualClock::at("2026-12-01T08:00:00Z".parse().expect("a time"));
    HttpHandler::new(Egress::new(allow.iter().map(|text| text.parse().expect("an entry")).collect()), clock)
        .expect("a client")
}

fn facts(payload: String) -> JobFacts {
    JobFacts {
        task: "call".to_owned(),
        job_id: "77".to_owned(),
        attempt: 2,
        fence: 5,
        biz_id: Some("order 42".to_owned()),
        fire_time: Some("2026-12-01T08:00:00.000Z".to_owned()),
        shard: Some(Shard { index: 1, total: 3 }),
        payload,
    }
}

async fn call(answer: &str, more: &str) -> Verdict {
    let witness = witness(Answer::Bytes(answer.replace('\n', "\r\n").into_bytes())).await;
    let payload = format!(r#"{{"url": "http://127.0.0.1:{}/x?secret=1"{more}}}"#, witness.port);
    handler(&["127.0.0.1"]).call(&facts(payload)).await
}

fn retry_after(error: &str, seconds: u64) -> Verdict {
    Verdict::Retry { error: error.to_owned(), not_before: Some(Wait::For(Duration::from_secs(seconds))) }
}

#[tokio::test]
async fn a_status_means_a_verdict() {
    let check = async |answer: &str, more: &str, expect: Verdict| {
        let verdict = call(answer, more).await;
        assert_eq!(verdict, expect, "{answer} {more}");
    };
    check("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "", Verdict::done_with("hi")).await;
    check("HTTP/1.1 204 No Content\n\n", "", Verdict::done()).await;
    check("HTTP/1.1 404 Not Found\nContent-Length: 4\n\nnope", "", Verdict::fail("answered 404 Not Found: nope")).await;
    check("HTTP/1.1 404 Not Found\nContent-Length: 0\n\n", r#", "expect": [404]"#, Verdict::done()).await;
    check("HTTP/1.1 410 Gone\nContent-Length: 0\n\n", r#", "expect": ["200-299", "410..419"]"#, Verdict::done()).await;
    check("HTTP/1.1 204 No Content\n\n", r#", "expect": [200]"#, Verdict::fail("answered 204 No Content")).await;
    let server_error = "HTTP/1.1 500 Internal Server Error\nContent-Length: 4\n\noops";
    check(server_error, "", Verdict::retry("answered 500 Internal Server Error: oops")).await;
    check("HTTP/1.1 408 Request Timeout\n\n", "", Verdict::retry("answered 408 Request Timeout")).await;
    check("HTTP/1.1 425 Too Early\n\n", "", Verdict::retry("answered 425 Too Early")).await;
    let moved = "HTTP/1.1 302 Found\nLocation: http://169.254.169.254/\nContent-Length: 0\n\n";
    check(moved, "", Verdict::fail("answered 302 Found to http://169.254.169.254/: redirects are not followed")).await;
}

#[tokio::test]
async fn a_server_that_asks_for_time_gets_it_within_reason() {
    let check = async |value: &str, expect: Option<u64>| {
        let answer = format!("HTTP/1.1 429 Too Many Requests\nRetry-After: {value}\nContent-Length: 0\n\n");
        let error = "answered 429 Too Many Requests";
        assert_eq!(call(&answer, "").await, expect.map_or(Verdict::retry(error), |s| retry_after(error, s)), "{value}");
    };
    check("7", Some(7)).await;
    check("86400", Some(3_600)).await;
    check("Tue, 01 Dec 2026 08:00:30 GMT", Some(30)).await;
    check("Tue, 01 Dec 2026 07:00:00 GMT", Some(0)).await;
    check("Fri, 01 Jan 2027 00:00:00 GMT", Some(3_600)).await;
    check("soon", None).await;
    check("-5", None).await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_tried_again() {
    for answer in [
        "HTTP/1.1 200 OK\nContent-Length: 1000\n\nhalf",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n",
        "HTTP/1.1 200",
        "",
        "SSH-2.0-OpenSSH\n",
    ] {
        match call(answer, "").await {
            Verdict::Retry { error, .. } => assert!(!error.contains("secret"), "{error}"),
            other => panic!("{answer:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_and_one_that_is_not_there_are_tried_again() {
    let silent = witness(Answer::Silence).await;
    let start = Instant::now();
    let payload = format!(r#"{{"url": "http://127.0.0.1:{}/", "timeout": "200ms"}}"#, silent.port);
    assert!(matches!(handler(&["127.0.0.1"]).call(&facts(payload)).await, Verdict::Retry { .. }));
    assert!(start.elapsed() < Duration::from_secs(5));

    let port = TcpListener::bind("127.0.0.1:0").await.expect("binds").local_addr().expect("bound").port();
    let payload = format!(r#"{{"url": "http://127.0.0.1:{port}/"}}"#);
    assert!(matches!(handler(&["127.0.0.1"]).call(&facts(payload)).await, Verdict::Retry { .. }));
}

#[tokio::test]
async fn a_long_body_is_cut_and_not_fetched_to_its_end() {
    let answer = format!("HTTP/1.1 200 OK\nContent-Length: 3000000\n\n{}", "x".repeat(2_000_000));
    match call(&answer, "").await {
        Verdict::Done { result: Some(result) } => assert_eq!(result.chars().count(), 4_000),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_carries_its_attempt_and_its_key() {
    let witness = witness(Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec())).await;
    let payload = format!(
        r#"{{"url": "http://127.0.0.1:{}/x", "headers": {{"X-Team": "a"}}, "body": {{"n": 1}}}}"#,
        witness.port
    );
    assert_eq!(handler(&["127.0.0.1"]).call(&facts(payload)).await, Verdict::done());
    let request = witness.requests.lock().expect("no panic")[0].to_ascii_lowercase();
    for part in [
        "post /x http/1.1",
        "x-mainspring-job-id: 77",
        "x-mainspring-attempt: 2",
        "x-mainspring-fence: 5",
        "x-mainspring-shard-index: 1",
        "x-mainspring-shard-total: 3",
        "idempotency-key: order 42",
        "content-type: application/json",
        "x-team: a",
        "{\"n\":1}",
    ] {
        assert!(request.contains(part), "no {part} in {request}");
    }
}

#[tokio::test]
async fn nothing_leaves_for_an_address_that_is_not_allowed() {
    let witness = witness(Answer::Bytes(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())).await;
    for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1"] {
        let payload = format!(r#"{{"url": "http://{host}:{}/"}}"#, witness.port);
        match handler(&[]).call(&facts(payload)).await {
            Verdict::Fail { error } => assert!(error.contains("loopback"), "{host}: {error}"),
            other => panic!("{host}: {other:?}"),
        }
    }
    assert!(witness.requests.lock().expect("no panic").is_empty());
    // A name that leads here is open when its addresses are, or when it is named itself.
    for allow in [&["127.0.0.0/8", "::1"][..], &["localhost"]] {
        let payload = format!(r#"{{"url": "http://localhost:{}/"}}"#, witness.port);
        let verdict = handler(allow).call(&facts(payload)).await;
        assert!(!matches!(verdict, Verdict::Fail { .. }), "{allow:?}: {verdict:?}");
    }
}

#[tokio::test]
async fn a_payload_that_is_no_call_fails_for_good() {
    let check = async |payload: &str, expect: &str| match handler(&[]).call(&facts(payload.to_owned())).await {
        Verdict::Fail { error } => assert!(error.contains(expect), "{payload}: {error}"),
        other => panic!("{payload}: {other:?}"),
    };
    check("null", "is not a call").await;
    check("{}", "missing field `url`").await;
    check(r#"{"url": "http://8.8.8.8/", "verb": "GET"}"#, "unknown field `verb`").await;
    check(r#"{"url": "file:///etc/passwd"}"#, "not http").await;
    check(r#"{"url": "http://8.8.8.8/", "method": "TRACE"}"#, "not a method").await;
    check(r#"{"url": "http://8.8.8.8/", "expect": ["all"]}"#, "expect holds codes").await;
    check(r#"{"url": "http://8.8.8.8/", "headers": {"Host": "x"}}"#, "not the caller's").await;
    check(r#"{"url": "http://8.8.8.8/", "headers": {"a b": "x"}}"#, "not a header's name").await;
    check(r#"{"url": "http://8.8.8.8/", "headers": {"a": "x\r\nb: c"}}"#, "not a header's").await;
}
