//! What is PostgreSQL's own.

use anyhow::Result;

use crate::keeper::Keeper;
use crate::programs::Program;
use crate::server::Durability;

/// A standby says "ready to accept read-only connections".
pub(crate) const READY: &str = "database system is ready to accept";

/// Beside its own defaults, which are durable.
pub(crate) const AS_IN_PRODUCTION: &[&str] = &["shared_buffers=1GB", "max_wal_size=8GB", "checkpoint_timeout=15min"];

pub(crate) fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}")
}

/// Whoever comes over loopback is trusted; initdb writes the same rule for replication.
pub(crate) fn initialise(keeper: &Keeper) -> Result<()> {
    let initdb = Program::named("initdb")?.args(["--username=postgres", "--auth=trust", "--encoding=UTF8"]);
    keeper.run(&initdb.args(["--locale=C.UTF-8", "--no-sync", "--pgdata=data"]))
}

pub(crate) fn server(keeper: &Keeper, port: u16, durability: Durability, more: &[String]) -> Result<Program> {
    let mut settings = vec![
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        "unix_socket_directories=".to_owned(),
        "max_connections=200".to_owned(),
        "shared_buffers=128MB".to_owned(),
        // What a standby may lag behind and still catch up.
        "wal_keep_size=128MB".to_owned(),
    ];
    if durability == Durability::Relaxed {
        settings.extend(["fsync=off".to_owned(), "full_page_writes=off".to_owned()]);
    }
    // Of two settings of one name the later one holds.
    settings.extend(more.iter().cloned());
    let server = Program::named("postgres")?.arg("-D").arg(keeper.folder().join("data"));
    Ok(settings.into_iter().fold(server, |server, setting| server.arg("-c").arg(setting)))
}
