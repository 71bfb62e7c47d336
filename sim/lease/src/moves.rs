//! What can happen next. A move is atomic; between any two of them everything else may happen.

use crate::nodes::{Beat, Life, Node, StartMark, Step};
use crate::planted::Bug;
use crate::protocol::Protocol;
use crate::world::{Call, Database, End, Incarnation, JobState, NodeRow, Word, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A unit of time passes, for the database and for all nodes.
    Tick,
    Node(usize, NodeMove),
    /// Of a node, and of one of the claims in its hands.
    Claim(usize, usize, ClaimMove),
    /// A call is carried out, and its caller hears of it.
    CarryOut(Call),
    /// A call is carried out, and its caller does not hear of it.
    CarryOutUnheard(Call),
    /// The same call was sent twice: one is carried out and heard of, the other is still under way.
    CarryOutFirstOfTwo(Call),
    Duty(Duty),
    /// A person's word is heard at once.
    Say(Call),
    SayLate(Call),
    /// From here on a stand-by misses what is committed.
    FallBehind,
    FailOver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeMove {
    Join,
    AskRenewal,
    HearRenewal,
    AskClaim,
    /// The outcome of the claim stays unknown.
    ForgetClaim,
    /// What the database says that it holds is compared with what it knows of.
    Recount,
    AskLeave,
    FenceItself,
    Crash,
    Pause,
    Resume,
    Drain,
    Reconnect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimMove {
    StartBody,
    AskStart,
    BodyAnswers(End),
    RepeatSettle,
    AskGiveBack,
}

/// Of any node and of no one in particular: what it may do is in its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    DeclareGone(Incarnation),
    Sweep,
    /// The row of a node that is gone is deleted.
    Purge(Incarnation),
    // First steps of faulty duties, and a second one that does not look again.
    ListExpired(Incarnation),
    ListHeldByGone(Incarnation),
    SweepListed,
}

impl Protocol {
    pub(crate) fn moves(&self, world: &World, moves: &mut Vec<Move>) {
        for (index, node) in world.nodes.iter().enumerate() {
            let mut acts = Vec::new();
            self.moves_of_process(world, node, &mut acts);
            if node.acts() && node.connected {
                self.moves_of_node(world, index, node, &mut acts);
            }
            moves.extend(acts.into_iter().map(|act| Move::Node(index, act)));
            self.moves_of_claims(world, index, node, moves);
        }
        for call in &world.calls {
            moves_of_call(world, *call, moves);
        }
        let mut duties = Vec::new();
        self.duties(world, &mut duties);
        moves.extend(duties.into_iter().map(Move::Duty));
        moves.extend(self.words(world).map(Move::Say));
        // One word that comes late is enough to be late for the others.
        if !world.calls.iter().any(|call| matches!(call, Call::Operate { .. })) {
            moves.extend(self.words(world).map(Move::SayLate));
        }
        if world.ghost.fail_overs < self.scene.fail_overs {
            moves.push(if world.replica.is_none() { Move::FallBehind } else { Move::FailOver });
        }
        // A node that the machine lets run stops its bodies in time.
        if self.is_timed() && !world.nodes.iter().any(|node| self.is_to_fence(node)) {
            moves.push(Move::Tick);
        }
    }

    /// What needs no database, or not yet.
    fn moves_of_process(&self, world: &World, node: &Node, acts: &mut Vec<NodeMove>) {
        if matches!(node.life, Life::Down | Life::Fenced) && node.start < self.scene.starts {
            acts.push(NodeMove::Join);
        }
        if !node.is_running() {
            return;
        }
        if world.spent.crashes < self.scene.crashes {
            acts.push(NodeMove::Crash);
        }
        if node.paused {
            return acts.push(NodeMove::Resume);
        }
        if world.spent.pauses < self.scene.pauses {
            acts.push(NodeMove::Pause);
        }
        if world.spent.drains < self.scene.drains && node.life == Life::Up {
            acts.push(NodeMove::Drain);
        }
        if self.is_to_fence(node) {
            acts.push(NodeMove::FenceItself);
        }
        if !node.connected {
            acts.push(NodeMove::Reconnect);
        }
    }

    fn moves_of_node(&self, world: &World, index: usize, node: &Node, acts: &mut Vec<NodeMove>) {
        let me = world.incarnation(index);
        match node.beat {
            Beat::None if self.renews(node) && node.left < self.own_limit() => acts.push(NodeMove::AskRenewal),
            Beat::None => {}
            Beat::Answered { age, .. } => {
                acts.push(NodeMove::HearRenewal);
                // The answer may be lost, or late.
                acts.extend(Some(NodeMove::AskRenewal).filter(|_| age > 0));
            }
        }
        let takes_more = node.life == Life::Up || self.has(Bug::DrainClaims);
        let is_worth_asking = world.db.job.state == JobState::Queued && world.spent.claims < self.scene.claims;
        if node.claiming {
            acts.push(NodeMove::ForgetClaim);
        } else if takes_more && is_worth_asking && !world.calls.contains(&Call::Claim { of: me }) {
            acts.push(NodeMove::AskClaim);
        }
        if self.may_recount(world, index) && self.recounts_again() {
            acts.push(NodeMove::Recount);
        }
        let bodies_are_out = node.holds.is_empty()
            || (self.has(Bug::LeavesEarly) && node.holds.iter().all(|hold| hold.step == Step::Running));
        if node.life == Life::Draining && bodies_are_out && !world.calls.contains(&Call::Leave { of: me }) {
            acts.push(NodeMove::AskLeave);
        }
    }

    /// It holds, says the database, what it does not know of, and nothing is on its way into its memory.
    pub(crate) fn may_recount(&self, world: &World, index: usize) -> bool {
        let (node, job) = (&world.nodes[index], &world.db.job);
        let is_mine = job.owner == Some(world.incarnation(index));
        is_mine && !node.claiming && !node.holds.iter().any(|hold| hold.fence == job.fence)
    }

    pub(crate) fn recounts_again(&self) -> bool {
        !self.has(Bug::RecountsOnce)
    }

    fn moves_of_claims(&self, world: &World, index: usize, node: &Node, moves: &mut Vec<Move>) {
        let asks = node.acts() && node.connected;
        let starts = node.life == Life::Up || (node.life == Life::Draining && self.has(Bug::DrainClaims));
        for (held, hold) in node.holds.iter().enumerate().filter(|_| !node.paused) {
            let mut push = |act: ClaimMove| moves.push(Move::Claim(index, held, act));
            let by = world.shown(index, hold);
            let is_under_way = |call: Call| world.calls.contains(&call);
            match hold.step {
                Step::Waiting if starts => push(ClaimMove::StartBody),
                Step::Waiting if node.life == Life::Draining && asks => push(ClaimMove::AskGiveBack),
                Step::GoingBack if asks && !is_under_way(Call::GiveBack { by }) => push(ClaimMove::AskGiveBack),
                // Only a faulty good-bye leaves one behind in a node that does not act any more.
                Step::Running => {
                    self.scene.ends.iter().for_each(|end| push(ClaimMove::BodyAnswers(*end)));
                    let is_written = hold.start == StartMark::Written;
                    if asks && !is_written && !is_under_way(Call::MarkStarted { by }) {
                        push(ClaimMove::AskStart);
                    }
                }
                Step::Answered { end, said } if asks => {
                    let lies = self.has(Bug::UnknownIsFailure) && end == said;
                    if lies || !is_under_way(Call::Settle { by, end, said }) {
                        push(ClaimMove::RepeatSettle);
                    }
                }
                Step::Waiting | Step::Answered { .. } | Step::GoingBack => {}
            }
        }
    }

    fn duties(&self, world: &World, duties: &mut Vec<Duty>) {
        for of in Database::incarnations().filter(|_| self.is_timed()) {
            match world.db.row(of) {
                NodeRow::Live { left: 0, .. } if !self.has(Bug::DeclaresInTwoSteps) => {
                    duties.push(Duty::DeclareGone(of));
                }
                NodeRow::Live { left: 0, .. } if world.listed.is_none() => duties.push(Duty::ListExpired(of)),
                NodeRow::Live { .. } if world.listed == Some(of) => duties.push(Duty::DeclareGone(of)),
                NodeRow::Gone if self.scene.purges && world.db.job.owner != Some(of) => duties.push(Duty::Purge(of)),
                NodeRow::Absent | NodeRow::Live { .. } | NodeRow::Gone => {}
            }
        }
        let sweeps = self.is_to_sweep(&world.db);
        match (world.db.job.owner, world.listed) {
            (_, Some(_)) if self.has(Bug::SweepsInTwoSteps) => duties.push(Duty::SweepListed),
            (Some(owner), _) if sweeps && self.has(Bug::SweepsInTwoSteps) => duties.push(Duty::ListHeldByGone(owner)),
            _ if sweeps => duties.push(Duty::Sweep),
            _ => {}
        }
    }

    /// Whether nothing that can still happen touches the job.
    pub(crate) fn is_over(&self, world: &World) -> bool {
        let may_be_retried = self.scene.words.contains(&Word::Retry) && !self.is_said(world, Word::Retry);
        let may_be_undone = world.ghost.fail_overs < self.scene.fail_overs;
        let writes = |call: &Call| call.shown().is_some() || matches!(call, Call::Operate { .. });
        let may_be_written = world.calls.iter().any(writes) || world.listed.is_some();
        world.db.job.is_final() && !may_be_retried && !may_be_undone && !may_be_written
    }

    /// What is refused now is refused for ever, if the guards are the right ones: fences only grow. Where nobody waits
    /// for its answer either, it makes no difference.
    pub(crate) fn throw_away_dead_letters(&self, world: &mut World) {
        let may_be_claimed = world.spent.claims < self.scene.claims;
        let World { db, nodes, calls, .. } = world;
        let waits = |claim: u8| nodes.iter().any(|node| node.holds.iter().any(|hold| hold.claim == claim));
        calls.retain(|call| match call {
            Call::Claim { .. } => may_be_claimed,
            Call::MarkStarted { by } | Call::Settle { by, .. } | Call::GiveBack { by } => {
                db.job.is_held_by(*by) || waits(by.claim)
            }
            Call::Leave { .. } | Call::Operate { .. } => true,
        });
    }

    fn is_timed(&self) -> bool {
        self.scene.lease > 0
    }

    fn renews(&self, node: &Node) -> bool {
        self.is_timed() && (node.life == Life::Up || !self.has(Bug::DrainStopsRenewing))
    }

    fn is_to_fence(&self, node: &Node) -> bool {
        self.renews(node) && node.acts() && node.left == 0
    }
}

fn moves_of_call(world: &World, call: Call, moves: &mut Vec<Move>) {
    let hears = match call {
        // Its answer may wait for a paused node.
        Call::Claim { of } => world.listens(of),
        Call::Leave { of } => world.listens(of) && world.acts(of),
        Call::MarkStarted { by } | Call::Settle { by, .. } | Call::GiveBack { by } => {
            world.listens(by.owner) && world.acts(by.owner)
        }
        Call::Operate { .. } => true,
    };
    if hears {
        moves.push(Move::CarryOut(call));
    }
    if !matches!(call, Call::Operate { .. }) {
        moves.push(Move::CarryOutUnheard(call));
    }
    if hears && matches!(call, Call::Settle { .. } | Call::GiveBack { .. }) {
        moves.push(Move::CarryOutFirstOfTwo(call));
    }
}
