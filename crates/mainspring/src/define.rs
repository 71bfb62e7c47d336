//! The policy of a task that is declared in code.

use std::time::Duration;

use mainspring_model::task::{FailStrategy, OnLost};
use mainspring_model::{HandlerName, PoolName, Priority, Refused, TaskDefinition, limits};

/// Declares a task: it is created when the store has none of this code. What a person changed in the store later
/// is left alone.
#[derive(Debug, Clone)]
pub struct Define {
    pub(crate) definition: TaskDefinition,
    pub(crate) pool: Option<String>,
}

impl Define {
    pub(crate) fn new(code: &str) -> Result<Define, Refused> {
        Ok(Define { definition: TaskDefinition::new(code, HandlerName::new(code)?), pool: None })
    }

    pub(crate) fn finish(mut self) -> Result<TaskDefinition, Refused> {
        if let Some(pool) = &self.pool {
            self.definition.pool = PoolName::new(pool)?;
        }
        self.definition.check()?;
        Ok(self.definition)
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
        let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        self.definition.timeout_seconds = u32::try_from(seconds).unwrap_or(limits::TIMEOUT_SECONDS_MAX);
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
    pub fn pool(mut self, pool: &str) -> Define {
        self.pool = Some(pool.to_owned());
        self
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
}
