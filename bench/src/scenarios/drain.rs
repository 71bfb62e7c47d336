//! W2 and W5: one process drains what waits. The jobs were submitted by another process, through the library.

use std::time::Duration;

use anyhow::Result;

use super::Spec;
use super::submit::{SETTLE, bulk_into};
use crate::figures::Figures;
use crate::host::Host;
use crate::meter::Meter;
use crate::{procfs, tables};

const LIMIT: Duration = Duration::from_secs(300);

/// The pool stays paused for the process that follows.
pub(super) async fn submit(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    host.pause().await?;
    bulk_into(&host, spec).await?;
    host.stop().await?;
    Ok(Figures::default())
}

pub(super) async fn drain(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(SETTLE).await;
    let jobs = spec.sizes.jobs;
    let meter = Meter::open(&spec.place, &[])?;
    host.resume().await?;
    host.started(jobs, LIMIT).await?;
    host.settled(jobs, LIMIT).await?;
    let spent = meter.close()?;
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    let first_to_last_s = (host.witness.last_us() - host.witness.first_us()) as f64 / 1e6;
    figures.set("jobs", host.witness.starts() as f64);
    figures.set("elapsed_s", spent.wall_s);
    figures.set("rate_per_s", (jobs - 1) as f64 / first_to_last_s);
    figures.set("settled_per_s", jobs as f64 / spent.wall_s);
    spent.tell_per_job(&mut figures, jobs);
    figures.set("peak_mib", procfs::memory_mib(std::process::id(), "VmHWM")?);
    figures.set("twice", host.witness.starts().saturating_sub(jobs) as f64);
    host.stop().await?;
    meter.tell_counts(&spec.place, &mut figures, jobs)?;
    // From the tables: finished must be written, not only believed.
    figures.set("left", tables::left(&spec.place)? as f64);
    Ok(figures)
}
