//! `mainspring cron preview`: the rules are in this program, so no server is asked.

use mainspring_model::cron::{Preview, Start, preview, tzdb_version};
use mainspring_model::limits::CRON_PREVIEW_FIRES_MAX;
use mainspring_model::{Clock, Refused};
use mainspring_server::Problem;
use mainspring_store::clock::SystemClock;
use serde_json::json;

use crate::args::Format;
use crate::args::cron::{Cron, Preview as Args};
use crate::failure::Failure;
use crate::{complaint, print};

pub(crate) fn run(command: &Cron, format: Format) -> Result<(), Failure> {
    let Cron::Preview(args) = command;
    let shown = previewed(args).map_err(|refused| failure(args, refused))?;
    match format {
        Format::Json => print::json(&json!({ "dialect": shown.dialect.as_str(), "nextFires": shown.next_fires })),
        Format::Table => print::out(&told(args, &shown)),
    }
}

fn previewed(args: &Args) -> Result<Preview, Refused> {
    if !(1..=CRON_PREVIEW_FIRES_MAX).contains(&args.count) {
        let detail = format!("count is {}, allowed are 1 to {CRON_PREVIEW_FIRES_MAX}", args.count);
        return Err(Refused::field("count", "OUT_OF_RANGE", detail));
    }
    let from = match &args.from {
        Some(text) => text.parse()?,
        None => Start::from(SystemClock::new().now()),
    };
    Ok(preview(&args.expression, &args.tz, from, args.count)?)
}

fn told(args: &Args, shown: &Preview) -> String {
    let mut text = format!("{}\n{}\n", shown.description.en, shown.description.zh);
    text.push_str(&format!("{} rules, {} (time-zone database {})\n\n", shown.dialect, args.tz, tzdb_version()));
    for fire in &shown.next_fires {
        text.push_str(&format!("  {fire}\n"));
    }
    if shown.next_fires.is_empty() {
        text.push_str("  never\n");
    } else if shown.next_fires.len() < args.count as usize {
        text.push_str("  and never again\n");
    }
    for warning in &shown.warnings {
        text.push_str(&format!("\nwarning {}: {}\n", warning.code, warning.detail));
    }
    text
}

fn failure(args: &Args, refused: Refused) -> Failure {
    let problem = serde_json::to_value(Problem::from(refused)).unwrap_or_default();
    let said = json!({ "cronExpression": args.expression, "timeZone": args.tz });
    let message = complaint::told(&problem, &said);
    Failure { problem: Some(problem), ..Failure::refused(message) }
}
