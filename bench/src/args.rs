//! The command line, and the sizes of the load.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

#[derive(Debug, clap::Parser)]
#[command(about = "Load scenarios of Mainspring. Prints a table of medians; docs/benchmarks.md says what each means.")]
pub(crate) struct Args {
    /// Which scenarios; all when none is named.
    pub(crate) scenarios: Vec<Scenario>,
    #[arg(long, value_enum, default_value_t = Surface::All)]
    pub(crate) surface: Surface,
    /// Where the jobs are kept. A database server is started for the measurement, with its data under `--dir`.
    #[arg(long, value_enum, default_value_t = StoreKind::Sqlite)]
    pub(crate) store: StoreKind,
    /// A setting of that server beside ours, such as `shared_buffers=4GB`; may be given several times.
    #[arg(long = "server-setting", value_name = "NAME=VALUE")]
    pub(crate) server_settings: Vec<String>,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    /// Runs of each scenario; the table shows their medians.
    #[arg(long, default_value_t = 3)]
    pub(crate) repeat: u32,
    /// Adds one JSON line per run to this file.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// The driver of a peer (bench/peers/effectum), which then carries out the same load.
    #[arg(long)]
    pub(crate) peer: Option<PathBuf>,
    /// The server; default: `mainspring` beside this program.
    #[arg(long)]
    pub(crate) mainspring: Option<PathBuf>,
    /// Where databases are made. It must lie on a disk: in memory a sync costs nothing.
    #[arg(long, default_value = "target/bench")]
    pub(crate) dir: PathBuf,
    /// A run waits until others use less than this share of the CPUs, in per cent …
    #[arg(long, default_value_t = 15.0)]
    pub(crate) calm: f64,
    /// … but not longer than this, in seconds.
    #[arg(long, default_value_t = 60)]
    pub(crate) calm_wait: u64,
    /// The order for a process that this program starts.
    #[arg(long, hide = true)]
    pub(crate) child: Option<String>,
}

/// How much of everything.
#[derive(Debug, Clone, Copy, clap::Args, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// Jobs in w1, w1b, w2, w5, `cluster` and `history`, in each part of `lanes` and in each flood of `isolation`.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) jobs: u64,
    /// Length of w3, `idle` and `dormant`.
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Jobs in w6; 2,000 of them are spread over 30 s.
    #[arg(long, default_value_t = 2_000)]
    pub(crate) timers: u64,
    /// Finished and future jobs in w5, waiting jobs in w7, startup and idle.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) history: u64,
    /// Finished jobs under the lists of `pages`.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) page_rows: u64,
    /// Length of `steady`; 600 for the ten minutes of the bar.
    #[arg(long, default_value_t = 60)]
    pub(crate) steady_seconds: u64,
    /// Tasks in `fires` and `spread`.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) fire_tasks: u64,
    /// Length of `fires` and `spread`.
    #[arg(long, default_value_t = 60)]
    pub(crate) fire_seconds: u64,
    /// Tasks in `instant` and `dormant`.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) due_tasks: u64,
    /// Finished jobs in `history`.
    #[arg(long, default_value_t = 10_000_000)]
    pub(crate) rows: u64,
    /// Slots of the pool.
    #[arg(long, default_value_t = 64)]
    pub(crate) slots: u32,
    /// Concurrent submitters.
    #[arg(long, default_value_t = 64)]
    pub(crate) submitters: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scenario {
    /// What the disk and the database allow at all.
    Limits,
    /// No-op jobs, one call each, while the pool is paused.
    W1,
    /// The same, 1,000 a call.
    W1b,
    /// Waiting no-op jobs are drained by one process.
    W2,
    /// 100 jobs a second: submit to start.
    W3,
    /// 5,000 jobs at once, while others of 1 ms run.
    W4,
    /// w2 with a past and a future in the tables.
    W5,
    /// Jobs start on their instant.
    W6,
    /// Memory: idle, and with many waiting jobs.
    W7,
    /// 100 jobs a second of 1 s each.
    Steady,
    /// From nothing to the first start, with many unfinished jobs.
    Startup,
    /// A page of each list, with many finished jobs.
    Pages,
    /// CPU time while many jobs wait for another day.
    Idle,
    /// Tasks that all fire on each whole second.
    Fires,
    /// The same number of fires, evenly over the second.
    Spread,
    /// Tasks that fire once, all at one instant.
    Instant,
    /// 100 fires a second, alone and beside a flood of other jobs.
    Isolation,
    /// Tasks that fire another day.
    Dormant,
    /// Jobs under limits, and jobs beside them.
    Lanes,
    /// The next fire of schedules, and the slowest texts.
    Cron,
    /// Waiting no-op jobs are drained by one, two and four nodes.
    Cluster,
    /// w2 and `pages` over a long past.
    History,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
    Mariadb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Surface {
    Library,
    Rest,
    All,
}

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    /// The disk, and the database without us.
    Raw,
    Library,
    Rest,
    Effectum,
}

impl Scenario {
    pub(crate) fn subjects(self) -> &'static [Subject] {
        use Subject::{Effectum, Library, Raw, Rest};
        match self {
            Scenario::Limits => &[Raw],
            Scenario::W1 | Scenario::W1b | Scenario::W3 | Scenario::W4 => &[Library, Rest, Effectum],
            Scenario::W2 | Scenario::W5 | Scenario::W6 | Scenario::W7 => &[Library, Effectum],
            Scenario::Fires | Scenario::Spread | Scenario::Instant => &[Library],
            Scenario::Isolation | Scenario::Dormant | Scenario::Lanes => &[Library],
            Scenario::Steady | Scenario::Startup | Scenario::Pages | Scenario::Idle | Scenario::Cron => &[Library],
            Scenario::Cluster | Scenario::History => &[Library],
        }
    }

    /// Those of schedules and limits read the tables themselves, and do it in SQLite.
    pub(crate) fn is_on(self, store: StoreKind) -> bool {
        match self {
            Scenario::Fires | Scenario::Spread | Scenario::Instant | Scenario::Isolation => store == StoreKind::Sqlite,
            Scenario::Dormant | Scenario::Lanes | Scenario::Cron => store == StoreKind::Sqlite,
            Scenario::Cluster | Scenario::History => store != StoreKind::Sqlite,
            _ => true,
        }
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Sizes {
    /// Rows that a database is filled with.
    pub(crate) fn rows(&self, scenario: Scenario) -> u64 {
        match scenario {
            Scenario::Pages => self.page_rows,
            Scenario::History => self.rows,
            _ => self.history,
        }
    }
}

impl Args {
    pub(crate) fn asked(&self) -> Vec<Scenario> {
        if self.scenarios.is_empty() {
            let all = Scenario::value_variants().iter().copied();
            return all.filter(|scenario| scenario.is_on(self.store)).collect();
        }
        self.scenarios.clone()
    }
}
