//! The smallest whole program: a handler, a job, its end. `cargo run -p mainspring --example first_job`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use mainspring::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Welcome {
    user: u64,
}

async fn send_welcome(context: Context, mail: Welcome) -> Result<String, std::io::Error> {
    context.log(format!("attempt {} for user {}", context.attempt(), mail.user));
    Ok(format!("sent to user {}", mail.user))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let jobs = Mainspring::sqlite(dir.path().join("jobs.db"))
        .handler("mail.welcome", send_welcome)
        .task("mail.welcome", |task| task.retries(5).timeout(Duration::from_secs(30)).pool("mail"))
        .pool("mail", 8)
        .start()
        .await?;

    let receipt = jobs.submit("mail.welcome", &Welcome { user: 42 }).biz_id("welcome-42").await?;
    let end = jobs.wait(receipt.id).await?;
    println!("job {} ended {}: {}", receipt.id, end.status, end.result.unwrap_or_default());

    let again = jobs.submit("mail.welcome", &Welcome { user: 42 }).biz_id("welcome-42").await?;
    println!("submitted again: job {}, duplicate {}", again.id, again.duplicate);

    jobs.stop(Duration::from_secs(30)).await;
    Ok(())
}
