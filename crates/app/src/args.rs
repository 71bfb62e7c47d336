//! The command tree. Its help texts are kept in `snapshots/`: a test compares.

pub(crate) mod cron;

use std::path::PathBuf;

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
    Task(Task),
    /// Jobs: what was asked for, and what became of it
    #[command(subcommand)]
    Job(Job),
    /// Pools: bounded slots in which jobs run
    #[command(subcommand)]
    Pool(Pool),
    /// Cron expressions
    #[command(subcommand)]
    Cron(cron::Cron),
    /// The configuration
    #[command(subcommand)]
    Config(Config),
    /// Check the invariants in a database that no server has open
    Verify(Place),
    /// Measure this machine: an engine of its own in a directory that is removed afterwards
    Bench(Bench),
}

/// Where the database is.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The configuration file [default: MAINSPRING_CONFIG, or mainspring.toml when it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The database: sqlite://PATH or memory:
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
pub(crate) enum Task {
    /// List tasks
    List(TaskList),
    /// Show a task
    Show(Code),
    /// Create a task
    Create(Box<TaskCreate>),
    /// Let jobs of a task be made and started
    Enable(Code),
    /// Let no new job of a task be made
    Disable(Code),
    /// Run a task now
    Trigger {
        /// The task's code
        code: String,
        /// The payload of this job: JSON, @FILE or -
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        param: Option<String>,
        /// A repeat with the same id answers the first job
        #[arg(long, value_name = "ID")]
        request_id: Option<String>,
    },
    /// Delete a task that has no live jobs; the record of its jobs stays
    Delete {
        /// The task's code
        code: String,
        /// Only when nobody changed it since this version
        #[arg(long, value_name = "N")]
        version: Option<i64>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Code {
    /// The task's code
    pub(crate) code: String,
}

#[derive(Debug, Args)]
pub(crate) struct TaskList {
    /// Part of a code, name, owner or tag
    #[arg(long, value_name = "TEXT")]
    pub(crate) q: Option<String>,
    /// ENABLED, DISABLED or RUNNING
    #[arg(long, value_name = "WORD")]
    pub(crate) status: Option<String>,
    /// async, delay or manual
    #[arg(long = "type", value_name = "WORD")]
    pub(crate) kind: Option<String>,
    /// The pool of slots
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// One of its tags
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Fields with commas between, - for descending
    #[arg(long, value_name = "FIELDS", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,
    /// 1 for the first
    #[arg(long, value_name = "N")]
    pub(crate) page: Option<u32>,
    /// Tasks on a page, at most 200
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct TaskCreate {
    /// The task's code: how programs and people call it
    pub(crate) code: String,
    /// The handler that does the work
    #[arg(long, value_name = "NAME")]
    pub(crate) handler: String,
    /// For people [default: the code]
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// async, delay or manual
    #[arg(long = "type", value_name = "WORD")]
    pub(crate) kind: Option<String>,
    /// The payload of jobs that bring none: JSON, @FILE or -
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) param: Option<String>,
    /// How long one attempt may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout_seconds: Option<u32>,
    /// RETRY, ALERT or STOP
    #[arg(long, value_name = "WORD")]
    pub(crate) fail_strategy: Option<String>,
    /// How often a job is tried again
    #[arg(long, value_name = "N")]
    pub(crate) retry_count: Option<u32>,
    /// The first delay between tries, such as 1s; it doubles
    #[arg(long, value_name = "SPAN")]
    pub(crate) retry_base: Option<String>,
    /// The longest delay between tries
    #[arg(long, value_name = "SPAN")]
    pub(crate) retry_cap: Option<String>,
    /// The pool of slots
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// critical, high, normal or low
    #[arg(long, value_name = "WORD")]
    pub(crate) priority: Option<String>,
    /// RERUN or FAIL: what becomes of a job whose server died while it ran
    #[arg(long, value_name = "WORD")]
    pub(crate) on_lost: Option<String>,
    /// Whom to ask
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Repeatable
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs, newest first
    List(JobList),
    /// Show a job and its attempts
    Show(Id),
    /// Run a failed or cancelled job again, or a waiting one now
    Retry(Id),
    /// Cancel a job that is not final
    Cancel(Id),
    /// Mark a job as failed
    Fail(Id),
    /// Give a held job back to the queue
    Release(Id),
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
pub(crate) struct JobList {
    /// Of this task
    #[arg(long, value_name = "CODE")]
    pub(crate) task: Option<String>,
    /// Repeatable: PENDING, EXECUTING, SUCCESS, FAILED, TIMEOUT, CANCELLED
    #[arg(long, value_name = "WORD")]
    pub(crate) status: Vec<String>,
    /// With this key
    #[arg(long, value_name = "KEY")]
    pub(crate) biz_id: Option<String>,
    /// The pool of slots
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// SUBMIT or MANUAL
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
    /// Start no more jobs
    #[arg(long, conflicts_with = "resume")]
    pub(crate) pause: bool,
    /// Start jobs again
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every value and where it comes from
    Explain(Serve),
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
            "task trigger t --request-id r",
            "job list --status FAILED --status TIMEOUT",
            "job output 7 -f",
            "pool set p --concurrency 3 --pause",
            "config explain --format json",
            "cron preview @daily --tz Asia/Shanghai --from 2026-01-01T00:00:00Z --count 3",
            "verify --database sqlite://x",
            "bench --jobs 10",
        ] {
            let read = Cli::try_parse_from(std::iter::once("mainspring").chain(line.split(' ')));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
        for line in
            ["submit", "submit t --delay 1s --at x", "pool set p --pause --resume", "serve 8700", "bench --jobs 0"]
        {
            let read = Cli::try_parse_from(std::iter::once("mainspring").chain(line.split(' ')));
            assert_eq!(read.expect_err(line).exit_code(), 2);
        }
    }
}
