//! What is MariaDB's own.

use std::fs;

use anyhow::Result;

use crate::keeper::Keeper;
use crate::programs::Program;
use crate::server::Durability;

pub(crate) const READY: &str = "ready for connections";

/// The account of the tests has all rights in databases that tests make and none beyond: `read_only` binds it.
const ACCOUNTS: &str = "
CREATE USER IF NOT EXISTS admin@'127.0.0.1' IDENTIFIED BY 'mainspring';
GRANT ALL ON *.* TO admin@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS mainspring@'127.0.0.1' IDENTIFIED BY 'mainspring';
GRANT ALL ON `t\\_%`.* TO mainspring@'127.0.0.1';
";

/// Beside its own defaults, which are durable.
pub(crate) const AS_IN_PRODUCTION: &[&str] = &["innodb-buffer-pool-size=1G", "innodb-log-file-size=2G"];

pub(crate) fn url(port: u16) -> String {
    format!("mysql://mainspring:mainspring@127.0.0.1:{port}")
}

pub(crate) fn admin_url(port: u16) -> String {
    format!("mysql://admin:mainspring@127.0.0.1:{port}")
}

pub(crate) fn initialise(keeper: &Keeper) -> Result<()> {
    let install = Program::named("mariadb-install-db")?.args(["--no-defaults", "--skip-test-db"]);
    let install = install.args(["--skip-name-resolve", "--auth-root-authentication-method=normal", LOG_SIZE]);
    let folder = keeper.folder().display();
    // A server that starts deletes what others seem to have left in the folder for temporary files.
    keeper.run(&install.args([format!("--datadir={folder}/data"), format!("--tmpdir={folder}")]))?;
    Ok(fs::write(keeper.folder().join("accounts.sql"), ACCOUNTS)?)
}

const LOG_SIZE: &str = "--innodb-log-file-size=32M";

pub(crate) fn server(keeper: &Keeper, port: u16, durability: Durability, more: &[String]) -> Result<Program> {
    let folder = keeper.folder().display();
    let server = Program::named("mariadbd")?.arg("--no-defaults").args([
        format!("--datadir={folder}/data"),
        format!("--tmpdir={folder}"),
        format!("--init-file={folder}/accounts.sql"),
        format!("--socket={folder}/socket"),
        format!("--pid-file={folder}/pid"),
        format!("--port={port}"),
    ]);
    let server = server.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--max-connections=200"]);
    let server = server.args(["--innodb-buffer-pool-size=128M", LOG_SIZE]);
    let server = match durability {
        Durability::Full => server,
        // Written at each commit, synced each second: what a process has written outlives it.
        Durability::Relaxed => server.arg("--innodb-flush-log-at-trx-commit=2"),
    };
    // Of two settings of one name the later one holds.
    Ok(server.args(more.iter().map(|setting| format!("--{setting}"))))
}
