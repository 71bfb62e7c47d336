//! Reading a request's body within bounds of size and time.

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use futures_util::StreamExt;
use mainspring_model::{Code, Refused};
use tokio::time::timeout;

use crate::limits;
use crate::problem::Problem;

/// The body of one job or task, at most `BODY_BYTES_MAX`, said to be JSON. Empty only where nothing was sent.
#[derive(Debug)]
pub(crate) struct JsonBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody, Problem> {
        let body = read(request.headers(), limits::BODY_BYTES_MAX);
        let kind = media(request.headers())?;
        let body = body?;
        let bytes = body.whole(request.into_body()).await?;
        // A form of a foreign page can be empty, but it cannot say "JSON".
        match kind {
            Media::Json => Ok(JsonBody(bytes)),
            Media::Unsaid if bytes.is_empty() => Ok(JsonBody(bytes)),
            Media::Unsaid | Media::Lines | Media::Other => Err(not_json()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    /// One JSON text per line.
    Lines,
    Unsaid,
    Other,
}

pub(crate) fn not_json() -> Problem {
    Problem::own("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON in UTF-8, uncompressed")
        .hint("send the header `content-type: application/json`")
}

pub(crate) fn media(headers: &HeaderMap) -> Result<Media, Problem> {
    // A compressed body could unfold to anything.
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(not_json());
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(Media::Unsaid) };
    if kind == "application/json" {
        return Ok(Media::Json);
    }
    let kind = kind.to_str().unwrap_or_default();
    let (kind, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    let parameters = parameters.trim().to_ascii_lowercase();
    if parameters.starts_with("charset=") && parameters.trim_start_matches("charset=").trim_matches('"') != "utf-8" {
        return Ok(Media::Other);
    }
    Ok(match kind.trim().to_ascii_lowercase().as_str() {
        "application/json" => Media::Json,
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Media::Lines,
        _ => Media::Other,
    })
}

/// A bound that the announced length keeps to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    bytes_max: usize,
}

pub(crate) fn read(headers: &HeaderMap, bytes_max: usize) -> Result<Bound, Problem> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    if announced.is_some_and(|length| length > limit) { Err(too_large(bytes_max)) } else { Ok(Bound { bytes_max }) }
}

pub(crate) fn too_large(bytes_max: usize) -> Problem {
    let detail = format!("the body has more than {bytes_max} bytes");
    Refused::new(Code::PayloadTooLarge, detail).hint("store the data elsewhere and pass a reference to it").into()
}

impl Bound {
    pub(crate) async fn whole(self, body: Body) -> Result<Bytes, Problem> {
        let mut stream = body.into_data_stream();
        let Some(first) = next(&mut stream).await? else { return Ok(Bytes::new()) };
        // Small bodies come in one piece, which is then not copied.
        let Some(second) = next(&mut stream).await? else { return self.checked(first) };
        let mut whole = Vec::from(first);
        let mut piece = Some(second);
        while let Some(more) = piece {
            if whole.len() + more.len() > self.bytes_max {
                return Err(too_large(self.bytes_max));
            }
            whole.extend_from_slice(&more);
            piece = next(&mut stream).await?;
        }
        Ok(whole.into())
    }

    fn checked(self, bytes: Bytes) -> Result<Bytes, Problem> {
        if bytes.len() > self.bytes_max { Err(too_large(self.bytes_max)) } else { Ok(bytes) }
    }
}

/// The next piece, unless the client is too slow.
pub(crate) async fn next(stream: &mut BodyDataStream) -> Result<Option<Bytes>, Problem> {
    match timeout(limits::BODY_IDLE, stream.next()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
        Ok(Some(Err(_))) => Err(Refused::field("body", "BROKEN_OFF", "the body broke off before its end").into()),
        Err(_) => {
            let limit = limits::BODY_IDLE.as_secs();
            Err(Problem::own("REQUEST_TIMEOUT", format!("no part of the body came for {limit} s")))
        }
    }
}
