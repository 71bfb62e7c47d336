//! `POST /jobs`: the hot path of the interface.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use mainspring_engine::{JobRequest, Receipt, When};
use mainspring_model::job::OnLive;
use mainspring_model::limits::{RETRY_COUNT_MAX, TIMEOUT_SECONDS_MAX};
use mainspring_model::{Refused, Span, TaskCode, Timestamp, Trigger, Unique};

use super::{Answer, durability_word, json};
use crate::body::JsonBody;
use crate::extract::{Fields, Given};
use crate::openapi::Refusals;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

/// Submit a job
///
/// The answer comes after the commit. No answer, an error or a time-out means unknown: send it again with the same
/// `bizId` and get the same job.
#[utoipa::path(
    post, path = "/jobs", tag = "jobs", request_body = wire::JobRequest,
    responses(
        (status = 201, description = "The job is stored", body = wire::Receipt),
        (status = 200, description = "The key was taken: the first job, `duplicate: true`", body = wire::Receipt),
        (status = 404, description = "TASK_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        (status = 409, description = "TASK_DISABLED, or JOB_UNREADABLE of the first job of its key", body = wire::Problem, content_type = "application/problem+json"),
        (status = 429, description = "BACKLOG_FULL", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn submit(State(state): State<AppState>, _: NoParams, JsonBody(body): JsonBody) -> Answer {
    let request = read_job(Fields::of(&body)?)?;
    let receipt = shown(state.engine.submit(request).await?);
    if receipt.duplicate {
        return Ok(json(StatusCode::OK, &receipt));
    }
    let place = format!("/api/v1/jobs/{}", receipt.id);
    Ok(([(LOCATION, place)], json(StatusCode::CREATED, &receipt)).into_response())
}

/// One job of a body or of a batch.
pub(crate) fn read_job(mut fields: Fields<'_>) -> Result<JobRequest, Refused> {
    let task: Option<TaskCode> = fields.required("task");
    let biz_id = fields.optional("bizId");
    let unique = fields.optional("unique");
    let payload = match fields.json("payload")? {
        Given::Value(raw) => Some(raw.into()),
        Given::Absent | Given::Null => None,
    };
    let when = read_when(&mut fields);
    let priority = fields.optional("priority");
    let max_retry = fields.number("maxRetry", 0, RETRY_COUNT_MAX);
    let timeout_seconds = fields.number("timeoutSeconds", 1, TIMEOUT_SECONDS_MAX);
    if unique == Some(Unique::Live) && biz_id.is_none() {
        fields.complaints.add("unique", "NEEDS_BIZ_ID", "unique needs a bizId that it is about");
    }
    Ok(JobRequest {
        task: fields.finish(task)?,
        biz_id,
        unique: unique.unwrap_or(Unique::Always),
        payload,
        when,
        priority,
        max_retry,
        timeout: timeout_seconds.map(|seconds| Span::from_ms(u64::from(seconds) * 1_000)),
        trigger: Trigger::Submit,
        on_live: OnLive::Join,
    })
}

fn read_when(fields: &mut Fields<'_>) -> When {
    let at: Option<Timestamp> = fields.optional("executeTime");
    let after: Option<Span> = fields.optional("delay");
    match (at, after) {
        (None, None) => When::Now,
        (Some(at), None) => When::At(at),
        (None, Some(delay)) => {
            // A sum beyond the calendar would quietly become its last day.
            if delay.as_ms() > DELAY_MS_MAX {
                fields.complaints.add("delay", "OUT_OF_RANGE", "delay is longer than 1000 years");
            }
            When::After(delay)
        }
        (Some(_), Some(_)) => {
            fields.complaints.add("delay", "CONTRADICTION", "executeTime and delay are both there: send one of them");
            When::Now
        }
    }
}

const DELAY_MS_MAX: i64 = 1_000 * 366 * 86_400_000;

pub(crate) fn shown(receipt: Receipt) -> wire::Receipt {
    wire::Receipt {
        id: receipt.id,
        task: receipt.task,
        biz_id: receipt.biz_id,
        status: receipt.status,
        duplicate: receipt.duplicate,
        payload_differs: receipt.payload_differs,
        execute_time: receipt.execute_time,
        durability: durability_word(receipt.durability),
    }
}
