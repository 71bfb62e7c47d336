//! What a node does with its lease, its claims and the answers that it hears.

use crate::laws::Law;
use crate::nodes::{Beat, Ended, Hold, Life, Node, Renewal, StartMark, Step};
use crate::planted::Bug;
use crate::protocol::Protocol;
use crate::world::{Call, Incarnation, Shown, World};

/// What the caller hears of a call that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Heard,
    Lost,
}

impl Protocol {
    /// Fewer ticks than the lease: nobody else may have begun when the last body stops.
    pub(crate) fn own_limit(&self) -> u8 {
        if self.has(Bug::FencesItselfLate) { self.scene.lease + 1 } else { self.scene.lease.saturating_sub(1) }
    }

    pub(crate) fn tick(&self, world: &mut World) {
        world.db.tick();
        if let Some(replica) = &mut world.replica {
            replica.tick();
        }
        world.nodes.iter_mut().for_each(|node| node.tick(self.own_limit()));
    }

    /// A new incarnation. The process that ended the old one by itself says so; nobody vouches for one that crashed.
    pub(crate) fn come_back(&self, world: &mut World, index: usize) {
        self.look_at_server(world);
        let former = world.incarnation(index);
        let is_own = world.nodes[index].life == Life::Fenced;
        let me = Incarnation { start: former.start + 1, ..former };
        self.join(world, me, Some(former).filter(|_| is_own));
        world.nodes[index] = Node {
            life: Life::Up,
            start: me.start,
            connected: true,
            left: self.own_limit(),
            history: world.db.history,
            confirmed: self.beats_at_join(world),
            ..Node::new()
        };
    }

    pub(crate) fn ask_renewal(&self, world: &mut World, index: usize) {
        let of = world.incarnation(index);
        let confirmed = if self.has(Bug::NoticesByOwnBeats) { world.nodes[index].confirmed } else { 0 };
        let renewal = self.renew(world, of, confirmed);
        world.nodes[index].beat = Beat::Answered { age: 0, renewal };
    }

    pub(crate) fn hear_renewal(&self, world: &mut World, index: usize) {
        let limit = self.own_limit();
        let node = &mut world.nodes[index];
        let Beat::Answered { age, renewal } = node.beat else { return };
        node.beat = Beat::None;
        let age = if self.has(Bug::LeaseFromAnswer) { 0 } else { age };
        match renewal {
            Renewal::Refused if self.has(Bug::RefusalIgnored) => {
                node.left = limit;
                if node.bodies() > 0 {
                    world.ghost.broken.mark(Law::Refused);
                }
            }
            Renewal::Refused => node.fence(),
            Renewal::Granted { beats, .. } if self.has(Bug::NoticesByAllBeats) && beats <= node.confirmed => {
                self.history_is_lost(world, index);
            }
            Renewal::WentBack => self.history_is_lost(world, index),
            Renewal::Granted { history, .. } if history != node.history => node.fence(),
            Renewal::Granted { beats, .. } => {
                node.left = node.left.max(limit.saturating_sub(age));
                node.confirmed = beats;
                node.overslept &= node.left == 0;
            }
        }
    }

    pub(crate) fn start_body(&self, world: &mut World, index: usize, held: usize) {
        let own = &world.nodes[index].holds[held];
        let is_excused = |node: &Node, hold: &Hold| node.overslept || hold.ended != Ended::No;
        let is_other = |hold: &&Hold| hold.step == Step::Running && hold.claim != own.claim;
        let others =
            world.nodes.iter().flat_map(|node| node.holds.iter().filter(is_other).map(move |hold| (node, hold)));
        let overlaps = others.into_iter().any(|(node, hold)| !is_excused(node, hold));
        if overlaps && !is_excused(&world.nodes[index], own) {
            world.ghost.broken.mark(Law::Overlap);
        }
        if world.nodes[index].life == Life::Draining {
            world.ghost.broken.mark(Law::Drain);
        }
        world.nodes[index].holds[held].step = Step::Running;
    }

    pub(crate) fn send_settle(&self, world: &mut World, index: usize, held: usize) {
        let hold = &world.nodes[index].holds[held];
        let by = world.shown(index, hold);
        let Step::Answered { end, said } = hold.step else { return };
        if world.nodes[index].connected {
            world.calls.insert(Call::Settle { by, end, said });
        }
    }

    pub(crate) fn carry_out(&self, world: &mut World, call: Call, answer: Answer) {
        match call {
            Call::Claim { of } => {
                let claimed = self.claim(world, of);
                if let (Answer::Heard, Some(node)) = (answer, world.process(of)) {
                    hear_claim(node, claimed);
                }
            }
            Call::MarkStarted { by } => {
                let granted = self.mark_started(world, by);
                if let (Answer::Heard, Some(node)) = (answer, world.process(by.owner)) {
                    hear_start(node, by, granted);
                }
            }
            Call::Settle { by, end, said } => {
                self.settle(world, by, end, said);
                if answer == Answer::Heard {
                    drop_hold(world, by);
                }
            }
            Call::GiveBack { by } => {
                self.give_back(world, by);
                if answer == Answer::Heard {
                    drop_hold(world, by);
                }
            }
            Call::Leave { of } => {
                self.leave(world, of);
                if let (Answer::Heard, Some(node)) = (answer, world.process(of)) {
                    self.hear_leave(node);
                }
            }
            Call::Operate { word, seen, seen_fence, generation } => {
                self.operate(world, word, (seen, seen_fence), generation);
            }
        }
    }

    fn hear_leave(&self, node: &mut Node) {
        if self.has(Bug::LeavesEarly) {
            node.life = Life::Left;
        } else {
            node.end(Life::Left);
        }
    }
}

fn hear_claim(node: &mut Node, claimed: Option<Shown>) {
    if !node.claiming {
        return; // given up as unknown: what it brought is found by a recount
    }
    node.claiming = false;
    let hold = |by: Shown| Hold {
        fence: by.fence,
        claim: by.claim,
        step: Step::Waiting,
        start: StartMark::Unwritten,
        ended: Ended::No,
    };
    node.holds.extend(claimed.map(hold));
}

fn hear_start(node: &mut Node, by: Shown, granted: bool) {
    if granted {
        let own = node.holds.iter_mut().filter(|hold| hold.claim == by.claim);
        own.for_each(|hold| hold.start = StartMark::Written);
    } else {
        node.holds.retain(|hold| hold.claim != by.claim || hold.step != Step::Running);
    }
}

/// Applied or late: it is the end of this claim here. Without an answer the same is sent again.
fn drop_hold(world: &mut World, by: Shown) {
    if let Some(node) = world.process(by.owner) {
        node.holds.retain(|hold| hold.claim != by.claim);
    }
}
