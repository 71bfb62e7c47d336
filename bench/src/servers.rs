//! The database server of a measurement, and a fresh database for each run on it.
//!
//! It lives as long as the measurement. Its memory is warm, as in production, and each run begins after a checkpoint, so
//! that nobody pays for the writes of the one before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use mainspring_test_servers::{Kind, Server};

use crate::args::{Args, StoreKind};
use crate::place::Place;

#[derive(Debug)]
pub(crate) struct DatabaseServer {
    server: Server,
    store: StoreKind,
    /// Databases that were filled beforehand, by what is in them.
    filled: RefCell<BTreeMap<String, String>>,
}

impl DatabaseServer {
    /// None for SQLite. The data lies directly under `root`: the account of the server must reach it.
    pub(crate) fn of(args: &Args, root: &Path) -> Result<Option<DatabaseServer>> {
        let kind = match args.store {
            StoreKind::Sqlite => return Ok(None),
            StoreKind::Postgres => Kind::Postgres,
            StoreKind::Mariadb => Kind::MariaDb,
        };
        let server = Server::start_to_measure(kind, root, &args.server_settings)
            .with_context(|| format!("starting a server with its data under {}", root.display()))?;
        Ok(Some(DatabaseServer { server, store: args.store, filled: RefCell::default() }))
    }

    /// Version and settings, for the head of the report.
    pub(crate) fn describe(&self) -> Result<String> {
        let question = match self.store {
            StoreKind::Postgres => "SELECT 'PostgreSQL ' || current_setting('server_version')",
            _ => "SELECT concat('MariaDB ', version())",
        };
        let version = self.server.sql(question)?;
        Ok(format!("{version}, defaults for durability, {}", self.server.settings().join(", ")))
    }

    pub(crate) fn fresh(&self) -> Result<Place> {
        Ok(Place::server(self.store, self.server.fresh_database()?, self.server.pid()?))
    }

    /// Whoever measures next begins with statistics and without dirty pages.
    pub(crate) fn settle(&self, place: &Place) -> Result<()> {
        if self.store == StoreKind::Postgres {
            place.sql("VACUUM ANALYZE; CHECKPOINT").context("vacuuming a database")?;
        }
        Ok(())
    }

    pub(crate) fn drop(&self, place: &Place) -> Result<()> {
        let force = if self.store == StoreKind::Postgres { " WITH (FORCE)" } else { "" };
        self.server.sql(&format!("DROP DATABASE {}{force}", name_of(&place.url)?))?;
        Ok(())
    }

    /// A copy of a database that is filled once. MariaDB copies none: there each is filled anew.
    pub(crate) fn filled(&self, what: &str, fill: impl Fn(&Place) -> Result<()>) -> Result<Place> {
        if self.store != StoreKind::Postgres {
            let place = self.fresh()?;
            fill(&place)?;
            return Ok(place);
        }
        let known = self.filled.borrow().get(what).cloned();
        let template = match known {
            Some(url) => url,
            None => {
                let place = self.fresh()?;
                fill(&place)?;
                self.settle(&place)?;
                self.filled.borrow_mut().insert(what.to_owned(), place.url.clone());
                place.url
            }
        };
        let place = self.fresh()?;
        let (name, template) = (name_of(&place.url)?, name_of(&template)?);
        let copy = format!("DROP DATABASE {name}; CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        self.server.sql(&copy).context("copying a filled database")?;
        Ok(place)
    }
}

fn name_of(url: &str) -> Result<&str> {
    url.rsplit_once('/').map(|(_, name)| name).context("a URL ends with its database")
}
