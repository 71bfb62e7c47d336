//! What a caller asks for, and what it gets back.

use std::sync::Arc;

use mainspring_model::job::OnLive;
use mainspring_model::{
    BizId, JobId, JobStatus, Priority, Refused, Span, TaskCode, Timestamp, Trigger, Unique, payload,
};
use mainspring_store::Durability;

/// One job to be. Made with [`JobRequest::new`] and its builder methods.
#[derive(Debug, Clone)]
pub struct JobRequest {
    pub task: TaskCode,
    pub biz_id: Option<BizId>,
    pub unique: Unique,
    /// JSON text; the task's parameters when absent.
    pub payload: Option<Arc<str>>,
    pub when: When,
    pub priority: Option<Priority>,
    pub max_retry: Option<u32>,
    pub timeout: Option<Span>,
    pub trigger: Trigger,
    /// What it does when jobs of its task are live; a plain submit joins them.
    pub on_live: OnLive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum When {
    #[default]
    Now,
    /// A time in the past means now.
    At(Timestamp),
    After(Span),
}

impl JobRequest {
    pub fn new(task: TaskCode) -> JobRequest {
        JobRequest {
            task,
            biz_id: None,
            unique: Unique::Always,
            payload: None,
            when: When::Now,
            priority: None,
            max_retry: None,
            timeout: None,
            trigger: Trigger::Submit,
            on_live: OnLive::Join,
        }
    }

    /// JSON text, checked at once.
    pub fn payload_json(mut self, json: impl Into<Arc<str>>) -> Result<JobRequest, Refused> {
        let json = json.into();
        payload::check(&json)?;
        self.payload = Some(json);
        Ok(self)
    }

    #[must_use]
    pub fn biz_id(mut self, biz_id: BizId) -> JobRequest {
        self.biz_id = Some(biz_id);
        self
    }

    #[must_use]
    pub fn unique(mut self, unique: Unique) -> JobRequest {
        self.unique = unique;
        self
    }

    #[must_use]
    pub fn when(mut self, when: When) -> JobRequest {
        self.when = when;
        self
    }

    #[must_use]
    pub fn max_retry(mut self, max_retry: u32) -> JobRequest {
        self.max_retry = Some(max_retry);
        self
    }

    #[must_use]
    pub fn priority(mut self, priority: Priority) -> JobRequest {
        self.priority = Some(priority);
        self
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Span) -> JobRequest {
        self.timeout = Some(timeout);
        self
    }
}

/// The job is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    pub id: JobId,
    pub task: TaskCode,
    pub biz_id: Option<BizId>,
    pub status: JobStatus,
    /// The key was taken: `id` is the first job, and nothing new was stored.
    pub duplicate: bool,
    /// The first job has another payload.
    pub payload_differs: bool,
    pub execute_time: Timestamp,
    pub durability: Durability,
}
