//! Handler kind: call a URL. The job's payload says which and how; the answer's status becomes the verdict.
//!
//! All requests pass the guard (`egress`). Redirects are not followed: where a call goes is what its task says.
//! The process installs a `rustls` crypto provider before the first handler is made.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mainspring_model::text::{excerpt, storable};
use mainspring_model::{Clock, Refused, Span, Timestamp, Verdict, Wait};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::egress::{Blocked, Egress};
use super::process::JobFacts;
use crate::context::Context;
use crate::handler::Handler;

/// Bytes read of an answer: it is an outcome, not a download.
const BODY_BYTES_MAX: usize = 1024 * 1024;
const RESULT_CHARS_MAX: usize = 4_000;
const ERROR_BODY_CHARS_MAX: usize = 200;
/// A server that asks for more is asked again after this.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CALL_TIMEOUT_DEFAULT: Span = Span::from_ms(30_000);
const USER_AGENT: &str = concat!("mainspring/", env!("CARGO_PKG_VERSION"));

/// The payload of a job of this handler.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpCall {
    pub url: String,
    /// GET, or POST when there is a body.
    pub method: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Text goes as it is, anything else as JSON.
    pub body: Option<Value>,
    /// Status codes that mean done: numbers, or ranges such as `"200-299"`.
    #[serde(default)]
    pub expect: Vec<Expected>,
    pub timeout: Option<Span>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    Code(u16),
    Range(String),
}

impl Expected {
    fn bounds(&self) -> Option<(u16, u16)> {
        match self {
            Expected::Code(code) => Some((*code, *code)),
            Expected::Range(text) => {
                let (low, high) = text.split_once("..").or_else(|| text.split_once('-'))?;
                Some((low.trim().parse().ok()?, high.trim_start_matches('=').trim().parse().ok()?))
            }
        }
    }
}

/// A call that was checked: nothing in it can fail but the network and the other side.
struct Checked {
    method: Method,
    url: reqwest::Url,
    headers: HeaderMap,
    body: Option<String>,
    expect: Vec<(u16, u16)>,
    timeout: Duration,
}

#[derive(Debug)]
pub struct HttpHandler {
    client: Client,
    egress: Egress,
    clock: Arc<dyn Clock>,
}

impl HttpHandler {
    pub fn new(egress: Egress, clock: Arc<dyn Clock>) -> Result<HttpHandler, Refused> {
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy() // a proxy would resolve the name anew, behind the guard
            .dns_resolver(Arc::new(egress.clone()))
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| Refused::field("http", "NO_CLIENT", format!("no HTTP client: {}", chain(&error))))?;
        Ok(HttpHandler { client, egress, clock })
    }

    /// One call, from the payload to the verdict.
    pub async fn call(&self, facts: &JobFacts) -> Verdict {
        let checked = match self.check(facts) {
            Ok(checked) => checked,
            Err(error) => return Verdict::fail(error),
        };
        let expect = checked.expect.clone();
        let mut request = self.client.request(checked.method, checked.url).headers(checked.headers);
        if let Some(body) = checked.body {
            request = request.body(body);
        }
        match request.timeout(checked.timeout).send().await {
            Ok(response) => self.judge(response, &expect).await,
            Err(error) => unsent(error),
        }
    }

    fn check(&self, facts: &JobFacts) -> Result<Checked, String> {
        let call: HttpCall = serde_json::from_str(&facts.payload)
            .map_err(|error| format!("the payload is not a call {{\"url\": …, \"method\": …}}: {error}"))?;
        let url = self.egress.check_url(&call.url).map_err(|Blocked(reason)| reason)?;
        let word = call.method.as_deref().unwrap_or(if call.body.is_some() { "POST" } else { "GET" });
        let method = match word.to_ascii_uppercase().as_str() {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            "POST" => Method::POST,
            "PUT" => Method::PUT,
            "PATCH" => Method::PATCH,
            "DELETE" => Method::DELETE,
            "OPTIONS" => Method::OPTIONS,
            _ => return Err(format!("`{}` is not a method", excerpt(word, 20))),
        };
        let mut expect = Vec::new();
        for expected in &call.expect {
            expect.push(expected.bounds().ok_or("expect holds codes such as 200 and ranges such as \"200-299\"")?);
        }
        if expect.is_empty() {
            expect.push((200, 299));
        }
        Ok(Checked {
            method,
            url,
            headers: headers(&call, facts)?,
            body: call.body.map(|body| match body {
                Value::String(text) => text,
                json => json.to_string(),
            }),
            expect,
            timeout: call.timeout.unwrap_or(CALL_TIMEOUT_DEFAULT).0,
        })
    }

    async fn judge(&self, response: Response, expect: &[(u16, u16)]) -> Verdict {
        let status = response.status();
        let asked_wait = self.retry_after(response.headers());
        let location = response.headers().get("location").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = match body_text(response).await {
            Ok(body) => body,
            Err(error) => return Verdict::retry(format!("{status}, then the body broke off: {}", chain(&error))),
        };
        if expect.iter().any(|(low, high)| (*low..=*high).contains(&status.as_u16())) {
            return Verdict::Done { result: Some(excerpt(&body, RESULT_CHARS_MAX)).filter(|text| !text.is_empty()) };
        }
        let mut error = format!("answered {status}");
        if let Some(location) = location.filter(|_| status.is_redirection()) {
            error.push_str(&format!(" to {}: redirects are not followed", excerpt(&location, ERROR_BODY_CHARS_MAX)));
        } else if !body.trim().is_empty() {
            error.push_str(&format!(": {}", excerpt(body.trim(), ERROR_BODY_CHARS_MAX)));
        }
        let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
        if status.is_server_error() || passing.contains(&status) {
            Verdict::Retry { error, not_before: asked_wait }
        } else {
            Verdict::fail(error)
        }
    }

    /// Seconds or a date; an answer that asks for too long is not believed.
    fn retry_after(&self, headers: &HeaderMap) -> Option<Wait> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        let wait = match text.parse::<u64>() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => {
                let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
                Timestamp::from_ms(date.as_millisecond()).until(self.clock.now())
            }
        };
        Some(Wait::For(wait.min(RETRY_AFTER_MAX)))
    }
}

fn headers(call: &HttpCall, facts: &JobFacts) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if call.body.as_ref().is_some_and(|body| !body.is_string()) {
        headers.insert("content-type", HeaderValue::from_static("application/json"));
    }
    let own = [
        ("x-mainspring-job-id", facts.job_id.clone()),
        ("x-mainspring-attempt", facts.attempt.to_string()),
        ("x-mainspring-fence", facts.fence.to_string()),
        ("idempotency-key", facts.biz_id.clone().unwrap_or_else(|| facts.job_id.clone())),
    ];
    let fire_time = facts.fire_time.clone().map(|time| ("x-mainspring-fire-time", time));
    let shard = facts.shard.map(|shard| {
        [("x-mainspring-shard-index", shard.index.to_string()), ("x-mainspring-shard-total", shard.total.to_string())]
    });
    for (name, value) in own.into_iter().chain(fire_time).chain(shard.into_iter().flatten()) {
        // A business key may be in any script; a header takes bytes.
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| format!("no header takes `{value}`"))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    for (name, value) in &call.headers {
        let shown = excerpt(name, 40);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{shown}` is not a header's name"))?;
        // These say where the message goes and where it ends: with them a request could hide a second one.
        if ["host", "content-length", "transfer-encoding", "connection", "upgrade"].contains(&name.as_str())
            || name.as_str().starts_with("x-mainspring-")
        {
            return Err(format!("the header `{shown}` is not the caller's to set"));
        }
        let value = HeaderValue::from_str(value).map_err(|_| format!("the value of `{shown}` is not a header's"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Up to the bound; the rest of a longer body is not fetched.
async fn body_text(mut response: Response) -> Result<String, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = BODY_BYTES_MAX - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == BODY_BYTES_MAX {
            break;
        }
    }
    Ok(storable(&String::from_utf8_lossy(&body)))
}

/// No answer came. What the guard stopped stays stopped; everything else may pass.
fn unsent(error: reqwest::Error) -> Verdict {
    let error = error.without_url(); // its query may hold secrets
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(Blocked(reason)) = inner.downcast_ref() {
            return Verdict::fail(reason.clone());
        }
        cause = inner.source();
    }
    if error.is_builder() { Verdict::fail(chain(&error)) } else { Verdict::retry(chain(&error)) }
}

/// An error with its causes, on one line.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = inner.source();
    }
    text
}

#[async_trait]
impl Handler for HttpHandler {
    async fn handle(&self, context: Context) -> Verdict {
        let facts = JobFacts::of(&context);
        tokio::select! {
            biased;
            () = context.cancelled() => Verdict::Cancelled,
            verdict = self.call(&facts) => verdict,
        }
    }
}
