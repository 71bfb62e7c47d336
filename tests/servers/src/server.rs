//! One server: its life and what can befall it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;

use crate::client::at_port;
use crate::keeper::Keeper;
use crate::programs::{Account, Program};
use crate::{mariadb, postgres, sql, wait_for};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Postgres,
    MariaDb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// As in production: an acknowledged commit is on disk.
    Full,
    /// A killed server loses nothing, a loss of power would.
    Relaxed,
}

/// How a server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// In order: sessions are told and ended, files are closed.
    Fast,
    /// Without closing its files: the next start recovers.
    Immediate,
    /// SIGKILL to all its processes at once.
    Kill,
}

/// Dropping it ends its processes and removes its data.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    durability: Durability,
    /// Besides, `name=value`.
    settings: Vec<String>,
    port: u16,
    keeper: Keeper,
}

const START_LIMIT: Duration = Duration::from_secs(60);
const SETTING_LIMIT: Duration = Duration::from_secs(20);

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Postgres => "postgres",
            Kind::MariaDb => "mariadb",
        }
    }

    fn ready(self) -> &'static str {
        match self {
            Kind::Postgres => postgres::READY,
            Kind::MariaDb => mariadb::READY,
        }
    }

    fn account(self) -> Account {
        Account::for_server(match self {
            Kind::Postgres => "postgres",
            Kind::MariaDb => "mysql",
        })
    }
}

impl Server {
    /// Empty and ready.
    pub fn start(kind: Kind, durability: Durability) -> Result<Server> {
        Server::without_data(kind, durability)?.initialise()
    }

    /// To be measured: durable, with the memory and the log of a server in production, and its data in `place`, which the
    /// account of the server must be able to reach. Further settings are `name=value`, as the server names them.
    pub fn start_to_measure(kind: Kind, place: &Path, settings: &[String]) -> Result<Server> {
        let keeper = Keeper::new(kind.name(), kind.account(), place)?;
        let as_in_production = match kind {
            Kind::Postgres => postgres::AS_IN_PRODUCTION,
            Kind::MariaDb => mariadb::AS_IN_PRODUCTION,
        };
        let settings = as_in_production.iter().map(|setting| (*setting).to_owned()).chain(settings.iter().cloned());
        let server = Server { kind, durability: Durability::Full, settings: settings.collect(), port: 0, keeper };
        server.initialise()
    }

    fn initialise(self) -> Result<Server> {
        let server = self;
        match server.kind {
            Kind::Postgres => postgres::initialise(&server.keeper)?,
            Kind::MariaDb => mariadb::initialise(&server.keeper)?,
        }
        server.on_a_free_port()
    }

    pub(crate) fn without_data(kind: Kind, durability: Durability) -> Result<Server> {
        let keeper = Keeper::new(kind.name(), kind.account(), &std::env::temp_dir())?;
        Ok(Server { kind, durability, settings: Vec::new(), port: 0, keeper })
    }

    pub(crate) fn on_a_free_port(mut self) -> Result<Server> {
        self.port = self.keeper.start_on_a_free_port(self.kind.ready(), |port| self.program(port))?;
        Ok(self)
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Its own: data, settings, log. It is gone when the server is dropped.
    pub fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process that was started; others may be its children.
    pub fn pid(&self) -> Result<u32> {
        Ok(u32::try_from(self.keeper.pid()?.as_raw_nonzero().get())?)
    }

    /// Those of a measurement that differ from the server's own or from the tests'.
    pub fn settings(&self) -> &[String] {
        &self.settings
    }

    /// What it has written since it was made.
    pub fn log(&self) -> String {
        self.keeper.log()
    }

    /// Of the account that the tests use, without a database: `…@127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        match self.kind {
            Kind::Postgres => postgres::url(self.port),
            Kind::MariaDb => mariadb::url(self.port),
        }
    }

    /// The same database on this server: for a standby, which has the databases of another.
    pub fn url_of(&self, database: &str) -> Result<String> {
        at_port(database, self.port)
    }

    /// The URL of a new database with a name of its own.
    pub fn fresh_database(&self) -> Result<String> {
        fresh_database(&self.base_url())
    }

    /// Statements of the server's administrator, as [`sql()`].
    pub fn sql(&self, statements: &str) -> Result<String> {
        sql(&self.admin_url(), statements)
    }

    fn admin_url(&self) -> String {
        match self.kind {
            Kind::Postgres => format!("{}/postgres", postgres::url(self.port)),
            Kind::MariaDb => format!("{}/mysql", mariadb::admin_url(self.port)),
        }
    }

    pub fn stop(&self, how: How) -> Result<()> {
        let signal = match (self.kind, how) {
            (_, How::Kill) => return self.keeper.kill(),
            (Kind::Postgres, How::Fast) => Signal::INT,
            (Kind::Postgres, How::Immediate) => Signal::QUIT,
            (Kind::MariaDb, How::Fast) => Signal::TERM,
            (Kind::MariaDb, How::Immediate) => {
                self.sql("SET GLOBAL innodb_fast_shutdown = 2")?;
                Signal::TERM
            }
        };
        self.keeper.signal(signal)?;
        self.keeper.wait_end()?;
        Ok(())
    }

    /// The same data on the same port.
    pub fn start_again(&self) -> Result<()> {
        // The port is ours, but connections of the life before may hold it for a moment.
        wait_for(START_LIMIT, "the port is free again", || Ok(self.launch()?.then_some(())))
    }

    /// All its processes stand still: connections stay open and nothing answers.
    pub fn pause(&self) -> Result<()> {
        self.keeper.freeze()
    }

    pub fn resume(&self) -> Result<()> {
        self.keeper.thaw()
    }

    /// For all sessions of the tests' account, the open ones included; what PostgreSQL has begun as a transaction goes on.
    pub fn set_read_only(&self, read_only: bool) -> Result<()> {
        let word = if read_only { "on" } else { "off" };
        match self.kind {
            Kind::MariaDb => drop(self.sql(&format!("SET GLOBAL read_only = {word}"))?),
            Kind::Postgres => {
                self.sql(&format!("ALTER SYSTEM SET default_transaction_read_only = {word}; SELECT pg_reload_conf()"))?;
                wait_for(SETTING_LIMIT, "the setting is taken over", || {
                    Ok((self.sql("SHOW default_transaction_read_only")? == word).then_some(()))
                })?;
            }
        }
        Ok(())
    }

    /// `false`: the port is taken.
    fn launch(&self) -> Result<bool> {
        self.keeper.start_service(&self.program(self.port)?, self.kind.ready())
    }

    fn program(&self, port: u16) -> Result<Program> {
        match self.kind {
            Kind::Postgres => postgres::server(&self.keeper, port, self.durability, &self.settings),
            Kind::MariaDb => mariadb::server(&self.keeper, port, self.durability, &self.settings),
        }
    }
}

/// A new database on the server at this URL.
pub(crate) fn fresh_database(base_url: &str) -> Result<String> {
    let name = format!("t_{:016x}", fastrand::Rng::new().u64(..));
    let at = if base_url.starts_with("postgres") { format!("{base_url}/postgres") } else { base_url.to_owned() };
    sql(&at, &format!("CREATE DATABASE {name}"))?;
    Ok(format!("{base_url}/{name}"))
}
