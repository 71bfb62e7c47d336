//! What a chaos run leaves behind: what was asked from outside, what the product says, what the witness saw, and what was
//! done to it. Plain values, so that the laws can be fed made-up histories too.

use std::fmt;

/// Milliseconds since 1970; all clocks of a run are the one of this machine.
pub(super) type Ms = i64;

#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub asked: Vec<Asked>,
    pub words: Vec<Word>,
    pub jobs: Vec<Job>,
    pub attempts: Vec<Attempt>,
    pub bodies: Vec<Body>,
    pub tasks: Vec<Task>,
    pub faults: Vec<Fault>,
    pub lives: Vec<Life>,
    pub sightings: Vec<Sighting>,
    /// What was wrong while it happened: a refused submit, a node that ended by itself, a violation that the database
    /// shows.
    pub complaints: Vec<String>,
    /// No more work came after this.
    pub load_end_ms: Ms,
}

/// A submit that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub task: String,
    pub key: String,
    pub id: String,
    pub answered_ms: Ms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Cancel,
    Retry,
}

/// What a person did to a job. In the order in which it was answered.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub job: String,
    pub verb: Verb,
    pub asked_ms: Ms,
    pub answered_ms: Ms,
    /// Refused: the state did not allow it.
    pub accepted: bool,
}

/// As the product shows it at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub id: String,
    pub task: String,
    pub key: Option<String>,
    pub lane: Option<String>,
    pub status: String,
    pub due_ms: Ms,
    pub finish_ms: Option<Ms>,
    pub fire_ms: Option<Ms>,
    /// There when it stands for several fire times.
    pub first_fire_ms: Option<Ms>,
    pub retries: u64,
    pub max_retry: u64,
    pub losses: u64,
    pub fence: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub job: String,
    pub fence: i64,
    pub status: String,
    pub start_ms: Ms,
    pub finish_ms: Option<Ms>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Noted,
    /// Its process died.
    WithProcess,
    Never,
}

/// By the witness.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub job: String,
    pub fence: i64,
    pub pid: u32,
    pub start_ms: Ms,
    pub end_ms: Ms,
    pub ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Each job has a key of its own, for ever.
    Always,
    /// At most one live job per key.
    Live,
    /// Jobs are made by a schedule.
    Fires,
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    pub code: String,
    pub keys: Keys,
    /// The outcome when nobody interferes.
    pub ends: &'static str,
    /// No two bodies at once: of the task, or of one lane of it.
    pub is_serial: bool,
    pub retry_base_ms: Ms,
    pub schedule: Option<Schedule>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    pub every_ms: Ms,
    /// Each fire time in between has a record.
    pub from_ms: Ms,
    pub to_ms: Ms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Kill,
    Pause,
    PoliteStop,
    DatabaseFast,
    DatabaseImmediate,
    DatabaseKilled,
    /// Connections are cut and new ones refused.
    CutOff,
    /// Messages one way are lost and connections stay open.
    OneWay,
    Slow,
    CommitNeverArrives,
    CommitAnswerLost,
}

impl Kind {
    pub(super) const ALL: [Kind; 11] = [
        Kind::Kill,
        Kind::Pause,
        Kind::PoliteStop,
        Kind::DatabaseFast,
        Kind::DatabaseImmediate,
        Kind::DatabaseKilled,
        Kind::CutOff,
        Kind::OneWay,
        Kind::Slow,
        Kind::CommitNeverArrives,
        Kind::CommitAnswerLost,
    ];

    pub(super) fn is_database(self) -> bool {
        matches!(self, Kind::DatabaseFast | Kind::DatabaseImmediate | Kind::DatabaseKilled)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub kind: Kind,
    /// `None`: the database.
    pub node: Option<usize>,
    pub pid: Option<u32>,
    pub from_ms: Ms,
    /// All is as before: a node is ready again, a database takes connections.
    pub to_ms: Ms,
}

impl Fault {
    pub(super) fn meets(&self, from_ms: Ms, to_ms: Ms) -> bool {
        self.from_ms <= to_ms && from_ms <= self.to_ms
    }
}

/// One process of a node.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub pid: u32,
    pub node: usize,
    pub ready_ms: Option<Ms>,
    pub died_ms: Option<Ms>,
}

/// A job that was seen final while the run went on.
#[derive(Debug, Clone)]
pub(super) struct Sighting {
    pub job: String,
    pub at_ms: Ms,
    pub status: String,
    pub finish_ms: Option<Ms>,
    pub fence: i64,
}

impl History {
    /// All that is known of one job, in the order of time.
    pub(super) fn of_job(&self, id: &str) -> Vec<String> {
        let mut lines: Vec<(Ms, String)> = Vec::new();
        let mut note = |at: Ms, what: &dyn fmt::Debug| lines.push((at, format!("{at}  {what:?}")));
        self.asked.iter().filter(|asked| asked.id == id).for_each(|asked| note(asked.answered_ms, asked));
        self.words.iter().filter(|word| word.job == id).for_each(|word| note(word.answered_ms, word));
        self.attempts.iter().filter(|attempt| attempt.job == id).for_each(|attempt| note(attempt.start_ms, attempt));
        self.bodies.iter().filter(|body| body.job == id).for_each(|body| note(body.start_ms, body));
        self.jobs.iter().filter(|job| job.id == id).for_each(|job| note(job.finish_ms.unwrap_or(Ms::MAX), job));
        let (first, last) = self.span_of(id);
        self.faults.iter().filter(|fault| fault.meets(first, last)).for_each(|fault| note(fault.from_ms, fault));
        lines.sort();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn span_of(&self, id: &str) -> (Ms, Ms) {
        const BEFORE_MS: Ms = 25_000;
        let asked = self.asked.iter().filter(|asked| asked.id == id).map(|asked| asked.answered_ms);
        let bodies = self.bodies.iter().filter(|body| body.job == id).flat_map(|body| [body.start_ms, body.end_ms]);
        let times: Vec<Ms> = asked.chain(bodies).collect();
        let first = times.iter().min().copied().unwrap_or(Ms::MAX);
        (first.saturating_sub(BEFORE_MS), times.iter().max().copied().unwrap_or(0))
    }
}
