//! `GET /attempts/{id}/output`: what an attempt said, also while it speaks.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use mainspring_engine::Engine;
use mainspring_model::{AttemptId, AttemptStatus};
use mainspring_store::{OutputChunk, Stream as Kind};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{Answer, attempts, ok};
use crate::limits::{FOLLOW_EVERY, FOLLOW_KEEP_ALIVE, OUTPUT_CHUNKS_MAX};
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::problem::Problem;
use crate::query::Params;
use crate::state::AppState;
use crate::wire;

/// Read an attempt's output
///
/// With `follow=true` as server-sent events: `output` (a chunk; its id resumes by `Last-Event-ID`), at last `end` with
/// the attempt's status.
#[utoipa::path(
    get, path = "/attempts/{id}/output", tag = "attempts",
    params(("id" = String, Path, description = "The attempt's id"), wire::OutputParams),
    responses(
        (status = 200, description = "Its chunks in order", content(
            (wire::Output = "application/json"), (wire::OutputChunk = "text/event-stream"))),
        (status = 404, description = "ATTEMPT_NOT_FOUND", body = wire::Problem,
         content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED: too many follow", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn show_output(
    State(state): State<AppState>,
    PathOf(id): PathOf<AttemptId>,
    headers: HeaderMap,
    mut params: Params,
) -> Answer {
    let follow = params.flag("follow");
    let limit = params.number("limit", 1, OUTPUT_CHUNKS_MAX).unwrap_or(OUTPUT_CHUNKS_MAX);
    let cursor = params.number("cursor", 0, u32::MAX);
    params.finish()?;
    let attempt = attempts::find(&state.engine, id).await?;
    if follow {
        let resumed = headers.get("last-event-id").and_then(|seq| seq.to_str().ok()?.parse().ok());
        return follow_output(&state, id, resumed.or(cursor));
    }
    let chunks = state.engine.store().output(id, cursor, limit).await?;
    let full = u32::try_from(chunks.len()).is_ok_and(|count| count == limit);
    let next_cursor = chunks.last().filter(|_| full).map(|last| last.seq.to_string());
    let items = chunks.into_iter().map(shown).collect();
    ok(&wire::Output { items, next_cursor, status: attempt.status })
}

fn shown(chunk: OutputChunk) -> wire::OutputChunk {
    let stream = match chunk.stream {
        Kind::Log => "log",
        Kind::Stdout => "stdout",
        Kind::Stderr => "stderr",
        Kind::Progress => "progress",
    };
    wire::OutputChunk { seq: chunk.seq, time: chunk.time, stream, text: chunk.text }
}

fn follow_output(state: &AppState, id: AttemptId, after: Option<u32>) -> Answer {
    let busy =
        |_| Problem::own("RATE_LIMITED", "too many follow outputs now").retry_after(mainspring_engine::RETRY_AFTER);
    let permit = state.shared.followers.clone().try_acquire_owned().map_err(busy)?;
    let follower = Follower {
        engine: state.engine.clone(),
        id,
        after,
        ready: VecDeque::new(),
        over: None,
        ended: false,
        closing: state.shared.closing.clone(),
        _permit: permit,
    };
    let keep_alive = KeepAlive::new().interval(FOLLOW_KEEP_ALIVE);
    Ok(Sse::new(follower.events()).keep_alive(keep_alive).into_response())
}

struct Follower {
    engine: Engine,
    id: AttemptId,
    after: Option<u32>,
    ready: VecDeque<OutputChunk>,
    over: Option<AttemptStatus>,
    ended: bool,
    closing: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Follower {
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok(event), follower))
        })
    }

    async fn next(&mut self) -> Option<Event> {
        while !self.ended {
            if let Some(chunk) = self.ready.pop_front() {
                self.after = Some(chunk.seq);
                let event = Event::default().event("output").id(chunk.seq.to_string());
                return event.json_data(shown(chunk)).ok();
            }
            if self.look().await.is_err() {
                // The client comes back by itself with the id of the last chunk.
                self.ended = true;
                return Some(Event::default().event("error").data("the store cannot answer now: follow again"));
            }
            if !self.ready.is_empty() {
                continue;
            }
            if let Some(status) = self.over {
                self.ended = true;
                return Some(Event::default().event("end").data(format!("{{\"status\":\"{status}\"}}")));
            }
            tokio::select! {
                () = self.engine.clock().sleep(FOLLOW_EVERY) => {}
                () = self.closing.cancelled() => self.ended = true,
            }
        }
        None
    }

    /// The status is read before the output: what is over has said all that the second read finds.
    async fn look(&mut self) -> Result<(), Problem> {
        let status = attempts::find(&self.engine, self.id).await?.status;
        let chunks = self.engine.store().output(self.id, self.after, OUTPUT_CHUNKS_MAX).await?;
        self.ready = chunks.into();
        self.over = (status != AttemptStatus::Running).then_some(status);
        Ok(())
    }
}
