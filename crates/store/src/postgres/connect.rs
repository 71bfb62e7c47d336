//! Connections to PostgreSQL: where to, with which settings, and what is checked.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::Clock;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions as _, PgConnection};

use super::{listen, settings};
use crate::OpenError;
use crate::server::address::Pooler;
use crate::server::connections::Connections;
use crate::server::fault::{Fault, Outcome};
use crate::server::kind::is_this_machine;
use crate::server::session::{Conn, Session};
use crate::server::wakes::Hints;

/// Older ones lack what the statements need, and are no longer kept by their makers.
const VERSION_MIN: i64 = 140_000;
/// More than there are statements.
const STATEMENTS_KEPT: usize = 512;
/// A lock that is not had by then is a jam: better to begin anew than to wait in it.
const LOCK_MAX: Duration = Duration::from_secs(5);
/// The client gives up a little after the server.
const MARGIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connector {
    options: PgConnectOptions,
    pooler: Pooler,
}

impl Connector {
    pub(crate) fn parse(url: &str, pooler: Pooler) -> Result<Connector, OpenError> {
        let options: PgConnectOptions = url.parse().map_err(|error: sqlx::Error| OpenError::UnknownScheme {
            url: crate::without_secrets(url),
            hint: format!("{error}; it looks like postgres://user:password@host:5432/database"),
        })?;
        let options = options.application_name("mainspring").statement_cache_capacity(STATEMENTS_KEPT);
        Ok(Connector { options: options.disable_statement_logging(), pooler })
    }

    pub(crate) fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        match self.options.get_socket() {
            Some(socket) => format!("postgres://{}/{database}", socket.display()),
            None => format!("postgres://{}:{}/{database}", self.options.get_host(), self.options.get_port()),
        }
    }

    /// What goes over the wire may be read by others on the way.
    pub(crate) fn is_open_to_others(&self) -> bool {
        let may_be_plain =
            matches!(self.options.get_ssl_mode(), PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer);
        may_be_plain && self.options.get_socket().is_none() && !is_this_machine(self.options.get_host())
    }

    pub(crate) async fn connect(&self, statement_max: Duration) -> Outcome<Session> {
        let conn: PgConnection = self.options.connect().await?;
        let (conn, patience) = (Conn::Postgres(Box::new(conn)), statement_max + MARGIN);
        let (statement_max_ms, lock_max_ms) = (statement_max.as_millis(), LOCK_MAX.min(statement_max / 2).as_millis());
        let settings = [
            format!("statement_timeout = {statement_max_ms}"),
            format!("lock_timeout = {lock_max_ms}"),
            format!("idle_in_transaction_session_timeout = {statement_max_ms}"),
            "TimeZone = 'UTC'".to_owned(),
            "client_min_messages = warning".to_owned(),
            "jit = off".to_owned(),
            // Plans are kept, and tables that were small when they were made grow within minutes. All statements have an
            // index to go by: whatever the numbers say, none is to read a whole table or to hash it.
            "enable_seqscan = off".to_owned(),
            "enable_hashjoin = off".to_owned(),
            "enable_mergejoin = off".to_owned(),
        ];
        let all = |word: &str| settings.iter().map(|one| format!("{word} {one}")).collect::<Vec<_>>().join("; ");
        if self.pooler == Pooler::Transaction {
            return Ok(Session::pooled(conn, patience, all("SET LOCAL")));
        }
        let mut session = Session::new(conn, patience);
        session.command(&all("SET")).await?;
        Ok(session)
    }

    /// `None`: hints do not get through, and everybody looks by himself.
    pub(crate) async fn hints(&self, sender: Connections, clock: Arc<dyn Clock>) -> Option<Hints> {
        if self.pooler == Pooler::Transaction {
            return None;
        }
        let hints = listen::open(&self.options, sender, clock).await;
        if hints.is_none() {
            let place = self.place();
            tracing::warn!(
                place,
                "nothing that is sent by NOTIFY is heard: a pooler? name it with ?pooler=transaction"
            );
        }
        hints
    }
}

fn postgres(session: &mut Session) -> Outcome<&mut PgConnection> {
    session.postgres().ok_or_else(|| Fault::statement("this is no connection to PostgreSQL"))
}

pub(crate) async fn check_server(session: &mut Session, place: &str) -> Result<(), OpenError> {
    let unusable = |reason| OpenError::Unusable { place: place.to_owned(), reason };
    let names = ["server_version_num", "server_version", "server_encoding"];
    let read = async { settings(postgres(session)?, &names).await };
    let values = read.await.map_err(|fault| fault.unusable(place))?;
    if values[0].parse().unwrap_or(0) < VERSION_MIN {
        return Err(unusable(format!("it is PostgreSQL {}; 14 or newer is needed", values[1])));
    }
    if values[2] != "UTF8" {
        return Err(unusable(format!("its encoding is {}; create the database with ENCODING 'UTF8'", values[2])));
    }
    Ok(())
}

pub(crate) async fn weak_settings(session: &mut Session) -> Outcome<Vec<String>> {
    let names = ["fsync", "synchronous_commit", "full_page_writes"];
    let values = settings(postgres(session)?, &names).await?;
    Ok(weak(&names, &values))
}

/// `synchronous_commit` has grades; all but `off` wait for the log to be on the server's own disk.
fn weak(names: &[&str], values: &[String]) -> Vec<String> {
    let pairs = names.iter().zip(values);
    pairs.filter(|(_, value)| *value == "off").map(|(name, _)| format!("{name} is off, should be on")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Connector, OpenError> {
        Connector::parse(url, Pooler::None)
    }

    #[test]
    fn a_place_shows_no_secret() {
        let connector = parse("postgres://me:hunter2@db.example:6543/jobs?sslmode=require").expect("parses");
        assert_eq!(connector.place(), "postgres://db.example:6543/jobs");
        assert!(!connector.is_open_to_others());
        let is_open = |url| parse(url).expect("parses").is_open_to_others();
        assert!(is_open("postgres://me@db.example/jobs") && !is_open("postgres://me@127.0.0.1/jobs"));
        let error = parse("postgres://me:hunter2@db:x/jobs").expect_err("no port").to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn settings_that_lose_commits_are_named() {
        let names = ["fsync", "synchronous_commit"];
        assert_eq!(weak(&names, &["on".to_owned(), "remote_apply".to_owned()]), Vec::<String>::new());
        assert_eq!(weak(&names, &["on".to_owned(), "off".to_owned()]), ["synchronous_commit is off, should be on"]);
    }
}
