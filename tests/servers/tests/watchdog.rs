//! Whatever becomes of a test, its servers do not stay.

#![expect(clippy::disallowed_methods, reason = "real processes are watched in real time")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mainspring_test_servers::{Durability, Kind, MYSQL_VARIABLE, POSTGRES_VARIABLE, Server, pgbouncer, shared, sql};

const NAME: &str = "servers_end_with_the_process_that_started_them";
const VICTIM: &str = "MAINSPRING_TEST_VICTIM";
const STARTED: &str = "started in ";

#[test]
fn servers_end_with_the_process_that_started_them() -> Result<()> {
    if std::env::var_os(VICTIM).is_some() {
        return be_the_victim();
    }
    let mut victim = Command::new(std::env::current_exe()?);
    victim.args(["--exact", NAME, "--nocapture"]).env(VICTIM, "1").stdout(Stdio::piped());
    let mut victim = victim.spawn()?;
    let said = BufReader::new(victim.stdout.take().context("stdout is piped")?).lines();
    let folders: Vec<PathBuf> = said
        .map_while(Result::ok)
        .filter_map(|line| Some(line.split_once(STARTED)?.1.to_owned().into()))
        .take(3)
        .collect();
    ensure!(folders.len() == 3 && folders.iter().all(|folder| has_processes(folder)), "{folders:?}");
    victim.kill()?;
    victim.wait()?;
    for folder in folders {
        wait_until_gone(&folder)?;
    }
    Ok(())
}

/// One server runs, one stands still with all its processes, one is behind a pooler; then nothing.
fn be_the_victim() -> Result<()> {
    let running = Server::start(Kind::MariaDb, Durability::Relaxed)?;
    let paused = Server::start(Kind::Postgres, Durability::Relaxed)?;
    let pooler = pgbouncer(&paused)?;
    paused.pause()?;
    for folder in [running.folder(), paused.folder(), pooler.folder()] {
        writeln!(std::io::stdout(), "{STARTED}{}", folder.display())?;
    }
    loop {
        std::thread::park();
    }
}

#[test]
fn a_dropped_server_is_gone_even_when_it_was_paused() -> Result<()> {
    let server = Server::start(Kind::Postgres, Durability::Relaxed)?;
    let folder = server.folder().to_owned();
    server.pause()?;
    drop(server);
    wait_until_gone(&folder)
}

#[test]
fn a_shared_server_outlives_the_thread_that_was_first_to_ask() -> Result<()> {
    std::thread::scope(|scope| scope.spawn(|| shared(Kind::Postgres).map(drop)).join().expect("no panic"))?;
    shared(Kind::Postgres).map(drop)
}

#[test]
fn a_shared_database_goes_with_the_process_that_asked_for_it() -> Result<()> {
    const NAME: &str = "a_shared_database_goes_with_the_process_that_asked_for_it";
    let in_postgres = "SELECT count(*) FROM pg_database WHERE datname LIKE 't\\_%'";
    let in_mariadb = "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 't\\_%'";
    for (kind, variable, question) in
        [(Kind::Postgres, POSTGRES_VARIABLE, in_postgres), (Kind::MariaDb, MYSQL_VARIABLE, in_mariadb)]
    {
        match std::env::var(VICTIM) {
            Ok(asks) if asks == variable => return sql(&shared(kind)?, "SELECT 1").map(drop),
            Ok(_) => continue,
            Err(_) => {}
        }
        let server = Server::start(kind, Durability::Relaxed)?;
        let mut asker = Command::new(std::env::current_exe()?);
        asker.args(["--exact", NAME]).env(VICTIM, variable).env(variable, server.base_url());
        ensure!(asker.stdout(Stdio::null()).status()?.success(), "it was given a database");
        wait_until("its database is dropped", || Ok(server.sql(question)? == "0"))?;
        server.fresh_database()?;
        ensure!(server.sql(question)? == "1", "the question finds databases");
    }
    Ok(())
}

fn wait_until_gone(folder: &Path) -> Result<()> {
    wait_until("a server is gone", || Ok(!folder.exists() && !has_processes(folder)))
}

fn wait_until(what: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so()? {
        ensure!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Every server works in its folder.
fn has_processes(folder: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut places = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.any(|place| place.starts_with(folder))
}
