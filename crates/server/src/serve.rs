//! Connections: as many as fit, none that waits for ever, all ended in order.
//!
//! `axum::serve` has no limit for the head of a request, so a client that sends one byte a minute would hold its
//! connection for ever; hence hyper directly.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::problem::Problem;
use crate::router;
use crate::stall::WithWriteLimit;
use crate::state::AppState;

/// After an error that the next accept would likely meet again (no file descriptors).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// For saying "busy" to one connection too many.
const BUSY_LIMIT: Duration = Duration::from_secs(1);

/// Answers until `shutdown`; then no new connection is taken, streams end, and requests that are being answered have
/// `settings.drain_limit` to end.
pub async fn serve(listener: TcpListener, state: AppState, shutdown: CancellationToken) -> io::Result<()> {
    let connections = TaskTracker::new();
    let hurry = CancellationToken::new();
    let room = Arc::new(Semaphore::new(state.settings.connections_max));
    let app = router(state.clone());
    let clock = Arc::clone(state.engine.clock());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            clock.sleep(ACCEPT_PAUSE).await;
            continue;
        };
        match Arc::clone(&room).try_acquire_owned() {
            Ok(permit) => {
                let connection = Connection { app: app.clone(), state: state.clone(), permit };
                connections.spawn(connection.run(stream, shutdown.clone(), hurry.clone()));
            }
            Err(_) => {
                connections.spawn(turn_away(stream));
            }
        }
    }
    drop(listener);
    state.shared.closing.cancel();
    connections.close();
    if timeout(state.settings.drain_limit, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections are cut: they did not end in time");
        hurry.cancel();
        connections.wait().await;
    }
    let pressed = &state.shared.pressed;
    pressed.close();
    if timeout(state.settings.drain_limit, pressed.wait()).await.is_err() {
        tracing::warn!(operations = pressed.len(), "operations are given up: they did not end in time");
    }
    Ok(())
}

struct Connection {
    app: Router,
    state: AppState,
    permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream, shutdown: CancellationToken, hurry: CancellationToken) {
        // Without it a small answer can wait for the acknowledgement of the one before.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection is gone before its first request");
        }
        let clock = Arc::clone(self.state.engine.clock());
        let stream = WithWriteLimit::new(stream, clock, self.state.settings.write_stall);
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.state.settings.header_timeout);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(self.app));
        let mut connection = std::pin::pin!(connection);
        // What goes wrong on a connection is its client's affair.
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = shutdown.cancelled() => None,
        };
        if ended.is_none() {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                _ = connection => {}
                () = hurry.cancelled() => {}
            }
        }
        drop(self.permit);
    }
}

/// Written by hand, for the request is not even read.
async fn turn_away(mut stream: TcpStream) {
    let problem = Problem::own("RATE_LIMITED", "too many connections at one time");
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let answer = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let said = timeout(BUSY_LIMIT, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    });
    if !matches!(said.await, Ok(Ok(()))) {
        tracing::debug!("one connection too many did not listen");
    }
}
