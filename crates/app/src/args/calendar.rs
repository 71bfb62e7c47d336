//! `mainspring calendar …`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Calendar {
    /// List calendars
    List,
    /// Show a calendar
    Show(Name),
    /// Create or replace a calendar; the tasks that name it follow at once
    #[command(after_help = FILE_FORMAT)]
    Put {
        /// The calendar's name
        name: String,
        /// Plain lines, TOML or JSON; - for standard input
        #[arg(short, long, value_name = "FILE")]
        file: String,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Delete a calendar that no task names
    Delete(Name),
}

const FILE_FORMAT: &str = "\
Plain lines hold one day each, or a range of days:

  # National days
  2026-10-01/2026-10-07
  +2026-10-10            # a make-up working day

TOML and JSON have the fields excluded, working and description.";

#[derive(Debug, Args)]
pub(crate) struct Name {
    /// The calendar's name
    pub(crate) name: String,
}
