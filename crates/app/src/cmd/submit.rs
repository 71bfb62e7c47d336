//! `mainspring submit`: make a job, and wait for its end if asked to.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::json_argument;
use crate::args::{Format, Submit};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::print;

const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    biz_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execute_time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retry: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u32>,
}

pub(crate) async fn run(args: Submit, client: &Client, format: Format) -> Result<(), Failure> {
    let request = Request {
        task: &args.task,
        payload: args.payload.as_deref().map(json_argument).transpose()?,
        biz_id: args.biz_id.as_deref(),
        unique: args.unique.as_deref(),
        delay: args.delay.as_deref(),
        execute_time: args.at.as_deref(),
        priority: args.priority.as_deref(),
        max_retry: args.max_retry,
        timeout_seconds: args.timeout_seconds,
    };
    let receipt = client.post(&["jobs"], &request).await?;
    if !args.wait {
        return print::object(format, &receipt, &["id", "task", "bizId", "status", "duplicate", "executeTime"]);
    }
    let what = if receipt["duplicate"] == true { "has this key already" } else { "is stored" };
    tell_end(&receipt["id"], what, client, format).await
}

/// Waits until the job is over and shows its end; it fails when the job did not succeed.
pub(super) async fn tell_end(id: &Value, what: &str, client: &Client, format: Format) -> Result<(), Failure> {
    let id = id.as_str().unwrap_or_default();
    if format == Format::Table {
        print::out(&format!("job {id} {what}; waiting for its end\n"))?;
    }
    let job = wait_for_end(client, id).await?;
    print::object(format, &job, &["status", "resultSummary", "errorMsg", "startTime", "finishTime"])?;
    match job["status"].as_str() {
        Some("SUCCESS") => Ok(()),
        _ => Err(Failure::failed("")),
    }
}

#[expect(clippy::disallowed_methods, reason = "a client that asks again; no simulation is a client of the binary")]
async fn wait_for_end(client: &Client, id: &str) -> Result<Value, Failure> {
    loop {
        let job = client.get(&["jobs", id], Query::new()).await?;
        if !matches!(job["status"].as_str(), Some("PENDING" | "EXECUTING" | "WAITING")) {
            return Ok(job);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
