//! What the sessions of a database server wait for, looked at again and again while something is measured.

use std::time::Duration;

use anyhow::{Context, Result};
use mainspring_store::sqlx::{Connection as _, MySqlConnection, PgConnection, query_as};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::args::StoreKind;
use crate::place::Place;

const EVERY: Duration = Duration::from_millis(20);

/// Sessions of clients in the middle of a statement: for the log, for a lock, and all of them.
const POSTGRES: &str = "
    SELECT count(*) FILTER (WHERE wait_event IN ('WALSync', 'WALWrite', 'WalSync', 'WalWrite')),
           count(*) FILTER (WHERE wait_event_type = 'Lock'),
           count(*)
    FROM pg_stat_activity
    WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
const MARIADB: &str = "
    SELECT CAST(coalesce(sum(lower(state) LIKE '%commit%'), 0) AS SIGNED),
           CAST((SELECT variable_value FROM information_schema.global_status
                 WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS') AS SIGNED),
           CAST(count(*) AS SIGNED)
    FROM information_schema.processlist
    WHERE command IN ('Query', 'Execute') AND id <> connection_id()";

#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    sync: i64,
    lock: i64,
    all: i64,
}

#[derive(Debug)]
pub(crate) struct Waits {
    enough: oneshot::Sender<()>,
    looking: JoinHandle<Result<Looks>>,
}

#[derive(Debug)]
pub(crate) struct Waited(Looks);

enum Watcher {
    Postgres(PgConnection),
    Mariadb(MySqlConnection),
}

impl Watcher {
    async fn look(&mut self) -> Result<Looks> {
        let (sync, lock, all) = match self {
            Watcher::Postgres(conn) => query_as(POSTGRES).fetch_one(conn).await?,
            Watcher::Mariadb(conn) => query_as(MARIADB).fetch_one(conn).await?,
        };
        Ok(Looks { sync, lock, all })
    }
}

impl Waits {
    pub(crate) async fn watch(place: &Place) -> Result<Waits> {
        let mut watcher = match place.store {
            StoreKind::Sqlite => anyhow::bail!("a file has no sessions"),
            StoreKind::Postgres => Watcher::Postgres(PgConnection::connect(&place.url).await?),
            StoreKind::Mariadb => Watcher::Mariadb(MySqlConnection::connect(&place.url).await?),
        };
        let (enough, mut told_enough) = oneshot::channel();
        let looking = tokio::spawn(async move {
            let mut sum = Looks::default();
            loop {
                tokio::select! {
                    _ = &mut told_enough => return Ok(sum),
                    () = tokio::time::sleep(EVERY) => {}
                }
                let seen = watcher.look().await.context("looking at the sessions of the server")?;
                sum = Looks { sync: sum.sync + seen.sync, lock: sum.lock + seen.lock, all: sum.all + seen.all };
            }
        });
        Ok(Waits { enough, looking })
    }

    pub(crate) async fn end(self) -> Result<Waited> {
        drop(self.enough);
        Ok(Waited(self.looking.await??))
    }
}

impl Waited {
    pub(crate) fn sync_percent(&self) -> f64 {
        self.0.share(self.0.sync)
    }

    pub(crate) fn lock_percent(&self) -> f64 {
        self.0.share(self.0.lock)
    }
}

impl Looks {
    fn share(self, part: i64) -> f64 {
        100.0 * part as f64 / self.all.max(1) as f64
    }
}
