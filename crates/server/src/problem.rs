//! Every answer that says no: problem+json (RFC 9457) with a stable code and what to do next.
//!
//! Messages of the store stay inside: they name places and statements.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use mainspring_engine::Error;
use mainspring_model::cron::Field;
use mainspring_model::{Code, Refused, Span};
use mainspring_store::{StoreError, Trouble};
use serde::{Serialize, Serializer};

use crate::wire;

/// Boxed, because it is the rare side of every result.
#[derive(Debug, Clone)]
pub struct Problem {
    body: Box<wire::Problem>,
    retry_after: Option<Span>,
}

pub const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Codes of the interface itself; those of the product are `model::Code` and the two of the store.
pub const OWN_CODES: &[(&str, u16, &str)] = &[
    ("NOT_FOUND", 404, "No such address"),
    ("METHOD_NOT_ALLOWED", 405, "The address does not take this method"),
    ("REQUEST_TIMEOUT", 408, "The request came too slowly"),
    ("UNSUPPORTED_MEDIA_TYPE", 415, "The body is not JSON"),
    ("FORBIDDEN_ORIGIN", 403, "A page of another site sent this"),
    ("FORBIDDEN_HOST", 403, "The server does not answer under this name"),
    ("RATE_LIMITED", 429, "Too much at one time"),
    ("INTERNAL", 500, "A defect of the server"),
    ("TIMED_OUT", 503, "The answer took too long"),
    ("STORE_UNAVAILABLE", 503, "The store cannot answer now"),
    ("STORAGE_FULL", 507, "No space is left in the store"),
];

impl Problem {
    /// One of [`OWN_CODES`].
    pub(crate) fn own(code: &'static str, detail: impl Into<String>) -> Problem {
        let known = OWN_CODES.iter().find(|(name, _, _)| *name == code);
        debug_assert!(known.is_some(), "{code} is not in the table");
        let (code, status, title) = known.copied().unwrap_or(("INTERNAL", 500, "A defect of the server"));
        Problem::new(code, status, title, detail.into())
    }

    fn new(code: &'static str, status: u16, title: &'static str, detail: String) -> Problem {
        let body = wire::Problem {
            kind: format!("/docs#{code}"),
            title,
            status,
            detail,
            code,
            hint: None,
            class: None,
            field: None,
            position: None,
            errors: Vec::new(),
            current_version: None,
            current: None,
            differences: None,
            allowed_operations: None,
            denied_operations: None,
            id: None,
        };
        Problem { body: Box::new(body), retry_after: None }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.body.hint = Some(hint.into());
        self
    }

    /// Both sides of a conflict.
    #[must_use]
    pub(crate) fn conflict(mut self, current: &wire::Task, differences: Vec<wire::Conflicting>) -> Problem {
        self.body.current_version = Some(current.version);
        self.body.current = serde_json::value::to_raw_value(current).ok();
        self.body.differences = Some(differences);
        self
    }

    #[must_use]
    pub(crate) fn id(mut self, id: String) -> Problem {
        self.body.id = Some(id);
        self
    }

    #[must_use]
    pub(crate) fn retry_after(mut self, wait: Span) -> Problem {
        self.retry_after = Some(wait);
        self
    }

    pub fn body(&self) -> &wire::Problem {
        &self.body
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        let code = refused.code;
        let mut problem = Problem::new(code.as_str(), code.http_status(), code.title(), refused.detail);
        problem.retry_after = refused.retry_after;
        let body = &mut problem.body;
        body.hint = refused.hint;
        body.current_version = refused.current_version;
        if let Some(place) = refused.cron {
            body.class = Some(place.class.as_str());
            body.field = place.field.map(Field::as_str);
            body.position = Some(place.position);
        }
        body.errors = refused
            .errors
            .into_iter()
            .map(|error| wire::FieldProblem { field: error.field, code: error.code, detail: error.detail })
            .collect();
        if let Some(operations) = refused.allowed {
            let (allowed, denied) = wire::operations(operations);
            body.allowed_operations = Some(allowed);
            body.denied_operations = Some(denied);
        }
        problem
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let code = if error.kind() == Trouble::Full { "STORAGE_FULL" } else { "STORE_UNAVAILABLE" };
        let trouble = match error.kind() {
            Trouble::Unavailable => "it is busy or not reachable",
            Trouble::Full => "no space is left",
            Trouble::ReadOnly => "it is read-only",
            Trouble::Io => "a read or a write failed",
            Trouble::Corrupt => "what it holds is not what was written",
            Trouble::Unsupported => "it is of a kind that cannot do this",
            Trouble::Statement => "it refuses a statement, which is a defect of this program",
        };
        let problem = match error {
            StoreError::NotApplied { .. } => Problem::own(code, format!("nothing was written: {trouble}")),
            StoreError::Unknown { .. } => Problem::own(code, format!("the outcome is unknown: {trouble}"))
                .hint("send it again with the same bizId or requestId: it is stored once"),
        };
        problem.retry_after(mainspring_engine::RETRY_AFTER)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match error {
            Error::Refused(refused) => refused.into(),
            Error::Unavailable(error) => error.into(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.body.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_vec(&self.body).unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, PROBLEM_JSON)], text).into_response();
        if let Some(wait) = self.retry_after {
            let seconds = u64::try_from(wait.0.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// As a part of a larger answer (an item of a batch).
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.body.serialize(to)
    }
}

/// All codes with status and title, for the page that explains them.
pub fn all_codes() -> impl Iterator<Item = (&'static str, u16, &'static str)> {
    let product = Code::ALL.iter().map(|code| (code.as_str(), code.http_status(), code.title()));
    product.chain(OWN_CODES.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(problem: Problem, expect: &str, retry_after: Option<&str>) {
        let body = serde_json::to_string(&problem).expect("a problem is JSON");
        assert!(!body.contains("secret"), "what the store says stays inside: {body}");
        let (status, code) = (problem.body.status, problem.body.code);
        let response = problem.into_response();
        assert_eq!((response.status().as_u16(), format!("{status} {code}").as_str()), (status, expect));
        let told = response.headers().get(RETRY_AFTER).map(|wait| wait.to_str().expect("a number"));
        assert_eq!(told, retry_after, "{expect}");
    }

    #[test]
    fn failures_of_the_store_say_what_to_do_and_nothing_of_its_inside() {
        let verb = "submit";
        let reason = || "secret /path/to.db".to_owned();
        let not_applied = |kind| StoreError::NotApplied { verb, kind, reason: reason() };
        let unknown = |kind| StoreError::Unknown { verb, kind, reason: reason() };
        check(not_applied(Trouble::Unavailable).into(), "503 STORE_UNAVAILABLE", Some("1"));
        check(not_applied(Trouble::ReadOnly).into(), "503 STORE_UNAVAILABLE", Some("1"));
        check(not_applied(Trouble::Full).into(), "507 STORAGE_FULL", Some("1"));
        check(unknown(Trouble::Io).into(), "503 STORE_UNAVAILABLE", Some("1"));
        check(Error::Unavailable(unknown(Trouble::Full)).into(), "507 STORAGE_FULL", Some("1"));
        let unsure = Problem::from(unknown(Trouble::Io));
        assert!(unsure.body.hint.as_deref().is_some_and(|hint| hint.contains("same bizId")), "{unsure:?}");
        let busy = Refused::new(Code::BacklogFull, "full").retry_after(Span::from_ms(1_500));
        check(busy.into(), "429 BACKLOG_FULL", Some("2"));
        check(Refused::new(Code::TaskNotFound, "no").into(), "404 TASK_NOT_FOUND", None);
    }

    #[test]
    fn every_code_is_told_once() {
        let mut codes: Vec<&str> = all_codes().map(|(code, _, _)| code).collect();
        codes.sort_unstable();
        let before = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), before);
        for (code, status, _) in OWN_CODES {
            check(Problem::own(code, "x"), &format!("{status} {code}"), None);
        }
    }
}
