//! A PostgreSQL server that follows another asynchronously: a fail-over to it loses what was not shipped.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::keeper::Keeper;
use crate::programs::Program;
use crate::server::{Kind, Server};
use crate::wait_for;

/// Answers questions and refuses writes until it is promoted.
#[derive(Debug)]
pub struct Standby(Server);

const SHIP_LIMIT: Duration = Duration::from_secs(60);

impl Server {
    /// A copy of this server, as it is now, that follows it.
    pub fn standby(&self) -> Result<Standby> {
        ensure!(self.kind() == Kind::Postgres, "a standby is PostgreSQL's");
        let copy = Server::without_data(Kind::Postgres, self.durability())?;
        copy_data(copy.keeper(), &self.base_url())?;
        Ok(Standby(copy.on_a_free_port()?))
    }
}

fn copy_data(keeper: &Keeper, primary: &str) -> Result<()> {
    let copy = Program::named("pg_basebackup")?.arg(format!("--dbname={primary}/postgres")).arg("--pgdata=data");
    keeper.run(&copy.args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"]))
}

impl Standby {
    pub fn server(&self) -> &Server {
        &self.0
    }

    /// Until all that is committed on the primary now is seen here.
    pub fn wait_until_it_has_all_of(&self, primary: &Server) -> Result<()> {
        let written = primary.sql("SELECT pg_current_wal_lsn()")?;
        let question = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'");
        wait_for(SHIP_LIMIT, "the standby has all", || Ok((self.0.sql(&question)? == "t").then_some(())))
    }

    /// What the primary commits from here on will be lost by a fail-over to this standby.
    pub fn stop_following(&self) -> Result<()> {
        self.0.sql("ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()")?;
        wait_for(SHIP_LIMIT, "the standby stops to follow", || {
            let receivers = self.0.sql("SELECT count(*) FROM pg_stat_wal_receiver; SHOW primary_conninfo")?;
            Ok((receivers.trim_end() == "0").then_some(()))
        })
    }

    /// From now on it takes writes.
    pub fn promote(self) -> Result<Server> {
        let promoted = self.0.sql("SELECT pg_promote(true, 60)")?;
        ensure!(promoted == "t", "the standby was not promoted:\n{}", self.0.log());
        Ok(self.0)
    }
}
