//! Bodies: they do what the workload says, and write into the ghost while their node lives. INV-11 one body per claim,
//! INV-16 never early, INV-20 no more bodies of a lane than it allows, INV-18 a job under suspicion has its start written first, INV-4 no more bodies than slots.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mainspring_engine::{Context, Handler};
use mainspring_model::decide::{Care, care};
use mainspring_model::task::OnLost;
use mainspring_model::time::Clock;
use mainspring_model::{Fence, JobId, PoolName, Trigger, Verdict, Wait};

use crate::clock::NodeClock;
use crate::ghost::{Body, Ghost};
use crate::link::Link;
use crate::locked;
use crate::workload::Act;
use crate::world::World;

pub(crate) struct ActHandler {
    pub(crate) world: Arc<World>,
    pub(crate) link: Arc<Link>,
    pub(crate) clock: Arc<NodeClock>,
}

#[async_trait]
impl Handler for ActHandler {
    async fn handle(&self, context: Context) -> Verdict {
        let (id, fence) = (context.job_id(), context.fence());
        let wish = crate::workload::wish_in(context.payload());
        let act = self.world.act(wish, id, context.attempt());
        let Some(_presence) = Presence::enter(self, id, fence) else { return Verdict::Cancelled };
        let after = |ms| self.clock.sleep(Duration::from_millis(ms));
        match act {
            Act::Done { ms } => {
                after(ms).await;
                self.says_done(id, fence);
                // Sometimes longer than what lists show.
                Verdict::done_with("done ".repeat(usize::try_from(ms).unwrap_or(0) % 200))
            }
            Act::DoneWithOutput { ms, lines } => {
                for line in 0..lines {
                    context.log(format!("line {line}"));
                    context.progress(u8::try_from(line * 5).unwrap_or(100), "under way");
                    after(ms / u64::from(lines)).await;
                }
                self.says_done(id, fence);
                Verdict::done()
            }
            Act::Retry { ms, not_before_ms } => {
                after(ms).await;
                self.asks_for_wait(id, fence, not_before_ms);
                let not_before = not_before_ms.map(|ms| Wait::For(Duration::from_millis(ms)));
                Verdict::Retry { error: "try again".to_owned(), not_before }
            }
            Act::Fail { ms } => {
                after(ms).await;
                Verdict::fail("for good")
            }
            Act::NeedsPerson { ms } => {
                after(ms).await;
                Verdict::NeedsPerson { reason: "look at it".to_owned() }
            }
            Act::Snooze { ms, wait_ms } => {
                after(ms).await;
                Verdict::Snooze { wait: Wait::For(Duration::from_millis(wait_ms)), reason: "not yet".to_owned() }
            }
            Act::Panic { ms } => {
                after(ms).await;
                // Without the hook, which would print it.
                std::panic::resume_unwind(Box::new("a simulated panic"));
            }
            Act::Hang => std::future::pending().await,
            Act::HangPolitely => {
                context.cancelled().await;
                Verdict::Cancelled
            }
        }
    }
}

impl ActHandler {
    fn says_done(&self, id: JobId, fence: Fence) {
        self.with_body(id, fence, |body| body.said_done = true);
    }

    fn asks_for_wait(&self, id: JobId, fence: Fence, ms: Option<u64>) {
        self.with_body(id, fence, |body| body.not_before_ms = ms.and_then(|ms| i64::try_from(ms).ok()));
    }

    fn with_body(&self, id: JobId, fence: Fence, change: impl FnOnce(&mut Body)) {
        let mut ghost = locked(&self.world.ghost);
        if let Some(body) = ghost.jobs.get_mut(&id).and_then(|job| job.bodies.get_mut(&fence)) {
            change(body);
        }
    }
}

/// A body between its begin and its end, however it ends.
struct Presence {
    world: Arc<World>,
    link: Arc<Link>,
    id: JobId,
    fence: Fence,
    pool: PoolName,
}

impl Presence {
    fn enter(handler: &ActHandler, id: JobId, fence: Fence) -> Option<Presence> {
        let ActHandler { world, link, .. } = handler;
        let mut ghost = locked(&world.ghost);
        let now_ms = world.clock.elapsed_ms();
        ghost.trace.add(now_ms, &format!("node {} body {id}-{fence} begins", link.number));
        ghost.counts.bodies += 1;
        let Some(job) = ghost.jobs.get_mut(&id) else {
            ghost.violate(now_ms, "INV-1", format!("a body of job {id} begins, nobody submitted it"));
            return None;
        };
        let mut broken = Vec::new();
        if job.bodies.contains_key(&fence) {
            broken.push(("INV-11", format!("a second body of claim {id}-{fence} begins")));
        }
        if fence > job.newest_fence {
            broken.push(("INV-5", format!("a body of {id}-{fence} begins, no claim has this fence")));
        }
        let repeated = !job.bodies.is_empty();
        let (began_ms, ended_ms, said_done, not_before_ms) = (now_ms, None, false, None);
        let node = link.number;
        job.bodies.insert(fence, Body { node, began_ms, ended_ms, said_done, not_before_ms });
        let pool = job.pool.clone();
        broken.extend(begins_under_claim(&ghost, world, id, fence));
        ghost.counts.repeated_bodies += u64::from(repeated);
        let running = ghost.running.entry((link.number, pool.clone())).or_default();
        *running += 1;
        let running = *running;
        broken.extend(ghost.lane_of_body(id, fence, link.number));
        let ceiling = ghost.ceilings.get(&pool).copied().unwrap_or_default();
        if running > ceiling.concurrency && !ceiling.callers_run {
            broken.push(("INV-4", format!("{running} bodies run in pool {pool} with {} slots", ceiling.concurrency)));
        }
        for (invariant, detail) in broken {
            ghost.violate(now_ms, invariant, detail);
        }
        drop(ghost);
        Some(Presence { world: world.clone(), link: link.clone(), id, fence, pool })
    }
}

/// A claim that a person has ended meanwhile may still begin: the node does not know it yet.
fn begins_under_claim(ghost: &Ghost, world: &World, id: JobId, fence: Fence) -> Vec<(&'static str, String)> {
    let mut broken = Vec::new();
    let Some(job) = ghost.jobs.get(&id) else { return broken };
    let Some(claim) = job.claim.filter(|claim| claim.fence == fence) else { return broken };
    let definition = ghost.tasks.get(&job.task).map(|task| &task.definition);
    let (earliest, latest) = world.clock.wall_range(claim.since_ms, world.clock.elapsed_ms());
    let due = job.image.due().unwrap_or_default().max(claim.due);
    if due > latest {
        broken.push(("INV-16", format!("a body of {id}-{fence} begins at {latest:?}, it is due {due:?}")));
    }
    let on_lost = definition.map_or(OnLost::Rerun, |definition| definition.on_lost);
    if care(job.image.lost_count, job.suspect, on_lost) != Care::Normal && !claim.start_written {
        let detail = format!("a body of {id}-{fence} under suspicion begins before its start is written");
        broken.push(("INV-18", detail));
    }
    let is_fired = matches!(job.trigger, Trigger::Cron | Trigger::Misfire) && job.image.attempts == 0;
    let deadline = definition.and_then(|definition| definition.start_deadline_seconds).filter(|_| is_fired);
    let waited_ms = earliest.ms_since(job.created);
    if deadline.is_some_and(|seconds| waited_ms > i64::from(seconds) * 1_000) {
        broken.push(("POLICY", format!("a body of {id}-{fence} begins {waited_ms} ms after its fire")));
    }
    broken
}

impl Drop for Presence {
    fn drop(&mut self) {
        // Also when the run is over and all is torn down.
        if self.link.is_dead() {
            return;
        }
        let now_ms = self.world.clock.elapsed_ms();
        let mut ghost = locked(&self.world.ghost);
        ghost.trace.add(now_ms, &format!("node {} body {}-{} ends", self.link.number, self.id, self.fence));
        if let Some(body) = ghost.jobs.get_mut(&self.id).and_then(|job| job.bodies.get_mut(&self.fence)) {
            body.ended_ms = Some(now_ms);
        }
        if let Some(running) = ghost.running.get_mut(&(self.link.number, self.pool.clone())) {
            *running = running.saturating_sub(1);
        }
    }
}
