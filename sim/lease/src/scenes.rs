//! What may happen, and how often. Each scene is small enough to be searched to its end; together they are the protocol.

use crate::laws::Hope;
use crate::world::{End, Word};

#[derive(Debug)]
pub struct Scene {
    pub name: &'static str,
    /// Ticks; 0 where no time passes.
    pub(crate) lease: u8,
    /// Incarnations per node.
    pub(crate) starts: u8,
    pub(crate) claims: u8,
    pub(crate) crashes: u8,
    pub(crate) pauses: u8,
    pub(crate) drains: u8,
    pub(crate) fail_overs: u8,
    /// Rows of nodes that are gone are deleted.
    pub(crate) purges: bool,
    /// What persons do, in any order; each at most once.
    pub(crate) words: &'static [Word],
    /// What bodies answer.
    pub(crate) ends: &'static [End],
    pub hopes: &'static [Hope],
}

const EVERY_WORD: &[Word] = &[Word::Cancel, Word::Retry, Word::Release];

impl Scene {
    pub const ALL: &'static [Scene] = &[
        Scene::LEASES,
        Scene::PAUSES,
        Scene::CRASHES,
        Scene::PURGE,
        Scene::DRAIN,
        Scene::PEOPLE,
        Scene::PEOPLE_LEASES,
        Scene::FAIL_OVER,
        Scene::FAIL_OVER_PEOPLE,
        Scene::FAIL_OVER_LEASES,
    ];

    /// Calls that are late, lost or doubled are in every scene.
    pub const LEASES: Scene = Scene {
        name: "leases",
        lease: 3,
        starts: 2,
        claims: 2,
        crashes: 0,
        pauses: 0,
        drains: 0,
        fail_overs: 0,
        purges: false,
        words: &[],
        ends: &[End::Done],
        hopes: &[Hope::Done, Hope::Dead, Hope::ClaimByTheGone],
    };

    pub const PAUSES: Scene = Scene {
        name: "leases and a pause",
        pauses: 1,
        hopes: &[Hope::Done, Hope::Dead, Hope::Overlap, Hope::ClaimByTheGone],
        ..Scene::LEASES
    };

    pub const CRASHES: Scene = Scene { name: "leases and a crash", crashes: 1, claims: 3, ..Scene::LEASES };

    pub const PURGE: Scene = Scene {
        name: "leases, rows of the gone are deleted",
        purges: true,
        claims: 1,
        hopes: &[Hope::Done],
        ..Scene::LEASES
    };

    pub const DRAIN: Scene = Scene {
        name: "leases and a drain",
        starts: 1,
        drains: 1,
        ends: &[End::Done, End::Again],
        hopes: &[Hope::Done, Hope::Drained],
        ..Scene::LEASES
    };

    pub const PEOPLE: Scene = Scene {
        name: "people",
        lease: 0,
        starts: 1,
        words: EVERY_WORD,
        ends: &[End::Done, End::Failed],
        hopes: &[Hope::Done, Hope::Overlap, Hope::DoneAgain],
        ..Scene::LEASES
    };

    pub const PEOPLE_LEASES: Scene = Scene { name: "people and leases", lease: 2, ends: &[End::Done], ..Scene::PEOPLE };

    /// The second fail-over may lose what the first has led to.
    pub const FAIL_OVER: Scene = Scene {
        name: "two fail-overs",
        lease: 0,
        starts: 3,
        claims: 3,
        fail_overs: 2,
        hopes: &[Hope::Done, Hope::Dead, Hope::Overlap, Hope::DoneInNewHistory],
        ..Scene::LEASES
    };

    pub const FAIL_OVER_PEOPLE: Scene = Scene {
        name: "a fail-over and people",
        starts: 2,
        claims: 2,
        fail_overs: 1,
        words: EVERY_WORD,
        hopes: &[Hope::Done, Hope::Overlap, Hope::DoneAgain, Hope::DoneInNewHistory],
        ..Scene::FAIL_OVER
    };

    pub const FAIL_OVER_LEASES: Scene = Scene {
        name: "a fail-over and leases",
        lease: 2,
        fail_overs: 1,
        hopes: &[Hope::Done, Hope::Dead, Hope::Overlap, Hope::DoneInNewHistory],
        ..Scene::LEASES
    };
}
