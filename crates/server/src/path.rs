//! What a path names, read before the handler runs.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use mainspring_model::{AttemptId, CalendarName, Code, Incarnation, JobId, PoolName, Refused, TaskCode, text};

use crate::problem::Problem;

/// Text that cannot be an id names nothing: 404.
#[derive(Debug)]
pub(crate) struct PathOf<T>(pub(crate) T);

pub(crate) trait Named: std::str::FromStr<Err = Refused> {
    const MISSING: Code;
    const WORD: &'static str;
}

macro_rules! named {
    ($($kind:ty, $word:literal, $missing:ident;)+) => {$(
        impl Named for $kind {
            const MISSING: Code = Code::$missing;
            const WORD: &'static str = $word;
        }
    )+};
}
named! {
    TaskCode, "task", TaskNotFound;
    JobId, "job", JobNotFound;
    AttemptId, "attempt", AttemptNotFound;
    PoolName, "pool", PoolNotFound;
    CalendarName, "calendar", CalendarNotFound;
    Incarnation, "node", NodeNotFound;
}

impl<S: Send + Sync, T: Named> FromRequestParts<S> for PathOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathOf<T>, Problem> {
        let no_utf8 = |_| Problem::own("NOT_FOUND", "the path is not UTF-8");
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(no_utf8)?;
        let text = params.iter().next().map_or("", |(_, value)| value);
        text.parse().map(PathOf).map_err(|refused: Refused| {
            let shown = text::excerpt(&text::storable(text), 40);
            Refused::new(T::MISSING, format!("there is no {} `{shown}`", T::WORD)).hint(refused.detail).into()
        })
    }
}
