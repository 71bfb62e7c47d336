//! Whatever becomes of a test, its servers do not stay.

#![expect(clippy::disallowed_methods, reason = "real processes are watched in real time")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mainspring_test_servers::{Durability, Kind, Server, pgbouncer, shared};

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
        println!("{STARTED}{}", folder.display());
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

fn wait_until_gone(folder: &Path) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    while folder.exists() || has_processes(folder) {
        ensure!(Instant::now() < end, "{} is still there", folder.display());
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
