//! `POST /tasks/apply`: tasks as they are to be. Creates, changes or leaves; one bad entry never stops the others.
//!
//! An entry says the whole definition: what it does not say goes to its default. The switch of a task that exists is a
//! person's and stays.

use std::collections::BTreeSet;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use mainspring_engine::{Engine, Error};
use mainspring_model::limits::APPLY_TASKS_MAX;
use mainspring_model::task::TaskSwitch;
use mainspring_model::{Code, Refused, Task, TaskCode, TaskDefinition};
use serde_json::Value;
use serde_json::value::RawValue;

use super::task_fields::{NewTask, check_that_it_fires, read_new};
use super::task_shown::{differences, written_fields};
use super::{Answer, actor, ok, request_id};
use crate::body::{self, Media, media, not_json};
use crate::extract::Fields;
use crate::from_json::json_list;
use crate::limits::BATCH_BYTES_MAX;
use crate::openapi::Refusals;
use crate::pressed::{Done, press};
use crate::problem::Problem;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire::{self, AppliedTask};

/// An entry that somebody else changes meanwhile is read and compared again, but not for ever.
const TRIES_MAX: u32 = 3;

/// Declare a set of tasks
///
/// Each entry is a task as in `POST /tasks`. It is created, changed or left, and answered for itself. Tasks that are not
/// among the entries stay as they are.
#[utoipa::path(
    post, path = "/tasks/apply", tag = "tasks", request_body = wire::ApplyRequest,
    responses(
        (status = 200, description = "One answer per entry; `failed` says how many have an error", body = wire::Applied),
        Refusals,
    )
)]
pub(crate) async fn apply_tasks(State(state): State<AppState>, _: NoParams, request: Request) -> Answer {
    match media(request.headers())? {
        Media::Json => {}
        Media::Lines | Media::Unsaid | Media::Other => return Err(not_json()),
    }
    let headers = request.headers().clone();
    let bytes = body::read(&headers, BATCH_BYTES_MAX)?.whole(request.into_body()).await?;
    let mut fields = Fields::of(&bytes)?;
    let tasks = raw_tasks(&mut fields);
    let dry_run: Option<bool> = fields.optional("dryRun");
    let request = request_id(&headers, &mut fields);
    let tasks = fields.finish(tasks)?;
    let entries = read_entries(&tasks)?;
    let (engine, actor) = (state.engine.clone(), actor(&headers));
    if dry_run == Some(true) {
        return ok(&applied(&engine, entries, Mode::Tell, &actor).await);
    }
    press(&state, request, "apply tasks".to_owned(), async move {
        let mut answer = applied(&engine, entries, Mode::Write, &actor).await;
        let done = Done::new(StatusCode::OK, &answer)?;
        answer.results.iter_mut().for_each(|result| result.differences.clear());
        done.in_short(&answer)
    })
    .await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Tell,
    Write,
}

/// A task of a declaration, for whoever declares tasks without a request.
#[derive(Debug)]
pub struct Declared {
    /// As the entry says it.
    pub code: Option<String>,
    pub task: Result<(TaskCode, TaskDefinition, TaskSwitch), Problem>,
}

/// Reads `{"tasks": […]}` in the format of `POST /tasks/apply`.
pub fn declared(json: &[u8]) -> Result<Vec<Declared>, Problem> {
    let mut fields = Fields::of(json)?;
    let tasks = raw_tasks(&mut fields);
    let tasks = fields.finish(tasks)?;
    let entries = read_entries(&tasks)?.into_iter();
    let task = |entry: Entry| {
        let checked = entry.task.and_then(|new| {
            new.definition.check()?;
            Ok((new.code, new.definition, new.switch))
        });
        Declared { code: entry.code, task: checked }
    };
    Ok(entries.map(task).collect())
}

struct Entry {
    code: Option<String>,
    task: Result<NewTask, Problem>,
}

fn raw_tasks<'a>(fields: &mut Fields<'a>) -> Option<Vec<&'a RawValue>> {
    let raw = fields.raw_required("tasks")?;
    let list = json_list(raw.get());
    fields.complaints.keep("tasks", list)
}

fn read_entries(tasks: &[&RawValue]) -> Result<Vec<Entry>, Refused> {
    if tasks.len() > APPLY_TASKS_MAX {
        let detail = format!("at most {APPLY_TASKS_MAX} tasks are taken at once, these are {}", tasks.len());
        return Err(Refused::field("tasks", "TOO_MANY", detail).hint("send several calls"));
    }
    let mut seen = BTreeSet::new();
    let mut entry = |raw: &&RawValue| {
        let read = Fields::of(raw.get().as_bytes()).and_then(read_new);
        let task = read.and_then(|new| match seen.insert(new.code.clone()) {
            true => Ok(new),
            false => Err(Refused::field("code", "REPEATED", format!("task `{}` is there more than once", new.code))),
        });
        Entry { code: said_code(raw), task: task.map_err(Problem::from) }
    };
    Ok(tasks.iter().map(&mut entry).collect())
}

/// Also of an entry that is wrong: its author must find it.
fn said_code(raw: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Coded {
        code: String,
    }
    let coded: Option<Coded> = serde_json::from_str(raw.get()).ok();
    coded.map(|coded| mainspring_model::text::excerpt(&coded.code, 100))
}

async fn applied(engine: &Engine, entries: Vec<Entry>, mode: Mode, by: &str) -> wire::Applied {
    let mut results = Vec::with_capacity(entries.len());
    for Entry { code, task } in entries {
        let changed = match task {
            Ok(new) => one(engine, new, mode, by).await,
            Err(problem) => Err(problem),
        };
        results.push(match changed {
            Ok((change, differences)) => AppliedTask { code, change: Some(change), differences, error: None },
            Err(error) => AppliedTask { code, change: None, differences: Vec::new(), error: Some(error) },
        });
    }
    let failed = results.iter().filter(|result| result.error.is_some()).count();
    wire::Applied { dry_run: mode == Mode::Tell, failed, results, duplicate: None }
}

type Change = (&'static str, Vec<wire::Difference>);

async fn one(engine: &Engine, new: NewTask, mode: Mode, by: &str) -> Result<Change, Problem> {
    let mut tries = 1;
    loop {
        match attempt(engine, &new, mode, by).await {
            Err(Error::Refused(refused))
                if tries < TRIES_MAX && matches!(refused.code, Code::VersionConflict | Code::TaskExists) =>
            {
                tries += 1;
            }
            changed => return Ok(changed?),
        }
    }
}

async fn attempt(engine: &Engine, new: &NewTask, mode: Mode, by: &str) -> Result<Change, Error> {
    let stored = match engine.task(&new.code).await {
        Ok(task) => Some(task),
        Err(Error::Refused(refused)) if refused.code == Code::TaskNotFound => None,
        Err(error) => return Err(error),
    };
    match stored {
        None => create(engine, new, mode, by).await,
        Some(stored) => change(engine, &stored, new, mode, by).await,
    }
}

async fn create(engine: &Engine, new: &NewTask, mode: Mode, by: &str) -> Result<Change, Error> {
    match mode {
        Mode::Tell => engine.check_task(&new.code, &new.definition)?,
        Mode::Write => {
            check_that_it_fires(engine, new)?;
            engine.create_task(new.code.clone(), new.definition.clone(), new.switch, by).await?;
        }
    }
    Ok(("CREATED", chosen_fields(&new.code, &new.definition)))
}

async fn change(engine: &Engine, stored: &Task, new: &NewTask, mode: Mode, by: &str) -> Result<Change, Error> {
    let differences = differences(&stored.definition, &new.definition);
    if differences.is_empty() {
        return Ok(("UNCHANGED", differences));
    }
    match mode {
        Mode::Tell if stored.definition.same_schedule(&new.definition) => engine.check_definition(&new.definition)?,
        Mode::Tell => engine.check_task(&new.code, &new.definition)?,
        Mode::Write => drop(engine.update_task(&new.code, stored.version, new.definition.clone(), by).await?),
    }
    Ok(("UPDATED", differences))
}

/// Of a new task, what its author chose.
fn chosen_fields(code: &TaskCode, definition: &TaskDefinition) -> Vec<wire::Difference> {
    let plain = TaskDefinition {
        kind: definition.kind,
        overlap: TaskDefinition::default_overlap(definition.kind),
        ..TaskDefinition::new(code.as_str(), definition.handler.clone())
    };
    let always = ["type", "handler"];
    let pairs = written_fields(&plain).into_iter().zip(written_fields(definition));
    let chosen = pairs.filter(|((field, plain), (_, chosen))| plain != chosen || always.contains(field));
    chosen.map(|((field, _), (_, to))| wire::Difference { field, from: Value::Null, to }).collect()
}
