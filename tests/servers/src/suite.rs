//! Servers that many tests use together. A runner gives each test a process of its own, so a server per test is too slow:
//! `cargo xtask` starts one of each kind and names it in the environment. Without that, a process starts its own.

use std::sync::Mutex;

use anyhow::{Context, Result};

use crate::server::{Durability, Kind, Server, fresh_database};

/// Its value is the URL of a server without a database.
pub const POSTGRES_VARIABLE: &str = "MAINSPRING_TEST_POSTGRES";
pub const MYSQL_VARIABLE: &str = "MAINSPRING_TEST_MYSQL";

/// The URL of a fresh database on a server that others use too, of [`Durability::Relaxed`].
pub fn shared(kind: Kind) -> Result<String> {
    match std::env::var(variable(kind)) {
        Ok(base_url) => fresh_database(&base_url).with_context(|| format!("{} says {base_url}", variable(kind))),
        Err(_) => of_this_process(kind),
    }
}

fn variable(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => POSTGRES_VARIABLE,
        Kind::MariaDb => MYSQL_VARIABLE,
    }
}

/// Never dropped; its watchdog ends it after this process.
fn of_this_process(kind: Kind) -> Result<String> {
    static POSTGRES: Mutex<Option<Server>> = Mutex::new(None);
    static MARIADB: Mutex<Option<Server>> = Mutex::new(None);
    let place = match kind {
        Kind::Postgres => &POSTGRES,
        Kind::MariaDb => &MARIADB,
    };
    let mut server = place.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if server.is_none() {
        *server = Some(Server::start(kind, Durability::Relaxed)?);
    }
    server.as_ref().context("it was started")?.fresh_database()
}

/// One server of each kind, for all processes of a test run.
#[derive(Debug)]
pub struct SuiteServers(Vec<Server>);

impl SuiteServers {
    /// But for those that the environment names already.
    pub fn start() -> Result<SuiteServers> {
        let missing =
            [Kind::Postgres, Kind::MariaDb].into_iter().filter(|kind| std::env::var(variable(*kind)).is_err());
        let servers = missing.map(|kind| Server::start(kind, Durability::Relaxed)).collect::<Result<_>>()?;
        Ok(SuiteServers(servers))
    }

    /// What the tests must find in their environment.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.0.iter().map(|server| (variable(server.kind()), server.base_url()))
    }
}
