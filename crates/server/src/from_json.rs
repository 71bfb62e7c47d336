//! From one member of a body to a value. The member is JSON text, not looked into before.

use std::borrow::Cow;

use mainspring_model::{
    BizId, CalendarName, HandlerName, PoolName, Priority, RateLimit, Refused, Span, TaskCode, Timestamp, Unique, cron,
    schedule, task,
};
use serde_json::value::RawValue;

/// Reads one member; the name in its complaint is set by the caller.
pub(crate) trait FromJson: Sized {
    fn from_json(raw: &str) -> Result<Self, Refused>;
}

fn wrong_type(raw: &str, wanted: &str) -> Refused {
    let found = match raw.as_bytes().first() {
        Some(b'"') => "text",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    };
    Refused::field("", "WRONG_TYPE", format!("{wanted} is wanted, this is {found}"))
}

/// The items of a list, unparsed.
pub(crate) fn json_list(raw: &str) -> Result<Vec<&RawValue>, Refused> {
    serde_json::from_str(raw).map_err(|_| wrong_type(raw, "a list"))
}

fn json_text(raw: &str) -> Result<Cow<'_, str>, Refused> {
    if !raw.starts_with('"') {
        return Err(wrong_type(raw, "text"));
    }
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(raw).map(Cow::Owned).map_err(|error| {
            Refused::field("", "BAD_CHARACTER", format!("the text holds an escape that is no character: {error}"))
        }),
    }
}

macro_rules! read_as_text {
    ($($kind:ty),+ $(,)?) => {$(
        impl FromJson for $kind {
            fn from_json(raw: &str) -> Result<$kind, Refused> {
                json_text(raw)?.parse()
            }
        }
    )+};
}
read_as_text!(
    TaskCode,
    BizId,
    HandlerName,
    PoolName,
    Timestamp,
    Span,
    Priority,
    Unique,
    CalendarName,
    RateLimit,
    schedule::Rhythm,
    cron::Start,
    task::TaskKind,
    task::FailStrategy,
    task::Overlap,
    task::Misfire,
    task::OnLost,
);

impl FromJson for String {
    fn from_json(raw: &str) -> Result<String, Refused> {
        json_text(raw).map(Cow::into_owned)
    }
}

impl FromJson for bool {
    fn from_json(raw: &str) -> Result<bool, Refused> {
        serde_json::from_str(raw).map_err(|_| wrong_type(raw, "true or false"))
    }
}

impl FromJson for i64 {
    fn from_json(raw: &str) -> Result<i64, Refused> {
        serde_json::from_str(raw).map_err(|_| wrong_type(raw, "a whole number"))
    }
}

impl FromJson for u32 {
    fn from_json(raw: &str) -> Result<u32, Refused> {
        let wide = i64::from_json(raw)?;
        let out_of_range = |_| Refused::field("", "OUT_OF_RANGE", format!("{wide} is out of range"));
        u32::try_from(wide).map_err(out_of_range)
    }
}

impl FromJson for Vec<String> {
    fn from_json(raw: &str) -> Result<Vec<String>, Refused> {
        serde_json::from_str(raw).map_err(|_| wrong_type(raw, "a list of texts"))
    }
}
