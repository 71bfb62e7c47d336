//! The binary `mainspring`: arguments, configuration, processes.

mod args;
mod client;
mod cmd;
mod complaint;
mod config;
mod failure;
mod print;
mod probes;
mod signals;
mod task_file;
mod telemetry;

use std::process::ExitCode;

use clap::Parser;
use mainspring_engine::execute::shim;

use crate::args::{Cli, Command, Format};
use crate::client::Client;
use crate::failure::Failure;

fn main() -> ExitCode {
    // The keeper of a command is this executable too: it must not become a server first.
    shim::shim_main_if_asked();
    let cli = Cli::parse();
    let format = cli.format;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let (Format::Json, Some(problem)) = (format, &failure.problem) {
                print::json(problem).ok(); // the exit code and standard error say the same
            }
            if !failure.message.is_empty() {
                print::complain(&failure.message);
            }
            failure.code()
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let format = cli.format;
    // Whoever installed one before was first, and any provider will do.
    rustls::crypto::ring::default_provider().install_default().ok();
    match cli.command {
        Command::Serve(args) => cmd::serve::run(&args),
        Command::Config(command) => cmd::config::run(&command, format),
        Command::Cron(command) => cmd::cron::run(&command, format),
        Command::Verify(place) => block_on(cmd::verify::run(&place, format)),
        Command::History(command) => block_on(cmd::history::run(command, format)),
        Command::Migrate(args) => block_on(cmd::migrate::run(args, format)),
        Command::Bench(args) => block_on_all(cmd::bench::run(args, format)),
        Command::Submit(args) => with_client(cli.server, async |client| cmd::submit::run(args, client, format).await),
        Command::Task(command) => with_client(cli.server, async |client| cmd::task::run(command, client, format).await),
        Command::Job(command) => with_client(cli.server, async |client| cmd::job::run(command, client, format).await),
        Command::Calendar(command) => {
            with_client(cli.server, async |client| cmd::calendar::run(command, client, format).await)
        }
        Command::Node(command) => with_client(cli.server, async |client| cmd::node::run(command, client, format).await),
        Command::Pool(command) => with_client(cli.server, async |client| cmd::pool::run(command, client, format).await),
    }
}

fn with_client(server: Option<String>, call: impl AsyncFnOnce(&Client) -> Result<(), Failure>) -> Result<(), Failure> {
    let client = Client::new(server)?;
    block_on(call(&client))
}

/// One thread is enough to wait with.
fn block_on(future: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("no runtime: {error}")))?.block_on(future)
}

fn block_on_all(future: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("no threads: {error}")))?.block_on(future)
}
