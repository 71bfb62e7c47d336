//! The client of the REST interface that all commands use.

use std::time::Duration;

use reqwest::{Method, Response, Url};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Exit, Failure};

pub(crate) const SERVER_URL: &str = "MAINSPRING_SERVER_URL";
const SERVER_DEFAULT: &str = "http://127.0.0.1:8700";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Client {
    base: Url,
    http: reqwest::Client,
}

/// `("limit", "5")`, as they stand behind the `?`.
pub(crate) type Query = Vec<(&'static str, String)>;

impl Client {
    pub(crate) fn new(server: Option<String>) -> Result<Client, Failure> {
        let server = server.or_else(|| std::env::var(SERVER_URL).ok()).unwrap_or_else(|| SERVER_DEFAULT.to_owned());
        let base = Url::parse(&server).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let base =
            base.ok_or_else(|| Failure::refused(format!("`{server}` is not a server's URL such as {SERVER_DEFAULT}")))?;
        let mut builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        if base.scheme() == "http" {
            builder = builder.tls_certs_only([]); // a machine without certificates can talk to itself all the same
        }
        let http = builder.build().map_err(|error| Failure::failed(format!("no HTTP client: {error}")))?;
        Ok(Client { base, http })
    }

    /// The answer of `/api/v1/…`, or the problem as a failure.
    pub(crate) async fn get(&self, path: &[&str], query: Query) -> Result<Value, Failure> {
        self.call(Method::GET, path, query, None::<&()>).await
    }

    pub(crate) async fn post(&self, path: &[&str], body: &impl Serialize) -> Result<Value, Failure> {
        self.call(Method::POST, path, Query::new(), Some(body)).await
    }

    pub(crate) async fn put(&self, path: &[&str], body: &impl Serialize) -> Result<Value, Failure> {
        self.call(Method::PUT, path, Query::new(), Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &[&str], body: &impl Serialize) -> Result<Value, Failure> {
        self.call(Method::PATCH, path, Query::new(), Some(body)).await
    }

    /// With what is said of the request, if there is anything to say.
    pub(crate) async fn delete(
        &self,
        path: &[&str],
        query: Query,
        said: Option<&impl Serialize>,
    ) -> Result<Value, Failure> {
        self.call(Method::DELETE, path, query, said).await
    }

    async fn call(
        &self,
        method: Method,
        path: &[&str],
        query: Query,
        body: Option<&(impl Serialize + ?Sized)>,
    ) -> Result<Value, Failure> {
        let mut request = self.http.request(method, self.url(path, &query)?).timeout(ANSWER_TIMEOUT);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| self.unreachable(&error))?;
        let answer = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
        match answer {
            Ok(value) if status.is_success() => Ok(value),
            Ok(problem) if problem.get("code").is_some() => Err(refused(status.as_u16(), problem)),
            _ => {
                let said = mainspring_model::text::excerpt(&text, 200);
                let message = format!("{} answered {status}, which is not what mainspring says: {said}", self.base);
                Err(Failure::new(Exit::Unavailable, message))
            }
        }
    }

    /// An answer that is read as it comes.
    pub(crate) async fn stream(&self, path: &[&str], query: Query) -> Result<Response, Failure> {
        let url = self.url(path, &query)?;
        let response = self.http.get(url).send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| self.unreachable(&error))?;
        Err(refused(status, serde_json::from_str(&text).unwrap_or_default()))
    }

    fn url(&self, path: &[&str], query: &Query) -> Result<Url, Failure> {
        let mut url = self.base.clone();
        let no_base = || Failure::refused(format!("`{}` is not a server's URL", self.base));
        url.path_segments_mut().map_err(|()| no_base())?.pop_if_empty().extend(["api", "v1"]).extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let base = self.base.as_str().trim_end_matches('/');
        let message = if error.is_connect() {
            format!("no server answers at {base}: start one with `mainspring serve`, or name another with --server")
        } else if error.is_timeout() {
            format!("the server at {base} did not answer within {} s", ANSWER_TIMEOUT.as_secs())
        } else {
            format!("the connection to {base} broke off; what was asked may have been done")
        };
        Failure::new(Exit::Unavailable, message)
    }
}

/// A problem as `application/problem+json` says it.
fn refused(status: u16, problem: Value) -> Failure {
    let text = |field: &str| problem.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut message = format!("{} ({})", text("detail"), text("code"));
    if let Some(position) = problem.get("position").and_then(Value::as_u64) {
        message.push_str(&format!(" at column {position}"));
    }
    for error in problem.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() {
        let (field, detail) = (error["field"].as_str(), error["detail"].as_str());
        message.push_str(&format!("\n  {}: {}", field.unwrap_or_default(), detail.unwrap_or_default()));
    }
    for one in problem.get("differences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() {
        let (field, yours, stored) = (one["field"].as_str(), &one["yours"], &one["stored"]);
        message.push_str(&format!("\n  {}: yours {yours}, stored {stored}", field.unwrap_or_default()));
    }
    let hint = text("hint");
    if !hint.is_empty() {
        message.push_str(&format!("\n  {hint}"));
    }
    let exit = match status {
        429 | 503 | 507 => Exit::Unavailable,
        400..=499 => Exit::Refused,
        _ => Exit::Failed,
    };
    Failure { exit, message, problem: Some(problem) }
}
