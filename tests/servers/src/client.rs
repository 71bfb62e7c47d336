//! Statements through the command-line clients of the servers: set-up and checks that share no code with what is tested.

use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};

use crate::programs::Program;

/// A database by its URL, as [`crate::Server::fresh_database`] and [`crate::shared`] make them.
#[derive(Debug)]
pub(crate) struct Address<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
}

impl<'a> Address<'a> {
    pub(crate) fn parse(url: &'a str) -> Result<Address<'a>> {
        let parts = || {
            let (scheme, rest) = url.split_once("://")?;
            let (who, place) = rest.rsplit_once('@')?;
            let (user, password) = who.split_once(':').unwrap_or((who, ""));
            let (place, database) = place.split_once('/').unwrap_or((place, ""));
            let (host, port) = place.split_once(':')?;
            let database = database.split('?').next()?;
            Some(Address { scheme, user, password, host, port: port.parse().ok()?, database })
        };
        parts().with_context(|| format!("{url}: expected scheme://user[:password]@host:port/database"))
    }
}

/// The same database at another door of this machine.
pub(crate) fn at_port(url: &str, port: u16) -> Result<String> {
    let Address { scheme, user, password, database, .. } = Address::parse(url)?;
    let colon = if password.is_empty() { "" } else { ":" };
    Ok(format!("{scheme}://{user}{colon}{password}@127.0.0.1:{port}/{database}"))
}

/// Runs statements one after the other, each by itself, and gives their rows: a line each, columns between tabs. The
/// first error ends it.
pub fn sql(url: &str, statements: &str) -> Result<String> {
    let program = client(url)?;
    let mut command = program.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = command.spawn().with_context(|| format!("start {program:?}"))?;
    let mut input = client.stdin.take().context("stdin is piped")?;
    let output = std::thread::scope(|scope| {
        // Beside the reading, or both would wait when much is said both ways. A client that failed early does not read
        // on; why it failed is in its output.
        scope.spawn(move || input.write_all(statements.as_bytes()));
        client.wait_with_output()
    })?;
    ensure!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?.trim_end_matches('\n').to_owned())
}

/// Clients read statements from their standard input.
pub(crate) fn client(url: &str) -> Result<Program> {
    let address = Address::parse(url)?;
    match address.scheme {
        "postgres" | "postgresql" => psql(url),
        "mysql" | "mariadb" => mariadb(&address),
        other => bail!("{other}: expected postgres or mysql"),
    }
}

fn psql(url: &str) -> Result<Program> {
    let quiet = ["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--field-separator=\t"];
    let program = Program::named("psql")?.args(quiet).arg("--set=ON_ERROR_STOP=1").arg(format!("--dbname={url}"));
    Ok(program.env("PGCONNECT_TIMEOUT", "10"))
}

fn mariadb(address: &Address<'_>) -> Result<Program> {
    let quiet = ["--no-defaults", "--batch", "--raw", "--skip-column-names", "--unbuffered", "--skip-ssl"];
    let program =
        Program::named("mariadb")?.args(quiet).arg("--connect-timeout=10").arg(format!("--host={}", address.host));
    let program = program.arg(format!("--port={}", address.port)).arg(format!("--user={}", address.user));
    let database = (!address.database.is_empty()).then(|| format!("--database={}", address.database));
    Ok(program.args(database).env("MYSQL_PWD", address.password))
}

/// The client, with its statement, for a process that does it later. Sessions in the database are ended.
pub(crate) fn drop_database(base_url: &str, database: &str) -> Result<Program> {
    let name = Address::parse(database)?.database;
    Ok(if base_url.starts_with("postgres") {
        psql(&format!("{base_url}/postgres"))?.arg(format!("--command=DROP DATABASE {name} WITH (FORCE)"))
    } else {
        mariadb(&Address::parse(base_url)?)?.arg(format!("--execute=DROP DATABASE {name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_from_its_url() {
        let check = |url: &str, expect: Option<(&str, &str, u16, &str)>| {
            let read = Address::parse(url).ok();
            assert_eq!(read.map(|found| (found.user, found.password, found.port, found.database)), expect, "{url}");
        };
        check("postgres://postgres@127.0.0.1:5432/jobs", Some(("postgres", "", 5432, "jobs")));
        check("mysql://a:b@127.0.0.1:3306", Some(("a", "b", 3306, "")));
        check("mysql://a:b@127.0.0.1:3306/jobs?x=y", Some(("a", "b", 3306, "jobs")));
        check("127.0.0.1:3306", None);
    }
}
