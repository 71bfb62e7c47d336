//! The request ids of operations: the same id twice has one effect, and both hear the same answer.
//!
//! **Invariant:** the id is in the store before its operation begins, its answer before the caller hears it; so it holds
//! on every node and after a restart, for `REQUEST_ID_KEPT_MS`. An operation that was refused or failed has done nothing:
//! its id is free again. Whoever comes while the first is being carried out waits a little for it.
//!
//! An operation goes on to its end when its caller goes away, for otherwise its id would stay taken with no answer, and
//! half of a declaration would be carried out.

use std::panic::{AssertUnwindSafe, resume_unwind};

use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use futures_util::FutureExt;
use mainspring_model::{Code, Refused, text};
use mainspring_store::{Press, Pressed};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::api::{Answer, json};
use crate::limits;
use crate::problem::Problem;
use crate::state::AppState;

/// What an operation answers, before it is said whether it is a repetition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Done {
    status: u16,
    location: Option<String>,
    /// `None`: there is nothing to say.
    body: Option<Box<RawValue>>,
    /// Kept instead of a body that is too large to keep.
    #[serde(skip)]
    short: Option<Box<RawValue>>,
    /// The store found the effect of an earlier one.
    #[serde(skip)]
    is_repeat: bool,
}

impl Done {
    pub(crate) fn new(status: StatusCode, body: &impl Serialize) -> Result<Done, Problem> {
        Ok(Done { body: Some(written(body)?), ..Done::empty(status) })
    }

    pub(crate) fn empty(status: StatusCode) -> Done {
        Done { status: status.as_u16(), location: None, body: None, short: None, is_repeat: false }
    }

    pub(crate) fn at(mut self, location: String) -> Done {
        self.location = Some(location);
        self
    }

    pub(crate) fn in_short(mut self, body: &impl Serialize) -> Result<Done, Problem> {
        self.short = Some(written(body)?);
        Ok(self)
    }

    pub(crate) fn repeat(mut self, is_repeat: bool) -> Done {
        self.is_repeat = is_repeat;
        self
    }

    fn into_kept(mut self) -> Done {
        if self.body.as_ref().is_some_and(|body| body.get().len() > limits::KEPT_ANSWER_BYTES_MAX) {
            self.body = self.short.take().or(self.body);
        }
        self
    }

    fn answer(self) -> Answer {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        let said = match self.body {
            Some(body) => json(status, &marked(body.get(), self.is_repeat)?),
            None if self.is_repeat => json(StatusCode::OK, &marked("{}", true)?),
            None => status.into_response(),
        };
        match self.location.and_then(|place| HeaderValue::from_str(&place).ok()) {
            Some(place) => Ok(([(LOCATION, place)], said).into_response()),
            None => Ok(said),
        }
    }
}

fn written(body: &impl Serialize) -> Result<Box<RawValue>, Problem> {
    to_raw_value(body).map_err(|error| Problem::own("INTERNAL", format!("the answer cannot be written: {error}")))
}

/// The object with one member more. What is in it stays as it is written: a number that no program can hold too.
fn marked(object: &str, duplicate: bool) -> Result<Box<RawValue>, Problem> {
    let (head, tail) = object.split_at(object.rfind('}').unwrap_or(0));
    let comma = if head.trim_end().ends_with('{') { "" } else { "," };
    let whole = format!("{head}{comma}\"duplicate\":{duplicate}{tail}");
    let not_an_object = |error| Problem::own("INTERNAL", format!("the answer is no object: {error}"));
    RawValue::from_string(whole).map_err(not_an_object)
}

/// Carries the operation out, unless that was done under this request id. `operation` says what is done to what.
pub(crate) async fn press<W>(state: &AppState, request_id: Option<String>, operation: String, work: W) -> Answer
where
    W: Future<Output = Result<Done, Problem>> + Send + 'static,
{
    let button = request_id.map(|request_id| Button { state: state.clone(), request_id, operation });
    let pressed = state.shared.pressed.spawn(async move {
        match button {
            Some(button) => button.press(work).await,
            None => work.await,
        }
    });
    match pressed.await {
        Ok(done) => done?.answer(),
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => Err(Refused::new(Code::Stopping, "the node is stopping").into()),
    }
}

struct Button {
    state: AppState,
    request_id: String,
    operation: String,
}

impl Button {
    async fn press(self, work: impl Future<Output = Result<Done, Problem>>) -> Result<Done, Problem> {
        if let Some(first) = self.first_answer().await? {
            return Ok(first);
        }
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(Ok(done)) => {
                self.keep(Some(&done.clone().into_kept())).await;
                Ok(done)
            }
            Ok(Err(problem)) => {
                self.keep(None).await;
                Err(problem)
            }
            Err(panic) => {
                self.keep(None).await;
                resume_unwind(panic)
            }
        }
    }

    /// `None`: this is the first press.
    async fn first_answer(&self) -> Result<Option<Done>, Problem> {
        let (engine, clock) = (&self.state.engine, self.state.engine.clock());
        let end = clock.monotonic() + limits::PRESS_WAIT;
        loop {
            let press =
                Press { request_id: self.request_id.clone(), operation: self.operation.clone(), now: clock.now() };
            match engine.store().press(press).await? {
                Pressed::First => return Ok(None),
                Pressed::Again { answer } => return self.read(&answer).map(Some),
                Pressed::OtherOperation { operation } => return Err(self.is_taken(&operation).into()),
                Pressed::UnderWay if clock.monotonic() < end => clock.sleep(limits::PRESS_LOOK_EVERY).await,
                Pressed::UnderWay => {
                    let detail = format!("`{}` is being carried out for this request id", self.operation);
                    let refused = Refused::new(Code::RequestUnderWay, detail)
                        .hint("ask again in a moment; if its node died over it, look whether it was done")
                        .retry_after(mainspring_engine::RETRY_AFTER);
                    return Err(refused.into());
                }
            }
        }
    }

    fn read(&self, answer: &str) -> Result<Done, Problem> {
        let read: Result<Done, _> = serde_json::from_str(answer);
        let done = read.map_err(|error| {
            tracing::error!(%error, operation = self.operation, "the kept answer of a request cannot be read");
            Problem::own("INTERNAL", "this request was carried out, and its answer cannot be read")
        })?;
        Ok(done.repeat(true))
    }

    fn is_taken(&self, operation: &str) -> Refused {
        let shown = text::excerpt(&self.request_id, 40);
        let detail = format!("request id `{shown}` was used for `{operation}`");
        Refused::field("requestId", "OTHER_OPERATION", detail).hint("take a new id for each operation")
    }

    /// The operation is done whatever becomes of this.
    async fn keep(&self, done: Option<&Done>) {
        let answer = done.and_then(|done| serde_json::to_string(done).ok());
        let clock = self.state.engine.clock();
        let end = clock.monotonic() + limits::PRESS_KEEP_FOR;
        loop {
            match self.state.engine.store().answer_press(self.request_id.clone(), answer.clone()).await {
                Ok(()) => return,
                Err(error) if clock.monotonic() >= end => {
                    let operation = &self.operation;
                    tracing::warn!(%error, operation, "an answer was not kept: repeats of its request are refused");
                    return;
                }
                Err(_) => clock.sleep(limits::PRESS_LOOK_EVERY).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gets_its_mark_and_stays_as_it_is() {
        let check = |object: &str, expect: &str| {
            assert_eq!(
                marked(object, true).map(|body| body.get().to_owned()).ok().as_deref(),
                Some(expect),
                "{object}"
            );
        };
        check("{}", r#"{"duplicate":true}"#);
        check(r#"{"a":1.0}"#, r#"{"a":1.0,"duplicate":true}"#);
        check(r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{}},"duplicate":true}"#);
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let done = Done::new(StatusCode::CREATED, &serde_json::json!({"x": "y".repeat(limits::KEPT_ANSWER_BYTES_MAX)}));
        let done = done.and_then(|done| done.at("/there".to_owned()).in_short(&serde_json::json!({"x": 1})));
        let kept = serde_json::to_string(&done.expect("JSON").into_kept()).expect("JSON");
        let read: Done = serde_json::from_str(&kept).expect("it was written here");
        assert_eq!((read.status, read.location.as_deref()), (201, Some("/there")));
        assert_eq!(read.body.map(|body| body.get().to_owned()).as_deref(), Some(r#"{"x":1}"#));
    }
}
