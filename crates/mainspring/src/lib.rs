//! Background jobs that survive: embed Mainspring in a Rust application.
//!
//! A *task* is a definition, a *job* is one request to run it, a *handler* is the code that a task names. A job is in
//! the database when `submit` answers, and it is run until its task's retries are spent, whatever happens to the
//! process in between. Execution is at least once: a handler must bear being called twice for one job.
//!
//! ```no_run
//! use mainspring::prelude::*;
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Welcome {
//!     user: u64,
//! }
//!
//! async fn send_welcome(context: Context, mail: Welcome) -> Result<String, std::io::Error> {
//!     context.log(format!("attempt {} for user {}", context.attempt(), mail.user));
//!     Ok(format!("sent to {}", mail.user)) // an Err is retried with growing delays
//! }
//!
//! # async fn run() -> Result<(), mainspring::StartError> {
//! let jobs = Mainspring::sqlite("data/jobs.db").handler("mail.welcome", send_welcome).start().await?;
//!
//! let receipt = jobs.submit("mail.welcome", &Welcome { user: 42 }).biz_id("welcome-42").await.expect("stored");
//! let end = jobs.wait(receipt.id).await.expect("it ends");
//! println!("{}: {:?}", end.status, end.result);
//!
//! jobs.stop(std::time::Duration::from_secs(30)).await;
//! # Ok(())
//! # }
//! ```
//!
//! More: `examples/`, and for tests of handlers [`testing`].

mod answer;
mod builder;
mod client;
mod define;
mod handler;
mod submit_in;
pub mod testing;

pub use answer::Answer;
pub use builder::{Builder, StartError};
pub use client::{Item, Mainspring, Submit};
pub use define::Define;
pub use handler::{blocking_handler, handler};
pub use submit_in::submit_in;

pub use mainspring_engine::execute;
pub use mainspring_engine::{
    Act, Backfilled, Context, Engine, Error, Handler, Health, JobRequest, NodeView, PoolView, Receipt, StopReport, When,
};
pub use mainspring_model::Clock;
pub use mainspring_model::job::{Fires, SkipReason};
pub use mainspring_model::operations::JobOperation;
pub use mainspring_model::schedule::{Every, Rhythm};
pub use mainspring_model::task::{FailStrategy, Misfire, OnLost, Overlap, TaskDefinition, TaskKind, TaskSwitch};
pub use mainspring_model::{
    AttemptId, BizId, Calendar, CalendarName, Job, JobId, JobStatus, NodeState, Priority, RateLimit, Refused, Shard,
    Span, Task, TaskCode, Timestamp, Trigger, Unique, Verdict, Wait,
};
pub use mainspring_store::{
    ApplicationTransaction, JobEnd, JobFilter, PoolSettings, SubmitInError, SubmittedIn, WhenFull, clock, sqlx,
};

/// The code of the guide for handlers is compiled with this crate's.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/handlers.md")]
pub struct HandlersGuide;

/// What most programs need.
pub mod prelude {
    pub use crate::{Context, Item, Mainspring, Unique, Verdict};
}
