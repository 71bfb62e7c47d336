//! PgBouncer in transaction mode: a session of the server belongs to a client for the length of a transaction.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::client::at_port;
use crate::keeper::Keeper;
use crate::programs::{Account, Program};
use crate::server::{Kind, Server};

const READY: &str = "process up";
/// Few, so that clients do share sessions.
const POOL_SESSIONS: usize = 4;

/// Dropping it ends it.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    keeper: Keeper,
}

/// In front of a PostgreSQL server.
pub fn pgbouncer(server: &Server) -> Result<Pooler> {
    ensure!(server.kind() == Kind::Postgres, "PgBouncer is PostgreSQL's");
    let keeper = Keeper::new("pgbouncer", Account::for_server("postgres"), &std::env::temp_dir())?;
    let port = keeper.start_on_a_free_port(READY, |port| {
        let place = keeper.folder().join("pgbouncer.ini");
        fs::write(&place, settings(port, server.port()))?;
        Ok(Program::named("pgbouncer")?.arg(place))
    })?;
    Ok(Pooler { port, keeper })
}

fn settings(port: u16, server_port: u16) -> String {
    format!(
        "[databases]\n\
        * = host=127.0.0.1 port={server_port} user=postgres\n\
        [pgbouncer]\n\
        listen_addr = 127.0.0.1\n\
        listen_port = {port}\n\
        unix_socket_dir =\n\
        auth_type = any\n\
        pool_mode = transaction\n\
        default_pool_size = {POOL_SESSIONS}\n\
        max_client_conn = 500\n\
        ignore_startup_parameters = extra_float_digits\n"
    )
}

impl Pooler {
    /// The same database, reached through the pooler.
    pub fn url_of(&self, database: &str) -> Result<String> {
        at_port(database, self.port)
    }

    /// Its own: settings and log.
    pub fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    pub fn log(&self) -> String {
        self.keeper.log()
    }
}
