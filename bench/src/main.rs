//! Load scenarios of Mainspring, each measured beside the raw limits of its machine and, when asked, beside a peer.
//!
//! A scenario is carried out in processes of its own (`runs`), so that memory and CPU time belong to it alone. What a
//! run measured comes back as named figures; `report` sets their medians beside the bars.
//!
//! **Invariants:** acknowledged means committed, as everywhere; nothing of what was measured is taken back out of a
//! figure; how disturbed a run was is written beside it.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time, on threads of its own")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod args;
mod bed;
mod bound;
mod client;
mod counters;
mod disk;
mod figures;
mod fired;
mod host;
mod latency;
mod limits;
mod load;
mod meter;
mod peer;
mod place;
mod procfs;
mod report;
mod rows;
mod runs;
mod scenarios;
mod server;
mod servers;
mod tables;
mod waits;
mod window;

use anyhow::{Context, Result};
use clap::Parser;

use crate::args::Args;

fn main() -> Result<()> {
    let args = Args::parse();
    match &args.child {
        Some(spec) => scenarios::carry_out(&serde_json::from_str(spec).context("reading the order of the parent")?),
        None => runs::all(&args),
    }
}
