//! `mainspring task …`.

use std::str::FromStr;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// List tasks
    List(TaskList),
    /// Show a task and when it fires next
    Show(Code),
    /// Create a task
    Create(Box<TaskCreate>),
    /// Change a task: what is not said stays, an empty value goes back to the default
    Edit(Box<TaskEdit>),
    /// Make a new task with the same definition; it begins disabled
    Copy {
        /// The task's code
        code: String,
        /// The code of the new task
        new: String,
        #[command(flatten)]
        request: Request,
    },
    /// Create, change or leave the tasks of a file
    #[command(after_help = FILE_FORMAT)]
    Apply {
        /// TOML or JSON; - for standard input
        #[arg(short, long, value_name = "FILE")]
        file: String,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        request: Request,
    },
    /// Let jobs of a task be made and started; its schedule goes on from now
    Enable {
        /// The task's code
        code: String,
        #[command(flatten)]
        request: Request,
    },
    /// Let no new job of a task be made
    Disable {
        /// The task's code
        code: String,
        #[command(flatten)]
        request: Request,
    },
    /// Run a task now
    Trigger {
        /// The task's code
        code: String,
        /// The payload of this job: JSON, @FILE or -
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        param: Option<String>,
        /// Wait for its end; the exit code is 0 when it succeeds, 1 when not
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        request: Request,
    },
    /// Show when a task fires next
    Fires {
        /// The task's code
        code: String,
        /// How many fires, at most 100
        #[arg(long, value_name = "N", default_value_t = 5)]
        count: u32,
    },
    /// Run fire times of the past that have not run
    Backfill {
        /// The task's code
        code: String,
        /// From this instant on, such as 2026-12-01T08:30:00Z
        #[arg(long, value_name = "TIME")]
        from: String,
        /// Up to this instant, included
        #[arg(long, value_name = "TIME")]
        to: String,
        /// Only show what would run
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        request: Request,
    },
    /// Delete a task that has no live jobs; the record of its jobs stays
    Delete {
        /// The task's code
        code: String,
        /// Only when nobody changed it since this version
        #[arg(long, value_name = "N")]
        version: Option<i64>,
        #[command(flatten)]
        request: Request,
    },
}

const FILE_FORMAT: &str = "\
TOML has one [[task]] table per task, JSON {\"tasks\": […]}. The fields are those of the REST interface:

  [[task]]
  code = \"report.daily\"
  handler = \"http\"
  cronExpression = \"30 6 * * MON-FRI\"
  timeZone = \"Europe/Berlin\"
  param = { url = \"https://example.com/report\" }

What an entry does not say goes to its default. Whether a task that exists is enabled stays as it is. The exit code is 2
when an entry was refused; the others are carried out.";

#[derive(Debug, Args)]
pub(crate) struct Code {
    /// The task's code
    pub(crate) code: String,
}

#[derive(Debug, Args)]
pub(crate) struct Request {
    /// A repeat with the same id changes nothing and answers the first result
    #[arg(id = "request-id", long, value_name = "ID")]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TaskList {
    /// Part of a code, name, owner or tag
    #[arg(long, value_name = "TEXT")]
    pub(crate) q: Option<String>,
    /// ENABLED, DISABLED, RUNNING or COMPLETED
    #[arg(long, value_name = "WORD")]
    pub(crate) status: Option<String>,
    /// cron, async, delay or manual
    #[arg(long = "type", value_name = "WORD")]
    pub(crate) kind: Option<String>,
    /// The pool of slots
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// One of its tags
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// The calendar that it goes by
    #[arg(long, value_name = "NAME")]
    pub(crate) calendar: Option<String>,
    /// Fields with commas between, - for descending, such as nextFireTime
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
    /// It takes no jobs and does not fire until it is enabled
    #[arg(long)]
    pub(crate) disabled: bool,
    #[command(flatten)]
    pub(crate) fields: TaskFields,
}

#[derive(Debug, Args)]
pub(crate) struct TaskEdit {
    /// The task's code
    pub(crate) code: String,
    /// The handler that does the work
    #[arg(long, value_name = "NAME")]
    pub(crate) handler: Option<String>,
    /// Only when nobody changed it since this version [default: the present one]
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<i64>,
    #[command(flatten)]
    pub(crate) fields: TaskFields,
}

#[derive(Debug, Args)]
pub(crate) struct TaskFields {
    /// For people [default: the code]
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// cron, async, delay or manual [default: cron with --cron or --every, async without]
    #[arg(long = "type", value_name = "WORD")]
    pub(crate) kind: Option<String>,
    /// When it fires: 5 fields or a macro as in crontab, 6 or 7 fields as in Quartz; quote it
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) cron: Option<String>,
    /// The time zone of its schedule, a name such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// When it fires: the time between two fires, such as 10s
    #[arg(long, value_name = "SPAN")]
    pub(crate) every: Option<String>,
    /// FIXED_RATE: from fire to fire. FIXED_DELAY: from the end of a job to the next fire
    #[arg(long, value_name = "WORD")]
    pub(crate) rhythm: Option<String>,
    /// No fire before
    #[arg(long, value_name = "TIME")]
    pub(crate) start_at: Option<String>,
    /// No fire after
    #[arg(long, value_name = "TIME")]
    pub(crate) end_at: Option<String>,
    /// The calendar of days on which its schedule rests
    #[arg(long, value_name = "NAME")]
    pub(crate) calendar: Option<String>,
    /// FORBID, QUEUE_ONE, ALLOW or REPLACE: a fire while a job of it is live [default: FORBID for cron, else ALLOW]
    #[arg(long, value_name = "WORD")]
    pub(crate) overlap: Option<String>,
    /// FIRE_ONCE, SKIP or FIRE_ALL: fire times that passed while nobody could fire them
    #[arg(long, value_name = "WORD")]
    pub(crate) misfire: Option<String>,
    /// A fire that is later than this is a misfire
    #[arg(long, value_name = "SECONDS")]
    pub(crate) misfire_grace: Option<Number>,
    /// With FIRE_ALL: how many of the missed fire times run
    #[arg(long, value_name = "N")]
    pub(crate) max_catchup: Option<Number>,
    /// A fired job that has not begun by then is skipped
    #[arg(long, value_name = "SECONDS")]
    pub(crate) start_deadline: Option<Number>,
    /// Bodies at one time, in all nodes together
    #[arg(long, value_name = "N")]
    pub(crate) max_running: Option<Number>,
    /// Starts in any period of that length, such as 100/1m
    #[arg(long, value_name = "RATE")]
    pub(crate) rate_limit: Option<String>,
    /// Where in the payload the key stands by which both limits count, such as /tenant
    #[arg(long, value_name = "POINTER")]
    pub(crate) concurrency_key: Option<String>,
    /// The payload of jobs that bring none: JSON, @FILE or -
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) param: Option<String>,
    /// How long one attempt may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout_seconds: Option<Number>,
    /// RETRY, ALERT or STOP
    #[arg(long, value_name = "WORD")]
    pub(crate) fail_strategy: Option<String>,
    /// How often a job is tried again
    #[arg(long, value_name = "N")]
    pub(crate) retry_count: Option<Number>,
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
    /// Only nodes that carry this label run its jobs; repeatable, all of them
    #[arg(long = "node-label", value_name = "LABEL")]
    pub(crate) node_labels: Vec<String>,
    /// Each job runs once on every node that can run it; =false takes that back
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) broadcast: Option<Switch>,
    /// RERUN or FAIL: what becomes of a job whose server died while it ran
    #[arg(long, value_name = "WORD")]
    pub(crate) on_lost: Option<String>,
    /// Whom to ask
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Repeatable; all of them
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
}

/// `true`, `false`, or nothing: back to the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switch(pub(crate) Option<bool>);

impl FromStr for Switch {
    type Err = std::str::ParseBoolError;
    fn from_str(text: &str) -> Result<Switch, Self::Err> {
        if text.is_empty() { Ok(Switch(None)) } else { text.parse().map(|on| Switch(Some(on))) }
    }
}

/// A number, or nothing: back to the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Option<u32>);

impl FromStr for Number {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Number, Self::Err> {
        if text.is_empty() { Ok(Number(None)) } else { text.parse().map(|number| Number(Some(number))) }
    }
}
