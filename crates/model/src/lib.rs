//! The rules of Mainspring, as functions of values.
//!
//! **Invariant:** pure. No I/O, no async, no clock and no randomness of its own: the caller passes `now` and dice.
//!
//! Words: a *task* is a definition, a *job* is one request to run it, an *attempt* is one try at a job. A *handler*
//! is the code that a task names, a *verdict* is what it answers. A *pool* is a set of execution slots, a *node* is
//! one running engine. A *fence* is a number that grows with every claim of a job and never goes back.
//!
//! Start with [`lifecycle`], then [`decide`].

pub mod backoff;
pub mod broadcast;
pub mod calendar;
pub mod cron;
pub mod decide;
pub mod ids;
pub mod job;
pub mod lease;
pub mod lifecycle;
pub mod limits;
mod names;
pub mod node;
pub mod operations;
pub mod payload;
pub mod rate;
pub mod refused;
pub mod schedule;
pub mod task;
pub mod text;
pub mod time;
pub mod verdict;
pub mod wait_reason;

pub use calendar::Calendar;
pub use cron::{Cron, CronError, Zone};
pub use ids::{AttemptId, BizId, CalendarName, Fence, HandlerName, Incarnation, JobId, PoolName, TaskCode};
pub use job::{Attempt, AttemptStatus, Job, JobStatus, QueueState, Shard, Trigger, Unique};
pub use node::NodeState;
pub use rate::RateLimit;
pub use refused::{Code, Refused};
pub use schedule::{Every, Schedule};
pub use task::{Priority, RetryRule, Task, TaskDefinition};
pub use time::{Clock, Span, Timestamp};
pub use verdict::{Verdict, Wait};
