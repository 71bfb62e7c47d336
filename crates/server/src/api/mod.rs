//! One file per resource.

pub(crate) mod apply;
pub(crate) mod attempts;
pub(crate) mod batch;
pub(crate) mod calendars;
pub(crate) mod cron;
pub(crate) mod dead_jobs;
pub(crate) mod fires;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod node_names;
pub(crate) mod nodes;
pub(crate) mod operations;
pub(crate) mod output;
pub(crate) mod pools;
pub(crate) mod submit;
pub(crate) mod switch;
pub(crate) mod task_fields;
pub(crate) mod task_shown;
pub(crate) mod tasks;
pub(crate) mod trigger;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use mainspring_model::{Refused, text};
use mainspring_store::Durability;
use serde::Serialize;

use crate::extract::Fields;
use crate::limits;
use crate::problem::Problem;

pub(crate) type Answer = Result<Response, Problem>;

pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response(),
        Err(error) => {
            Problem::own("INTERNAL", format!("the answer cannot be written as JSON: {error}")).into_response()
        }
    }
}

pub(crate) fn ok(body: &impl Serialize) -> Answer {
    Ok(json(StatusCode::OK, body))
}

pub(crate) const fn durability_word(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "full",
        Durability::Relaxed => "relaxed",
    }
}

/// Who did it, until there are accounts: this machine, and the name that the caller gives itself.
pub(crate) fn actor(headers: &HeaderMap) -> String {
    match headers.get("x-requested-by").map(|name| String::from_utf8_lossy(name.as_bytes())) {
        Some(name) if !name.trim().is_empty() => {
            let name: String = name.trim().chars().filter(|c| !c.is_control()).collect();
            format!("local/{}", text::excerpt(&name, limits::REQUESTED_BY_CHARS_MAX))
        }
        _ => "local".to_owned(),
    }
}

/// `requestId` of the body, or the header Idempotency-Key; both only when they agree.
pub(crate) fn request_id(headers: &HeaderMap, fields: &mut Fields<'_>) -> Option<String> {
    let said: Option<String> = fields.optional("requestId");
    let in_header = headers.get("idempotency-key").map(|key| {
        let key = String::from_utf8_lossy(key.as_bytes()).into_owned();
        key.trim().trim_matches('"').to_owned()
    });
    if said.is_some() && in_header.is_some() && said != in_header {
        let detail = "requestId and the header Idempotency-Key differ: send one of them";
        fields.complaints.add("requestId", "CONTRADICTION", detail);
    }
    let id = said.or(in_header)?;
    fields.complaints.keep("requestId", check_request_id(&id)).map(|()| id)
}

fn check_request_id(id: &str) -> Result<(), Refused> {
    let chars = id.chars().count();
    if chars == 0 {
        Err(Refused::field("requestId", "REQUIRED", "requestId is empty"))
    } else if chars > limits::REQUEST_ID_CHARS_MAX {
        let max = limits::REQUEST_ID_CHARS_MAX;
        Err(Refused::field(
            "requestId",
            "TOO_LONG",
            format!("requestId has {chars} characters, at most {max} are kept"),
        ))
    } else if id.chars().any(char::is_control) {
        Err(Refused::field("requestId", "BAD_CHARACTER", "requestId holds a control character"))
    } else {
        Ok(())
    }
}
