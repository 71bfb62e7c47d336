//! What every request passes first: whose page sent it, under which name it came; a time limit; a wall for panics.
//!
//! There are no CORS headers on purpose: pages of other sites have no business here.

use std::any::Any;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use mainspring_model::text;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::state::{AppState, Hosts};

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A layer for whoever adds routes beside ours.
pub async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let answer = match admit(&state, &request) {
        Ok(()) => answer(&state, request, next).await,
        Err(problem) => problem.into_response(),
    };
    with_security_headers(answer)
}

async fn answer(state: &AppState, request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let limit = state.settings.request_timeout;
    match timeout(limit, AssertUnwindSafe(next.run(request)).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => {
            let id = state.next_bug_id();
            let message = panic_text(panic.as_ref());
            tracing::error!(%id, %method, path = uri.path(), message, "a request ended in a panic");
            Problem::own("INTERNAL", format!("a defect of the server: the log has more under {id}"))
                .id(id)
                .hint("the request may or may not have had its effect; please report this")
                .into_response()
        }
        Err(_) => Problem::own("TIMED_OUT", format!("no answer within {} ms", limit.as_millis()))
            .hint("the request may have had its effect: repeat it with the same bizId or requestId")
            .retry_after(mainspring_engine::RETRY_AFTER)
            .into_response(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

fn admit(state: &AppState, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    // A client may name the host in the request line instead, which then counts.
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(HOST).map(|host| host.to_str().unwrap_or("?")),
    };
    if state.settings.hosts == Hosts::LoopbackOnly
        && let Some(host) = host
        && !is_loopback(host)
    {
        let shown = text::excerpt(host, 60);
        let detail = format!("`{shown}` is not a loopback name, and there are no accounts yet to protect the rest");
        return Err(Problem::own("FORBIDDEN_HOST", detail).hint("use http://127.0.0.1 or http://localhost"));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if changes { check_origin(headers, host) } else { Ok(()) }
}

/// Programs send no Origin; a browser does for every request that could change something.
fn check_origin(headers: &HeaderMap, host: Option<&str>) -> Result<(), Problem> {
    let own_site = headers.get(&SEC_FETCH_SITE).is_none_or(|site| site == "same-origin" || site == "none");
    let own_origin = headers.get(ORIGIN).is_none_or(|origin| {
        let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest);
        authority.zip(host).is_some_and(|(authority, host)| authority.eq_ignore_ascii_case(host))
    });
    if own_site && own_origin {
        Ok(())
    } else {
        Err(Problem::own("FORBIDDEN_ORIGIN", "a page of another site may not change anything here"))
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_are_known() {
        for yes in ["localhost", "LOCALHOST:8700", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8700"] {
            assert!(is_loopback(yes), "{yes}");
        }
        for no in ["", "example.org", "localhost.example.org", "127.0.0.1.example.org", "0.0.0.0", "[::]:1", "10.0.0.1"]
        {
            assert!(!is_loopback(no), "{no}");
        }
    }
}
