//! Arguments in, verdict out. A failing seed is printed with all that repeats it.

use std::io::Write;
use std::process::ExitCode;

use mainspring_sim::{Bug, Options, Report, StoreKind, run};

const USAGE: &str = "mainspring-sim [--seeds N] [--from S] [--store sqlite|memory] [--verbose]
mainspring-sim --planted [--seeds N] [--from S] [--store sqlite|memory]
mainspring-sim --twice N [--from S] [--store sqlite|memory]

  --seeds N    runs that many seeds (100)
  --from S     the first of them (1)
  --store      the store under test (sqlite)
  --planted    breaks the store on purpose, one fault after the other; each must be seen within N seeds (150)
  --twice N    runs N seeds twice and compares their traces
  --verbose    prints the figures of every seed, and the whole trace of one that fails";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Seeds,
    Planted,
    Twice,
}

#[derive(Debug)]
struct Arguments {
    mode: Mode,
    seeds: u64,
    from: u64,
    store: StoreKind,
    verbose: bool,
}

fn main() -> ExitCode {
    let arguments = match read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(complaint) => {
            let _ = writeln!(std::io::stderr(), "{complaint}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut out = std::io::stdout().lock();
    let verdict = match arguments.mode {
        Mode::Seeds => run_seeds(&arguments, &mut out),
        Mode::Planted => run_planted(&arguments, &mut out),
        Mode::Twice => run_twice(&arguments, &mut out),
    };
    match verdict {
        Ok((passed, failed)) => {
            let _ = writeln!(out, "{passed} passed, {failed} failed");
            if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        // The reader of our output went away.
        Err(_) => ExitCode::FAILURE,
    }
}

fn read(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { mode: Mode::Seeds, seeds: 0, from: 1, store: StoreKind::Sqlite, verbose: false };
    let mut words = words;
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            value.parse().map_err(|_| format!("`{value}` is not a number"))
        };
        match word.as_str() {
            "--seeds" => arguments.seeds = number()?,
            "--from" => arguments.from = number()?,
            "--planted" => arguments.mode = Mode::Planted,
            "--twice" => (arguments.mode, arguments.seeds) = (Mode::Twice, number()?),
            "--verbose" => arguments.verbose = true,
            "--store" => match words.next().as_deref() {
                Some("sqlite") => arguments.store = StoreKind::Sqlite,
                Some("memory") => arguments.store = StoreKind::Memory,
                _ => return Err("--store is sqlite or memory".to_owned()),
            },
            _ => return Err(format!("`{word}` is not known")),
        }
    }
    if arguments.seeds == 0 {
        arguments.seeds = if arguments.mode == Mode::Planted { 150 } else { 100 };
    }
    Ok(arguments)
}

impl Arguments {
    fn options(&self) -> Options {
        Options { store: self.store, bug: None, whole_trace: self.verbose }
    }

    fn all_seeds(&self) -> std::ops::Range<u64> {
        self.from..self.from.saturating_add(self.seeds)
    }

    fn store_word(&self) -> &'static str {
        match self.store {
            StoreKind::Sqlite => "sqlite",
            StoreKind::Memory => "memory",
        }
    }
}

type Counted = std::io::Result<(u64, u64)>;

fn run_seeds(arguments: &Arguments, out: &mut impl Write) -> Counted {
    let (mut passed, mut failed) = (0, 0);
    let mut sums = [0_u64; FIGURES];
    for seed in arguments.all_seeds() {
        let report = run(seed, arguments.options());
        for (sum, value) in sums.iter_mut().zip(figures(&report)) {
            *sum += value;
        }
        if arguments.verbose {
            writeln!(out, "seed {seed}: {} events, {} jobs, trace {:016x}", report.events, report.jobs, report.hash)?;
        }
        if report.violations.is_empty() {
            passed += 1;
        } else {
            failed += 1;
            show_failure(arguments, &report, out)?;
        }
    }
    let [
        ms,
        jobs,
        bodies,
        repeated,
        calls,
        unknown,
        refused,
        crashes,
        pauses,
        stops,
        losses,
        late,
        fires,
        skipped,
        replans,
    ] = sums;
    writeln!(
        out,
        "{} seeds, {:.1} simulated hours, {crashes} crashes, {stops} polite stops, {pauses} pauses, {unknown} unknown \
         outcomes, {refused} refused of {calls} store calls, {jobs} jobs, {bodies} bodies ({repeated} repeated), \
         {losses} losses, {late} late settlements, {fires} fires, {skipped} skipped, {replans} planned anew",
        passed + failed,
        ms as f64 / 3_600_000.0
    )?;
    Ok((passed, failed))
}

const FIGURES: usize = 15;

fn figures(report: &Report) -> [u64; FIGURES] {
    [
        report.simulated_ms,
        report.jobs,
        report.bodies,
        report.repeated_bodies,
        report.store_calls,
        report.unknown_outcomes,
        report.refused_calls,
        report.crashes,
        report.pauses,
        report.stops,
        report.losses,
        report.late_settlements,
        report.fires,
        report.skipped_fires,
        report.replans,
    ]
}

fn show_failure(arguments: &Arguments, report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let seed = report.seed;
    for event in &report.last_events {
        writeln!(out, "{event}")?;
    }
    for violation in &report.violations {
        writeln!(out, "seed {seed}: {} {}", violation.invariant, violation.detail)?;
    }
    writeln!(out, "again: mainspring-sim --seeds 1 --from {seed} --store {} --verbose", arguments.store_word())
}

fn run_planted(arguments: &Arguments, out: &mut impl Write) -> Counted {
    let (mut passed, mut failed) = (0, 0);
    for bug in Bug::ALL.iter().copied() {
        let options = Options { bug: Some(bug), ..arguments.options() };
        let seen = arguments.all_seeds().find_map(|seed| {
            let violations = run(seed, options).violations;
            violations.into_iter().find(|violation| violation.invariant == bug.breaks()).map(|seen| (seed, seen))
        });
        let name = format!("{bug:?}");
        match seen {
            Some((seed, seen)) => {
                passed += 1;
                writeln!(out, "{name:<22} seen at seed {seed}: {} {}", seen.invariant, seen.detail)?;
            }
            None => {
                failed += 1;
                writeln!(out, "{name:<22} not seen by {} in {} seeds", bug.breaks(), arguments.seeds)?;
            }
        }
    }
    Ok((passed, failed))
}

fn run_twice(arguments: &Arguments, out: &mut impl Write) -> Counted {
    let (mut passed, mut failed) = (0, 0);
    for seed in arguments.all_seeds() {
        let (first, second) = (run(seed, arguments.options()), run(seed, arguments.options()));
        if (first.hash, first.events) == (second.hash, second.events) {
            passed += 1;
        } else {
            failed += 1;
            writeln!(out, "seed {seed}: trace {:016x}, then {:016x}", first.hash, second.hash)?;
            let pairs = first.last_events.iter().zip(&second.last_events);
            if let Some((first, second)) = pairs.into_iter().find(|(first, second)| first != second) {
                writeln!(out, "{first}\n{second}")?;
            }
        }
    }
    Ok((passed, failed))
}
