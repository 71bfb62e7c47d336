//! W1 and W4: how fast jobs are taken in. Acknowledged means committed.

use std::time::Duration;

use anyhow::Result;

use super::Spec;
use crate::figures::Figures;
use crate::host::{Host, database};
use crate::latency::now_us;
use crate::load::{self, Sent};
use crate::server::Server;
use crate::tables;
use crate::window::Window;

pub(super) const PER_CALL: u64 = 1_000;
const BURST: u64 = 5_000;
const BURST_BODY_MS: u64 = 1;
/// For what a start leaves behind.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

fn told<S>(sent: &Sent<S>, window: &Window) -> Result<Figures> {
    let mut figures = Figures::default();
    let spent = window.close()?;
    spent.tell(&mut figures);
    sent.tell(&mut figures);
    figures.set("cpu_us_per_job", spent.cpu_s * 1e6 / sent.jobs as f64);
    Ok(figures)
}

async fn paused_host(spec: &Spec) -> Result<Host> {
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    host.pause().await?;
    tokio::time::sleep(SETTLE).await;
    Ok(host)
}

async fn all_are_stored(spec: &Spec, host: Host) -> Result<()> {
    host.stop().await?;
    let stored = tables::left(&database(&spec.dir))?;
    anyhow::ensure!(stored == spec.sizes.jobs, "{stored} of {} acknowledged jobs are stored", spec.sizes.jobs);
    Ok(())
}

pub(super) async fn single(spec: &Spec) -> Result<Figures> {
    let host = paused_host(spec).await?;
    let window = Window::open(&[])?;
    let sent = load::closed(host.submitters(spec.sizes.submitters), spec.sizes.jobs, 0).await?;
    let figures = told(&sent, &window)?;
    drop(sent);
    all_are_stored(spec, host).await?;
    Ok(figures)
}

pub(super) async fn bulk(spec: &Spec) -> Result<Figures> {
    let host = paused_host(spec).await?;
    let window = Window::open(&[])?;
    let sent = bulk_into(&host, spec).await?;
    let figures = told(&sent, &window)?;
    drop(sent);
    all_are_stored(spec, host).await?;
    Ok(figures)
}

pub(super) async fn bulk_into(host: &Host, spec: &Spec) -> Result<Sent<crate::host::Embedded>> {
    load::bulk(host.submitter(), spec.sizes.jobs, PER_CALL).await
}

/// The pool works while the burst comes.
pub(super) async fn burst(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.dir, spec.sizes.slots).await?;
    tokio::time::sleep(SETTLE).await;
    let window = Window::open(&[])?;
    let began_us = now_us();
    let sent = load::closed(host.submitters(spec.sizes.submitters), BURST, BURST_BODY_MS).await?;
    host.started(BURST, PATIENCE).await?;
    host.settled(BURST, PATIENCE).await?;
    let mut figures = told(&sent, &window)?;
    figures.set("accept_s", sent.elapsed_s);
    figures.set("last_start_s", seconds(began_us, host.witness.last_us()));
    host.witness.waits().tell(&mut figures, "start_");
    drop(sent);
    host.stop().await?;
    Ok(figures)
}

fn seconds(from_us: u64, to_us: u64) -> f64 {
    to_us.saturating_sub(from_us) as f64 / 1e6
}

// ---- REST ----

pub(super) async fn single_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec.program()?, &spec.dir, spec.sizes.slots, "probe.ok").await?;
    server.pause().await?;
    tokio::time::sleep(SETTLE).await;
    let submitters = server.submitters(spec.sizes.submitters).await?;
    let window = Window::open(&[server.pid()])?;
    let sent = load::closed(submitters, spec.sizes.jobs, 0).await?;
    told(&sent, &window)
}

pub(super) async fn bulk_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec.program()?, &spec.dir, spec.sizes.slots, "probe.ok").await?;
    server.pause().await?;
    tokio::time::sleep(SETTLE).await;
    let submitter = server.submitter().await?;
    let window = Window::open(&[server.pid()])?;
    let sent = load::bulk(submitter, spec.sizes.jobs, PER_CALL).await?;
    told(&sent, &window)
}

pub(super) async fn burst_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec.program()?, &spec.dir, spec.sizes.slots, "probe.sleep").await?;
    tokio::time::sleep(SETTLE).await;
    let submitters = server.submitters(spec.sizes.submitters).await?;
    let window = Window::open(&[server.pid()])?;
    let began_us = now_us();
    let sent = load::closed(submitters, BURST, BURST_BODY_MS).await?;
    let accepted = told(&sent, &window)?;
    server.idle(PATIENCE).await?;
    let last_ms = server.attempts(1).await?.iter().map(|attempt| attempt.execute_time.as_ms()).max().unwrap_or(0);
    let mut figures = accepted;
    figures.set("accept_s", sent.elapsed_s);
    figures.set("last_start_s", seconds(began_us, u64::try_from(last_ms)? * 1_000));
    Ok(figures)
}
