//! `mainspring history`: jobs of long ago, taken out of the database day by day.

use mainspring_store::clock::SystemClock;
use mainspring_store::{DroppedHistory, ServerStore, without_secrets};
use serde_json::json;

use crate::args::Format;
use crate::args::history::{DropHistory, History};
use crate::config::sources::config_of;
use crate::failure::Failure;
use crate::print;

pub(crate) async fn run(command: History, format: Format) -> Result<(), Failure> {
    match command {
        History::Drop(args) => drop_days(args, format).await,
    }
}

async fn drop_days(args: DropHistory, format: Format) -> Result<(), Failure> {
    let url = config_of(&args.place)?.database_url;
    if !url.starts_with("postgres") {
        let place = without_secrets(&url);
        return Err(Failure::refused(format!(
            "only PostgreSQL keeps history in days that can be dropped, not {place}"
        )));
    }
    let store = ServerStore::open(&url, SystemClock::new()).await?;
    let found = match args.dry_run {
        true => store.droppable_history(args.before.0).await,
        false => store.drop_history(args.before.0).await,
    };
    let found = found.map_err(|error| Failure::failed(error.to_string()))?;
    let done = if args.dry_run { "would be dropped" } else { "dropped" };
    show(&found, done, format)
}

fn show(found: &DroppedHistory, done: &str, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let kept: Vec<_> = found.kept.iter().map(|kept| json!({ "day": kept.day, "reason": kept.reason })).collect();
        return print::json(&json!({
            "days": found.days, "jobs": found.jobs, "attempts": found.attempts, "kept": kept,
        }));
    }
    for day in &found.days {
        print::out(&format!("{day}: {done}\n"))?;
    }
    for kept in &found.kept {
        print::out(&format!("{}: kept: {}\n", kept.day, kept.reason))?;
    }
    let (days, jobs, attempts) = (found.days.len(), found.jobs, found.attempts);
    print::out(&format!("{days} days with {jobs} jobs and {attempts} attempts {done}\n"))
}
