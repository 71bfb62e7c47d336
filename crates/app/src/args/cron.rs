//! `mainspring cron …`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Cron {
    /// Say what an expression means and when it fires next; needs no server
    Preview(Preview),
}

#[derive(Debug, Args)]
pub(crate) struct Preview {
    /// 5 fields or a macro as in crontab, 6 or 7 fields as in Quartz; quote it
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: String,
    /// The time zone, a name such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", allow_hyphen_values = true)]
    pub(crate) tz: String,
    /// Fires come after this instant [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// How many fires, at most 100
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) count: u32,
}
