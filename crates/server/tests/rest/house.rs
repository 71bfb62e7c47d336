//! A house for tests: an engine on the memory store, and the router in front of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use mainspring_engine::{Context, Engine, Handler, Registry};
use mainspring_model::{Clock, HandlerName, TaskCode, TaskDefinition, Verdict};
use mainspring_server::{AppState, Settings, router};
use mainspring_store::clock::{ManualClock, SystemClock};
use mainspring_store::{MemoryStore, PoolSettings, WhenFull};
use serde_json::Value;
use tokio::sync::Semaphore;
use tower::ServiceExt;

pub(crate) struct House {
    pub(crate) router: axum::Router,
    pub(crate) engine: Engine,
    pub(crate) state: AppState,
    /// One permit lets one body of the task `held` end.
    pub(crate) gate: Arc<Semaphore>,
    /// A house that was asked for with a time has a clock that only the test moves.
    manual: Option<Arc<ManualClock>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// `VALIDATION task:REQUIRED x:UNKNOWN_FIELD`, or just the status of a success.
    pub(crate) fn verdict(&self) -> String {
        if self.status.is_success() {
            return self.status.as_u16().to_string();
        }
        let kind = self.headers.get("content-type").and_then(|kind| kind.to_str().ok());
        assert_eq!(kind, Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16(), "{self:?}");
        for part in ["type", "title", "detail", "code"] {
            assert!(problem[part].as_str().is_some_and(|text| !text.is_empty()), "{part} is missing: {self:?}");
        }
        let errors = problem["errors"].as_array().cloned().unwrap_or_default();
        let mut words = vec![format!("{} {}", self.status.as_u16(), self.code())];
        let field = |error: &Value| {
            format!("{}:{}", error["field"].as_str().unwrap_or("?"), error["code"].as_str().unwrap_or("?"))
        };
        words.extend(errors.iter().map(field));
        words.join(" ")
    }
}

struct Done;
#[async_trait]
impl Handler for Done {
    async fn handle(&self, context: Context) -> Verdict {
        context.log("hello");
        Verdict::done_with("fine")
    }
}

struct Failing;
#[async_trait]
impl Handler for Failing {
    async fn handle(&self, _: Context) -> Verdict {
        Verdict::fail("broken on purpose")
    }
}

/// Says something, then waits until the test lets it go.
struct Gated(Arc<Semaphore>, AtomicU32);
#[async_trait]
impl Handler for Gated {
    async fn handle(&self, context: Context) -> Verdict {
        context.log(format!("body {}", self.1.fetch_add(1, Ordering::Relaxed)));
        match self.0.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => return Verdict::fail("the gate is gone"),
        }
        context.log("let go");
        Verdict::done()
    }
}

pub(crate) async fn house() -> House {
    house_with(Settings::default()).await
}

pub(crate) async fn house_with(settings: Settings) -> House {
    house_of(settings, SystemClock::new(), None).await
}

/// At this time, until the test moves it.
pub(crate) async fn house_at(time: &str) -> House {
    let clock = ManualClock::at(time.parse().unwrap());
    house_of(Settings::default(), clock.clone(), Some(clock)).await
}

async fn house_of(settings: Settings, clock: Arc<dyn Clock>, manual: Option<Arc<ManualClock>>) -> House {
    let gate = Arc::new(Semaphore::new(0));
    let mut registry = Registry::default();
    let name = |text: &str| HandlerName::new(text).unwrap();
    registry.add(name("test.done"), "async", "ends well", Arc::new(Done));
    registry.add(name("test.failing"), "async", "fails for good", Arc::new(Failing));
    registry.add(name("test.held"), "async", "waits", Arc::new(Gated(gate.clone(), AtomicU32::new(1))));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let mut builder = Engine::builder(store).clock(clock).seed(7).handlers(registry);
    for code in ["done", "failing", "held"] {
        let definition = TaskDefinition::new(code, name(&format!("test.{code}")));
        builder = builder.declare(TaskCode::new(code).unwrap(), definition);
    }
    let paused = PoolSettings {
        name: "paused".parse().unwrap(),
        concurrency: 1,
        queue_capacity: 1,
        paused: true,
        when_full: WhenFull::Reject,
        rate_limit: None,
        cluster_concurrency: None,
    };
    let waiting = TaskDefinition { pool: paused.name.clone(), ..TaskDefinition::new("waiting", name("test.done")) };
    builder = builder.pool(paused).declare("waiting".parse().unwrap(), waiting);
    let engine = builder.start().await.unwrap();
    let state = AppState::new(engine.clone(), settings);
    House { router: router(state.clone()), engine, state, gate, manual }
}

impl House {
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 64 << 20).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.call("POST", path, body).await
    }

    /// The id of a new job.
    pub(crate) async fn submit(&self, body: &str) -> String {
        let answer = self.post("/api/v1/jobs", body.to_owned()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// A task, or the problem of it.
    pub(crate) async fn task(&self, code: &str) -> Value {
        self.get(&format!("/api/v1/tasks/{code}")).await.json()
    }

    /// Moves the clock of a house with a time.
    pub(crate) fn advance(&self, seconds: u64) {
        self.manual.as_ref().expect("made with house_at").advance(Duration::from_secs(seconds));
    }

    /// Asks again until the job is there.
    pub(crate) async fn until(&self, id: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.until_at(&format!("/api/v1/jobs/{id}"), is).await
    }

    /// Asks again until the answer is right.
    pub(crate) async fn until_at(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let (limit, watch) = (Duration::from_secs(20), SystemClock::new());
        loop {
            let seen = self.get(path).await;
            if seen.status == 200 && is(&seen.json()) {
                return seen.json();
            }
            assert!(watch.monotonic() < limit, "it never got there: {path}: {}", seen.text);
            watch.sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) async fn until_status(&self, id: &str, status: &str) -> Value {
        self.until(id, |job| job["status"] == status).await
    }
}
