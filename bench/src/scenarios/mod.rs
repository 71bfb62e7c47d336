//! The scenarios: what a process that `runs` has started carries out.

mod cluster;
mod cron;
mod drain;
mod lanes;
mod schedules;
mod standing;
mod start;
mod submit;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::args::{Scenario, Sizes, Subject};
use crate::figures::Figures;
use crate::host::Host;
use crate::place::Place;
use crate::tables::Fill;
use crate::{limits, peer, tables};

/// The order for one process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) scenario: Scenario,
    pub(crate) subject: Subject,
    pub(crate) step: Step,
    pub(crate) sizes: Sizes,
    /// The database and whatever else the run needs; made and removed by the parent.
    pub(crate) dir: PathBuf,
    pub(crate) place: Place,
    /// The server or the peer's driver.
    pub(crate) program: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Step {
    /// Makes a database and fills its tables directly.
    Prefill(Fill),
    /// Submits the jobs that the next step drains.
    Submit,
    /// Measures what nothing costs.
    Rest,
    Measure,
    /// So many nodes drain what was submitted.
    Nodes(u32),
    /// Is one of those nodes.
    Node,
    /// Reads all lists.
    Lists,
}

impl Spec {
    pub(crate) fn program(&self) -> Result<&PathBuf> {
        self.program.as_ref().context("the program to be measured is not named")
    }

    /// This program, with this order.
    pub(crate) fn command(&self) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--child", &serde_json::to_string(self)?]).stdin(Stdio::null());
        Ok(command)
    }
}

/// In the process that was started for it: the figures go to the parent, on one line.
pub(crate) fn carry_out(spec: &Spec) -> Result<()> {
    // As an application would have it: a thread per core.
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let figures = runtime.block_on(step(spec))?;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

async fn step(spec: &Spec) -> Result<Figures> {
    match (spec.step, spec.subject) {
        (Step::Prefill(fill), _) => prefill(spec, fill).await,
        (Step::Submit, _) => drain::submit(spec).await,
        (Step::Rest, _) => standing::memory_at_rest(spec).await,
        (Step::Nodes(nodes), _) => cluster::drain(spec, nodes).await,
        (Step::Node, _) => cluster::be_a_node(spec).await,
        (Step::Lists, _) => standing::pages(spec).await,
        (Step::Measure, Subject::Raw) => limits::measure(spec).await,
        (Step::Measure, Subject::Effectum) => peer::measure(spec).await,
        (Step::Measure, Subject::Rest) => match spec.scenario {
            Scenario::W1 => submit::single_rest(spec).await,
            Scenario::W1b => submit::bulk_rest(spec).await,
            Scenario::W3 => start::latency_rest(spec).await,
            Scenario::W4 => submit::burst_rest(spec).await,
            other => anyhow::bail!("{} has no REST side", other.name()),
        },
        (Step::Measure, Subject::Library) => library(spec).await,
    }
}

async fn library(spec: &Spec) -> Result<Figures> {
    match spec.scenario {
        Scenario::Limits => anyhow::bail!("the limits are measured without the library"),
        Scenario::W1 => submit::single(spec).await,
        Scenario::W1b => submit::bulk(spec).await,
        Scenario::W2 | Scenario::W5 | Scenario::History => drain::drain(spec).await,
        Scenario::W3 => start::latency(spec).await,
        Scenario::W4 => submit::burst(spec).await,
        Scenario::W6 => start::timers(spec).await,
        Scenario::W7 => standing::memory_under_backlog(spec).await,
        Scenario::Steady => start::steady(spec).await,
        Scenario::Startup => standing::startup(spec).await,
        Scenario::Pages => standing::pages(spec).await,
        Scenario::Idle => standing::idle(spec).await,
        Scenario::Fires => schedules::fires(spec, schedules::Spread::None).await,
        Scenario::Spread => schedules::fires(spec, schedules::Spread::Even).await,
        Scenario::Instant => schedules::instant(spec).await,
        Scenario::Isolation => schedules::isolation(spec).await,
        Scenario::Dormant => schedules::dormant(spec).await,
        Scenario::Lanes => lanes::lanes(spec).await,
        Scenario::Cron => cron::schedules(),
        Scenario::Cluster => anyhow::bail!("the nodes of a cluster are processes of their own"),
    }
}

/// The engine makes the schema and declares the task; then the rows come.
async fn prefill(spec: &Spec, fill: Fill) -> Result<Figures> {
    Host::start(&spec.place, spec.sizes.slots).await?.stop().await?;
    tables::fill(&spec.place, fill, spec.sizes.rows(spec.scenario))?;
    let mut figures = Figures::default();
    if let Some(mib) = tables::database_mib(&spec.place)? {
        figures.set("database_mib", mib);
    }
    Ok(figures)
}
