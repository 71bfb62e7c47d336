//! What Linux says of processes and of the whole machine.

use std::fs;

use anyhow::{Context, Result};

/// The unit of CPU times in /proc, the same on every Linux.
const TICKS_PER_S: f64 = 100.0;

/// CPU time that a process has used, with that of its children that have been waited for.
pub(crate) fn cpu_s(pid: u32) -> f64 {
    let read = || {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program stands in parentheses and may hold spaces.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // Behind the name: utime, stime, cutime, cstime.
        let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
        Some(ticks / TICKS_PER_S)
    };
    // A process that is gone is counted with its parent.
    read().unwrap_or(0.0)
}

/// The same of a process and of all that come from it: a database server may have one for each session.
pub(crate) fn cpu_of_family_s(pid: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<u32> =
        children.flat_map(|text| text.split_ascii_whitespace().map(str::parse).collect::<Vec<_>>()).flatten().collect();
    cpu_s(pid) + pids.into_iter().map(cpu_of_family_s).sum::<f64>()
}

/// The whole machine since its start, all cores together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) all_s: f64,
    pub(crate) idle_s: f64,
    pub(crate) steal_s: f64,
}

pub(crate) fn machine() -> Result<Machine> {
    let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    let line = text.lines().next().unwrap_or_default();
    // user nice system idle iowait irq softirq steal; guest time is part of user.
    let ticks: Vec<f64> = line.split_ascii_whitespace().skip(1).take(8).filter_map(|f| f.parse().ok()).collect();
    anyhow::ensure!(ticks.len() == 8, "/proc/stat begins with `{line}`");
    Ok(Machine {
        all_s: ticks.iter().sum::<f64>() / TICKS_PER_S,
        idle_s: (ticks[3] + ticks[4]) / TICKS_PER_S,
        steal_s: ticks[7] / TICKS_PER_S,
    })
}

/// `VmRSS` (now) or `VmHWM` (the highest so far), in MiB.
pub(crate) fn memory_mib(pid: u32, which: &str) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).context("reading the memory of a process")?;
    let line = text.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
    Ok(kib.with_context(|| format!("no {which} in /proc/{pid}/status"))? / 1024.0)
}

/// The mean number of runnable processes over the last minute.
pub(crate) fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0.0)
}
