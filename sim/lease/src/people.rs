//! Operations by people. They name what their person saw, and may arrive late.

use crate::laws::Law;
use crate::nodes::Ended;
use crate::planted::Bug;
use crate::protocol::Protocol;
use crate::world::{Call, Job, JobState, Status, Word, World};

impl Protocol {
    /// What people see now and may press.
    pub(crate) fn words(&self, world: &World) -> impl Iterator<Item = Call> {
        let job = world.db.job.clone();
        let words = self.scene.words.iter().filter(|word| !self.is_said(world, **word));
        words.copied().filter_map(move |word| {
            let call = Call::Operate { word, seen: job.status(), seen_fence: job.fence, generation: job.generation };
            Some(call).filter(|_| allows(&job, word))
        })
    }

    pub(crate) fn is_said(&self, world: &World, word: Word) -> bool {
        world.spent.words & bit(word) != 0
    }

    pub(crate) fn say(&self, world: &mut World, call: Call) {
        if let Call::Operate { word, .. } = call {
            world.spent.words |= bit(word);
        }
    }

    pub(crate) fn forget_said(&self, world: &mut World, word: Word) {
        world.spent.words &= !bit(word);
    }

    pub(crate) fn operate(&self, world: &mut World, word: Word, seen: (Status, u8), generation: u8) {
        let job = &mut world.db.job;
        if (job.status(), job.fence) != seen || !allows(job, word) {
            return;
        }
        if job.generation != generation {
            world.ghost.broken.mark(Law::Seen);
        }
        let claim = job.claim;
        let next_fence = world.db.next_fence();
        let job = &mut world.db.job;
        match word {
            Word::Cancel => {
                job.leave_owner(JobState::Cancelled);
                job.settled = true;
                job.fence = if self.has(Bug::CancelKeepsFence) { job.fence } else { next_fence };
            }
            Word::Release => {
                job.leave_owner(JobState::Queued);
                job.fence = if self.has(Bug::HandReleaseKeepsFence) { job.fence } else { next_fence };
            }
            Word::Retry => {
                job.leave_owner(JobState::Queued);
                world.ghost.generations += 1;
                (job.losses, job.settled, job.generation) = (0, false, world.ghost.generations);
                job.fence = match self.bug {
                    Some(Bug::RetryResetsFence) => 0,
                    Some(Bug::RetryKeepsFence) => job.fence,
                    _ => next_fence,
                };
                return;
            }
        }
        let holds = world.nodes.iter_mut().flat_map(|node| &mut node.holds);
        holds.filter(|hold| hold.claim == claim).for_each(|hold| hold.ended = Ended::ByPerson);
    }
}

fn bit(word: Word) -> u8 {
    1 << word as u8
}

fn allows(job: &Job, word: Word) -> bool {
    match word {
        Word::Cancel => !job.is_final(),
        Word::Release => job.is_held(),
        Word::Retry => matches!(job.state, JobState::Failed | JobState::Dead | JobState::Cancelled),
    }
}
