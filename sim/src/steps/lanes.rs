//! Hand-outs under limits: INV-20 no more claims of a lane than it allows, and jobs that catch up one after another; RATE
//! no more starts than the rate allows in any period, wherever it begins.

use mainspring_model::{Fence, JobId, Timestamp};

use super::Desk;
use crate::ghost_schedule::{pool_scope, task_scope};

impl Desk<'_> {
    /// Called when the claim is in the ghost: it counts itself.
    pub(super) fn handed_out(&mut self, id: JobId, fence: Fence, start: Timestamp) {
        let Some(job) = self.job(id) else { return };
        let (code, key, serial, pool) = (job.task.clone(), job.key.clone(), job.serial, job.pool.clone());
        let definition = self.ghost.tasks.get(&code).map(|task| task.definition.clone());
        let limit = definition.as_ref().and_then(crate::crons::lane_limit);
        let of_lane = self.ghost.jobs.values().filter(|job| job.task == code && job.key == key);
        let held: Vec<bool> = of_lane.filter(|job| job.claim.is_some()).map(|job| job.serial).collect();
        let serial_held = held.iter().filter(|serial| **serial).count();
        if limit.is_some_and(|limit| held.len() > limit as usize) || (serial && serial_held > 1) {
            let held = held.len();
            let detail = format!("with {id}-{fence} {held} jobs of lane {code} {key:?} are held, {serial_held} serial");
            self.violate("INV-20", format!("{detail}, allowed are {limit:?}"));
        }
        if serial {
            self.check_order(id);
        }
        if let Some(job) = self.ghost.jobs.get_mut(&id) {
            job.limits.insert(fence, limit);
        }
        let rate = definition.and_then(|definition| definition.rate_limit).map(|rate| (task_scope(&code), key, rate));
        let pool_rate = self.ghost.pool_rates.get(&pool).map(|rate| (pool_scope(&pool), String::new(), *rate));
        for (scope, key, rate) in rate.into_iter().chain(pool_rate) {
            if let Some(within) = self.ghost.schedules.start(scope.clone(), key.clone(), rate, start) {
                let detail = format!("with {id} at {start}, {within} jobs of {scope} {key:?} start within its period");
                self.violate("RATE", format!("{detail}, the rate is {rate}"));
            }
        }
    }

    /// Of those that were missed together the oldest goes first, as long as nothing else has happened to them.
    fn check_order(&mut self, id: JobId) {
        let Some(job) = self.job(id).filter(|job| job.operations.is_empty()) else { return };
        let Some(fires) = job.fires.filter(|_| job.newest_fence == Fence(1)) else { return };
        let (code, created) = (job.task.clone(), job.created);
        let passed_over = self.ghost.jobs.iter().find(|(_, other)| {
            other.task == code
                && other.serial
                && other.created == created
                && other.newest_fence == Fence(0)
                && other.operations.is_empty()
                && !other.image.status.is_final()
                && other.fires.is_some_and(|other| other.last < fires.last)
        });
        if let Some((other, _)) = passed_over {
            let detail = format!("job {id} of fire time {} is handed out before job {other}", fires.last);
            self.violate("POLICY", detail);
        }
    }
}
