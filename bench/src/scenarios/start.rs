//! W3, W6 and the steady load: when jobs start, compared with when they should.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use mainspring::{Item, Timestamp};

use super::Spec;
use super::submit::{PATIENCE, SETTLE};
use crate::figures::Figures;
use crate::host::{Host, Stamp, TASK};
use crate::latency::{Latencies, now_us, us_since};
use crate::load::{self, Sent};
use crate::meter::Meter;
use crate::procfs;
use crate::server::{Remote, Server};

const PER_SECOND: u64 = 100;
/// Bodies of a second overlap: so many run at once, and some more while the machine is busy with others.
const STEADY_SLOTS: u32 = 256;
const STEADY_BODY_MS: u64 = 1_000;
/// From the submit of timers to the first of them.
const LEAD_MS: u64 = 5_000;
/// Timers per second of the span over which they are spread.
const TIMERS_PER_1000_S: u64 = 66_667;
const TIMERS_PER_CALL: usize = 500;

pub(super) async fn latency(spec: &Spec) -> Result<Figures> {
    open_load(spec, spec.sizes.slots, spec.sizes.seconds, 0).await
}

pub(super) async fn steady(spec: &Spec) -> Result<Figures> {
    open_load(spec, STEADY_SLOTS.max(spec.sizes.slots), spec.sizes.steady_seconds, STEADY_BODY_MS).await
}

async fn open_load(spec: &Spec, slots: u32, seconds: u64, body_ms: u64) -> Result<Figures> {
    let host = Host::start(&spec.place, slots).await?;
    tokio::time::sleep(SETTLE).await;
    let meter = Meter::open(&spec.place, &[])?;
    let sent = load::open(host.submitters(spec.sizes.submitters), PER_SECOND, seconds, body_ms).await?;
    host.started(sent.jobs, PATIENCE).await?;
    let mut figures = Figures::default();
    meter.close()?.tell(&mut figures);
    sent.tell(&mut figures);
    host.witness.waits().tell(&mut figures, "start_");
    let jobs = sent.jobs;
    drop(sent);
    host.stop().await?;
    meter.tell_counts(&spec.place, &mut figures, jobs)?;
    Ok(figures)
}

/// Nobody can look into the server, so the starts are taken from its log of attempts, which counts in whole
/// milliseconds: half of one is added to each, so that the mean is right.
pub(super) async fn latency_rest(spec: &Spec) -> Result<Figures> {
    let server = Server::start(spec, spec.sizes.slots, "probe.ok").await?;
    tokio::time::sleep(SETTLE).await;
    let idle_mib = procfs::memory_mib(server.pid(), "VmRSS")?;
    let submitters = server.submitters(spec.sizes.submitters).await?;
    let meter = Meter::open(&spec.place, &[server.pid()])?;
    let sent = load::open(submitters, PER_SECOND, spec.sizes.seconds, 0).await?;
    let spent = meter.close()?;
    server.idle(PATIENCE).await?;
    let mut figures = Figures::default();
    spent.tell(&mut figures);
    sent.tell(&mut figures);
    figures.set("idle_mib", idle_mib);
    waits(&server, &sent).await?.tell(&mut figures, "start_");
    Ok(figures)
}

async fn waits(server: &Server, sent: &Sent<Remote>) -> Result<Latencies> {
    let submitted: HashMap<_, _> = sent.submitters.iter().flat_map(|one| one.sent.iter().copied()).collect();
    let mut waits = Latencies::default();
    for attempt in server.attempts(submitted.len()).await? {
        if let Some(at_us) = submitted.get(&attempt.job_id) {
            let start_us = u64::try_from(attempt.execute_time.as_ms())? * 1_000 + 500;
            waits.record_us(us_since(start_us, *at_us));
        }
    }
    let (found, jobs) = (waits.count(), submitted.len());
    anyhow::ensure!(found == jobs as u64, "{found} of {jobs} jobs have an attempt");
    Ok(waits)
}

/// Jobs due at random instants of the same sequence each time, added before the first of them.
pub(super) async fn timers(spec: &Spec) -> Result<Figures> {
    let host = Host::start(&spec.place, spec.sizes.slots).await?;
    tokio::time::sleep(SETTLE).await;
    let jobs = spec.sizes.timers;
    let span_ms = (jobs * 1_000_000 / TIMERS_PER_1000_S).max(1);
    let first_ms = now_us() / 1_000 + LEAD_MS;
    let mut random = fastrand::Rng::with_seed(6);
    let dues: Vec<u64> = (0..jobs).map(|_| first_ms + random.u64(..span_ms)).collect();
    let meter = Meter::open(&spec.place, &[])?;
    for portion in dues.chunks(TIMERS_PER_CALL) {
        let items = portion.iter().map(|due_ms| {
            let item = Item::new(&Stamp { at_us: due_ms * 1_000, ms: 0 })?;
            Ok(item.at(Timestamp::from_ms(i64::try_from(*due_ms).unwrap_or(i64::MAX))))
        });
        let items = items.collect::<Result<Vec<_>>>()?;
        for answer in host.jobs.submit_many(TASK, items).await? {
            answer?;
        }
    }
    anyhow::ensure!(now_us() / 1_000 < first_ms, "adding the timers took longer than {LEAD_MS} ms");
    host.started(jobs, Duration::from_millis(LEAD_MS + span_ms) + PATIENCE).await?;
    let mut figures = Figures::default();
    meter.close()?.tell(&mut figures);
    figures.set("jobs", jobs as f64);
    host.witness.waits().tell(&mut figures, "start_");
    host.stop().await?;
    meter.tell_counts(&spec.place, &mut figures, jobs)?;
    Ok(figures)
}
