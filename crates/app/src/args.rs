//! The command tree. Its help texts are kept in `snapshots/`: a test compares.

pub(crate) mod calendar;
pub(crate) mod cron;
pub(crate) mod history;
pub(crate) mod task;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Background jobs that survive: one server, one database.
#[derive(Debug, Parser)]
#[command(name = "mainspring", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// How answers are printed
    #[arg(long, global = true, value_enum, default_value = "table", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// The server that commands talk to [default: MAINSPRING_SERVER_URL, or http://127.0.0.1:8700]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong use or refused, 69 unavailable (no server, database in use), 78 configuration.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server
    Serve(Serve),
    /// Make a job of a task
    Submit(Submit),
    /// Tasks: the definitions that jobs are made from
    #[command(subcommand)]
    Task(task::Task),
    /// Jobs: what was asked for, and what became of it
    #[command(subcommand)]
    Job(Job),
    /// Pools: bounded slots in which jobs run
    #[command(subcommand)]
    Pool(Pool),
    /// Nodes: the engines that work on the database
    #[command(subcommand)]
    Node(Node),
    /// Calendars: days on which schedules rest
    #[command(subcommand)]
    Calendar(calendar::Calendar),
    /// Cron expressions
    #[command(subcommand)]
    Cron(cron::Cron),
    /// The configuration
    #[command(subcommand)]
    Config(Config),
    /// Check the invariants in a database; an embedded one must not be open in a server
    Verify(Place),
    /// History: jobs that ended long ago
    #[command(subcommand)]
    History(history::History),
    /// Move an embedded database to PostgreSQL, MySQL or MariaDB; no server may run on either
    Migrate(Migrate),
    /// Measure this machine: an engine of its own in a directory that is removed afterwards
    Bench(Bench),
}

/// Where the database is.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The configuration file [default: MAINSPRING_CONFIG, or mainspring.toml when it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The database: sqlite://PATH, postgres://…, mysql://… or memory:. With a password, better in the configuration or in
    /// MAINSPRING_DATABASE__URL: others see the arguments of a process
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The directory for everything that the server keeps
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Where to listen; loopback addresses only
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// A label that this node carries; repeatable, all of them
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// How long other nodes believe that this one lives when it does not say so, such as 15s
    #[arg(long, value_name = "SPAN")]
    pub(crate) lease: Option<String>,
    /// For trials: probe handlers are on, and the http handler may call loopback addresses
    #[arg(long)]
    pub(crate) dev: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The task's code
    pub(crate) task: String,
    /// JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) payload: Option<String>,
    /// Your own key: the same key again answers the first job
    #[arg(long, value_name = "KEY")]
    pub(crate) biz_id: Option<String>,
    /// ALWAYS: one job per key for ever. LIVE: the key is free again when the job is final
    #[arg(long, value_name = "WORD")]
    pub(crate) unique: Option<String>,
    /// Start after this time, such as 30m
    #[arg(long, value_name = "SPAN", conflicts_with = "at")]
    pub(crate) delay: Option<String>,
    /// Start at this instant, such as 2026-12-01T08:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// critical, high, normal or low
    #[arg(long, value_name = "WORD")]
    pub(crate) priority: Option<String>,
    /// How often it is tried again
    #[arg(long, value_name = "N")]
    pub(crate) max_retry: Option<u32>,
    /// How long one attempt may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout_seconds: Option<u32>,
    /// Wait for its end; the exit code is 0 when it succeeds, 1 when not
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(JobList),
    /// Show a job and its attempts
    Show(Id),
    /// Run a failed or cancelled job again, or a waiting one now
    Retry(Operated),
    /// Cancel a job that is not final
    Cancel(Operated),
    /// Mark a job as failed
    Fail(Operated),
    /// Give a held job back to the queue
    Release(Operated),
    /// Print what a job's newest attempt wrote
    Output {
        /// A job's id, or an attempt's
        id: String,
        /// Go on until the attempt is over
        #[arg(short, long)]
        follow: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Id {
    /// The job's id
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Operated {
    /// The job's id
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) request: task::Request,
}

#[derive(Debug, Args)]
pub(crate) struct JobList {
    /// Of this task
    #[arg(long, value_name = "CODE")]
    pub(crate) task: Option<String>,
    /// Repeatable: PENDING, EXECUTING, SUCCESS, FAILED, TIMEOUT, CANCELLED, SKIPPED
    #[arg(long, value_name = "WORD")]
    pub(crate) status: Vec<String>,
    /// With this key
    #[arg(long, value_name = "KEY")]
    pub(crate) biz_id: Option<String>,
    /// The pool of slots
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// SUBMIT, MANUAL, CRON or MISFIRE; together with --task, --status or --biz-id
    #[arg(long, value_name = "WORD")]
    pub(crate) trigger: Option<String>,
    /// Created at this instant or later
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Created before this instant
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    /// Jobs on a page, at most 200
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pool {
    /// List pools with their load
    List,
    /// Create or change a pool
    Set(PoolSet),
}

#[derive(Debug, Args)]
pub(crate) struct PoolSet {
    /// The pool's name
    pub(crate) name: String,
    /// Jobs at one time
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<u32>,
    /// Jobs held in memory for a slot
    #[arg(long, value_name = "N")]
    pub(crate) queue_capacity: Option<u32>,
    /// spill, wait, callerRuns or reject
    #[arg(long, value_name = "WORD")]
    pub(crate) when_full: Option<String>,
    /// Starts in any period of that length, such as 100/1m; an empty one takes the limit away
    #[arg(long, value_name = "RATE")]
    pub(crate) rate_limit: Option<String>,
    /// Jobs at one time on all nodes together; none takes the limit away
    #[arg(long, value_name = "N|none")]
    pub(crate) cluster_concurrency: Option<Limit>,
    /// Start no more jobs
    #[arg(long, conflicts_with = "resume")]
    pub(crate) pause: bool,
    /// Start jobs again
    #[arg(long)]
    pub(crate) resume: bool,
}

/// A number, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<u32>);

impl FromStr for Limit {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Limit, Self::Err> {
        if text == "none" { Ok(Limit(None)) } else { text.parse().map(|number| Limit(Some(number))) }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Node {
    /// List nodes, also those that are gone
    List,
    /// Let a node take no new work: it ends what it has begun, and stops when it is told to
    Drain {
        /// The node's id, as the list shows it
        id: String,
        #[command(flatten)]
        request: task::Request,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every value and where it comes from
    Explain(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// The database to move: sqlite://PATH
    #[arg(long, value_name = "URL")]
    pub(crate) from: String,
    /// An empty database: postgres://… or mysql://… [default: the one that the configuration names]. With a password, better
    /// there or in MAINSPRING_DATABASE__URL: others see the arguments of a process
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// The configuration file [default: MAINSPRING_CONFIG, or mainspring.toml when it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Remove what an interrupted run has left in the target, and begin anew
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// How many jobs
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) jobs: u32,
    /// Where the temporary directory is made: the disk matters
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Every help text is a file: a change of the command line is seen in a review.
    fn check_help(command: &clap::Command, path: &str) {
        let mut shown = command.clone().bin_name(path.to_owned()).term_width(100);
        insta::assert_snapshot!(path.replace(' ', "_"), shown.render_long_help().to_string());
        for inner in command.get_subcommands() {
            check_help(inner, &format!("{path} {}", inner.get_name()));
        }
    }

    #[test]
    fn help_texts_are_the_ones_in_the_repository() {
        let mut tree = Cli::command();
        tree.build();
        tree.clone().debug_assert();
        check_help(&tree, "mainspring");
    }

    #[test]
    fn the_documented_calls_are_read() {
        for line in [
            "serve --config F --listen 127.0.0.1:8700 --database memory: --data-dir D --dev",
            "submit t --payload - --biz-id K --delay 30m --wait",
            "submit t --payload -1 --at 2026-12-01T00:00:00Z --server http://127.0.0.1:1 --format json",
            "--format json task list",
            "task trigger t --request-id r --wait",
            "task edit t --every= --cron @daily",
            "task create t --handler h --cron @daily --tz Asia/Shanghai --overlap ALLOW --max-running 2 --disabled",
            "task create t --handler h --every 10s --rhythm FIXED_DELAY --start-at A --end-at B --calendar c",
            "task edit t --every 10s --max-running= --version 3",
            "task copy t u",
            "task fires t --count 3",
            "task backfill t --from A --to B --dry-run",
            "task apply -f tasks.toml --dry-run",
            "calendar put cn -f days.txt",
            "pool set p --rate-limit 100/1m",
            "job list --status FAILED --status TIMEOUT",
            "job output 7 -f",
            "job retry 7 --request-id r",
            "task delete t --version 3 --request-id r",
            "pool set p --concurrency 3 --pause",
            "pool set p --cluster-concurrency none",
            "node list",
            "node drain 00c0ffee00c0ffee --request-id r",
            "serve --label gpu --label zone=eu --lease 30s",
            "task create t --handler h --node-label gpu --node-label eu --broadcast",
            "task edit t --node-label= --broadcast=false",
            "config explain --format json",
            "cron preview @daily --tz Asia/Shanghai --from 2026-01-01T00:00:00Z --count 3",
            "verify --database sqlite://x",
            "migrate --from sqlite://x --to postgres://db/x --restart",
            "migrate --from sqlite://x --config F --format json",
            "history drop --before 2026-09-01 --dry-run",
            "history drop --before 2026-09-01T00:00:00Z --database postgres://db/x --format json",
            "bench --jobs 10",
        ] {
            let read = Cli::try_parse_from(std::iter::once("mainspring").chain(line.split(' ')));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
        for line in [
            "submit",
            "pool set p --cluster-concurrency some",
            "node drain",
            "submit t --delay 1s --at x",
            "pool set p --pause --resume",
            "serve 8700",
            "bench --jobs 0",
            "history drop",
            "history drop --before yesterday",
            "migrate --to postgres://db/x",
        ] {
            let read = Cli::try_parse_from(std::iter::once("mainspring").chain(line.split(' ')));
            assert_eq!(read.expect_err(line).exit_code(), 2);
        }
    }
}
