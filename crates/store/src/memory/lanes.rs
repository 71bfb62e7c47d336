//! Lanes and rates: who must wait, and who goes on when a place or a time is free.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use mainspring_model::job::{Lane, QueueState};
use mainspring_model::{JobId, RateLimit, TaskCode, Timestamp};

use super::{Data, Queued};
use crate::rules::{self, HeldOfLane, Place, RINGS_OPENED_MAX, Window};

/// The last starts under a rate, by slot.
#[derive(Debug, Default)]
pub(super) struct Ring {
    next: u32,
    starts: BTreeMap<u32, Timestamp>,
    /// When jobs that wait for the rate go on.
    open_at: Option<Timestamp>,
}

/// Scope and key.
pub(super) type RingId = (String, String);

impl Ring {
    pub(super) fn opens_at(&self, limit: RateLimit, window: Window) -> Option<Timestamp> {
        rules::opens_at(self.starts.get(&rules::slot(self.next, limit)).copied(), limit, window.until)
    }

    fn push(&mut self, limit: RateLimit, start: Timestamp) {
        let slot = rules::slot(self.next, limit);
        self.starts.insert(slot, start);
        self.next = rules::slot_after(slot, limit);
    }

    fn opening(&self, limit: RateLimit, until: Timestamp) -> rules::Opening {
        let first = rules::slot(self.next, limit);
        let slots = (0..limit.count).map(|turn| (first + turn) % limit.count);
        rules::opening(slots.map(|slot| self.starts.get(&slot).copied()), limit, until)
    }
}

/// What a claim finds about a job that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// Then it starts.
    At(Timestamp),
    /// As many as may be are held.
    Full,
    /// The rate is used up until then.
    UsedUp(Timestamp),
}

pub(super) fn is_held(queued: &Queued) -> bool {
    matches!(queued.state, QueueState::Claimed | QueueState::Started)
}

impl Data {
    fn rate_of(&self, task: &TaskCode) -> Option<RateLimit> {
        self.tasks.get(task).and_then(|task| task.definition.rate_limit)
    }

    fn of_lane<'d>(&'d self, task: &'d TaskCode, lane: &'d Lane) -> impl Iterator<Item = (JobId, &'d Queued)> {
        let rows = self.queue.iter().map(|(id, queued)| (*id, queued));
        rows.filter(move |(_, queued)| {
            queued.task == *task && queued.lane.as_ref().is_some_and(|other| other.key == lane.key)
        })
    }

    /// `start`: when it would begin without its lane.
    pub(super) fn admission(&self, queued: &Queued, start: Timestamp, window: Window) -> Admission {
        let Some(lane) = &queued.lane else { return Admission::At(start) };
        let mut held = HeldOfLane::default();
        for (_, other) in self.of_lane(&queued.task, lane).filter(|(_, other)| is_held(other)) {
            held.jobs += 1;
            held.serial += u32::from(other.lane.as_ref().is_some_and(|lane| lane.serial));
        }
        let running_max = self.tasks.get(&queued.task).and_then(|task| task.definition.running_max());
        if rules::is_full(lane, running_max, held) {
            return Admission::Full;
        }
        let Some(limit) = self.rate_of(&queued.task) else { return Admission::At(start) };
        let ring = self.rings.get(&ring_of(&queued.task, lane));
        let opens = ring.and_then(|ring| ring.opens_at(limit, window));
        window.start(start, opens).map_or(Admission::UsedUp(opens.unwrap_or(start)), Admission::At)
    }

    /// Counts a start against the rate of its task.
    pub(super) fn count_start(&mut self, queued: &Queued, start: Timestamp) {
        if let (Some(lane), Some(limit)) = (&queued.lane, self.rate_of(&queued.task)) {
            let ring = self.rings.entry(ring_of(&queued.task, lane)).or_default();
            ring.push(limit, start);
        }
    }

    pub(super) fn count_pool_start(&mut self, id: &RingId, limit: RateLimit, start: Timestamp) {
        self.rings.entry(id.clone()).or_default().push(limit, start);
    }

    pub(super) fn set_aside(&mut self, id: JobId, admission: Admission) {
        let queued = self.queue.get_mut(&id).expect("it was found in the queue under this lock");
        match admission {
            Admission::At(_) => {}
            Admission::Full => queued.state = QueueState::Limited,
            Admission::UsedUp(opens) => {
                queued.state = QueueState::Throttled;
                let lane = queued.lane.clone().expect("a job outside of any lane has no rate");
                let ring = self.rings.entry(ring_of(&queued.task, &lane)).or_default();
                ring.open_at = Some(ring.open_at.map_or(opens, |open_at| open_at.min(opens)));
            }
        }
    }

    /// Jobs that waited for a rate go on, the first ones first, as many as it admits.
    pub(super) fn open_rings(&mut self, until: Timestamp) {
        let mut open: Vec<(Timestamp, RingId)> =
            self.rings.iter().filter_map(|(id, ring)| Some((ring.open_at?, id.clone()))).collect();
        open.retain(|(open_at, _)| *open_at <= until);
        open.sort();
        open.truncate(RINGS_OPENED_MAX);
        for (_, id) in open {
            let Some(task) = id.0.strip_prefix("task:").map(TaskCode::stored) else { continue };
            let lane = rules::lane(Place::Common, Some(&id.1));
            let waiting = self.waiting(&task, &lane, QueueState::Throttled);
            let opening = match self.rate_of(&task) {
                None => rules::Opening { jobs: u32::MAX, then: until },
                Some(limit) => self.rings[&id].opening(limit, until),
            };
            for job in waiting.iter().take(opening.jobs as usize) {
                self.make_queued(*job);
            }
            let is_more = waiting.len() > opening.jobs as usize;
            self.rings.get_mut(&id).expect("it was found under this lock").open_at = is_more.then_some(opening.then);
        }
    }

    /// Whoever waits for a rate is judged anew.
    pub(super) fn judge_rates_anew(&mut self) {
        let throttled = self.queue.iter().filter(|(_, queued)| queued.state == QueueState::Throttled);
        let throttled: Vec<JobId> = throttled.map(|(id, _)| *id).collect();
        for id in throttled {
            self.make_queued(id);
        }
        for ring in self.rings.values_mut() {
            ring.open_at = None;
        }
    }

    pub(super) fn rate_opens(&self, queued: &Queued) -> bool {
        let ring = queued.lane.as_ref().and_then(|lane| self.rings.get(&ring_of(&queued.task, lane)));
        ring.is_some_and(|ring| ring.open_at.is_some())
    }

    /// The earliest time at which jobs of any task may go on by their rates.
    pub(super) fn next_opening(&self) -> Option<Timestamp> {
        self.rings.values().filter_map(|ring| ring.open_at).min()
    }

    /// In the order in which they go on.
    fn waiting(&self, task: &TaskCode, lane: &Lane, state: QueueState) -> Vec<JobId> {
        let mut waiting: Vec<(JobId, &Queued)> =
            self.of_lane(task, lane).filter(|(_, queued)| queued.state == state).collect();
        waiting.sort_by(|a, b| self.urgency(a, b));
        waiting.into_iter().map(|(id, _)| id).collect()
    }

    fn urgency(&self, a: &(JobId, &Queued), b: &(JobId, &Queued)) -> Ordering {
        let of = |(id, queued): &(JobId, &Queued)| (self.records[id].job.priority.code(), queued.due, *id);
        of(a).cmp(&of(b))
    }

    fn make_queued(&mut self, id: JobId) {
        self.queue.get_mut(&id).expect("it was found in the queue under this lock").state = QueueState::Queued;
    }

    /// A row of the lane is held no more, or is gone: the first that waits for a place is judged anew. One of those that
    /// run one after another waits on while another of them is held, and does not keep the others of the lane back.
    pub(super) fn release_lane(&mut self, task: &TaskCode, lane: Option<&Lane>) -> Option<JobId> {
        let lane = lane?;
        let is_serial = |queued: &Queued| queued.lane.as_ref().is_some_and(|lane| lane.serial);
        let is_serial_held = self.of_lane(task, lane).any(|(_, queued)| is_held(queued) && is_serial(queued));
        let waiting = self.waiting(task, lane, QueueState::Limited);
        let first = waiting.into_iter().find(|id| !(is_serial_held && is_serial(&self.queue[id])))?;
        self.make_queued(first);
        Some(first)
    }

    /// The limits of a task have changed: all that wait for them are judged anew.
    pub(super) fn judge_anew(&mut self, code: &TaskCode) {
        let definition = self.tasks.get(code).map(|task| &task.definition);
        let records = &self.records;
        for (id, queued) in self.queue.iter_mut().filter(|(_, queued)| queued.task == *code) {
            if matches!(queued.state, QueueState::Limited | QueueState::Throttled) {
                queued.state = QueueState::Queued;
            }
            let job = &records[id].job;
            let place = Place::of_known(job, queued.lane.as_ref().is_some_and(|lane| lane.serial));
            queued.lane = rules::lane_of(definition, place, job.concurrency_key.as_deref());
        }
    }

    pub(super) fn forget_starts(&mut self, scope: &str) {
        self.rings.retain(|(of, _), _| of != scope);
    }
}

fn ring_of(task: &TaskCode, lane: &Lane) -> RingId {
    (rules::task_scope(task), lane.key.as_deref().unwrap_or_default().to_owned())
}
