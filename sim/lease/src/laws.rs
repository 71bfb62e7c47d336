//! What must hold in every state, and what must be possible.
//!
//! A law that is broken leaves its mark in the state, so that the checker finds the shortest way to it. Marks are set
//! where the offence happens (a statement that should have been refused) or by `judge`, which compares two states.

use crate::nodes::{Ended, Life, Step};
use crate::protocol::Protocol;
use crate::statements::LOSSES_MAX;
use crate::world::{Call, JobState, NodeRow, Shown, World};

macro_rules! laws {
    ($($(#[$doc:meta])* $law:ident $name:literal,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Law { $($(#[$doc])* $law,)+ }

        impl Law {
            pub const ALL: &'static [Law] = &[$(Law::$law),+];

            /// The name of its property; the first word is that of `docs/lease-protocol.md`.
            pub const fn name(self) -> &'static str { match self { $(Law::$law => $name),+ } }

            /// Whether no way to this state has broken it.
            pub(crate) fn holds_in(self, world: &World) -> bool { !world.ghost.broken.has(self) }

            pub(crate) fn properties() -> Vec<stateright::Property<Protocol>> {
                vec![$(stateright::Property::always($name, |_, world: &World| Law::$law.holds_in(world))),+]
            }
        }
    };
}

laws! {
    /// INV-6.
    Once "ONCE: a job is settled at most once in a generation",
    /// INV-7.
    Newest "NEWEST: only the newest claim settles, starts or gives back",
    /// INV-8.
    Final "FINAL: only a person's retry leaves a final state",
    /// INV-5.
    Fence "FENCE: a fence only grows, and past all that a lost history has given out",
    /// What INV-7 rests upon.
    Twins "TWINS: no two claims have owner and fence in common while one of them may still write",
    /// INV-10.
    TakeOver "TAKE-OVER: only a node whose lease has ended is declared gone by others",
    /// INV-9.
    Renewal "RENEWAL: who was declared gone is never renewed",
    /// INV-9.
    Refused "REFUSED: a node that was refused its renewal runs no body",
    /// INV-11.
    Overlap "OVERLAP: two bodies at once only after a pause, a person's word or a fail-over",
    /// INV-18.
    Losses "LOSSES: a job that was lost as often as the poison limit is final",
    /// LIV-5.
    Drain "DRAIN: a draining node starts nothing",
    /// LIV-1.
    Orphan "ORPHAN: what is held is in its owner's hands, or will be found",
    /// Unknown is not failed.
    Truth "TRUTH: what is written is what the body answered",
    /// Operations compare what their person saw.
    Seen "SEEN: a person's word reaches only the generation that he saw",
    /// The record's fence refuses whoever a person has sent away.
    SentAway "SENT-AWAY: a claim that a person ended never has the newest fence",
}

/// A set of laws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Broken(u16);

impl Broken {
    pub(crate) fn mark(&mut self, law: Law) {
        self.0 |= 1 << law as u16;
    }

    fn has(self, law: Law) -> bool {
        self.0 & (1 << law as u16) != 0
    }
}

/// The laws that two states tell: `before`, and what one move made of it.
pub(crate) fn judge(protocol: &Protocol, before: &World, after: &mut World) {
    let (old, new) = (&before.db.job, &after.db.job);
    let same_history = before.ghost.fail_overs == after.ghost.fail_overs;
    let same_generation = old.generation == new.generation;
    let holds = || after.nodes.iter().flat_map(|node| &node.holds);
    let broken = [
        (Law::Fence, same_history && new.fence < old.fence),
        (Law::Final, same_history && same_generation && old.is_final() && !new.is_final()),
        (Law::Losses, new.losses >= LOSSES_MAX && !new.is_final()),
        (Law::Twins, has_twins(after)),
        (Law::SentAway, holds().any(|hold| hold.ended == Ended::ByPerson && hold.fence >= new.fence)),
        (Law::Orphan, is_orphan(protocol, after)),
    ];
    for (law, _) in broken.into_iter().filter(|(_, is_broken)| *is_broken) {
        after.ghost.broken.mark(law);
    }
}

/// Held by somebody who does not know of it, and nobody will ever look.
fn is_orphan(protocol: &Protocol, world: &World) -> bool {
    let Some(owner) = world.db.job.owner else { return false };
    let index = usize::from(owner.node);
    let node = &world.nodes[index];
    if node.is_running() && node.start == owner.start {
        let is_known = node.claiming || node.holds.iter().any(|hold| hold.fence == world.db.job.fence);
        return !is_known && !protocol.recounts_again();
    }
    // Nobody renews it: its lease ends.
    !world.db.is_live(owner) && !protocol.is_to_sweep(&world.db)
}

/// Whether an owner could write for one claim with what it was given for another.
fn has_twins(world: &World) -> bool {
    let held = world.db.job.owner.map(|owner| world.db.job.shown_by(owner));
    let in_hands = (0..world.nodes.len()).flat_map(|index| {
        let holds = world.nodes[index].holds.iter();
        holds.map(move |hold| world.shown(index, hold))
    });
    let under_way = world.calls.iter().filter_map(Call::shown);
    let claims = || held.into_iter().chain(in_hands.clone()).chain(under_way.clone());
    let is_twin =
        |one: Shown, other: Shown| (one.owner, one.fence) == (other.owner, other.fence) && one.claim != other.claim;
    claims().any(|one| claims().any(|other| is_twin(one, other)))
}

/// What must be possible: a model in which nothing happens breaks no law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hope {
    Done,
    Dead,
    Overlap,
    Drained,
    DoneAgain,
    DoneInNewHistory,
    ClaimByTheGone,
}

impl Hope {
    pub(crate) fn property(self) -> stateright::Property<Protocol> {
        use stateright::Property;
        match self {
            Hope::Done => Property::sometimes("CAN end well", |_, world: &World| world.db.job.state == JobState::Done),
            Hope::Dead => Property::sometimes("CAN end dead", |_, world: &World| world.db.job.state == JobState::Dead),
            Hope::Overlap => Property::sometimes("CAN have two bodies at once", |_, world: &World| {
                let holds = world.nodes.iter().flat_map(|node| &node.holds);
                holds.filter(|hold| hold.step == Step::Running).count() > 1
            }),
            Hope::Drained => Property::sometimes("CAN drain and leave", |_, world: &World| {
                world.nodes.iter().any(|node| node.life == Life::Left)
            }),
            Hope::DoneAgain => Property::sometimes("CAN end well after a retry", |_, world: &World| {
                world.db.job.generation > 0 && world.db.job.state == JobState::Done
            }),
            Hope::DoneInNewHistory => Property::sometimes("CAN end well after a lost history", |_, world: &World| {
                world.ghost.raises > 0 && world.db.job.state == JobState::Done
            }),
            Hope::ClaimByTheGone => {
                Property::sometimes("CAN have a claim under way of a node that is gone", |_, world: &World| {
                    let job_waits = world.db.job.state == JobState::Queued;
                    let is_gone =
                        |call: &Call| matches!(call, Call::Claim { of } if world.db.row(*of) == NodeRow::Gone);
                    job_waits && world.calls.iter().any(is_gone)
                })
            }
        }
    }
}
