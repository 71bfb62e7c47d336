//! The raw limits: what the disk allows, and what the database allows on it with a job-shaped table (one index of what is
//! due) and nothing of ours around it.

mod mariadb;
mod postgres;
mod server;
mod sqlite;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::args::StoreKind;
use crate::figures::Figures;
use crate::latency::Latencies;
use crate::scenarios::Spec;
use crate::window::Window;

pub(crate) use sqlite::rows_s;

const EACH: Duration = Duration::from_secs(3);
const SYNCS_MAX: u64 = 5_000;
const PAYLOAD: &str = "{\"t\":1790000000000000}";

pub(crate) async fn measure(spec: &Spec) -> Result<Figures> {
    let mut figures = Figures::default();
    let window = Window::open_with(spec.place.server_pid, &[])?;
    let syncs = fdatasync(&spec.dir)?;
    figures.set("fdatasync_p50_ms", syncs.quantile_ms(0.5));
    figures.set("fdatasync_p99_ms", syncs.quantile_ms(0.99));
    match spec.place.store {
        StoreKind::Sqlite => sqlite::measure(&spec.dir, &mut figures)?,
        StoreKind::Postgres => postgres::measure(&spec.place, &mut figures).await?,
        StoreKind::Mariadb => mariadb::measure(&spec.place, &mut figures).await?,
    }
    window.close()?.tell(&mut figures);
    Ok(figures)
}

/// A page is appended and synced, as a small commit does it.
fn fdatasync(dir: &Path) -> Result<Latencies> {
    let mut file = File::create(dir.join("sync")).context("making a file to sync")?;
    let mut latencies = Latencies::default();
    let began = Instant::now();
    while began.elapsed() < EACH && latencies.count() < SYNCS_MAX {
        file.write_all(&[7; 4096])?;
        let start = Instant::now();
        file.sync_data()?;
        latencies.record(start.elapsed());
    }
    Ok(latencies)
}
