//! Real PostgreSQL and MariaDB servers for tests.
//!
//! A [`Server`] has its own data, port and processes, and can be stopped, killed, paused and made read-only. Most tests
//! need none of that: [`shared`] gives them a fresh database on a server that they share. A [`Pooler`] or a [`CutProxy`]
//! stands between a client and a server.
//!
//! Invariant: nothing that is started here outlives the process that started it, however that process ends.
//!
//! ```no_run
//! # use mainspring_test_servers::*;
//! # fn main() -> anyhow::Result<()> {
//! let server = Server::start(Kind::Postgres, Durability::Full)?;
//! let database = server.fresh_database()?; // postgres://postgres@127.0.0.1:…/t_…
//! let proxy = CutProxy::before(&server)?;
//! let through = proxy.url_of(&database)?;
//! proxy.cut_at_commit(When::After);
//! // … the client at `through` loses its connection; what the server did is there:
//! assert_eq!(sql(&database, "SELECT count(*) FROM jobs")?, "1");
//! # Ok(())
//! # }
//! ```
//!
//! Not here: what the databases hold, and drivers. Set-up and checks go through the servers' own command-line clients.

#![expect(clippy::disallowed_methods, reason = "real processes are watched in real time")]

mod client;
mod keeper;
mod mariadb;
mod pooler;
mod postgres;
mod programs;
mod proxy;
mod server;
mod session;
mod standby;
mod suite;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

pub use client::sql;
pub use pooler::{Pooler, pgbouncer};
pub use programs::find;
pub use proxy::{Counts, CutProxy, Direction, Mode, When};
pub use server::{Durability, How, Kind, Server};
pub use session::Session;
pub use standby::Standby;
pub use suite::{MYSQL_VARIABLE, POSTGRES_VARIABLE, SuiteServers, shared};

/// Asks again until there is an answer. What is awaited comes by itself; the limit is for when it does not.
pub(crate) fn wait_for<T>(limit: Duration, what: &str, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = ask()? {
            return Ok(found);
        }
        if Instant::now() > end {
            bail!("not within {limit:?}: {what}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
