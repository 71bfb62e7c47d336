//! The parent: which runs there are, each in processes of its own, one after another.
//!
//! Repetitions are the outer loop: a disturbance of a minute then spoils one run of several scenarios, which their
//! medians survive, and the raw limits are measured in the same minutes as everything else.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tempfile::TempDir;

use crate::args::{Args, Scenario, StoreKind, Subject, Surface};
use crate::figures::Figures;
use crate::latency::now_us;
use crate::place::{Place, sqlite_file};
use crate::scenarios::{Spec, Step};
use crate::servers::DatabaseServer;
use crate::tables::Fill;
use crate::{disk, procfs, report, window};

/// One line of the JSON file.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) scenario: Scenario,
    pub(crate) subject: Subject,
    repetition: u32,
    began_unix_s: u64,
    took_s: f64,
    load_before: f64,
    load_after: f64,
    pub(crate) figures: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The first line of the JSON file, and the head of the report.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) version: &'static str,
    pub(crate) cpus: usize,
    pub(crate) kernel: String,
    pub(crate) store: StoreKind,
    pub(crate) database: String,
    pub(crate) disk: String,
    pub(crate) began_unix_s: u64,
}

pub(crate) fn all(args: &Args) -> Result<()> {
    let bench = Bench::prepare(args)?;
    let machine = bench.machine()?;
    bench.write_line(&machine)?;
    let mut runs = Vec::new();
    for repetition in 0..args.repeat {
        for scenario in args.asked() {
            for subject in scenario.subjects().iter().filter(|subject| bench.is_asked(**subject)) {
                let run = bench.run(scenario, *subject, repetition)?;
                bench.write_line(&run)?;
                runs.push(run);
            }
        }
    }
    println!("{}", report::table(&machine, &runs));
    let failed = runs.iter().filter(|run| run.error.is_some()).count();
    anyhow::ensure!(failed == 0, "{failed} of {} runs failed", runs.len());
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    dir: TempDir,
    database_server: Option<DatabaseServer>,
    server: Option<PathBuf>,
    peer: Option<PathBuf>,
}

impl Bench<'_> {
    fn prepare(args: &Args) -> Result<Bench<'_>> {
        for scenario in args.asked() {
            let name = scenario.name();
            anyhow::ensure!(scenario.is_on(args.store), "{name} is not measured on {:?}", args.store);
        }
        std::fs::create_dir_all(&args.dir).with_context(|| format!("making {}", args.dir.display()))?;
        // Absolute, for the processes that get it.
        let root = args.dir.canonicalize()?;
        let dir = tempfile::Builder::new().prefix("bench-").tempdir_in(&root).context("making a directory")?;
        let place = disk::of(dir.path());
        if disk::is_memory(&place) {
            eprintln!("the databases lie in memory ({place}): no figure that waits for a commit means anything");
        }
        let beside = || Some(std::env::current_exe().ok()?.parent()?.join("mainspring"));
        let server = args.mainspring.clone().or_else(beside).filter(|path| path.exists());
        if server.is_none() && args.surface != Surface::Library {
            eprintln!("REST is left out: build the server (`cargo build --release`), or name it with --mainspring");
        }
        let absolute = |path: Option<PathBuf>| path.map(|path| path.canonicalize()).transpose();
        let peer = absolute(args.peer.clone()).context("looking for the peer's driver")?;
        let database_server = DatabaseServer::of(args, &root)?;
        Ok(Bench { args, dir, database_server, server: absolute(server)?, peer })
    }

    fn machine(&self) -> Result<Machine> {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let sqlite = || Ok(format!("SQLite {}", rusqlite::version()));
        Ok(Machine {
            version: env!("CARGO_PKG_VERSION"),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: kernel.trim().to_owned(),
            store: self.args.store,
            database: self.database_server.as_ref().map_or_else(sqlite, DatabaseServer::describe)?,
            disk: disk::of(self.dir.path()),
            began_unix_s: now_us() / 1_000_000,
        })
    }

    fn is_asked(&self, subject: Subject) -> bool {
        match subject {
            Subject::Raw => true,
            Subject::Library => self.args.surface != Surface::Rest,
            Subject::Rest => self.args.surface != Surface::Library && self.server.is_some(),
            Subject::Effectum => self.peer.is_some() && self.args.store == StoreKind::Sqlite,
        }
    }

    fn write_line(&self, line: &impl Serialize) -> Result<()> {
        let Some(path) = &self.args.json else { return Ok(()) };
        let mut file = OpenOptions::new().create(true).append(true).open(path).context("opening the JSON file")?;
        writeln!(file, "{}", serde_json::to_string(line)?).context("writing the JSON file")
    }

    fn run(&self, scenario: Scenario, subject: Subject, repetition: u32) -> Result<Run> {
        window::wait_for_calm(self.args.calm, Duration::from_secs(self.args.calm_wait))?;
        let (load_before, began_unix_s) = (procfs::load_average(), now_us() / 1_000_000);
        let began = Instant::now();
        let outcome = self.measure(scenario, subject);
        let took_s = began.elapsed().as_secs_f64();
        let (figures, error) = match outcome {
            Ok(figures) => (figures, None),
            Err(error) => (Figures::default(), Some(format!("{error:#}"))),
        };
        let shown = error
            .as_deref()
            .map_or_else(|| report::one_line(self.args.store, scenario, &figures), |error| error.to_owned());
        eprintln!("{:8} {subject:?} #{repetition} ({took_s:.0} s): {shown}", scenario.name());
        let load_after = procfs::load_average();
        Ok(Run { scenario, subject, repetition, began_unix_s, took_s, load_before, load_after, figures, error })
    }

    /// The parts of one run share a directory, which goes with it, and mostly a database.
    fn measure(&self, scenario: Scenario, subject: Subject) -> Result<Figures> {
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(self.dir.path())?;
        let run = OneRun { scenario, subject, dir: dir.path() };
        let mut figures = Figures::default();
        let mut place = self.fresh(dir.path())?;
        for part in parts(scenario, subject) {
            match part {
                Part::Fresh => place = self.replace(&place, self.fresh(dir.path())?)?,
                Part::Copy(fill) => place = self.replace(&place, self.filled(&run, *fill)?)?,
                Part::Fill(fill) => {
                    let began = Instant::now();
                    figures.add(self.process(&run, Step::Prefill(*fill), &place)?);
                    figures.set("filled_s", began.elapsed().as_secs_f64());
                }
                Part::Process(step) => {
                    self.settle(&place)?;
                    figures.add(self.process(&run, *step, &place)?);
                }
            }
        }
        self.drop_database(&place)?;
        Ok(figures)
    }

    fn fresh(&self, dir: &Path) -> Result<Place> {
        self.database_server.as_ref().map_or_else(|| Ok(Place::sqlite(dir)), DatabaseServer::fresh)
    }

    fn replace(&self, old: &Place, new: Place) -> Result<Place> {
        self.drop_database(old)?;
        Ok(new)
    }

    fn drop_database(&self, place: &Place) -> Result<()> {
        self.database_server.as_ref().map_or(Ok(()), |server| server.drop(place))
    }

    fn settle(&self, place: &Place) -> Result<()> {
        self.database_server.as_ref().map_or(Ok(()), |server| server.settle(place))
    }

    fn process(&self, run: &OneRun<'_>, step: Step, place: &Place) -> Result<Figures> {
        let program = match run.subject {
            Subject::Raw | Subject::Library => None,
            Subject::Rest => self.server.clone(),
            Subject::Effectum => self.peer.clone(),
        };
        let OneRun { scenario, subject, dir } = *run;
        let place = place.clone();
        let spec = Spec { scenario, subject, step, sizes: self.args.sizes, dir: dir.to_owned(), place, program };
        let output = spec.command()?.output().context("starting a process of its own")?;
        if !output.status.success() {
            bail!("{step:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("reading the figures of a process")
    }

    /// Filling takes much longer than copying, so each kind is filled once and kept until the end.
    fn filled(&self, run: &OneRun<'_>, fill: Fill) -> Result<Place> {
        let rows = self.args.sizes.rows(run.scenario);
        let prefill = |run: &OneRun<'_>, place: &Place| self.process(run, Step::Prefill(fill), place).map(drop);
        let what = format!("{fill:?}-{rows}");
        if let Some(server) = &self.database_server {
            return server.filled(&what, |place| prefill(run, place));
        }
        let kind = self.dir.path().join(what);
        if !sqlite_file(&kind).exists() {
            std::fs::create_dir_all(&kind)?;
            let run = OneRun { subject: Subject::Library, dir: &kind, ..*run };
            prefill(&run, &Place::sqlite(&kind))?;
        }
        let copy = Place::sqlite(run.dir);
        std::fs::copy(sqlite_file(&kind), copy.file()?).context("copying a filled database")?;
        File::open(copy.file()?)?.sync_all().context("syncing a copy")?;
        Ok(copy)
    }
}

/// What all parts of a run have in common.
#[derive(Clone, Copy)]
struct OneRun<'a> {
    scenario: Scenario,
    subject: Subject,
    dir: &'a Path,
}

/// What one run consists of, in its order.
enum Part {
    /// Another database, empty. A run begins with one.
    Fresh,
    /// A database that was filled beforehand.
    Copy(Fill),
    /// This database is filled, and the time that it takes is told.
    Fill(Fill),
    Process(Step),
}

fn parts(scenario: Scenario, subject: Subject) -> &'static [Part] {
    use Part::{Copy, Fill as Filled, Fresh, Process};
    if subject != Subject::Library {
        return &[Process(Step::Measure)];
    }
    match scenario {
        Scenario::W2 => &[Process(Step::Submit), Process(Step::Measure)],
        Scenario::W5 => &[Copy(Fill::PastAndFuture), Process(Step::Submit), Process(Step::Measure)],
        Scenario::W7 => &[Process(Step::Rest), Copy(Fill::Waiting), Process(Step::Measure)],
        Scenario::Startup => &[Copy(Fill::Waiting), Process(Step::Measure)],
        Scenario::Pages => &[Copy(Fill::Finished), Process(Step::Measure)],
        Scenario::Idle => &[Copy(Fill::Future), Process(Step::Measure)],
        Scenario::Cluster => &[
            Process(Step::Submit),
            Process(Step::Nodes(1)),
            Fresh,
            Process(Step::Submit),
            Process(Step::Nodes(2)),
            Fresh,
            Process(Step::Submit),
            Process(Step::Nodes(4)),
        ],
        Scenario::History => {
            &[Filled(Fill::History), Process(Step::Submit), Process(Step::Measure), Process(Step::Lists)]
        }
        _ => &[Process(Step::Measure)],
    }
}
