//! The only build tool of the house. `cargo xtask` without a command says what there is.
//!
//! Every command is a list of named steps; a step is a program that is started, and its exit code counts. Nothing is
//! fetched that cargo or the system's package manager does not fetch.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a build tool talks to the terminal")]

mod codegen;
mod commands;
mod counts;
mod gate;
mod needs;
mod process;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  run [--debug] [ARG…]   build and start `mainspring serve --dev` with its data under ./data
  test [FILTER…]         all tests of a fresh clone; with filters, only the tests whose names hold one
  lint                   format, house rules, clippy, documentation
  ci                     lint and test: what a change must pass
  tidy                   the house rules alone (fast)
  sim [SEED…]            the simulation: 500 seeds, or these; flags are passed on
  chaos [ARG…]           nodes and databases that are killed, paused and cut off, under load: 10 minutes for each
                         database with two and with three nodes; or --store, --nodes, --minutes, --seed, --keep
  bench [ARG…]           the load scenarios, in release
  servers COMMAND…       run a command beside the database servers that tests share
  codegen                write the files that are made from the code (OpenAPI, command line pages)";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let done = match command.as_str() {
        "run" => commands::run(&rest),
        "test" => gate::test(&rest),
        "lint" => gate::lint(),
        "ci" => gate::ci(),
        "tidy" => commands::tidy(),
        "sim" => commands::sim(&rest),
        "chaos" => commands::chaos(&rest),
        "bench" => commands::bench(&rest),
        "servers" => commands::servers(&rest),
        "codegen" => codegen::write_all(),
        "" | "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(true)
        }
        unknown => {
            eprintln!("`{unknown}` is not a command\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
