//! Tasks that are declared at the start: tables of the configuration itself, and files of their own.

use mainspring_model::schedule::{Every, Rhythm};
use mainspring_model::task::{TaskKind, TaskSwitch};
use mainspring_model::{HandlerName, Priority, Refused, Span, TaskCode, TaskDefinition, limits};
use mainspring_server::{Declared, declared};
use serde_json::json;

use super::layers::TaskFile;
use super::read::{Reader, asides};
use crate::task_file;

#[derive(Debug)]
pub(crate) struct DeclaredTask {
    /// For complaints.
    pub(crate) place: String,
    pub(crate) code: TaskCode,
    pub(crate) definition: TaskDefinition,
}

/// The good ones; what is wrong with the others is noted with the file and the task.
pub(super) fn of_file(file: &TaskFile, complaints: &mut Vec<String>) -> Vec<DeclaredTask> {
    let read = task_file::tasks(&file.text).and_then(|tasks| {
        let whole = serde_json::to_vec(&json!({ "tasks": tasks })).map_err(|error| error.to_string())?;
        declared(&whole).map_err(|problem| problem.body().detail.clone())
    });
    let entries = read.unwrap_or_else(|why| {
        complaints.push(format!("{}: {why}", file.name));
        Vec::new()
    });
    let mut good = Vec::with_capacity(entries.len());
    for (at, Declared { code, task }) in entries.into_iter().enumerate() {
        let place = match &code {
            Some(code) => format!("{}: task `{code}`", file.name),
            None => format!("{}: task[{at}]", file.name),
        };
        match task {
            Ok((code, definition, TaskSwitch::Enabled)) => {
                good.push(DeclaredTask { place: file.name.clone(), code, definition });
            }
            Ok((_, _, TaskSwitch::Disabled)) => {
                complaints.push(format!("{place}: a task that is declared at the start begins enabled"));
            }
            Err(problem) => {
                let (body, mut whys) = (problem.body(), Vec::new());
                whys.extend(body.errors.iter().map(|error| format!("{}: {}", error.field, error.detail)));
                if whys.is_empty() {
                    whys.push(body.detail.clone());
                }
                let asides = asides(body.position, body.hint.as_deref());
                complaints.extend(whys.into_iter().map(|why| format!("{place}: {why}{asides}")));
            }
        }
    }
    good
}

pub(super) fn of_entry(entry: &mut Reader<'_>) -> Option<DeclaredTask> {
    let code: Option<TaskCode> = entry.parsed("code");
    let code = entry.required("code", code);
    let handler: Option<HandlerName> = entry.parsed("handler");
    let handler = entry.required("handler", handler);
    let name = entry.text("name");
    // Until a code and a handler are there, the rest is read for its complaints only.
    let mut task = TaskDefinition::new("", handler.clone().unwrap_or_else(|| HandlerName::stored("")));
    let defaults = task.clone();
    let kind = entry.parsed("type");
    schedule(entry, &mut task);
    let says_when = task.cron_expression.is_some() || task.every.is_some();
    task.kind = kind.unwrap_or(if says_when { TaskKind::Cron } else { defaults.kind });
    task.param = entry.text("param");
    task.timeout_seconds =
        entry.count("timeout_seconds", 1, limits::TIMEOUT_SECONDS_MAX).unwrap_or(defaults.timeout_seconds);
    task.fail_strategy = entry.parsed("fail_strategy").unwrap_or(defaults.fail_strategy);
    task.retry.count = entry.count("retry_count", 0, limits::RETRY_COUNT_MAX).unwrap_or(defaults.retry.count);
    task.retry.base_ms = entry.parsed::<Span>("retry_base").map_or(defaults.retry.base_ms, Span::as_ms);
    task.retry.cap_ms = entry.parsed::<Span>("retry_cap").map_or(defaults.retry.cap_ms, Span::as_ms);
    task.pool = entry.parsed("pool").unwrap_or(defaults.pool);
    task.priority = entry.parsed::<Priority>("priority").unwrap_or(defaults.priority);
    task.overlap = entry.parsed("overlap").unwrap_or(TaskDefinition::default_overlap(task.kind));
    task.max_running = entry.count("max_running", 1, limits::MAX_RUNNING_MAX);
    task.rate_limit = entry.parsed("rate_limit");
    task.concurrency_key = entry.text("concurrency_key");
    task.node_labels = entry.list("node_labels").unwrap_or_default();
    task.broadcast = entry.flag("broadcast").unwrap_or(false);
    task.on_lost = entry.parsed("on_lost").unwrap_or(defaults.on_lost);
    task.owner = entry.text("owner");
    task.tags = entry.list("tags").unwrap_or_default();
    task.description = entry.text("description");
    let code = code?;
    handler?;
    task.name = name.unwrap_or_else(|| code.to_string());
    task.check_expression().map_err(|refused| entry.refuse("", &refused)).ok()?;
    task.check().map_err(|refused| entry.refuse("", &refused)).ok()?;
    Some(DeclaredTask { place: "the configuration".to_owned(), code, definition: task })
}

fn schedule(entry: &mut Reader<'_>, task: &mut TaskDefinition) {
    task.cron_expression = entry.text("cron_expression");
    task.time_zone = entry.text("time_zone");
    let span: Option<Span> = entry.parsed("every");
    let rhythm: Option<Rhythm> = entry.parsed("every_rhythm");
    task.every = span.map(|span| Every { span, rhythm: rhythm.unwrap_or(Rhythm::FixedRate) });
    if rhythm.is_some() && span.is_none() {
        let detail = "every_rhythm says from where every counts";
        entry.refuse("every_rhythm", &Refused::field("every_rhythm", "WITHOUT_EVERY", detail));
    }
    task.start_at = entry.parsed("start_at");
    task.end_at = entry.parsed("end_at");
    task.calendar = entry.parsed("calendar");
    task.misfire = entry.parsed("misfire").unwrap_or(task.misfire);
    let grace = entry.count("misfire_grace_seconds", 1, limits::MISFIRE_GRACE_SECONDS_MAX);
    task.misfire_grace_seconds = grace.unwrap_or(task.misfire_grace_seconds);
    task.max_catchup = entry.count("max_catchup", 1, limits::MAX_CATCHUP_MAX).unwrap_or(task.max_catchup);
    task.start_deadline_seconds = entry.count("start_deadline_seconds", 1, limits::START_DEADLINE_SECONDS_MAX);
}
