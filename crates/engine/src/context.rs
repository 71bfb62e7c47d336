//! What a handler knows of its attempt, and what it can say while it runs.

use std::sync::Arc;

use mainspring_model::{AttemptId, BizId, Fence, JobId, Shard, TaskCode, Timestamp, Trigger};
use mainspring_store::Stream;
use tokio_util::sync::CancellationToken;

use crate::execute::LiveAttempt;

/// Cheap to clone: parts of a handler can hold it.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) attempt: Arc<LiveAttempt>,
}

impl Context {
    pub fn job_id(&self) -> JobId {
        self.attempt.claim.id
    }

    pub fn attempt_id(&self) -> AttemptId {
        self.attempt.id()
    }

    /// Grows with every claim of the job. Hand it to whatever the handler changes, so that a late body can be refused.
    pub fn fence(&self) -> Fence {
        self.attempt.claim.fence
    }

    /// 1 for the first body of the job.
    pub fn attempt(&self) -> u32 {
        self.attempt.number
    }

    /// Failures before this attempt.
    pub fn retry_count(&self) -> u32 {
        self.attempt.claim.retry_count
    }

    pub fn task(&self) -> &TaskCode {
        &self.attempt.claim.task
    }

    pub fn biz_id(&self) -> Option<&BizId> {
        self.attempt.claim.biz_id.as_ref()
    }

    pub fn trigger(&self) -> Trigger {
        self.attempt.claim.trigger
    }

    /// The fire time that a schedule made the job for; the latest when it stands for several.
    pub fn fire_time(&self) -> Option<Timestamp> {
        self.attempt.claim.fire_time
    }

    /// Which part of a broadcast this is: each node that can run the task gets one.
    pub fn shard(&self) -> Option<Shard> {
        self.attempt.claim.shard
    }

    /// JSON text; `null` when neither the job nor its task has any.
    pub fn payload(&self) -> &str {
        self.attempt.claim.payload.as_deref().unwrap_or("null")
    }

    /// The instant at which this attempt is cancelled.
    pub fn deadline(&self) -> Timestamp {
        self.attempt.deadline()
    }

    pub fn is_cancelled(&self) -> bool {
        self.attempt.cancel.is_cancelled()
    }

    /// Ends when the attempt is cancelled: by a person, by its deadline, by the node's stop.
    pub async fn cancelled(&self) {
        self.attempt.cancel.cancelled().await;
    }

    /// For code that takes a token.
    pub fn cancellation(&self) -> CancellationToken {
        self.attempt.cancel.clone()
    }

    /// A line in the attempt's output.
    pub fn log(&self, line: impl AsRef<str>) {
        self.attempt.output.write(Stream::Log, line.as_ref());
    }

    /// Raw output of something that this handler runs.
    pub fn output(&self, stream: Stream, text: &str) {
        self.attempt.output.write(stream, text);
    }

    /// How far the attempt is. The newest one counts.
    pub fn progress(&self, percent: u8, message: &str) {
        let message = mainspring_model::text::excerpt(message, PROGRESS_MESSAGE_CHARS_MAX);
        let progress = serde_json::json!({ "percent": percent.min(100), "message": message });
        self.attempt.output.write(Stream::Progress, &progress.to_string());
    }
}

/// A line, not a report; with its frame it stays below `limits::PROGRESS_CHARS_MAX`.
const PROGRESS_MESSAGE_CHARS_MAX: usize = 200;
