//! Searches a scene to its end, or for what a planted bug breaks.

use std::collections::HashMap;

use stateright::{Checker, Expectation, HasDiscoveries, Model, Path};

use crate::laws::Law;
use crate::moves::Move;
use crate::planted::Bug;
use crate::protocol::Protocol;
use crate::scenes::Scene;
use crate::world::World;

#[derive(Debug)]
pub struct Findings {
    pub states: usize,
    /// Each with the moves that lead there.
    pub broken: Vec<(Law, Vec<Move>)>,
    /// What must be possible and was not reached.
    pub missed: Vec<&'static str>,
}

/// All states of the right protocol. Mirror images are searched once.
pub fn search(scene: &'static Scene, threads: usize) -> Findings {
    let protocol = Protocol { scene, bug: None };
    let builder = protocol.checker().threads(threads).symmetry_fn(World::representative);
    // Never before the end: what holds is to be seen in every state.
    let checker = builder.finish_when(HasDiscoveries::All).spawn_dfs().join();
    findings(protocol, checker.unique_state_count(), checker.discoveries())
}

/// The shortest ways to what the bug is said to break. The search ends when all of it is found.
pub fn hunt(bug: Bug, threads: usize) -> Findings {
    let protocol = Protocol { scene: bug.scene(), bug: Some(bug) };
    let names = bug.breaks().iter().map(|law| law.name()).collect();
    let builder = protocol.checker().threads(threads);
    let checker = builder.finish_when(HasDiscoveries::AllOf(names)).spawn_bfs().join();
    findings(protocol, checker.unique_state_count(), checker.discoveries())
}

fn findings(protocol: Protocol, states: usize, found: HashMap<&'static str, Path<World, Move>>) -> Findings {
    let way = |law: Law| Some((law, found.get(law.name())?.clone().into_actions()));
    let is_missed = |name: &&str| !found.contains_key(name);
    let hopes = protocol.properties().into_iter().filter(|property| property.expectation == Expectation::Sometimes);
    Findings {
        states,
        broken: Law::ALL.iter().copied().filter_map(way).collect(),
        missed: hopes.map(|hope| hope.name).filter(is_missed).collect(),
    }
}
