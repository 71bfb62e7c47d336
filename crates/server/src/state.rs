//! What the handlers of requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainspring_engine::Engine;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits;

#[derive(Debug, Clone)]
pub struct AppState {
    pub engine: Engine,
    pub settings: Arc<Settings>,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub hosts: Hosts,
    pub connections_max: usize,
    pub header_timeout: Duration,
    pub request_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_stall: Duration,
    /// How long a stop waits for requests that are being answered.
    pub drain_limit: Duration,
}

/// Under which names the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hosts {
    /// `localhost`, `127.0.0.0/8` and `[::1]`. While there are no accounts, a web page whose name was made to point
    /// here (DNS rebinding) must not get an answer.
    #[default]
    LoopbackOnly,
    Any,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hosts: Hosts::LoopbackOnly,
            connections_max: limits::CONNECTIONS_MAX,
            header_timeout: limits::HEADER_TIMEOUT,
            request_timeout: limits::REQUEST_TIMEOUT,
            write_stall: limits::WRITE_STALL,
            drain_limit: limits::DRAIN_LIMIT,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// Cancelled when the server stops: streams without an end of their own end then.
    pub(crate) closing: CancellationToken,
    pub(crate) followers: Arc<Semaphore>,
    /// Operations that people asked for: they go on to their end when their caller goes away.
    pub(crate) pressed: TaskTracker,
    bugs: AtomicU64,
}

impl AppState {
    pub fn new(engine: Engine, settings: Settings) -> AppState {
        let shared = Shared {
            closing: CancellationToken::new(),
            followers: Arc::new(Semaphore::new(limits::FOLLOWERS_MAX)),
            pressed: TaskTracker::new(),
            bugs: AtomicU64::new(0),
        };
        AppState { engine, settings: Arc::new(settings), shared: Arc::new(shared) }
    }

    /// Names one defect in the answer and in the log.
    pub(crate) fn next_bug_id(&self) -> String {
        let number = self.shared.bugs.fetch_add(1, Ordering::Relaxed);
        format!("{:x}-{number}", self.engine.clock().now().as_ms())
    }
}
