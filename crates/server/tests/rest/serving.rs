//! Real connections.

use std::net::SocketAddr;
use std::time::Duration;

use mainspring_server::{Settings, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::house::{House, house_with};

struct Served {
    house: House,
    address: SocketAddr,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

async fn served(settings: Settings) -> Served {
    let house = house_with(settings).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (shutdown, tasks) = (CancellationToken::new(), TaskTracker::new());
    let serving = serve(listener, house.state.clone(), shutdown.clone());
    tasks.spawn(async move { serving.await.unwrap() });
    tasks.close();
    Served { house, address, shutdown, tasks }
}

impl Served {
    /// Sends these bytes on a connection of its own and reads to its end.
    async fn raw(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.tasks.wait()).await.expect("serve ends");
        drop(self.house);
    }
}

const SHORT: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_connection_is_answered_and_the_stop_ends_all() {
    let served = served(Settings::default()).await;
    assert!(served.raw(SHORT).await.starts_with("HTTP/1.1 200 OK"));
    let body = r#"{"task":"done"}"#;
    let length = body.len();
    let post = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    assert!(served.raw(&post).await.starts_with("HTTP/1.1 201 Created"));
    let rebound = "GET /api/v1/jobs HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n";
    assert!(served.raw(rebound).await.contains("FORBIDDEN_HOST"));
    let idle = TcpStream::connect(served.address).await.unwrap();
    served.stop().await;
    drop(idle);
}

#[tokio::test]
async fn a_client_that_never_ends_its_head_is_cut_off() {
    let served = served(Settings { header_timeout: Duration::from_millis(50), ..Settings::default() }).await;
    let answer = served.raw("GET /healthz HTTP/1.1\r\nhost: local").await;
    assert!(!answer.contains("200"), "{answer}");
    served.stop().await;
}

#[tokio::test]
async fn one_connection_too_many_hears_so() {
    let served = served(Settings { connections_max: 1, ..Settings::default() }).await;
    let mut first = TcpStream::connect(served.address).await.unwrap();
    first.write_all(SHORT.replace("connection: close\r\n", "").as_bytes()).await.unwrap();
    let mut begin = [0_u8; 12];
    first.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    let answer = served.raw("").await;
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 1"), "{answer}");
    drop(first);
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_gives_its_place_back() {
    let settings = Settings { write_stall: Duration::from_millis(50), connections_max: 1, ..Settings::default() };
    let served = served(settings).await;
    let mut deaf = TcpStream::connect(served.address).await.unwrap();
    let asked = SHORT.replace("/healthz", "/openapi.json").replace("connection: close\r\n", "").repeat(200);
    deaf.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    for _ in 0..200 {
        answer = served.raw(SHORT).await;
        if answer.starts_with("HTTP/1.1 200") {
            break;
        }
        served.house.engine.clock().sleep(Duration::from_millis(20)).await;
    }
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    served.stop().await;
    drop(deaf);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever_for_a_request() {
    let settings = Settings { drain_limit: Duration::from_millis(100), ..Settings::default() };
    let served = served(settings).await;
    let mut stuck = TcpStream::connect(served.address).await.unwrap();
    let head =
        "POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    stuck.write_all(head.as_bytes()).await.unwrap();
    served.house.get("/healthz").await;
    served.stop().await;
}

#[tokio::test]
async fn a_follower_ends_when_the_server_stops() {
    let served = served(Settings::default()).await;
    let id = served.house.submit(r#"{"task":"held"}"#).await;
    served.house.until_status(&id, "EXECUTING").await;
    let attempts = served.house.get(&format!("/api/v1/jobs/{id}/attempts")).await.json();
    let attempt = attempts["items"][0]["id"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = format!("GET /api/v1/attempts/{attempt}/output?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begin = [0_u8; 15];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    served.stop().await;
}
