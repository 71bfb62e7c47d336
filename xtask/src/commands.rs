//! Commands of one step.

use anyhow::{Result, bail};
use mainspring_test_servers::SuiteServers;

use crate::process::{self, cargo, root, succeeds};
use crate::{needs, tidy};

/// Builds and starts the server for a look around. It replaces this process, so that signals reach it.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    use std::os::unix::process::CommandExt;
    needs::provide(&[needs::BUILD])?;
    let (profile, folder, args) = match args.split_first() {
        Some((first, rest)) if first == "--debug" => ("dev", "debug", rest),
        _ => ("release", "release", args),
    };
    if !succeeds(&mut cargo(["build", "--package", "mainspring-app", "--bin", "mainspring", "--profile", profile]))? {
        return Ok(false);
    }
    let mut serve = std::process::Command::new(process::target().join(folder).join("mainspring"));
    serve.args(["serve", "--dev"]);
    if !args.iter().any(|arg| arg == "--data-dir" || arg.starts_with("--data-dir=")) {
        serve.arg("--data-dir").arg(root().join("data"));
    }
    Err(serve.args(args).exec().into())
}

pub(crate) fn tidy() -> Result<bool> {
    let complaints = tidy::check(root())?;
    for complaint in &complaints {
        println!("{complaint}");
    }
    println!(
        "tidy: {}",
        if complaints.is_empty() { "clean".to_owned() } else { format!("{} complaints", complaints.len()) }
    );
    Ok(complaints.is_empty())
}

pub(crate) const SIM_SEEDS: &str = "300";

/// Numbers are seeds, each run by itself; all else is passed on.
pub(crate) fn sim(args: &[String]) -> Result<bool> {
    let (seeds, flags): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| arg.parse::<u64>().is_ok());
    if !flags.is_empty() || seeds.is_empty() {
        let default = ["--seeds".to_owned(), SIM_SEEDS.to_owned()];
        return simulate(if args.is_empty() { &default } else { args });
    }
    let mut all_passed = true;
    for seed in seeds {
        all_passed &= simulate(&["--seeds".to_owned(), "1".to_owned(), "--from".to_owned(), seed.clone()])?;
    }
    Ok(all_passed)
}

fn simulate(args: &[String]) -> Result<bool> {
    needs::provide(&[needs::BUILD])?;
    succeeds(cargo(["run", "--package", "mainspring-sim", "--"]).args(args))
}

/// The server is a debug build: its assertions count.
pub(crate) fn chaos(args: &[String]) -> Result<bool> {
    needs::provide(&[needs::BUILD, needs::TEST])?;
    if !succeeds(&mut cargo(["build", "--package", "mainspring-app", "--bin", "mainspring"]))? {
        return Ok(false);
    }
    let mut chaos = cargo(["run", "--package", "mainspring-e2e", "--bin", "chaos", "--"]);
    succeeds(chaos.args(args).env("MAINSPRING_BIN", process::target().join("debug").join("mainspring")))
}

/// Runs a command beside the servers that tests share.
pub(crate) fn servers(args: &[String]) -> Result<bool> {
    let Some((program, args)) = args.split_first() else {
        bail!("say what to run beside them, such as `cargo xtask servers cargo nextest run -p mainspring-store`");
    };
    needs::provide(&[needs::TEST])?;
    let servers = SuiteServers::start()?;
    succeeds(std::process::Command::new(program).args(args).envs(servers.environment()))
}

pub(crate) fn bench(args: &[String]) -> Result<bool> {
    needs::provide(&[needs::BUILD])?;
    succeeds(cargo(["run", "--release", "--package", "mainspring-bench", "--"]).args(args))
}
