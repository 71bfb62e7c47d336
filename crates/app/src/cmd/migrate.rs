//! `mainspring migrate`: from the embedded database to a server, with everything in it.

use std::time::Duration;

use mainspring_model::Clock as _;
use mainspring_store::clock::SystemClock;
use mainspring_store::transfer::{Moved, Progress, Stage, Start, transfer};
use serde_json::json;

use crate::args::{Format, Migrate, Place};
use crate::config::sources::config_of;
use crate::failure::Failure;
use crate::print;

/// Between two lines about the same table.
const SAY_EVERY: Duration = Duration::from_secs(2);

pub(crate) async fn run(args: Migrate, format: Format) -> Result<(), Failure> {
    let to = config_of(&Place { config: args.config, database: args.to, data_dir: None })?.database_url;
    let start = if args.restart { Start::Anew } else { Start::Fresh };
    let clock = SystemClock::new();
    let began = clock.monotonic();
    let mut said = began;
    let mut say = |progress: Progress| {
        let now = clock.monotonic();
        if progress.of == Some(progress.rows) || now.saturating_sub(said) >= SAY_EVERY {
            said = now;
            print::progress(&line(progress));
        }
    };
    let moved = transfer(&args.from, &to, start, &*clock, &mut say).await?;
    let took = clock.monotonic().saturating_sub(began);
    if moved.without_nul > 0 {
        print::complain(&format!(
            "{} texts held NUL characters, which PostgreSQL cannot store: U+FFFD stands for each of them now",
            moved.without_nul
        ));
    }
    show(&moved, took, format)
}

/// `copy     async_task 4000 of 120000`
fn line(Progress { stage, table, rows, of }: Progress) -> String {
    let word = match stage {
        Stage::Check => "check",
        Stage::Copy => "copy",
        Stage::Compare => "compare",
    };
    match of {
        Some(of) => format!("{word:<8} {table} {rows} of {of}"),
        None => format!("{word:<8} {table} {rows}"),
    }
}

fn show(moved: &Moved, took: Duration, format: Format) -> Result<(), Failure> {
    let rows: u64 = moved.tables.iter().map(|table| table.rows).sum();
    let bytes: u64 = moved.tables.iter().map(|table| table.bytes).sum();
    let seconds = took.as_secs_f64();
    if format == Format::Json {
        let tables: Vec<_> = moved
            .tables
            .iter()
            .map(|table| json!({ "name": table.name, "rows": table.rows, "bytes": table.bytes }))
            .collect();
        return print::json(&json!({
            "from": moved.from, "to": moved.to, "rows": rows, "bytes": bytes, "ms": took.as_millis() as u64,
            "withoutNul": moved.without_nul, "tables": tables,
        }));
    }
    let some = moved.tables.iter().filter(|table| table.rows > 0);
    let cells = some.map(|table| vec![table.name.to_owned(), table.rows.to_string(), table.bytes.to_string()]);
    print::table(&["TABLE", "ROWS", "BYTES"].map(str::to_owned), cells.collect())?;
    print::out(&format!(
        "{rows} rows, {bytes} bytes moved and compared in {seconds:.1} s\n{} is now {}\n",
        moved.from, moved.to
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let check = |stage, of, expect: &str| {
            assert_eq!(line(Progress { stage, table: "async_task", rows: 4_000, of }), expect);
        };
        check(Stage::Check, None, "check    async_task 4000");
        check(Stage::Copy, Some(120_000), "copy     async_task 4000 of 120000");
        check(Stage::Compare, Some(4_000), "compare  async_task 4000 of 4000");
    }
}
