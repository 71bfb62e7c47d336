//! A task that fires by itself, once a second, three times. `cargo run -p mainspring --example scheduled`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use mainspring::Overlap;
use mainspring::prelude::*;
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (fired, mut fires) = mpsc::channel(3);
    let warm = move |context: Context, _: ()| {
        let fired = fired.clone();
        async move {
            context.log("warm again");
            fired.send(context.fire_time()).await.map_err(|_| "nobody listens any more")
        }
    };
    let jobs = Mainspring::in_memory()
        .handler("cache.warm", warm)
        .task("cache.warm", |task| task.every(Duration::from_secs(1)).overlap(Overlap::Forbid))
        .handler("report.daily", async |_: Context, _: ()| ())
        .task("report.daily", |task| task.cron("30 6 * * MON-FRI").time_zone("Europe/Berlin"))
        .start()
        .await?;

    for fire in jobs.next_fires("report.daily", 3)? {
        println!("report.daily will fire at {fire}");
    }
    for _ in 0..3 {
        if let Some(Some(time)) = fires.recv().await {
            println!("cache.warm has fired for {time}");
        }
    }
    let paused = jobs.disable("cache.warm").await?;
    println!("{} is {}", paused.code, paused.switch);

    jobs.stop(Duration::from_secs(30)).await;
    Ok(())
}
