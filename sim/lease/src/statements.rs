//! What the database does: each function is one statement or one transaction, with its guard.
//!
//! Guards are what the model is about. A planted bug weakens one of them.

use crate::laws::Law;
use crate::nodes::Renewal;
use crate::planted::Bug;
use crate::protocol::Protocol;
use crate::world::{Database, End, Incarnation, JobState, NodeRow, Shown, World};

pub(crate) const LOSSES_MAX: u8 = 2;
/// A floor is past all fences that were given out before. The product takes the database's time in milliseconds.
const FENCES_PER_HISTORY: u8 = 8;

impl Protocol {
    pub(crate) fn join(&self, world: &mut World, of: Incarnation, former: Option<Incarnation>) {
        if let Some(former) = former.filter(|former| world.db.is_live(*former)) {
            self.end_row(world, former);
        }
        *world.db.row_mut(of) = NodeRow::Live { left: self.scene.lease, beats: 0 };
    }

    pub(crate) fn renew(&self, world: &mut World, of: Incarnation, confirmed: u8) -> Renewal {
        let history = world.db.history;
        match world.db.row(of) {
            NodeRow::Absent => Renewal::Refused,
            NodeRow::Gone if self.has(Bug::RenewsTheGone) => {
                world.ghost.broken.mark(Law::Renewal);
                Renewal::Granted { history, beats: 0 }
            }
            NodeRow::Gone => Renewal::Refused,
            NodeRow::Live { beats, .. } if beats < confirmed => Renewal::WentBack,
            NodeRow::Live { beats, .. } => {
                let beats = if self.counts_own_beats(world) { confirmed + 1 } else { beats };
                *world.db.row_mut(of) = NodeRow::Live { left: self.scene.lease, beats };
                if self.counts_all_beats(world) {
                    world.db.beats += 1;
                }
                let beats = beats.max(world.db.beats);
                Renewal::Granted { history, beats }
            }
        }
    }

    /// A claim tests no row of a node: it would have to lock it, and a paused node would keep its own end from being
    /// declared. What the gone have claimed is found by the sweep.
    pub(crate) fn claim(&self, world: &mut World, of: Incarnation) -> Option<Shown> {
        if world.db.job.state != JobState::Queued || world.spent.claims == self.scene.claims {
            return None;
        }
        world.spent.claims += 1;
        let fence = world.db.next_fence();
        let job = &mut world.db.job;
        (job.state, job.owner, job.claim) = (JobState::Claimed, Some(of), world.spent.claims);
        job.fence = fence;
        if world.ghost.fail_overs > 0 && fence <= world.ghost.lost_fence {
            world.ghost.broken.mark(Law::Fence);
        }
        Some(Shown { owner: of, fence, claim: world.spent.claims })
    }

    fn may_settle(&self, world: &World, by: Shown) -> bool {
        let job = &world.db.job;
        match self.bug {
            Some(Bug::SettlesWithoutFence) => job.is_held(),
            Some(Bug::SettlesByOwner) => job.is_held() && job.owner == Some(by.owner),
            Some(Bug::UnnoticedAndSettlesByFence) => job.is_held() && job.fence == by.fence,
            Some(Bug::SettlesByRecord) => job.fence == by.fence,
            _ => world.db.job.is_held_by(by),
        }
    }

    pub(crate) fn settle(&self, world: &mut World, by: Shown, end: End, said: End) {
        if !self.may_settle(world, by) {
            return;
        }
        self.note_writer(world, by);
        if end != said {
            world.ghost.broken.mark(Law::Truth);
        }
        match end {
            End::Done => settle_for_good(world, JobState::Done),
            End::Failed => settle_for_good(world, JobState::Failed),
            End::Again => self.release(&mut world.db),
        }
    }

    pub(crate) fn mark_started(&self, world: &mut World, by: Shown) -> bool {
        let granted = world.db.job.is_held_by(by) || (self.has(Bug::StartsWithoutFence) && world.db.job.is_held());
        if granted {
            self.note_writer(world, by);
            world.db.job.state = JobState::Started;
        }
        granted
    }

    pub(crate) fn give_back(&self, world: &mut World, by: Shown) {
        let is_claimed = world.db.job.state == JobState::Claimed;
        if is_claimed && (world.db.job.is_held_by(by) || self.has(Bug::GivesBackWithoutFence)) {
            self.note_writer(world, by);
            self.release(&mut world.db);
        }
    }

    fn note_writer(&self, world: &mut World, by: Shown) {
        if by.claim != world.db.job.claim {
            world.ghost.broken.mark(Law::Newest);
        }
    }

    /// The expiry is tested by the statement that declares it.
    pub(crate) fn declare_gone(&self, world: &mut World, of: Incarnation) {
        match world.db.row(of) {
            NodeRow::Live { left: 0, .. } => {}
            NodeRow::Live { .. } if self.has(Bug::DeclaresInTwoSteps) => world.ghost.broken.mark(Law::TakeOver),
            _ => return,
        }
        self.end_row(world, of);
    }

    fn end_row(&self, world: &mut World, of: Incarnation) {
        *world.db.row_mut(of) = NodeRow::Gone;
        if self.has(Bug::SweepsByList) && world.db.job.owner == Some(of) {
            self.take_over(&mut world.db);
        }
    }

    /// The mark is read in the statement that takes over, whenever the claim was committed. Its owner may have no row at
    /// all any more.
    pub(crate) fn is_to_sweep(&self, db: &Database) -> bool {
        let Some(owner) = db.job.owner else { return false };
        match db.row(owner) {
            _ if self.has(Bug::SweepsByList) => false,
            NodeRow::Gone => true,
            NodeRow::Absent => !self.has(Bug::SweepsByMarkOnly),
            NodeRow::Live { .. } => false,
        }
    }

    /// Never begun: released. Begun: a loss.
    pub(crate) fn take_over(&self, db: &mut Database) {
        if db.job.state == JobState::Claimed {
            return self.release(db);
        }
        db.job.losses += 1;
        if db.job.losses >= LOSSES_MAX && !self.has(Bug::LosesForEver) {
            db.job.leave_owner(JobState::Dead);
            db.job.settled = true;
        } else {
            self.release(db);
        }
    }

    pub(crate) fn release(&self, db: &mut Database) {
        db.job.leave_owner(JobState::Queued);
        if self.has(Bug::ReleaseResetsFence) {
            db.job.fence = 0;
        }
    }

    /// What is not begun goes back, and what is left of bodies is given up: no loss.
    pub(crate) fn leave(&self, world: &mut World, of: Incarnation) {
        if !world.db.is_live(of) {
            return;
        }
        *world.db.row_mut(of) = NodeRow::Gone;
        if world.db.job.owner == Some(of) {
            self.release(&mut world.db);
        }
    }

    /// One row. The jobs need not be touched: every incarnation ends with the history that it was born in, and what
    /// it held is found as what the gone hold always is.
    pub(crate) fn raise_history(&self, world: &mut World) {
        world.ghost.raises += 1;
        let drawn = world.ghost.raises;
        world.db.moved = false;
        world.db.history = if self.has(Bug::CountsHistories) { world.db.history + 1 } else { drawn };
        let job = &mut world.db.job;
        match self.bug {
            Some(Bug::RaisesNoFence) => {}
            Some(Bug::RaisesByConstant) => job.fence += FENCES_PER_HISTORY,
            Some(Bug::RaisesLiveJobs) if job.is_final() => {}
            Some(Bug::RaisesLiveJobs) => job.fence = drawn * FENCES_PER_HISTORY,
            _ => world.db.floor = drawn * FENCES_PER_HISTORY,
        }
    }
}

fn settle_for_good(world: &mut World, state: JobState) {
    if world.db.job.settled {
        world.ghost.broken.mark(Law::Once);
    }
    world.db.job.leave_owner(state);
    world.db.job.settled = true;
}
