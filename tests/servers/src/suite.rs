//! Servers that many tests use together. A runner gives each test a process of its own, so a server per test is too slow:
//! `cargo xtask` starts one of each kind and names it in the environment. Without that, a process starts its own.

use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::client::drop_database;
use crate::server::{Durability, Kind, Server, fresh_database};

/// Its value is the URL of a server without a database.
pub const POSTGRES_VARIABLE: &str = "MAINSPRING_TEST_POSTGRES";
pub const MYSQL_VARIABLE: &str = "MAINSPRING_TEST_MYSQL";

/// The URL of a fresh database on a server that others use too, of [`Durability::Relaxed`].
pub fn shared(kind: Kind) -> Result<String> {
    match std::env::var(variable(kind)) {
        Ok(base_url) => {
            let database = fresh_database(&base_url).with_context(|| format!("{} says {base_url}", variable(kind)))?;
            drop_after_this_process(&base_url, &database)?;
            Ok(database)
        }
        Err(_) => of_this_process(kind),
    }
}

/// Hundreds of databases would fill a disk. A shell waits for the end of a pipe that only this process holds open.
fn drop_after_this_process(base_url: &str, database: &str) -> Result<()> {
    static HELD_OPEN: Mutex<Vec<ChildStdin>> = Mutex::new(Vec::new());
    let client = drop_database(base_url, database)?;
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"read -r _; exec "$@""#, "afterwards"]).args(client.words());
    client.give_environment(&mut shell);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let pipe = shell.spawn().context("start a shell")?.stdin.context("stdin is piped")?;
    HELD_OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(pipe);
    Ok(())
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
    let mut server = place.lock().unwrap_or_else(PoisonError::into_inner);
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
        std::thread::scope(|scope| {
            let start = |kind| scope.spawn(move || Server::start(kind, Durability::Relaxed));
            let starting: Vec<_> = missing.map(start).collect();
            let servers = starting.into_iter().map(|server| server.join().expect("it starts or says why not"));
            Ok(SuiteServers(servers.collect::<Result<_>>()?))
        })
    }

    /// What the tests must find in their environment.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.0.iter().map(|server| (variable(server.kind()), server.base_url()))
    }
}
