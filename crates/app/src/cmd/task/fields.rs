//! What was said of a task, as the body that the server reads. The server knows the defaults.

use serde_json::{Map, Value};

use super::to_value;
use crate::args::task::{Number, Switch, TaskFields};
use crate::failure::Failure;

pub(super) fn body(said: TaskFields) -> Result<Map<String, Value>, Failure> {
    // An empty one takes the other's place away.
    let schedules = [&said.cron, &said.every].into_iter().flatten().filter(|text| !text.is_empty()).count();
    if schedules > 1 {
        return Err(Failure::refused("--cron and --every cannot be used together: a task has one schedule"));
    }
    let kind = said.kind.or_else(|| (schedules == 1).then(|| "cron".to_owned()));
    let param = match said.param.as_deref() {
        Some("") => Some(Value::Null),
        param => param.map(to_value).transpose()?,
    };
    let all = [
        ("name", text(said.name)),
        ("type", text(kind)),
        ("cronExpression", text(said.cron)),
        ("timeZone", text(said.tz)),
        ("every", text(said.every)),
        ("everyRhythm", text(said.rhythm)),
        ("startAt", text(said.start_at)),
        ("endAt", text(said.end_at)),
        ("calendar", text(said.calendar)),
        ("overlap", text(said.overlap)),
        ("misfire", text(said.misfire)),
        ("misfireGraceSeconds", number(said.misfire_grace)),
        ("maxCatchup", number(said.max_catchup)),
        ("startDeadlineSeconds", number(said.start_deadline)),
        ("maxRunning", number(said.max_running)),
        ("rateLimit", text(said.rate_limit)),
        ("concurrencyKey", text(said.concurrency_key)),
        ("param", param),
        ("timeoutSeconds", number(said.timeout_seconds)),
        ("failStrategy", text(said.fail_strategy)),
        ("retryCount", number(said.retry_count)),
        ("retryBase", text(said.retry_base)),
        ("retryCap", text(said.retry_cap)),
        ("pool", text(said.pool)),
        ("priority", text(said.priority)),
        ("nodeLabels", list(&said.node_labels)),
        ("broadcast", said.broadcast.map(|Switch(on)| on.map_or(Value::Null, Value::from))),
        ("onLost", text(said.on_lost)),
        ("owner", text(said.owner)),
        ("tags", list(&said.tags)),
        ("description", text(said.description)),
    ];
    Ok(all.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))).collect())
}

/// Nothing between the quotes: back to the default.
fn text(said: Option<String>) -> Option<Value> {
    said.map(|text| if text.is_empty() { Value::Null } else { text.into() })
}

/// One that is empty takes all of them away.
fn list(said: &[String]) -> Option<Value> {
    match said {
        [] => None,
        [only] if only.is_empty() => Some(Value::Null),
        all => Some(all.into()),
    }
}

fn number(said: Option<Number>) -> Option<Value> {
    said.map(|Number(number)| number.map_or(Value::Null, Value::from))
}
