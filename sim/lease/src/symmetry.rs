//! The two nodes are alike: a state and its mirror image are one.

use std::cmp::Ordering;

use crate::world::{Call, Incarnation, Shown, World};

impl World {
    pub(crate) fn representative(&self) -> World {
        match self.nodes[0].cmp(&self.nodes[1]) {
            Ordering::Less => self.clone(),
            Ordering::Greater => self.mirrored(),
            Ordering::Equal => self.mirrored().min(self.clone()),
        }
    }

    fn mirrored(&self) -> World {
        let mut world = self.clone();
        world.nodes.reverse();
        world.db.mirror();
        world.replica.iter_mut().for_each(|replica| replica.mirror());
        world.calls = self.calls.iter().map(mirrored_call).collect();
        world.listed = self.listed.map(mirrored);
        world
    }
}

pub(crate) fn mirrored(of: Incarnation) -> Incarnation {
    Incarnation { node: 1 - of.node, ..of }
}

fn mirrored_call(call: &Call) -> Call {
    let show = |by: Shown| Shown { owner: mirrored(by.owner), ..by };
    match *call {
        Call::Claim { of } => Call::Claim { of: mirrored(of) },
        Call::MarkStarted { by } => Call::MarkStarted { by: show(by) },
        Call::Settle { by, end, said } => Call::Settle { by: show(by), end, said },
        Call::GiveBack { by } => Call::GiveBack { by: show(by) },
        Call::Leave { of } => Call::Leave { of: mirrored(of) },
        Call::Operate { .. } => *call,
    }
}
