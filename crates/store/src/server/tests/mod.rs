//! What only database servers can show. The servers are those that `MAINSPRING_TEST_POSTGRES` and `MAINSPRING_TEST_MYSQL`
//! name (URLs without a database); without them these tests do nothing.

mod cold;
mod opening;
mod sessions;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ServerStore;
use super::kind::Server;
use super::session::Session;
use crate::clock::SystemClock;

static DATABASES: AtomicU32 = AtomicU32::new(0);

/// One test on both servers, each with a fresh database.
async fn on_each(test: impl AsyncFn(&str)) {
    for name in ["MAINSPRING_TEST_POSTGRES", "MAINSPRING_TEST_MYSQL"] {
        if let Ok(base) = std::env::var(name) {
            test(&fresh(&base).await).await;
        }
    }
}

/// The URL of a database that nobody has seen.
async fn fresh(base: &str) -> String {
    let name = format!("core_{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
    let base = base.trim_end_matches('/');
    let known = if base.starts_with("postgres") { "postgres" } else { "mysql" };
    let mut session = session(&format!("{base}/{known}")).await;
    session.command(&format!("DROP DATABASE IF EXISTS {name}")).await.expect("drops");
    session.command(&format!("CREATE DATABASE {name}")).await.expect("creates");
    format!("{base}/{name}")
}

/// A connection beside the store.
async fn session(url: &str) -> Session {
    let server = Server::parse(url).expect("a URL");
    server.connect(std::time::Duration::from_secs(10)).await.expect("connects")
}

async fn open(url: &str) -> Arc<ServerStore> {
    Arc::new(ServerStore::open(url, SystemClock::new()).await.expect("opens"))
}
