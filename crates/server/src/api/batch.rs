//! `POST /jobs/batch`: many jobs in one call. One bad item never stops the others.
//!
//! A JSON body is read as a whole. A stream of lines is stored as it arrives, so its length is bounded by lines, not
//! by memory; its answers come at its end, for clients that write all before they read would otherwise deadlock.

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use mainspring_engine::{Engine, JobRequest};
use mainspring_model::Refused;
use mainspring_model::limits::BATCH_JOBS_MAX;
use serde_json::value::RawValue;

use super::submit::read_job;
use super::{Answer, ok};
use crate::body::{self, Media, media, not_json, too_large};
use crate::extract::Fields;
use crate::from_json::json_list;
use crate::limits::{BATCH_BYTES_MAX, BODY_BYTES_MAX, STREAM_BYTES_MAX, STREAM_FLUSH_LINES, STREAM_LINES_MAX};
use crate::openapi::Refusals;
use crate::problem::Problem;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire::{self, BatchItem};

/// Submit many jobs
///
/// `{"jobs": […]}` with at most 10,000 jobs, or (content type `application/x-ndjson`) one job per line, at most
/// 100,000 lines. The answers are in the order of the jobs; for lines they are lines too.
#[utoipa::path(
    post, path = "/jobs/batch", tag = "jobs",
    request_body(content((wire::JobBatch = "application/json"), (wire::JobRequest = "application/x-ndjson"))),
    responses(
        (status = 200, description = "One answer per job", content(
            (wire::BatchAnswer = "application/json"), (BatchItem = "application/x-ndjson"))),
        Refusals,
    )
)]
pub(crate) async fn submit_batch(State(state): State<AppState>, _: NoParams, request: Request) -> Answer {
    match media(request.headers())? {
        Media::Json => {
            let bound = body::read(request.headers(), BATCH_BYTES_MAX)?;
            let bytes = bound.whole(request.into_body()).await?;
            let parsed = read_batch(&bytes)?;
            ok(&wire::BatchAnswer { items: store(&state.engine, parsed).await })
        }
        Media::Lines => {
            let items = store_lines(&state.engine, request).await?;
            let mut text = Vec::with_capacity(items.len() * 64);
            for item in &items {
                let written = serde_json::to_writer(&mut text, item);
                written.map_err(|error| Problem::own("INTERNAL", format!("an answer cannot be written: {error}")))?;
                text.push(b'\n');
            }
            let kind = HeaderValue::from_static("application/x-ndjson");
            Ok((StatusCode::OK, [(CONTENT_TYPE, kind)], text).into_response())
        }
        Media::Unsaid | Media::Other => Err(not_json()),
    }
}

type Parsed = Result<JobRequest, Problem>;

fn read_batch(bytes: &[u8]) -> Result<Vec<Parsed>, Problem> {
    let mut fields = Fields::of(bytes)?;
    let jobs: Option<Vec<&RawValue>> = fields.raw_required("jobs").and_then(|raw| {
        let list = json_list(raw.get());
        fields.complaints.keep("jobs", list)
    });
    let jobs = fields.finish(jobs)?;
    if jobs.len() > BATCH_JOBS_MAX {
        let detail = format!("a batch has at most {BATCH_JOBS_MAX} jobs, this one has {}", jobs.len());
        return Err(Refused::field("jobs", "TOO_MANY", detail).hint("send several, or a stream of lines").into());
    }
    Ok(jobs.into_iter().map(|raw| read_item(raw.get().as_bytes())).collect())
}

fn read_item(bytes: &[u8]) -> Parsed {
    Ok(read_job(Fields::of(bytes)?)?)
}

/// The good ones together, the bad ones answered for themselves, all in order.
async fn store(engine: &Engine, parsed: Vec<Parsed>) -> Vec<BatchItem> {
    let mut refused: Vec<Option<Problem>> = Vec::with_capacity(parsed.len());
    let mut requests = Vec::with_capacity(parsed.len());
    for item in parsed {
        match item {
            Ok(request) => {
                requests.push(request);
                refused.push(None);
            }
            Err(problem) => refused.push(Some(problem)),
        }
    }
    let mut stored = engine.submit_many(requests).await.into_iter();
    let answer = |problem: Option<Problem>| match problem {
        Some(error) => BatchItem::Refused { error },
        None => match stored.next() {
            Some(Ok(receipt)) => BatchItem::Stored {
                id: receipt.id,
                duplicate: receipt.duplicate,
                payload_differs: receipt.payload_differs,
            },
            Some(Err(error)) => BatchItem::Refused { error: error.into() },
            None => BatchItem::Refused { error: Problem::own("INTERNAL", "the engine gave no answer for this job") },
        },
    };
    refused.into_iter().map(answer).collect()
}

/// What was stored stays stored, so from the first line on a failure is the last answer, not the only one.
async fn store_lines(engine: &Engine, request: Request) -> Result<Vec<BatchItem>, Problem> {
    body::read(request.headers(), STREAM_BYTES_MAX)?;
    let mut pieces = request.into_body().into_data_stream();
    let mut lines = Lines::default();
    let mut items = Vec::new();
    loop {
        let piece = body::next(&mut pieces).await;
        let (ended, failure) = match piece {
            Ok(Some(piece)) => (false, lines.push(&piece).err()),
            Ok(None) => (true, lines.end().err()),
            Err(problem) => (true, Some(problem)),
        };
        let over = ended || failure.is_some();
        while lines.parsed.len() >= STREAM_FLUSH_LINES || (over && !lines.parsed.is_empty()) {
            let flush = lines.parsed.len().min(STREAM_FLUSH_LINES);
            items.extend(store(engine, lines.parsed.drain(..flush).collect()).await);
        }
        match failure {
            Some(problem) if items.is_empty() => return Err(problem),
            Some(error) => {
                items.push(BatchItem::Refused { error });
                return Ok(items);
            }
            None if over => return Ok(items),
            None => {}
        }
    }
}

/// Cuts pieces of a body into lines. Empty lines count for nothing.
#[derive(Default)]
struct Lines {
    parsed: Vec<Parsed>,
    begun: Vec<u8>,
    count: usize,
    bytes: usize,
}

impl Lines {
    fn push(&mut self, piece: &Bytes) -> Result<(), Problem> {
        self.bytes += piece.len();
        if self.bytes > STREAM_BYTES_MAX {
            return Err(too_large(STREAM_BYTES_MAX));
        }
        let mut rest: &[u8] = piece;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(at);
            rest = &after[1..];
            if self.begun.is_empty() {
                self.line(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.begun);
                whole.extend_from_slice(line);
                self.line(&whole)?;
            }
        }
        if self.begun.len() + rest.len() > BODY_BYTES_MAX {
            return Err(too_large(BODY_BYTES_MAX));
        }
        self.begun.extend_from_slice(rest);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let last = std::mem::take(&mut self.begun);
        self.line(&last)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Problem> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        if self.count == STREAM_LINES_MAX {
            let detail = format!("a stream has at most {STREAM_LINES_MAX} lines; those before are stored");
            return Err(Refused::field("body", "TOO_MANY", detail).hint("send the rest in another call").into());
        }
        self.count += 1;
        self.parsed.push(read_item(line));
        Ok(())
    }
}
