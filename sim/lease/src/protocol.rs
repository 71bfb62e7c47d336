//! What a move does, and the model that the checker searches.

use stateright::{Model, Property};

use crate::laws::{self, Law};
use crate::moves::{ClaimMove, Duty, Move, NodeMove};
use crate::nodes::{Life, Step};
use crate::planted::Bug;
use crate::process::Answer;
use crate::scenes::Scene;
use crate::world::{Call, End, NodeRow, World};

/// For the faulty protocols that count renewals.
const BEATS_MAX: u8 = 4;

/// The protocol in one scene, right or with one bug.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) scene: &'static Scene,
    pub(crate) bug: Option<Bug>,
}

impl Protocol {
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn make(&self, world: &mut World, next: Move) {
        match next {
            Move::Tick => self.tick(world),
            Move::Node(node, next) => self.make_of_node(world, node, next),
            Move::Claim(node, held, next) => self.make_of_claim(world, node, held, next),
            Move::CarryOut(call) => {
                world.calls.remove(&call);
                self.carry_out(world, call, Answer::Heard);
            }
            Move::CarryOutUnheard(call) => {
                world.calls.remove(&call);
                self.carry_out(world, call, Answer::Lost);
            }
            Move::CarryOutFirstOfTwo(call) => self.carry_out(world, call, Answer::Heard),
            Move::Duty(duty) => self.do_duty(world, duty),
            Move::Say(call) => {
                self.say(world, call);
                self.carry_out(world, call, Answer::Heard);
            }
            Move::SayLate(call) => {
                self.say(world, call);
                world.calls.insert(call);
            }
            Move::FallBehind => world.replica = Some(world.db.clone()),
            Move::FailOver => self.fail_over(world),
        }
    }

    fn make_of_node(&self, world: &mut World, index: usize, next: NodeMove) {
        let me = world.incarnation(index);
        let node = &mut world.nodes[index];
        match next {
            NodeMove::Join => self.come_back(world, index),
            NodeMove::AskRenewal => self.ask_renewal(world, index),
            NodeMove::HearRenewal => self.hear_renewal(world, index),
            NodeMove::AskClaim => {
                node.claiming = true;
                world.calls.insert(Call::Claim { of: me });
            }
            NodeMove::ForgetClaim => {
                node.claiming = false;
                if self.has(Bug::RecountsOnce) && self.may_recount(world, index) {
                    self.take_over(&mut world.db);
                }
            }
            NodeMove::Recount => self.take_over(&mut world.db),
            NodeMove::AskLeave => drop(world.calls.insert(Call::Leave { of: me })),
            NodeMove::FenceItself => node.fence(),
            NodeMove::Crash => {
                world.spent.crashes += 1;
                node.end(Life::Down);
            }
            NodeMove::Pause => {
                world.spent.pauses += 1;
                (node.paused, node.overslept) = (true, true);
            }
            NodeMove::Resume => node.paused = false,
            NodeMove::Drain => {
                world.spent.drains += 1;
                node.life = Life::Draining;
            }
            NodeMove::Reconnect => self.reconnect(world, index),
        }
    }

    fn make_of_claim(&self, world: &mut World, index: usize, held: usize, next: ClaimMove) {
        let by = world.shown(index, &world.nodes[index].holds[held]);
        let hold = &mut world.nodes[index].holds[held];
        match next {
            ClaimMove::StartBody => self.start_body(world, index, held),
            ClaimMove::AskStart => drop(world.calls.insert(Call::MarkStarted { by })),
            ClaimMove::BodyAnswers(end) => {
                hold.step = Step::Answered { end, said: end };
                self.send_settle(world, index, held);
            }
            ClaimMove::RepeatSettle => {
                if self.has(Bug::UnknownIsFailure)
                    && let Step::Answered { end, .. } = &mut hold.step
                {
                    *end = End::Again;
                }
                self.send_settle(world, index, held);
            }
            ClaimMove::AskGiveBack => {
                hold.step = Step::GoingBack;
                world.calls.insert(Call::GiveBack { by });
            }
        }
    }

    fn do_duty(&self, world: &mut World, duty: Duty) {
        match duty {
            Duty::DeclareGone(of) => {
                world.listed = None;
                self.declare_gone(world, of);
            }
            Duty::Sweep => self.take_over(&mut world.db),
            Duty::Purge(of) => *world.db.row_mut(of) = NodeRow::Absent,
            Duty::ListExpired(of) | Duty::ListHeldByGone(of) => world.listed = Some(of),
            Duty::SweepListed => {
                world.listed = None;
                self.release(&mut world.db);
            }
        }
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Move;

    /// Both nodes have just joined.
    fn init_states(&self) -> Vec<World> {
        let mut world = World::new();
        for node in 0..world.nodes.len() {
            self.come_back(&mut world, node);
        }
        vec![world]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        if !self.is_over(world) {
            self.moves(world, moves);
        }
    }

    fn next_state(&self, before: &World, next: Move) -> Option<World> {
        let mut after = before.clone();
        self.make(&mut after, next);
        if self.guards_hold() {
            self.throw_away_dead_letters(&mut after);
        }
        laws::judge(self, before, &mut after);
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        let hopes = self.scene.hopes.iter().map(|hope| hope.property());
        Law::properties().into_iter().chain(hopes).collect()
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.db.beats <= BEATS_MAX && world.nodes.iter().all(|node| node.confirmed <= BEATS_MAX)
    }
}
