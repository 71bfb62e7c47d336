//! `GET /jobs` and `GET /jobs/{id}`: the records.

use std::collections::HashMap;

use axum::extract::State;
use mainspring_engine::Engine;
use mainspring_model::{Code, Incarnation, Job, JobId, TaskCode};
use mainspring_store::JobFilter;
use serde_json::value::RawValue;

use super::node_names::NodeNames;
use super::{Answer, ok};
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::problem::Problem;
use crate::query::{NoParams, Params};
use crate::state::AppState;
use crate::wire;

/// List jobs
///
/// Newest first, without payloads. A filter that no index serves is refused.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(wire::ListJobs),
    responses((status = 200, description = "A part of the list", body = wire::CursorPage<wire::Job>), Refusals)
)]
pub(crate) async fn list_jobs(State(state): State<AppState>, mut params: Params) -> Answer {
    let filter = JobFilter {
        task: params.one("task"),
        status: params.many("status"),
        biz_id: params.one("bizId"),
        pool: params.one("pool"),
        trigger: params.one("trigger"),
        from: params.one("from"),
        to: params.one("to"),
    };
    let (limit, cursor) = (params.limit(), params.cursor());
    params.finish()?;
    let page = state.engine.jobs(filter, limit, cursor).await?;
    let mut around = Around::default();
    let mut items = Vec::with_capacity(page.items.len());
    for job in page.items {
        items.push(around.show(&state.engine, job).await?);
    }
    ok(&wire::CursorPage { items, next_cursor: page.next })
}

/// Show a job
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The whole record", body = wire::Job),
        (status = 404, description = "JOB_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn show_job(State(state): State<AppState>, PathOf(id): PathOf<JobId>, _: NoParams) -> Answer {
    let job = state.engine.job(id).await?;
    ok(&show(&state.engine, job).await?)
}

pub(crate) async fn show(engine: &Engine, job: Job) -> Result<wire::Job, Problem> {
    Around::default().show(engine, job).await
}

/// What a job's record refers to, looked up once per answer.
#[derive(Default)]
struct Around {
    task_names: HashMap<TaskCode, Option<String>>,
    node_names: Option<NodeNames>,
}

impl Around {
    async fn show(&mut self, engine: &Engine, job: Job) -> Result<wire::Job, Problem> {
        let task_name = self.task_name(engine, &job.task).await?;
        let node = match job.queue.and_then(|entry| entry.owner) {
            Some(owner) => self.node_name(engine, owner).await?,
            None => None,
        };
        let (allowed_operations, denied_operations) = wire::operations(engine.job_operations(&job).listed());
        Ok(wire::Job {
            wait_reason: engine.wait_reason(&job),
            id: job.id,
            task: job.task,
            task_name,
            biz_id: job.biz_id,
            status: job.status,
            retry_count: job.retry_count,
            max_retry: job.max_retry,
            lost_count: job.lost_count,
            attempts: job.attempts,
            duplicates: job.duplicates,
            last_duplicate: job.last_duplicate,
            fence: job.fence.0,
            execute_time: job.execute_time,
            next_retry_time: job.next_retry_time,
            start_time: job.start_time,
            finish_time: job.finish_time,
            timeout_seconds: job.timeout_ms.map(|ms| ms / 1_000),
            pool: job.pool,
            priority: job.priority,
            trigger: job.trigger,
            fire_time: job.fires.map(|fires| fires.last),
            fires: job.fires.filter(|fires| fires.count > 1).map(|fires| wire::Fires {
                first: fires.first,
                last: fires.last,
                count: fires.count,
            }),
            skip_reason: job.skip_reason,
            concurrency_key: job.concurrency_key,
            node,
            shard: job.shard.map(wire::Shard::from),
            payload: job.payload.as_deref().and_then(raw),
            result_summary: job.result_summary,
            error_msg: job.error_msg,
            create_time: job.create_time,
            update_time: job.update_time,
            allowed_operations,
            denied_operations,
            duplicate: None,
        })
    }

    async fn task_name(&mut self, engine: &Engine, code: &TaskCode) -> Result<Option<String>, Problem> {
        if let Some(known) = self.task_names.get(code) {
            return Ok(known.clone());
        }
        let name = match engine.task(code).await {
            Ok(task) => Some(task.definition.name),
            Err(mainspring_engine::Error::Refused(refused)) if refused.code == Code::TaskNotFound => None,
            Err(error) => return Err(error.into()),
        };
        self.task_names.insert(code.clone(), name.clone());
        Ok(name)
    }

    async fn node_name(&mut self, engine: &Engine, owner: Incarnation) -> Result<Option<String>, Problem> {
        if self.node_names.is_none() {
            self.node_names = Some(NodeNames::read(engine).await?);
        }
        Ok(self.node_names.as_ref().and_then(|names| names.of(owner)))
    }
}

/// Stored JSON as it is. It was checked when it came in.
pub(crate) fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}
