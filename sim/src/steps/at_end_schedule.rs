//! Schedules when the faults have stopped and when all is over: LIV-3 what is due fires, INV-14 each fire time has its
//! record, found by walking through the seconds.

use std::collections::BTreeMap;

use mainspring_model::job::Fires;
use mainspring_model::time::Clock;
use mainspring_model::{Job, JobStatus, TaskCode, Timestamp, Trigger};

use super::Desk;
use crate::crons::is_delay;

/// Store calls of a calm world, several one after the other.
const LATE_MS: i64 = 3_000;

impl Desk<'_> {
    /// No enabled task is behind, or silent for longer than small steps of the clock explain.
    pub(crate) fn check_schedules(&mut self) {
        let now = self.world.clock.now();
        let silent_ms = self.ghost.schedules.silent_ms;
        let mut broken = Vec::new();
        for (code, task) in self.ghost.tasks.iter().filter(|(_, task)| task.enabled) {
            let choices = self.ghost.schedules.oracles(&task.definition);
            let latest = |oracle: &crate::oracle::Oracle| oracle.next(now.plus_ms(silent_ms + LATE_MS));
            match task.next {
                _ if choices.is_empty() => {}
                Some(next) if now.ms_since(next) > LATE_MS => {
                    broken.push(format!("{code} is to fire at {next}, it is {now}"));
                }
                Some(next) if choices.iter().all(|oracle| latest(oracle).is_some_and(|latest| next > latest)) => {
                    broken.push(format!("{code} is silent until {next}, it is {now}"));
                }
                None if is_delay(&task.definition) => {
                    let live = self.ghost.live_of(code);
                    let waits = live.iter().any(|id| self.job(*id).is_some_and(|job| job.fires.is_some()));
                    // Also by a clock that has gone back since.
                    let has_ended = self.ghost.schedules.completed.contains_key(code);
                    let last = self.ghost.schedules.spans.get(code).and_then(|spans| spans.last());
                    let is_over = has_ended || !last.is_some_and(|span| span.is_open);
                    if !waits && !is_over {
                        broken.push(format!("{code} waits for the end of a job, and none is live"));
                    }
                }
                None if choices.iter().all(|oracle| oracle.next(now.plus_ms(silent_ms)).is_some()) => {
                    broken.push(format!("{code} has no next fire time, it fires again after {now}"));
                }
                Some(_) | None => {}
            }
        }
        for detail in broken {
            self.violate("LIV-3", detail);
        }
    }

    /// `stored`: all jobs that schedules have made, as the store lists them.
    pub(super) fn check_fire_times(&mut self, stored: &[Job]) {
        let mut records: BTreeMap<TaskCode, Vec<Fires>> = BTreeMap::new();
        let mut broken = Vec::new();
        let mut unique = BTreeMap::new();
        for job in stored.iter().filter(|job| matches!(job.trigger, Trigger::Cron | Trigger::Misfire)) {
            let Some(fires) = job.fires else {
                broken.push(("INV-14", format!("job {} is of a schedule and has no fire time", job.id)));
                continue;
            };
            records.entry(job.task.clone()).or_default().push(fires);
            if let Some(other) = unique.insert((job.task.clone(), fires.last), job.id) {
                broken.push(("INV-13", format!("jobs {other} and {} are of one fire time of {}", job.id, job.task)));
            }
            if (job.status == JobStatus::Skipped) != job.skip_reason.is_some() {
                broken.push(("INV-14", format!("job {} is {}, skipped for {:?}", job.id, job.status, job.skip_reason)));
            }
        }
        for (code, spans) in &self.ghost.schedules.spans {
            let records = records.get(code).map_or(&[][..], Vec::as_slice);
            // Days of a calendar that changed are judged at each fire.
            for span in spans.iter().filter(|span| span.definition.calendar.is_none() && !is_delay(&span.definition)) {
                let open_until = self.ghost.tasks.get(code).and_then(|task| task.next).filter(|_| span.is_open);
                let until = span.until.or(open_until);
                let end = until.map(|until| until.plus_ms(-1)).or(span.definition.end_at);
                let (Some(end), Some(oracle)) = (end, self.ghost.schedules.oracles(&span.definition).pop()) else {
                    continue;
                };
                let times = oracle.between(span.from.plus_ms(1), end);
                let overtaken = self.ghost.schedules.overtaken.iter().filter(|(task, _, _)| task == code);
                let overtaken: Vec<_> = overtaken.map(|(_, first, last)| (*first, *last)).collect();
                let within = |time: &Timestamp, first: Timestamp, last: Timestamp| first <= *time && *time <= last;
                let has_record = |time: &Timestamp| {
                    records.iter().any(|fires| within(time, fires.first, fires.last))
                        || overtaken.iter().any(|(first, last)| within(time, *first, *last))
                };
                if let Some(time) = times.iter().find(|time| !has_record(time)) {
                    let span = (span.from, until);
                    broken.push(("INV-14", format!("fire time {time} of {code} has no record, enabled {span:?}")));
                }
            }
        }
        for (invariant, detail) in broken {
            self.violate(invariant, detail);
        }
    }
}
