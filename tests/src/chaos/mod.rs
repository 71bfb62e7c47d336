//! The chaos proof: several nodes on one database are killed, paused, stopped and cut off, their database too, while work
//! is asked for from outside. Afterwards what was asked, what the product says and what the witness saw must agree.
//!
//! The order of faults and of requests comes from a seed; what meets what is up to the machine.

mod collect;
mod faults;
mod history;
mod laws;
mod load;
mod report;
mod stage;

use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_test_servers::Kind as Store;
use serde_json::json;

use crate::{pause, wall_ms};
use faults::{Faults, Weather};
pub use history::Kind;
use history::{Ending, History, Ms};
pub use laws::{Breach, Verdict};
use load::{Load, locked};
pub use report::Report;
use stage::Stage;

#[derive(Debug, Clone, Copy)]
pub struct Chaos {
    pub store: Store,
    pub nodes: usize,
    pub length: Duration,
    pub seed: u64,
    /// Keep the logs and the witness of a run that failed.
    pub keep: bool,
}

/// Below this a run has no time for long faults.
const SHORT: Duration = Duration::from_secs(120);
/// After the last fault is healed, fires of meanwhile are made.
const SETTLE: Duration = Duration::from_secs(12);
/// The longest body, taken over as often as it may be lost, and what waits behind it.
const END_LIMIT_MS: Ms = 180_000;

impl Chaos {
    pub fn run(self) -> Report {
        let mut stage = Stage::start(self.store, self.nodes);
        let mut history = History { tasks: load::tasks(stage.node(0)), ..History::default() };
        let load = Load::new(stage.addresses.clone());
        let length_ms = Ms::try_from(self.length.as_millis()).expect("in range");
        let mut faults = Faults::new(self.seed, self.weather(), length_ms);
        load.around(self.seed, || {
            faults.rage(&mut stage);
            history.load_end_ms = wall_ms();
            pause(SETTLE);
        });
        history.faults = std::mem::take(&mut faults.past);
        history.complaints = std::mem::take(&mut faults.complaints);
        come_to_rest(&mut stage, &mut history);
        history.asked = std::mem::take(&mut locked(&load.asked));
        history.words = std::mem::take(&mut locked(&load.words));
        history.sightings = std::mem::take(&mut locked(&load.sightings));
        history.complaints.append(&mut locked(&load.complaints));
        history.jobs = collect::jobs(stage.node(0), &history.tasks);
        history.attempts = collect::attempts(stage.node(0), &history.tasks);
        history.lives = stage.lives.clone();
        history.bodies = collect::bodies(&stage.witness().lines(), &history.lives);
        history.complaints.extend(crate::cluster::violations(&stage.url));
        let verdict = laws::judge(&history);
        let mut report = Report::new(self.title(), &history, verdict);
        report.commits_cut = faults.commits_cut;
        report.repeats = load.repeats.load(Ordering::Relaxed);
        if self.keep && !report.breaches().is_empty() {
            report.title += &format!("\nlogs and witness: {}", stage.keep_files().display());
        }
        report
    }

    fn weather(self) -> Weather {
        match self.length < SHORT {
            true => Weather { gap_ms: 1_000..4_000, away_ms: 300..6_000, pause_ms: 1_000..20_000, calm_every: 1 },
            false => Weather { gap_ms: 1_000..9_000, away_ms: 500..16_000, pause_ms: 1_000..25_000, calm_every: 2 },
        }
    }

    fn title(self) -> String {
        let Chaos { store, nodes, length, seed, .. } = self;
        format!("chaos: {nodes} nodes on {store:?}, {} s, seed {seed}", length.as_secs())
    }
}

/// No more fires; all that was asked for ends, and so does every body.
fn come_to_rest(stage: &mut Stage, history: &mut History) {
    let node = stage.node(0);
    for task in &mut history.tasks {
        let Some(schedule) = &mut task.schedule else { continue };
        schedule.to_ms = history.load_end_ms;
        let disabled = node.post(&format!("/tasks/{}/disable", task.code), &json!({}));
        assert_eq!(disabled.status, 200, "{disabled:?}");
    }
    let end_ms = wall_ms() + END_LIMIT_MS;
    let is_done = || {
        let mut live = ["PENDING", "EXECUTING", "WAITING"].iter().flat_map(|status| {
            let page = node.get(&format!("/jobs?status={status}&limit=1"));
            page.body["items"].as_array().expect("a list").clone()
        });
        live.next().is_none()
    };
    while !is_done() && wall_ms() < end_ms {
        pause(Duration::from_millis(300));
    }
    // A body may wind down after its job is final.
    let is_open = || {
        let bodies = collect::bodies(&stage.witness().lines(), &stage.lives);
        bodies.iter().any(|body| body.ending == Ending::Never)
    };
    let end_ms = wall_ms() + 10_000;
    while is_open() && wall_ms() < end_ms {
        pause(Duration::from_millis(500));
    }
}
