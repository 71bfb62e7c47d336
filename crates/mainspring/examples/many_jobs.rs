//! Bulk submit, delays, retries and verdicts. `cargo run -p mainspring --example many_jobs`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use mainspring::prelude::*;
use mainspring::{JobStatus, Wait};

/// Succeeds at its second attempt; number 7 never does.
async fn import_row(context: Context, row: u32) -> Verdict {
    match (row, context.attempt()) {
        (7, _) => Verdict::fail("row 7 is broken for good"),
        (_, 1) => Verdict::Retry {
            error: "the other side says: try again".to_owned(),
            not_before: Some(Wait::For(Duration::from_millis(50))),
        },
        _ => Verdict::done_with(format!("row {row} imported")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let jobs = Mainspring::in_memory()
        .handler("import.row", import_row)
        .task("import.row", |task| task.backoff(Duration::from_millis(10), Duration::from_secs(1)))
        .start()
        .await?;

    let rows = (0..20_u32).map(|row| Item::new(&row)).collect::<Result<Vec<_>, _>>()?;
    let (mut succeeded, mut failed) = (0, 0);
    for answer in jobs.submit_many("import.row", rows).await? {
        match jobs.wait(answer?.id).await?.status {
            JobStatus::Success => succeeded += 1,
            _ => failed += 1,
        }
    }
    println!("{succeeded} rows imported, {failed} failed");

    let late = jobs.submit("import.row", &100).delay(Duration::from_millis(200)).await?;
    println!("job {} runs at {}", late.id, late.execute_time);
    println!("{:?}", jobs.wait(late.id).await?);

    jobs.stop(Duration::from_secs(5)).await;
    Ok(())
}
