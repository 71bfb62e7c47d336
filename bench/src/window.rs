//! The time in which something is measured: what it cost us, and how much others used of the machine meanwhile.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::figures::Figures;
use crate::procfs::{self, Machine};

#[derive(Debug)]
pub(crate) struct Window {
    began: Instant,
    machine: Machine,
    own_s: f64,
    /// This process, and those that it started for the measurement.
    pids: Vec<u32>,
    /// The database server, with its children.
    server: Option<u32>,
    server_s: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) wall_s: f64,
    /// Of all our processes, the database server's too.
    pub(crate) cpu_s: f64,
    /// Its share of them, where there is one.
    pub(crate) server_s: Option<f64>,
    /// Of the whole machine, over all its cores.
    pub(crate) busy_percent: f64,
    foreign_percent: f64,
    steal_percent: f64,
}

impl Window {
    /// `others`: processes that belong to the measurement besides this one.
    pub(crate) fn open(others: &[u32]) -> Result<Window> {
        Window::open_with(None, others)
    }

    pub(crate) fn open_with(server: Option<u32>, others: &[u32]) -> Result<Window> {
        let pids: Vec<u32> = others.iter().copied().chain([std::process::id()]).collect();
        let server_s = server.map_or(0.0, procfs::cpu_of_family_s);
        let own_s = own_s(&pids);
        Ok(Window { began: Instant::now(), machine: procfs::machine()?, own_s, pids, server, server_s })
    }

    pub(crate) fn close(&self) -> Result<Spent> {
        let wall_s = self.began.elapsed().as_secs_f64();
        let machine = procfs::machine()?;
        let all_s = (machine.all_s - self.machine.all_s).max(0.01);
        let steal_s = machine.steal_s - self.machine.steal_s;
        let busy_s = all_s - (machine.idle_s - self.machine.idle_s) - steal_s;
        let server_s = self.server.map(|pid| (procfs::cpu_of_family_s(pid) - self.server_s).max(0.0));
        let cpu_s = (own_s(&self.pids) - self.own_s).max(0.0) + server_s.unwrap_or(0.0);
        Ok(Spent {
            wall_s,
            cpu_s,
            server_s,
            busy_percent: 100.0 * busy_s / all_s,
            foreign_percent: (100.0 * (busy_s - cpu_s) / all_s).max(0.0),
            steal_percent: 100.0 * steal_s / all_s,
        })
    }
}

fn own_s(pids: &[u32]) -> f64 {
    pids.iter().map(|pid| procfs::cpu_s(*pid)).sum()
}

impl Spent {
    /// Of all processes, and the part of the database server.
    pub(crate) fn tell_per_job(&self, figures: &mut Figures, jobs: u64) {
        figures.set("cpu_us_per_job", self.cpu_s * 1e6 / jobs as f64);
        if let Some(server_s) = self.server_s {
            figures.set("server_cpu_us_per_job", server_s * 1e6 / jobs as f64);
        }
    }

    pub(crate) fn tell(&self, figures: &mut Figures) {
        figures.set("cpu_s", self.cpu_s);
        if let Some(server_s) = self.server_s {
            figures.set("server_cpu_s", server_s);
        }
        figures.set("foreign_percent", self.foreign_percent);
        figures.set("steal_percent", self.steal_percent);
    }
}

/// Waits until others leave most of the machine alone, at most `limit`. Whether they did shows in the figures.
pub(crate) fn wait_for_calm(foreign_percent: f64, limit: Duration) -> Result<()> {
    let began = Instant::now();
    loop {
        let window = Window::open(&[])?;
        std::thread::sleep(Duration::from_secs(1));
        if window.close()?.foreign_percent <= foreign_percent || began.elapsed() >= limit {
            return Ok(());
        }
    }
}
