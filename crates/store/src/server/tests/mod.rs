//! What only database servers can show.

mod cold;
mod crowds;
mod dropping;
mod faults;
mod large;
mod moving;
mod opening;
mod partitions;
mod plans;
mod pruning;
mod renewal;
mod sessions;
mod submit_sql;
mod suites;
mod team;
mod together;

use std::sync::Arc;

use mainspring_test_servers::{Kind, shared};

use super::ServerStore;
use super::address::Address;
use super::kind::Server;
use super::session::Session;
use crate::clock::SystemClock;

/// One test on both servers, each with a fresh database.
async fn on_each(test: impl AsyncFn(&str)) {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        test(&shared(kind).expect("a database")).await;
    }
}

/// A connection beside the store.
async fn session(url: &str) -> Session {
    let server = Server::parse(&Address::parse(url).expect("a URL")).expect("a URL");
    server.connect(std::time::Duration::from_secs(10)).await.expect("connects")
}

async fn open(url: &str) -> Arc<ServerStore> {
    Arc::new(ServerStore::open(url, SystemClock::new()).await.expect("opens"))
}

/// What is written, past the store.
async fn number(url: &str, text: &'static str) -> i64 {
    let statement: &'static _ = Box::leak(Box::new(super::statement::Statement::new("trial", text, text)));
    session(url).await.number(statement, &[]).await.expect("reads").expect("a number")
}
