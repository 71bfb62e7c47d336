//! A fail-over that loses what was committed last, and how nodes notice.

use crate::nodes::{Ended, Life};
use crate::planted::Bug;
use crate::protocol::Protocol;
use crate::world::{Call, Word, World};

impl Protocol {
    /// The name of the server that answers is compared with the stored one on each new connection. The other ways
    /// are planted bugs.
    fn looks_at_server(&self) -> bool {
        !matches!(self.bug, Some(Bug::UnnoticedAndSettlesByFence | Bug::NoticesByAllBeats | Bug::NoticesByOwnBeats))
    }

    /// Counters only matter after they can have gone back.
    fn can_have_gone_back(world: &World) -> bool {
        world.replica.is_some() || world.ghost.fail_overs > 0
    }

    pub(crate) fn counts_own_beats(&self, world: &World) -> bool {
        self.has(Bug::NoticesByOwnBeats) && Protocol::can_have_gone_back(world)
    }

    pub(crate) fn counts_all_beats(&self, world: &World) -> bool {
        self.has(Bug::NoticesByAllBeats) && Protocol::can_have_gone_back(world)
    }

    pub(crate) fn beats_at_join(&self, world: &World) -> u8 {
        if self.has(Bug::NoticesByAllBeats) { world.db.beats } else { 0 }
    }

    /// Calls of nodes travel on connections, and those end with the old server. What a person saw stays on his page.
    pub(crate) fn fail_over(&self, world: &mut World) {
        let Some(replica) = world.replica.take() else { return };
        world.ghost.fail_overs += 1;
        world.ghost.lost_fence = world.ghost.lost_fence.max(world.db.job.fence);
        world.db = replica;
        // Who sees that his retry is lost asks for it again.
        self.forget_said(world, Word::Retry);
        world.calls.retain(|call| matches!(call, Call::Operate { .. }));
        world.db.moved = self.looks_at_server();
        for node in &mut world.nodes {
            node.connected &= !self.looks_at_server();
            node.holds.iter_mut().for_each(|hold| hold.ended = Ended::ByFailOver);
        }
    }

    /// Before anything else is asked on a new connection.
    pub(crate) fn look_at_server(&self, world: &mut World) {
        if world.db.moved {
            self.raise_history(world);
        }
    }

    pub(crate) fn reconnect(&self, world: &mut World, index: usize) {
        self.look_at_server(world);
        let node = &mut world.nodes[index];
        node.connected = true;
        if node.history != world.db.history {
            node.fence();
        }
    }

    /// Whoever comes first raises the history; the others hear of it.
    pub(crate) fn history_is_lost(&self, world: &mut World, index: usize) {
        if world.db.history == world.nodes[index].history {
            self.raise_history(world);
        }
        debug_assert!(world.nodes[index].life != Life::Left, "who has left asks nothing");
        world.nodes[index].fence();
    }
}
