//! The policy of a task that is declared in code.

use std::time::Duration;

use mainspring_model::schedule::{Every, Rhythm};
use mainspring_model::task::{FailStrategy, Misfire, OnLost, Overlap, TaskKind};
use mainspring_model::{
    CalendarName, HandlerName, PoolName, Priority, RateLimit, Refused, Span, TaskDefinition, Timestamp, limits,
};

/// Declares a task: it is created when the store has none of this code, and a declaration that was never made before is
/// written over what is stored. One that was made before changes nothing: what a person changed since is left alone.
#[derive(Debug, Clone)]
pub struct Define {
    pub(crate) definition: TaskDefinition,
    /// What a schedule changes, unless it is said.
    overlap: Option<Overlap>,
    /// The first thing that was wrong; told at the start, so that a declaration reads well.
    wrong: Option<Refused>,
}

impl Define {
    pub(crate) fn new(code: &str) -> Result<Define, Refused> {
        let definition = TaskDefinition::new(code, HandlerName::new(code)?);
        Ok(Define { definition, overlap: None, wrong: None })
    }

    pub(crate) fn finish(mut self) -> Result<TaskDefinition, Refused> {
        if let Some(refused) = self.wrong {
            return Err(refused);
        }
        self.definition.overlap = self.overlap.unwrap_or(TaskDefinition::default_overlap(self.definition.kind));
        self.definition.check_expression()?;
        self.definition.check()?;
        Ok(self.definition)
    }

    fn keep<T>(mut self, read: Result<T, Refused>, set: impl FnOnce(&mut TaskDefinition, T)) -> Define {
        match read {
            Ok(value) => set(&mut self.definition, value),
            Err(refused) => self.wrong = self.wrong.or(Some(refused)),
        }
        self
    }

    /// For people.
    #[must_use]
    pub fn name(mut self, name: &str) -> Define {
        name.clone_into(&mut self.definition.name);
        self
    }

    #[must_use]
    pub fn description(mut self, description: &str) -> Define {
        self.definition.description = Some(description.to_owned());
        self
    }

    /// After this time an attempt is cancelled. Default 5 minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Define {
        self.definition.timeout_seconds = whole_seconds(timeout).min(limits::TIMEOUT_SECONDS_MAX);
        self
    }

    /// How often a failed job is tried again. Default 3.
    #[must_use]
    pub fn retries(mut self, count: u32) -> Define {
        self.definition.retry.count = count;
        self
    }

    /// The first delay, which doubles with every failure up to `cap`; ±20 % are added. Default 1 s up to 1 h.
    #[must_use]
    pub fn backoff(mut self, base: Duration, cap: Duration) -> Define {
        let ms = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        (self.definition.retry.base_ms, self.definition.retry.cap_ms) = (ms(base), ms(cap));
        self
    }

    /// The pool of slots in which its jobs run. Default `default`.
    #[must_use]
    pub fn pool(self, pool: &str) -> Define {
        self.keep(PoolName::new(pool), |definition, pool| definition.pool = pool)
    }

    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Define {
        self.definition.priority = priority;
        self
    }

    /// The first final failure disables the task.
    #[must_use]
    pub fn stop_on_failure(mut self) -> Define {
        self.definition.fail_strategy = FailStrategy::Stop;
        self
    }

    /// A job whose node died while it ran is not run again: for work that must not happen twice.
    #[must_use]
    pub fn fail_when_lost(mut self) -> Define {
        self.definition.on_lost = OnLost::Fail;
        self
    }

    // ---- when it fires ----

    /// It fires by an expression: 5 fields or a macro as in crontab, 6 or 7 fields as in Quartz. Its jobs do not overlap
    /// unless `overlap` says so.
    #[must_use]
    pub fn cron(mut self, expression: &str) -> Define {
        self.definition.kind = TaskKind::Cron;
        self.definition.cron_expression = Some(expression.to_owned());
        self
    }

    /// In which its expression and its calendar are read: a name of the IANA database. Default UTC.
    #[must_use]
    pub fn time_zone(mut self, zone: &str) -> Define {
        self.definition.time_zone = Some(zone.to_owned());
        self
    }

    /// It fires in this rhythm, on multiples of the interval since 1970 (or since `start_at`): a restart does not shift it.
    #[must_use]
    pub fn every(self, interval: Duration) -> Define {
        self.every_by(interval, Rhythm::FixedRate)
    }

    /// It fires so long after the end of its last job.
    #[must_use]
    pub fn every_after_end(self, delay: Duration) -> Define {
        self.every_by(delay, Rhythm::FixedDelay)
    }

    fn every_by(mut self, interval: Duration, rhythm: Rhythm) -> Define {
        self.definition.kind = TaskKind::Cron;
        self.definition.every = Some(Every { span: Span(interval), rhythm });
        self
    }

    /// No fire before.
    #[must_use]
    pub fn start_at(mut self, instant: Timestamp) -> Define {
        self.definition.start_at = Some(instant);
        self
    }

    /// No fire after.
    #[must_use]
    pub fn end_at(mut self, instant: Timestamp) -> Define {
        self.definition.end_at = Some(instant);
        self
    }

    /// Days on which it rests, and make-up working days. The calendar must be in the store (`Engine::put_calendar`).
    #[must_use]
    pub fn calendar(self, name: &str) -> Define {
        self.keep(CalendarName::new(name), |definition, name| definition.calendar = Some(name))
    }

    // ---- fires that were missed, or meet a live job ----

    /// What a fire or a trigger does while a job of the task is live. Default FORBID with a schedule, ALLOW without.
    #[must_use]
    pub fn overlap(mut self, overlap: Overlap) -> Define {
        self.overlap = Some(overlap);
        self
    }

    /// What becomes of fire times that passed while nobody could fire them. Default FIRE_ONCE.
    #[must_use]
    pub fn misfire(mut self, misfire: Misfire) -> Define {
        self.definition.misfire = misfire;
        self
    }

    /// Missed fire times run one after another, the latest `max` of them.
    #[must_use]
    pub fn fire_all(mut self, max: u32) -> Define {
        (self.definition.misfire, self.definition.max_catchup) = (Misfire::FireAll, max);
        self
    }

    /// A fire that is later than this is a misfire. Default 60 s.
    #[must_use]
    pub fn misfire_grace(mut self, grace: Duration) -> Define {
        self.definition.misfire_grace_seconds = whole_seconds(grace);
        self
    }

    /// A fired job that has not begun by then is skipped.
    #[must_use]
    pub fn start_deadline(mut self, deadline: Duration) -> Define {
        self.definition.start_deadline_seconds = Some(whole_seconds(deadline));
        self
    }

    // ---- on which nodes ----

    /// Only nodes that carry this label (`Builder::label`) run its jobs. Of several, they carry all.
    #[must_use]
    pub fn node_label(mut self, label: &str) -> Define {
        self.definition.node_labels.push(label.to_owned());
        self
    }

    /// Each job runs once on every node that can run it, and ends when all of them have. Each part knows which it is
    /// (`Context::shard`).
    #[must_use]
    pub fn broadcast(mut self) -> Define {
        self.definition.broadcast = true;
        self
    }

    // ---- limits ----

    /// Bodies at one time, in all nodes together; with a concurrency key: of one key.
    #[must_use]
    pub fn max_running(mut self, bodies: u32) -> Define {
        self.definition.max_running = Some(bodies);
        self
    }

    /// At most so many starts in any period of that length, such as `10/s` or `100/1m`.
    #[must_use]
    pub fn rate_limit(self, rate: &str) -> Define {
        self.keep(rate.parse(), |definition, rate: RateLimit| definition.rate_limit = Some(rate))
    }

    /// Where in the payload the key stands (a JSON pointer, `/tenant`) by which both limits count.
    #[must_use]
    pub fn concurrency_key(mut self, pointer: &str) -> Define {
        self.definition.concurrency_key = Some(pointer.to_owned());
        self
    }
}

/// Rounded up: nothing is shorter than it was said.
fn whole_seconds(length: Duration) -> u32 {
    u32::try_from(length.as_secs() + u64::from(length.subsec_nanos() > 0)).unwrap_or(u32::MAX)
}
