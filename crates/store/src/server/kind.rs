//! Which server it is and how a connection to it is made.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::Clock;

use super::address::Address;
#[cfg(feature = "postgres")]
use super::connections::Checks;
#[cfg(feature = "postgres")]
use super::connections::{Connections, HINTS};
use super::fault::Outcome;
use super::session::Session;
use super::wakes::Hints;
use crate::OpenError;

/// A closed set: the two kinds of servers.
#[derive(Debug)]
pub(crate) enum Server {
    #[cfg(feature = "postgres")]
    Postgres(crate::postgres::Connector),
    #[cfg(feature = "mysql")]
    MySql(crate::mysql::Connector),
}

/// How a transaction is begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeginWords {
    pub(crate) write: &'static str,
    /// Reads one state of the database, and nothing else.
    pub(crate) snapshot: &'static str,
    /// A setting: one who says nothing within a transaction is taken for gone, so that others get what it holds.
    pub(crate) not_quiet_for_long: &'static str,
}

impl Server {
    /// `address.url` with its scheme.
    pub(super) fn parse(address: &Address) -> Result<Server, OpenError> {
        let url = address.url.as_str();
        #[cfg(feature = "postgres")]
        if url.starts_with("postgres") {
            return Ok(Server::Postgres(crate::postgres::Connector::parse(url, address.pooler)?));
        }
        #[cfg(feature = "mysql")]
        if let Some((_, rest)) = url.split_once("://") {
            return Ok(Server::MySql(crate::mysql::Connector::parse(&format!("mysql://{rest}"))?));
        }
        Err(OpenError::UnknownScheme { url: String::new(), hint: "this build knows no such server".to_owned() })
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres(_) => "postgres",
            #[cfg(feature = "mysql")]
            Server::MySql(_) => "mysql",
        }
    }

    /// Where it is, without secrets.
    pub(super) fn place(&self) -> String {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres(connector) => connector.place(),
            #[cfg(feature = "mysql")]
            Server::MySql(connector) => connector.place(),
        }
    }

    /// What goes over the wire may be read by others on the way.
    pub(super) fn is_open_to_others(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres(connector) => connector.is_open_to_others(),
            #[cfg(feature = "mysql")]
            Server::MySql(connector) => connector.is_open_to_others(),
        }
    }

    /// With all its settings. Statements that take longer are given up, by the server first.
    pub(super) async fn connect(&self, statement_max: Duration) -> Outcome<Session> {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres(connector) => connector.connect(statement_max).await,
            #[cfg(feature = "mysql")]
            Server::MySql(connector) => connector.connect(statement_max).await,
        }
    }

    /// Hints from other nodes, where the server carries any.
    pub(super) async fn hints(self: &Arc<Self>, clock: &Arc<dyn Clock>, checks: &Checks) -> Option<Hints> {
        match &**self {
            #[cfg(feature = "postgres")]
            Server::Postgres(connector) => {
                let sender = Connections::new(Arc::clone(self), HINTS, Arc::clone(clock), checks.clone());
                connector.hints(sender, Arc::clone(clock)).await
            }
            #[cfg(feature = "mysql")]
            Server::MySql(_) => None,
        }
    }

    /// Refuses a server that is too old, or set up so that it cannot work.
    pub(super) async fn check(&self, session: &mut Session) -> Result<(), OpenError> {
        let place = self.place();
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres(_) => crate::postgres::check_server(session, &place).await,
            #[cfg(feature = "mysql")]
            Server::MySql(_) => crate::mysql::check_server(session, &place).await,
        }
    }

    /// Each setting with which a commit may not survive a power loss of the server, with what it should be.
    pub(super) async fn weak_settings(&self, session: &mut Session) -> Outcome<Vec<String>> {
        match self {
            #[cfg(feature = "postgres")]
            Server::Postgres(_) => crate::postgres::weak_settings(session).await,
            #[cfg(feature = "mysql")]
            Server::MySql(_) => crate::mysql::weak_settings(session).await,
        }
    }
}

pub(crate) fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
