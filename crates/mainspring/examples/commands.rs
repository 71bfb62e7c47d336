//! Work that is a program of its own: killed as a tree at its time-out. `cargo run -p mainspring --example commands`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::Duration;

use mainspring::execute::process::{CommandHandler, CommandTemplate};
use mainspring::execute::shim::shim_main_if_asked;
use mainspring::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before everything else, threads included: the same executable keeps the program and what it starts together.
    shim_main_if_asked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    // Fixed arguments; values of the payload stand for single arguments, and no shell reads them.
    let greet = CommandTemplate::new("greet".parse()?, "echo").args(["hello", "{payload.name}"]);
    let hang = CommandTemplate::new("hang".parse()?, "sh").args(["-c", "sleep 600 & sleep 600"]);
    let jobs = Mainspring::in_memory()
        .custom_handler("greet", Arc::new(CommandHandler::new(greet)?))
        .custom_handler("hang", Arc::new(CommandHandler::new(hang)?))
        .start()
        .await?;

    let greeted = jobs.submit("greet", &serde_json::json!({"name": "$(whoami); world"})).await?;
    println!("{:?}", jobs.wait(greeted.id).await?);

    let hung = jobs.submit("hang", &()).timeout(Duration::from_millis(300)).retries(0).await?;
    println!("{:?}", jobs.wait(hung.id).await?);

    jobs.stop(Duration::from_secs(5)).await;
    Ok(())
}
