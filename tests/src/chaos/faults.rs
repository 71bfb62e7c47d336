//! Faults, dealt by a seeded generator: each kind comes once before any comes twice, several may be there at a time, and
//! each is healed again after a while.

use std::collections::BTreeMap;
use std::time::Duration;

use mainspring_test_servers::{Direction, How, Mode, When};
use rustix::process::Signal;

use super::history::{Fault, Kind, Ms};
use super::stage::Stage;
use crate::{pause, wall_ms};

/// How often, and how long.
#[derive(Debug, Clone)]
pub(super) struct Weather {
    pub gap_ms: std::ops::Range<Ms>,
    /// Of a killed node, a stopped database, a cut connection.
    pub away_ms: std::ops::Range<Ms>,
    pub pause_ms: std::ops::Range<Ms>,
    /// In one of so many rounds a kill and an outage come alone, with calm before and after: then times can be measured.
    pub calm_every: u32,
}

const CALM_AFTER_KILL_MS: Ms = 26_000;
const CALM_AFTER_OUTAGE_MS: Ms = 13_000;
/// Until then work is under way.
const FIRST_MS: Ms = 5_000;
const TICK: Duration = Duration::from_millis(50);
/// A node that does not get ready, or does not end, in this time while the database is there is a breach.
const CHANGE_LIMIT_MS: Ms = 40_000;
/// A commit comes at once where there is work.
const COMMIT_LIMIT_MS: Ms = 5_000;

#[derive(Debug)]
pub(super) struct Faults {
    dice: fastrand::Rng,
    weather: Weather,
    deck: Vec<Kind>,
    rounds: u32,
    /// Which outage is the one that comes alone.
    calm_outage: Kind,
    active: Vec<Active>,
    pub past: Vec<Fault>,
    pub complaints: Vec<String>,
    /// How many commits were really cut.
    pub commits_cut: BTreeMap<Kind, u64>,
    next_ms: Ms,
    end_ms: Ms,
}

/// A fault that is not healed yet.
#[derive(Debug)]
struct Active {
    fault: Fault,
    heal_ms: Ms,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Holds,
    /// The node was asked to end.
    Ending,
    /// A new process was launched.
    Starting,
    /// So many more commits are to be cut, and so many were when the last one was planned.
    Cutting {
        left: u32,
        cut_before: u64,
    },
    Over,
}

impl Faults {
    pub(super) fn new(seed: u64, weather: Weather, length_ms: Ms) -> Faults {
        let now = wall_ms();
        Faults {
            dice: fastrand::Rng::with_seed(seed),
            weather,
            deck: Vec::new(),
            rounds: 0,
            calm_outage: Kind::DatabaseFast,
            active: Vec::new(),
            past: Vec::new(),
            complaints: Vec::new(),
            commits_cut: BTreeMap::new(),
            next_ms: now + FIRST_MS,
            end_ms: now + length_ms,
        }
    }

    /// Until the time is over and all is healed.
    pub(super) fn rage(&mut self, stage: &mut Stage) {
        loop {
            let now = wall_ms();
            if now >= self.end_ms {
                self.heal_all(now);
                if self.active.is_empty() {
                    return;
                }
                if now >= self.end_ms + 2 * CHANGE_LIMIT_MS {
                    return self.complaints.push(format!("not healed in time: {:?}", self.active));
                }
            } else if now >= self.next_ms {
                self.strike(stage);
            }
            self.tend(stage);
            self.look_for_the_dead(stage);
            pause(TICK);
        }
    }

    fn strike(&mut self, stage: &mut Stage) {
        if self.deck.is_empty() {
            self.deck = Kind::ALL.to_vec();
            self.dice.shuffle(&mut self.deck);
            self.calm_outage = *self.deck.iter().find(|kind| kind.is_database()).expect("all kinds are there");
            self.rounds += 1;
            if self.comes_alone(Kind::Kill) {
                // First: what was lost before would be cared for, and be late for that.
                self.deck.retain(|kind| *kind != Kind::Kill);
                self.deck.push(Kind::Kill);
            }
        }
        let kind = self.deck.pop().expect("it was filled");
        let is_alone = self.comes_alone(kind);
        if is_alone && !self.active.is_empty() {
            self.heal_all(wall_ms());
            return self.deck.push(kind);
        }
        let free: Vec<usize> = (0..stage.count()).filter(|at| !self.is_busy(*at)).collect();
        self.next_ms = wall_ms() + self.dice.i64(self.weather.gap_ms.clone());
        let is_outage = |active: &Active| active.fault.kind.is_database();
        let node = match self.dice.choice(&free) {
            _ if kind.is_database() && self.active.iter().any(is_outage) => return self.deck.insert(0, kind),
            _ if kind.is_database() => None,
            Some(at) => Some(*at),
            None => return self.deck.insert(0, kind),
        };
        let active = self.begin(stage, kind, node);
        if is_alone {
            self.next_ms = match kind.is_database() {
                true => active.heal_ms + CALM_AFTER_OUTAGE_MS,
                false => wall_ms() + CALM_AFTER_KILL_MS,
            };
        }
        self.active.push(active);
    }

    fn comes_alone(&self, kind: Kind) -> bool {
        self.rounds % self.weather.calm_every == 1 % self.weather.calm_every
            && (kind == Kind::Kill || kind == self.calm_outage)
    }

    /// What holds by itself; a process needs its time to end and to start.
    fn heal_all(&mut self, now: Ms) {
        let holds = |active: &&mut Active| matches!(active.phase, Phase::Holds | Phase::Cutting { .. });
        self.active.iter_mut().filter(holds).for_each(|active| active.heal_ms = active.heal_ms.min(now));
    }

    fn begin(&mut self, stage: &mut Stage, kind: Kind, node: Option<usize>) -> Active {
        let mut from_ms = wall_ms();
        let pid = node.map(|at| stage.pid(at));
        let at = node.unwrap_or_default();
        let mut phase = Phase::Holds;
        let mut length_ms = self.dice.i64(self.weather.away_ms.clone());
        match kind {
            Kind::Kill => from_ms = stage.kill(at),
            Kind::Pause => {
                stage.signal(at, Signal::STOP);
                length_ms = self.dice.i64(self.weather.pause_ms.clone());
            }
            Kind::PoliteStop => {
                stage.signal(at, Signal::TERM);
                (phase, length_ms) = (Phase::Ending, CHANGE_LIMIT_MS);
            }
            Kind::DatabaseFast => stage.database.stop(How::Fast).expect("it stops"),
            Kind::DatabaseImmediate => stage.database.stop(How::Immediate).expect("it stops"),
            Kind::DatabaseKilled => stage.database.stop(How::Kill).expect("it is killed"),
            Kind::CutOff => {
                stage.proxy(at).set(Mode::Refuse);
                stage.proxy(at).cut_all();
            }
            Kind::OneWay => {
                let way = if self.dice.bool() { Direction::ToServer } else { Direction::ToClient };
                stage.proxy(at).set(Mode::Swallow(way));
            }
            Kind::Slow => stage.proxy(at).set(Mode::Delay(Duration::from_millis(self.dice.u64(50..800)))),
            Kind::CommitNeverArrives | Kind::CommitAnswerLost => {
                phase = plan_cut(stage, kind, at, self.dice.u32(2..8));
                length_ms = COMMIT_LIMIT_MS;
            }
        }
        let fault = Fault { kind, node, pid, from_ms, to_ms: Ms::MAX };
        Active { fault, heal_ms: wall_ms() + length_ms, phase }
    }

    /// One step of each fault on its way back.
    fn tend(&mut self, stage: &mut Stage) {
        let is_excused = self.database_was_away(wall_ms() - CHANGE_LIMIT_MS);
        let mut active = std::mem::take(&mut self.active);
        for one in &mut active {
            self.step(one, stage, is_excused);
            if one.phase == Phase::Over {
                self.past.push(Fault { to_ms: wall_ms(), ..one.fault.clone() });
            }
        }
        active.retain(|one| one.phase != Phase::Over);
        self.active = active;
    }

    /// Excused: the database is or was away, without which a node neither starts nor gets ready.
    fn step(&mut self, one: &mut Active, stage: &mut Stage, is_excused: bool) {
        let (kind, at, is_time) = (one.fault.kind, one.fault.node.unwrap_or_default(), wall_ms() >= one.heal_ms);
        match one.phase {
            Phase::Over => {}
            Phase::Ending if stage.is_dead(at) => {
                (one.phase, one.heal_ms) = (Phase::Holds, wall_ms() + self.dice.i64(0..2_000));
            }
            Phase::Ending if is_time => {
                self.complaints.push(format!("node {at} does not stop:\n{}", stage.last_words(at)));
                stage.kill(at);
            }
            Phase::Ending => {}
            Phase::Cutting { left, cut_before } => {
                let was_cut = stage.proxy(at).counts().cut_statements > cut_before;
                if was_cut {
                    *self.commits_cut.entry(kind).or_default() += 1;
                }
                match was_cut && left > 1 && !is_time {
                    true => one.phase = plan_cut(stage, kind, at, left - 1),
                    false if was_cut || is_time => one.phase = Phase::Over,
                    false => {}
                }
            }
            Phase::Starting => self.watch_start(one, at, stage, is_excused),
            Phase::Holds if !is_time => {}
            Phase::Holds => one.phase = heal(kind, at, stage),
        }
        if one.phase == Phase::Starting && is_time {
            one.heal_ms = wall_ms() + CHANGE_LIMIT_MS;
        }
    }

    fn watch_start(&mut self, one: &mut Active, at: usize, stage: &mut Stage, is_excused: bool) {
        if stage.is_dead(at) {
            if !is_excused {
                self.complaints.push(format!("node {at} does not start:\n{}", stage.last_words(at)));
            }
            (one.phase, one.heal_ms) = (Phase::Holds, wall_ms() + 1_000);
        } else if stage.is_ready(at) {
            one.phase = Phase::Over;
        } else if wall_ms() >= one.heal_ms && !is_excused {
            self.complaints.push(format!("node {at} is not ready after its start:\n{}", stage.last_words(at)));
            stage.kill(at);
        }
    }

    fn database_was_away(&self, since_ms: Ms) -> bool {
        let now_away = self.active.iter().any(|active| active.fault.kind.is_database());
        now_away || self.past.iter().any(|fault| fault.kind.is_database() && fault.to_ms >= since_ms)
    }

    /// No node ends by itself.
    fn look_for_the_dead(&mut self, stage: &mut Stage) {
        for at in 0..stage.count() {
            if self.is_busy(at) || !stage.is_dead(at) {
                continue;
            }
            self.complaints.push(format!("node {at} ended by itself:\n{}", stage.last_words(at)));
            let (pid, now) = (Some(stage.pid(at)), wall_ms());
            let fault = Fault { kind: Kind::Kill, node: Some(at), pid, from_ms: now, to_ms: Ms::MAX };
            self.active.push(Active { fault, heal_ms: now, phase: Phase::Holds });
        }
    }

    fn is_busy(&self, at: usize) -> bool {
        self.active.iter().any(|active| active.fault.node == Some(at))
    }
}

fn plan_cut(stage: &Stage, kind: Kind, at: usize, left: u32) -> Phase {
    let proxy = stage.proxy(at);
    let cut_before = proxy.counts().cut_statements;
    proxy.cut_at_commit(if kind == Kind::CommitNeverArrives { When::Before } else { When::After });
    Phase::Cutting { left, cut_before }
}

fn heal(kind: Kind, at: usize, stage: &mut Stage) -> Phase {
    match kind {
        Kind::Kill | Kind::PoliteStop => {
            stage.launch(at);
            return Phase::Starting;
        }
        Kind::Pause => stage.signal(at, Signal::CONT),
        Kind::DatabaseFast | Kind::DatabaseImmediate | Kind::DatabaseKilled => {
            stage.database.start_again().expect("it starts");
        }
        Kind::OneWay => {
            stage.proxy(at).set(Mode::Pass);
            // What was lost on an open connection never comes; a network that heals tells both ends so.
            stage.proxy(at).cut_all();
        }
        Kind::CutOff | Kind::Slow => stage.proxy(at).set(Mode::Pass),
        Kind::CommitNeverArrives | Kind::CommitAnswerLost => {}
    }
    Phase::Over
}
