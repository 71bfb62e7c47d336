//! What a change must pass: the steps of `lint` and `test`. A failed step does not stop the next one, so that one look
//! at the end shows all that is wrong.

use std::fs;
use std::time::Instant;

use anyhow::Result;
use mainspring_test_servers::SuiteServers;

use crate::commands::{self, SIM_SEEDS};
use crate::counts::{self, Counts};
use crate::needs;
use crate::process::{self, cargo, root, succeeds, watched};

pub(crate) fn lint() -> Result<bool> {
    let mut gate = Gate::default();
    needs::provide(&[needs::BUILD])?;
    lint_steps(&mut gate);
    Ok(gate.close())
}

pub(crate) fn test(filters: &[String]) -> Result<bool> {
    let mut gate = Gate::default();
    needs::provide(&[needs::BUILD, needs::TEST])?;
    if filters.is_empty() {
        test_steps(&mut gate);
    } else {
        gate.step("tests", || run_tests(filters));
    }
    Ok(gate.close())
}

pub(crate) fn ci() -> Result<bool> {
    let mut gate = Gate::default();
    needs::provide(&[needs::BUILD, needs::TEST])?;
    lint_steps(&mut gate);
    test_steps(&mut gate);
    Ok(gate.close())
}

fn lint_steps(gate: &mut Gate) {
    let strict = ["--", "-D", "warnings"];
    gate.plain("format", || succeeds(&mut cargo(["fmt", "--all", "--check"])));
    gate.plain("tidy", commands::tidy);
    gate.plain("clippy", || succeeds(cargo(["clippy", "--workspace", "--all-targets"]).args(strict)));
    // The workspace switches every feature on; these two must also build without what they do not ask for.
    gate.plain("lean library", || succeeds(&mut cargo(["check", "--package", "mainspring"])));
    gate.plain("lean store", || {
        succeeds(&mut cargo(["check", "--package", "mainspring-store", "--no-default-features"]))
    });
    gate.plain("documentation", || {
        let mut doc = cargo(["doc", "--workspace", "--lib", "--no-deps"]);
        succeeds(doc.env("RUSTDOCFLAGS", "-D warnings"))
    });
}

fn test_steps(gate: &mut Gate) {
    gate.plain("build", || succeeds(&mut cargo(["build", "--workspace", "--all-targets"])));
    gate.step("tests", || run_tests(&[]));
    gate.step("documentation tests", || counted(&mut cargo(["test", "--workspace", "--doc", "--no-fail-fast"])));
    for example in examples() {
        gate.plain(&format!("example {example}"), || {
            succeeds(&mut cargo(["run", "--quiet", "--package", "mainspring", "--example", &example]))
        });
    }
    gate.plain("simulation", || commands::sim(&["--seeds".to_owned(), SIM_SEEDS.to_owned()]));
    gate.plain("planted bugs are found", || commands::sim(&["--planted".to_owned()]));
}

/// With nextest where it is installed, else with cargo's own runner. Tests of the binary find it by MAINSPRING_BIN, and
/// many tests share one server of each kind, which ends with this function.
fn run_tests(filters: &[String]) -> Result<Counts> {
    let mut command = if process::find("cargo-nextest").is_some() {
        let mut nextest = cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
        if !filters.is_empty() {
            succeeds(&mut cargo(["build", "--workspace", "--bins"]))?;
        }
        nextest.arg("--no-tests=pass").args(filters);
        nextest
    } else {
        let mut test = cargo(["test", "--workspace", "--all-targets", "--no-fail-fast", "--"]);
        test.args(filters);
        test
    };
    let servers = SuiteServers::start()?;
    command.envs(servers.environment());
    counted(command.env("MAINSPRING_BIN", process::target().join("debug").join("mainspring")))
}

fn counted(command: &mut std::process::Command) -> Result<Counts> {
    let mut seen = Counts::default();
    let succeeded = watched(command, |line| {
        if let Some(counts) = counts::in_line(line) {
            seen += counts;
        }
    })?;
    if !succeeded && seen.failed == 0 {
        seen.failed = 1; // it did not get as far as a count
    }
    Ok(seen)
}

/// Every example of the library is a program that ends by itself.
fn examples() -> Vec<String> {
    let Ok(folder) = fs::read_dir(root().join("crates/mainspring/examples")) else { return Vec::new() };
    let mut names: Vec<String> = folder
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Steps that were taken, with their counts.
#[derive(Debug, Default)]
struct Gate {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    counts: Counts,
    seconds: u64,
}

impl Gate {
    fn plain(&mut self, name: &str, act: impl FnOnce() -> Result<bool>) {
        self.step(name, || act().map(Counts::of_step));
    }

    #[expect(clippy::disallowed_methods, reason = "a build tool measures its own steps")]
    fn step(&mut self, name: &str, act: impl FnOnce() -> Result<Counts>) {
        println!("\n=== {name}");
        let start = Instant::now();
        let counts = act().unwrap_or_else(|error| {
            println!("{name}: {error:#}");
            Counts::of_step(false)
        });
        self.steps.push(Step { name: name.to_owned(), counts, seconds: start.elapsed().as_secs() });
    }

    /// The last line is the plain count; `true` when nothing failed.
    fn close(self) -> bool {
        let mut total = Counts::default();
        println!();
        for Step { name, counts, seconds } in &self.steps {
            let word = if counts.failed == 0 { "ok" } else { "FAILED" };
            println!("{word:<7}{seconds:>5} s  {name}");
            total += *counts;
        }
        println!("\n{} passed, {} failed", total.passed, total.failed);
        total.failed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_fails_the_gate_and_does_not_stop_it() {
        let mut gate = Gate::default();
        gate.plain("a", || Ok(false));
        gate.plain("b", || anyhow::bail!("no such program"));
        gate.step("c", || Ok(Counts { passed: 7, failed: 0 }));
        assert_eq!(gate.steps.len(), 3);
        assert!(!gate.close());
    }
}
