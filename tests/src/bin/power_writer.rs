//! The program whose power is cut: submits and settles on the database named by its argument, and says on standard
//! output what was acknowledged. Each line is one write, so that it has a place in the trace.

use std::io::Write;

use mainspring::prelude::*;

const JOBS: u32 = 400;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("power_writer DATABASE"))?;
    let jobs = Mainspring::sqlite(path)
        .handler("ok", async |_: Context, filler: String| filler)
        .handler("fail", async |_: Context, (): ()| Verdict::fail("for good"))
        .start()
        .await?;
    for number in 0..JOBS {
        let receipt = match number % 5 {
            0 => jobs.submit("fail", &()).await?,
            1 => jobs.submit("ok", &"x".repeat(40_000)).biz_id(&format!("k{number}")).await?, // an attachment
            _ => jobs.submit("ok", &"x".repeat(300)).await?,
        };
        say(&format!("ACK {}", receipt.id))?;
        if number % 3 == 0 {
            let end = jobs.wait(receipt.id).await?;
            say(&format!("END {} {}", receipt.id, end.status))?;
        }
    }
    jobs.stop(std::time::Duration::from_secs(5)).await;
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}
