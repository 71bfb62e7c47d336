//! The document of the interface, generated from the handlers. `docs/openapi.json` is its copy; a test compares.

use std::collections::BTreeMap;

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response as Documented, ResponseBuilder};
use utoipa::{IntoResponses, OpenApi};

use crate::{docs_page, wire};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mainspring",
        version = "1",
        description = "Background jobs: submit them, watch them, steer them. Instants are RFC 3339 with milliseconds \
                       and Z, durations are text such as 1h30m, ids are text. Unknown fields and parameters are \
                       errors. Every refusal is problem+json with a stable code.",
        license(name = "Apache-2.0 OR MIT")
    ),
    components(schemas(wire::Problem)),
    tags(
        (name = "jobs", description = "Requests to run a task"),
        (name = "attempts", description = "Tries at a job, and what they said"),
        (name = "tasks", description = "Definitions that jobs are made from"),
        (name = "calendars", description = "Days on which schedules rest, and make-up working days"),
        (name = "pools", description = "Bounded execution slots"),
        (name = "nodes", description = "Running engines and their handlers"),
        (name = "cron", description = "Expressions, tried out before they are saved"),
        (name = "system", description = "For supervisors and load balancers")
    )
)]
pub(crate) struct Document;

/// What any call may answer.
pub(crate) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Documented>> {
        let problem = |description: &str| {
            let schema = RefOr::Ref(Ref::from_schema_name("Problem"));
            let content = ContentBuilder::new().schema(Some(schema)).build();
            let response = ResponseBuilder::new().description(description);
            RefOr::T(response.content("application/problem+json", content).build())
        };
        let all = [
            ("403", "FORBIDDEN_HOST, FORBIDDEN_ORIGIN: sent under a foreign name or by a foreign page"),
            ("408", "REQUEST_TIMEOUT: the body came too slowly"),
            ("413", "PAYLOAD_TOO_LARGE"),
            ("415", "UNSUPPORTED_MEDIA_TYPE: the body is not JSON"),
            ("422", "VALIDATION, with one entry per wrong field or parameter"),
            ("500", "INTERNAL: a defect, with an id for the log"),
            ("503", "STORE_UNAVAILABLE, STOPPING, TIMED_OUT: try again, see Retry-After"),
            ("507", "STORAGE_FULL"),
        ];
        all.into_iter().map(|(status, description)| (status.to_owned(), problem(description))).collect()
    }
}

/// As it is kept in `docs/openapi.json`.
pub fn document() -> String {
    let (_, document) = crate::routes().split_for_parts();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// Made once when the server starts.
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    document: String,
    docs: String,
}

impl Pages {
    pub(crate) fn new(document: &utoipa::openapi::OpenApi) -> Pages {
        let document = document.to_pretty_json().unwrap_or_default();
        let value = serde_json::from_str(&document).unwrap_or_default();
        Pages { docs: docs_page::render(&value), document }
    }

    pub(crate) fn openapi(&self) -> Response {
        ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], self.document.clone()).into_response()
    }

    pub(crate) fn docs(&self) -> Response {
        docs_page::page(self.docs.clone())
    }
}
