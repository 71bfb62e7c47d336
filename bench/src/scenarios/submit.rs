//! W1 and W4: how fast jobs are taken in. Acknowledged means committed.

use std::time::Duration;

use anyhow::Result;

use super::Spec;
use crate::figures::Figures;
use crate::host::Host;
use crate::latency::now_us;
use crate::load::{self, Sent};
use crate::meter::Meter;
use crate::server::Server;
use crate::tables;

pub(super) const PER_CALL: u64 = 1_000;
const BURST: u64 = 5_000;
const BURST_BODY_MS: u64 = 1;
/// For what a start leaves behind.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

fn told<S>(sent: &Sent<S>, meter: &Meter) -> Result<Figures> {
    let mut figures = Figures::default();
    let spent = meter.close()?;
    spent.tell(&mut figures);
    sent.tell(&mut figures);
    spent.tell_per_job(&mut figures, sent.jobs);
    Ok(figures)
}

async fn paused_host(spec: &Spec) -> Result<Host> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    host.pause().await?;
    tokio::time::sleep(SETTLE).await;
    Ok(host)
}

async fn all_are_stored(spec: &Spec, host: Host) -> Result<()> {
    host.stop().await?;
    let stored = tables::left(&spec.place)?;
    anyhow::ensure!(stored == spec.sizes.jobs, "{stored} of {} acknowledged jobs are stored", spec.sizes.jobs);
    Ok(())
}

pub(super) async fn single(spec: &Spec) -> Result<Figures> {
    let host = paused_host(spec).await?;
    let meter = Meter::open(&spec.place, &[])?;
    let sent = load::closed(host.submitters(spec.sizes.submitters), spec.sizes.jobs, 0).await?;
    let mut figures = told(&sent, &meter)?;
    drop(sent);
    all_are_stored(spec, host).await?;
    meter.tell_counts(&spec.place, &mut figures, spec.sizes.jobs)?;
    Ok(figures)
}

pub(super) async fn bulk(spec: &Spec) -> Result<Figures> {
    let host = paused_host(spec).await?;
    let meter = Meter::open(&spec.place, &[])?;
    let sent = bulk_into(&host, spec).await?;
    let mut figures = told(&sent, &meter)?;
    drop(sent);
    all_are_stored(spec, host).await?;
    meter.tell_counts(&spec.place, &mut figures, spec.sizes.jobs)?;
    Ok(figures)
}

pub(super) async fn bulk_into(host: &Host, spec: &Spec) -> Result<Sent<crate::host::Embedded>> {
    load::bulk(host.submitter(), spec.sizes.jobs, PER_CALL).await
}

/// The pool works while the burst comes.
pub(super) async fn burst(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(SETTLE).await;
    let meter = Meter::open(&spec.place, &[])?;
    let began_us = now_us();
    let sent = load::closed(host.submitters(spec.sizes.submitters), BURST, BURST_BODY_MS).await?;
    host.started(BURST, PATIENCE).await?;
    host.settled(BURST, PATIENCE).await?;
    let mut figures = told(&sent, &meter)?;
    figures.set("accept_s", sent.elapsed_s);
    figures.set("last_start_s", seconds(began_us, host.witness.last_us()));
    host.witness.waits().tell(&mut figures, "start_");
    drop(sent);
    host.stop().await?;
    meter.tell_counts(&spec.place, &mut figures, BURST)?;
    Ok(figures)
}

fn seconds(from_us: u64, to_us: u64) -> f64 {
    to_us.saturating_sub(from_us) as f64 / 1e6
}

// ---- REST ----

pub(super) async fn single_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec, spec.sizes.slots, "probe.ok").await?;
    server.pause().await?;
    tokio::time::sleep(SETTLE).await;
    let submitters = server.submitters(spec.sizes.submitters).await?;
    let meter = Meter::open(&spec.place, &[server.pid()])?;
    let sent = load::closed(submitters, spec.sizes.jobs, 0).await?;
    told(&sent, &meter)
}

pub(super) async fn bulk_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec, spec.sizes.slots, "probe.ok").await?;
    server.pause().await?;
    tokio::time::sleep(SETTLE).await;
    let submitter = server.submitter().await?;
    let meter = Meter::open(&spec.place, &[server.pid()])?;
    let sent = load::bulk(submitter, spec.sizes.jobs, PER_CALL).await?;
    told(&sent, &meter)
}

pub(super) async fn burst_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec, spec.sizes.slots, "probe.sleep").await?;
    tokio::time::sleep(SETTLE).await;
    let submitters = server.submitters(spec.sizes.submitters).await?;
    let meter = Meter::open(&spec.place, &[server.pid()])?;
    let began_us = now_us();
    let sent = load::closed(submitters, BURST, BURST_BODY_MS).await?;
    let accepted = told(&sent, &meter)?;
    server.idle(PATIENCE).await?;
    let last_ms = server.attempts(1).await?.iter().map(|attempt| attempt.execute_time.as_ms()).max().unwrap_or(0);
    let mut figures = accepted;
    figures.set("accept_s", sent.elapsed_s);
    figures.set("last_start_s", seconds(began_us, u64::try_from(last_ms)? * 1_000));
    Ok(figures)
}
