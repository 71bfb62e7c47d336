//! The client of the REST interface that all commands use.

use std::time::Duration;

use reqwest::{Method, Response, Url};
use serde::Serialize;
use serde_json::Value;

use crate::complaint;
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
            Ok(problem) if problem.get("code").is_some() => {
                let said = body.and_then(|body| serde_json::to_value(body).ok()).unwrap_or_default();
                Err(refused(status.as_u16(), problem, &said))
            }
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
        Err(refused(status, serde_json::from_str(&text).unwrap_or_default(), &Value::Null))
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

/// A problem as `application/problem+json` says it, with the body that was refused.
fn refused(status: u16, problem: Value, said: &Value) -> Failure {
    let message = complaint::told(&problem, said);
    let exit = match status {
        429 | 503 | 507 => Exit::Unavailable,
        400..=499 => Exit::Refused,
        _ => Exit::Failed,
    };
    Failure { exit, message, problem: Some(problem) }
}
