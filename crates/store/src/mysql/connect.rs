//! Connections to MySQL and MariaDB: where to, with which settings, and what is checked.

use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions as _, MySqlConnection};

use super::texts;
use crate::OpenError;
use crate::server::fault::{Fault, Outcome};
use crate::server::kind::is_this_machine;
use crate::server::session::{Conn, Session};

/// More than there are statements.
const STATEMENTS_KEPT: usize = 512;
/// A lock that is not had by then is a jam: better to begin anew than to wait in it.
const LOCK_MAX: Duration = Duration::from_secs(5);
/// The client gives up a little after the server.
const MARGIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connector {
    options: MySqlConnectOptions,
}

impl Connector {
    pub(crate) fn parse(url: &str) -> Result<Connector, OpenError> {
        let options: MySqlConnectOptions = url.parse().map_err(|error: sqlx::Error| OpenError::UnknownScheme {
            url: crate::without_secrets(url),
            hint: format!("{error}; it looks like mysql://user:password@host:3306/database"),
        })?;
        if options.get_database().is_none() {
            let hint = "the database is missing: mysql://user:password@host:3306/database".to_owned();
            return Err(OpenError::UnknownScheme { url: crate::without_secrets(url), hint });
        }
        // All settings are made at once, by `connect`.
        let options = options
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .set_names(false)
            .timezone(None)
            .statement_cache_capacity(STATEMENTS_KEPT);
        Ok(Connector { options: options.disable_statement_logging() })
    }

    pub(crate) fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or("");
        match self.options.get_socket() {
            Some(socket) => format!("mysql://{}/{database}", socket.display()),
            None => format!("mysql://{}:{}/{database}", self.options.get_host(), self.options.get_port()),
        }
    }

    /// What goes over the wire may be read by others on the way.
    pub(crate) fn is_open_to_others(&self) -> bool {
        let may_be_plain = matches!(self.options.get_ssl_mode(), MySqlSslMode::Disabled | MySqlSslMode::Preferred);
        may_be_plain && self.options.get_socket().is_none() && !is_this_machine(self.options.get_host())
    }

    pub(crate) async fn connect(&self, statement_max: Duration) -> Outcome<Session> {
        let mut conn: MySqlConnection = self.options.connect().await?;
        let is_mariadb = is_mariadb(&version(&mut conn).await?);
        let mut session = Session::new(Conn::MySql(Box::new(conn)), statement_max + MARGIN);
        let lock_max_seconds = LOCK_MAX.min(statement_max / 2).as_secs().max(1);
        // The names of the two for one thing, and their units.
        let statement_max = match is_mariadb {
            true => format!("max_statement_time = {}", statement_max.as_secs()),
            false => format!("max_execution_time = {}", statement_max.as_millis()),
        };
        let collation = collation_of(is_mariadb);
        session
            .command(&format!(
                "SET NAMES utf8mb4 COLLATE {collation};
                 SET SESSION {statement_max}, SESSION innodb_lock_wait_timeout = {lock_max_seconds},
                     SESSION time_zone = '+00:00', SESSION autocommit = 1, SESSION sql_mode =
                     'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,PIPES_AS_CONCAT';
                 SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
            ))
            .await?;
        Ok(session)
    }
}

async fn version(conn: &mut MySqlConnection) -> Outcome<String> {
    let [version] = texts(conn, "SELECT version()").await?;
    Ok(version.unwrap_or_default())
}

fn is_mariadb(version: &str) -> bool {
    version.contains("MariaDB")
}

/// Byte by byte, and without filling the shorter text up with blanks: `a` and `a ` are two keys.
const fn collation_of(is_mariadb: bool) -> &'static str {
    if is_mariadb { "utf8mb4_nopad_bin" } else { "utf8mb4_0900_bin" }
}

fn mysql(session: &mut Session) -> Outcome<&mut MySqlConnection> {
    session.mysql().ok_or_else(|| Fault::statement("this is no connection to MySQL"))
}

pub(crate) async fn byte_collation(session: &mut Session) -> Outcome<&'static str> {
    Ok(collation_of(is_mariadb(&version(mysql(session)?).await?)))
}

pub(crate) async fn check_server(session: &mut Session, place: &str) -> Result<(), OpenError> {
    let read = async {
        let conn = mysql(session)?;
        let version = version(conn).await?;
        Ok((version, texts(conn, "SELECT CAST(@@log_bin AS CHAR), @@binlog_format").await?))
    };
    let (version, [log_bin, format]) = read.await.map_err(|fault: Fault| fault.unusable(place))?;
    let refused = |reason| Err(OpenError::Unusable { place: place.to_owned(), reason });
    if !is_new_enough(&version) {
        return refused(format!("it is {version}; MySQL 8.0.17 or MariaDB 10.6 or newer is needed"));
    }
    // Replicas that repeat statements would lock and write otherwise than their primary; the server refuses such writes.
    if !is_off(log_bin.as_deref().unwrap_or("0")) && format.as_deref() == Some("STATEMENT") {
        return refused("its binlog_format is STATEMENT; set it to ROW or MIXED".to_owned());
    }
    Ok(())
}

fn is_off(value: &str) -> bool {
    matches!(value, "0" | "OFF")
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0_u32));
    let mut next = || numbers.next().unwrap_or(0);
    let found = [next(), next(), next()];
    if is_mariadb(version) { found >= [10, 6, 0] } else { found >= [8, 0, 17] }
}

pub(crate) async fn weak_settings(session: &mut Session) -> Outcome<Vec<String>> {
    let question = "SELECT CAST(@@innodb_flush_log_at_trx_commit AS CHAR), CAST(@@innodb_doublewrite AS CHAR),
                           CAST(@@log_bin AS CHAR), CAST(@@sync_binlog AS CHAR)";
    let values: [Option<String>; 4] = texts(mysql(session)?, question).await?;
    Ok(weak(values.map(Option::unwrap_or_default)))
}

fn weak([flush, doublewrite, log_bin, sync_binlog]: [String; 4]) -> Vec<String> {
    let mut weak = Vec::new();
    if flush != "1" {
        weak.push(format!("innodb_flush_log_at_trx_commit is {flush}, should be 1"));
    }
    if is_off(&doublewrite) {
        weak.push(format!("innodb_doublewrite is {doublewrite}, should be ON"));
    }
    if !is_off(&log_bin) && sync_binlog != "1" {
        weak.push(format!("sync_binlog is {sync_binlog}, should be 1"));
    }
    weak
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_shows_no_secret() {
        let connector = Connector::parse("mysql://me:hunter2@db.example/jobs").expect("parses");
        assert_eq!(connector.place(), "mysql://db.example:3306/jobs");
        assert!(connector.is_open_to_others());
        for url in ["mysql://me:hunter2@db:x/jobs", "mysql://me:hunter2@db"] {
            let error = Connector::parse(url).expect_err(url).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let check = |version: &str, expect: bool| assert_eq!(is_new_enough(version), expect, "{version}");
        check("10.11.14-MariaDB-0+deb12u2", true);
        check("10.5.9-MariaDB", false);
        check("8.0.16", false);
        check("8.4.3", true);
        check("9.1.0-log", true);
        check("5.7.44", false);
    }

    #[test]
    fn settings_that_lose_commits_are_named() {
        let check = |values: [&str; 4], expect: usize| assert_eq!(weak(values.map(str::to_owned)).len(), expect);
        check(["1", "1", "0", "0"], 0);
        check(["1", "ON", "1", "1"], 0);
        check(["2", "OFF", "1", "0"], 3);
    }
}
