//! For tests of handlers: one attempt, run inline, without a store or a runtime of the engine's.

use std::sync::Arc;

use mainspring_model::{
    BizId, Fence, HandlerName, Incarnation, JobId, PoolName, Priority, Task, TaskCode, TaskDefinition,
};
use mainspring_model::{Timestamp, Trigger, Unique, Verdict};
use mainspring_store::clock::ManualClock;
use mainspring_store::{Claim, PoolSettings, WhenFull};

use crate::context::Context;
use crate::dispatch::Pool;
use crate::execute::LiveAttempt;
use crate::handler::Handler;

/// What one attempt of a handler answered and said.
#[derive(Debug)]
pub struct Ran {
    pub verdict: Verdict,
    /// Log lines, output and progress, in order.
    pub said: Vec<String>,
}

/// Runs one attempt of `handler` with this JSON payload, here and now. A panic goes through.
pub async fn run_inline(handler: &dyn Handler, payload_json: &str) -> Ran {
    let mut job = claim(1, 0, Priority::Normal);
    job.payload = Some(Arc::from(payload_json));
    let attempt = Arc::new(attempt_of(job));
    let verdict = handler.handle(Context { attempt: attempt.clone() }).await;
    let said = attempt.output.take_all().into_iter().map(|chunk| chunk.text).collect();
    Ran { verdict, said }
}

pub(crate) fn claim(id: i64, due_ms: i64, priority: Priority) -> Claim {
    Claim {
        id: JobId(id),
        fence: Fence(1),
        owner: Incarnation(1),
        task: TaskCode::stored("task"),
        pool: PoolName::default_pool(),
        priority,
        due: Timestamp::from_ms(due_ms),
        attempts: 0,
        retry_count: 0,
        max_retry: 0,
        lost_count: 0,
        suspect: false,
        timeout_ms: None,
        payload: None,
        biz_id: Some(BizId::stored("test")),
        unique: Unique::Always,
        trigger: Trigger::Submit,
        fire_time: None,
        create_time: Timestamp::from_ms(due_ms),
        shard: None,
        lane: None,
    }
}

pub(crate) fn pool_settings(name: &str, concurrency: u32, queue_capacity: u32) -> PoolSettings {
    PoolSettings {
        name: PoolName::stored(name),
        concurrency,
        queue_capacity,
        paused: false,
        when_full: WhenFull::Spill,
        rate_limit: None,
        cluster_concurrency: None,
    }
}

fn attempt_of(job: Claim) -> LiveAttempt {
    let start = Timestamp::from_ms(1_790_000_000_000);
    let task = Task {
        id: 1,
        code: job.task.clone(),
        switch: mainspring_model::task::TaskSwitch::Enabled,
        definition: TaskDefinition::new("test", HandlerName::stored("test")),
        next_fire_time: None,
        prev_fire_time: None,
        disabled_reason: None,
        version: 1,
        create_time: start,
        update_time: start,
    };
    let pool = Arc::new(Pool::new(pool_settings("default", 1, 1)));
    LiveAttempt::new(job, Arc::new(task), pool, 1, ManualClock::at(start))
}
