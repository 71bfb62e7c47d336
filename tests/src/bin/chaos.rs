//! `cargo xtask chaos`: the chaos proof, once for each database and number of nodes that is asked for.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks to the terminal")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mainspring_e2e::chaos::Chaos;
use mainspring_test_servers::Kind;

const HELP: &str = "\
chaos [--store postgres|mariadb] [--nodes 2|3] [--minutes 10] [--seed N] [--keep]

Without --store or --nodes: both, one run after the other. --keep leaves the logs of a run that failed.";

fn main() -> ExitCode {
    let runs = match read(std::env::args().skip(1)) {
        Ok(runs) => runs,
        Err(error) => {
            eprintln!("{error:#}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let mut breaches = 0;
    for run in runs {
        let report = run.run();
        println!("{report}");
        breaches += report.breaches().len();
    }
    ExitCode::from(u8::from(breaches > 0))
}

fn read(args: impl Iterator<Item = String>) -> Result<Vec<Chaos>> {
    let (mut stores, mut nodes) = (vec![Kind::Postgres, Kind::MariaDb], vec![2, 3]);
    let (mut minutes, mut seed, mut keep) = (10.0, 1, false);
    let mut args = args;
    while let Some(arg) = args.next() {
        if arg == "--keep" {
            keep = true;
            continue;
        }
        let value = args.next().with_context(|| format!("{arg}: expected a value after it"))?;
        match arg.as_str() {
            "--store" => stores = vec![store(&value)?],
            "--nodes" => nodes = vec![value.parse().context("--nodes: expected a number")?],
            "--minutes" => minutes = value.parse().context("--minutes: expected a number")?,
            "--seed" => seed = value.parse().context("--seed: expected a whole number")?,
            _ => bail!("`{arg}` is not known"),
        }
    }
    let length = Duration::try_from_secs_f64(minutes * 60.0).context("--minutes: expected a length of time")?;
    let run = |store, nodes| Chaos { store, nodes, length, seed, keep };
    Ok(stores.into_iter().flat_map(|store| nodes.iter().map(move |nodes| run(store, *nodes))).collect())
}

fn store(name: &str) -> Result<Kind> {
    match name {
        "postgres" => Ok(Kind::Postgres),
        "mariadb" => Ok(Kind::MariaDb),
        other => bail!("--store {other}: expected postgres or mariadb"),
    }
}
