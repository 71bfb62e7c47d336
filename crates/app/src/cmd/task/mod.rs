//! `mainspring task …`.

mod apply;
mod fields;
mod fires;

use serde_json::{Value, json};

use super::{json_argument, query, requested, submit};
use crate::args::Format;
use crate::args::task::{Code, Request, Task, TaskCreate, TaskEdit, TaskList};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::print;

const COLUMNS: [&str; 9] = ["code", "name", "type", "schedule", "handler", "status", "nextFireTime", "pool", "running"];
const FIELDS: [&str; 39] = [
    "code",
    "name",
    "description",
    "type",
    "handler",
    "status",
    "disabledReason",
    "running",
    "cronExpression",
    "timeZone",
    "every",
    "everyRhythm",
    "startAt",
    "endAt",
    "calendar",
    "overlap",
    "misfire",
    "misfireGraceSeconds",
    "maxCatchup",
    "startDeadlineSeconds",
    "maxRunning",
    "rateLimit",
    "concurrencyKey",
    "param",
    "timeoutSeconds",
    "failStrategy",
    "retryCount",
    "retryBase",
    "retryCap",
    "pool",
    "priority",
    "nodeLabels",
    "broadcast",
    "onLost",
    "owner",
    "tags",
    "nextFireTime",
    "prevFireTime",
    "lastJob",
];
/// Behind the others; what stands between depends on the task.
const LAST_FIELDS: [&str; 2] = ["version", "allowedOperations"];
/// They say nothing of a task without a schedule.
const FIELDS_OF_SCHEDULES: [&str; 3] = ["misfire", "misfireGraceSeconds", "maxCatchup"];

pub(crate) async fn run(command: Task, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Task::List(args) => list(args, client, format).await,
        Task::Show(Code { code }) => show(&code, client, format).await,
        Task::Create(args) => create(*args, client, format).await,
        Task::Edit(args) => edit(*args, client, format).await,
        Task::Copy { code, new, request } => {
            let body = requested(json!({ "code": new }), request);
            let copy = client.post(&["tasks", &code, "copy"], &body).await?;
            print::object(format, &copy, &["code", "status", "version", "duplicate"])
        }
        Task::Apply { file, dry_run, request } => {
            let mode = if dry_run { apply::Mode::Tell } else { apply::Mode::Write };
            apply::run(&file, mode, request.id.as_deref(), client, format).await
        }
        Task::Enable { code, request } => switch(&code, "enable", request, client, format).await,
        Task::Disable { code, request } => switch(&code, "disable", request, client, format).await,
        Task::Trigger { code, param, wait, request } => {
            let mut body = requested(json!({}), request);
            if let Some(param) = param {
                body["param"] = to_value(&param)?;
            }
            let answer = client.post(&["tasks", &code, "trigger"], &body).await?;
            let (id, is_repeat) = (&answer["job"]["id"], answer["duplicate"] == true);
            if wait {
                let what = if is_repeat { "was triggered before" } else { "is stored" };
                return submit::tell_end(id, what, client, format).await;
            }
            match format {
                Format::Json => print::json(&answer),
                Format::Table => {
                    let again = if is_repeat { " (was triggered before)" } else { "" };
                    print::out(&format!("job {}{again}\n", id.as_str().unwrap_or_default()))
                }
            }
        }
        Task::Fires { code, count } => fires::show(&code, count, client, format).await,
        Task::Backfill { code, from, to, dry_run, request } => {
            let body = requested(json!({ "from": from, "to": to, "dryRun": dry_run }), request);
            fires::backfill(&code, &body, client, format).await
        }
        Task::Delete { code, version, request } => {
            let version = query(&[("version", version.map(|version| version.to_string()))]);
            let body = requested(json!({}), request);
            let answer = client.delete(&["tasks", &code], version, Some(&body)).await?;
            match format {
                Format::Json => print::json(&answer),
                Format::Table if answer["duplicate"] == true => {
                    print::out(&format!("task {code} was deleted by this request before\n"))
                }
                Format::Table => print::out(&format!("task {code} is deleted; the record of its jobs stays\n")),
            }
        }
    }
}

async fn list(args: TaskList, client: &Client, format: Format) -> Result<(), Failure> {
    let parameters = query(&[
        ("q", args.q),
        ("status", args.status),
        ("type", args.kind),
        ("pool", args.pool),
        ("tag", args.tag),
        ("calendar", args.calendar),
        ("sort", args.sort),
        ("page", args.page.map(|page| page.to_string())),
        ("size", args.size.map(|size| size.to_string())),
    ]);
    let mut answer = client.get(&["tasks"], parameters).await?;
    if format == Format::Table {
        for task in answer["items"].as_array_mut().into_iter().flatten() {
            task["schedule"] = schedule_of(task);
        }
    }
    print::list(format, &answer, &COLUMNS)?;
    let (shown, total) = (answer["items"].as_array().map_or(0, Vec::len) as u64, answer["total"].as_u64().unwrap_or(0));
    if format == Format::Table && shown < total {
        print::out(&format!("{shown} of {total}: --page and --size show others\n"))?;
    }
    Ok(())
}

/// In one cell.
fn schedule_of(task: &Value) -> Value {
    let text = |field: &str| task[field].as_str();
    match (text("cronExpression"), text("every")) {
        (Some(expression), _) => match text("timeZone") {
            Some(zone) if zone != "UTC" => format!("{expression} {zone}").into(),
            _ => expression.into(),
        },
        (None, Some(every)) if text("everyRhythm") == Some("FIXED_DELAY") => format!("{every} after the last").into(),
        (None, Some(every)) => format!("every {every}").into(),
        (None, None) => Value::Null,
    }
}

async fn show(code: &str, client: &Client, format: Format) -> Result<(), Failure> {
    let task = client.get(&["tasks", code], Query::new()).await?;
    shown(&task, client, format).await
}

async fn shown(task: &Value, client: &Client, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print::json(task);
    }
    let fires = task["type"] == "cron";
    let said = |field: &&str| fires || !FIELDS_OF_SCHEDULES.contains(field);
    let fields: Vec<&str> = FIELDS.iter().chain(&LAST_FIELDS).copied().filter(said).collect();
    print::object(format, task, &fields)?;
    match task["code"].as_str() {
        Some(code) if fires => {
            print::out("\n")?;
            fires::show(code, fires::SHOWN_WITH_A_TASK, client, format).await
        }
        _ => Ok(()),
    }
}

async fn create(args: TaskCreate, client: &Client, format: Format) -> Result<(), Failure> {
    let mut body = fields::body(args.fields)?;
    body.insert("code".to_owned(), args.code.into());
    body.insert("handler".to_owned(), args.handler.into());
    if args.disabled {
        body.insert("enabled".to_owned(), false.into());
    }
    shown(&client.post(&["tasks"], &body).await?, client, format).await
}

/// Only what was said. A schedule of one kind takes the place of one of the other kind.
async fn edit(args: TaskEdit, client: &Client, format: Format) -> Result<(), Failure> {
    let mut body = fields::body(args.fields)?;
    if let Some(handler) = args.handler {
        body.insert("handler".to_owned(), handler.into());
    }
    if body.is_empty() {
        return Err(Failure::refused(format!(
            "nothing is said to be changed: `mainspring task edit {} --help`",
            args.code
        )));
    }
    for (said, other) in [("every", "cronExpression"), ("cronExpression", "every")] {
        if body.get(said).is_some_and(Value::is_string) {
            body.entry(other).or_insert(Value::Null);
        }
    }
    let version = match args.version {
        Some(version) => version.into(),
        None => client.get(&["tasks", &args.code], Query::new()).await?["version"].clone(),
    };
    body.insert("version".to_owned(), version);
    shown(&client.patch(&["tasks", &args.code], &body).await?, client, format).await
}

async fn switch(code: &str, verb: &str, request: Request, client: &Client, format: Format) -> Result<(), Failure> {
    let mut answer = client.post(&["tasks", code, verb], &requested(json!({}), request)).await?;
    if format == Format::Table && answer["duplicate"] == true {
        answer = client.get(&["tasks", code], Query::new()).await?;
        let status = answer["status"].as_str().unwrap_or_default();
        print::out(&format!("task {code} was {verb}d by this request before; it is {status} now\n"))?;
    }
    print::object(format, &answer, &["code", "status", "nextFireTime", "version"])
}

fn to_value(argument: &str) -> Result<Value, Failure> {
    let json = json_argument(argument)?;
    serde_json::from_str(json.get()).map_err(|error| Failure::refused(format!("not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_told_in_one_cell() {
        let check = |task: Value, expect: Value| assert_eq!(schedule_of(&task), expect, "{task}");
        check(json!({}), Value::Null);
        check(json!({"cronExpression": "@daily", "timeZone": "UTC"}), json!("@daily"));
        check(json!({"cronExpression": "0 6 * * *", "timeZone": "Asia/Shanghai"}), json!("0 6 * * * Asia/Shanghai"));
        check(json!({"every": "10s", "everyRhythm": "FIXED_RATE"}), json!("every 10s"));
        check(json!({"every": "10s", "everyRhythm": "FIXED_DELAY"}), json!("10s after the last"));
    }
}
