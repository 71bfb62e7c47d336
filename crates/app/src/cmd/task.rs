//! `mainspring task …`.

use serde_json::{Value, json};

use super::{json_argument, query};
use crate::args::{Code, Format, Task, TaskCreate, TaskList};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::print;

const COLUMNS: [&str; 7] = ["code", "name", "type", "handler", "status", "pool", "running"];
const FIELDS: [&str; 20] = [
    "code",
    "name",
    "type",
    "handler",
    "status",
    "running",
    "param",
    "timeoutSeconds",
    "failStrategy",
    "retryCount",
    "retryBase",
    "retryCap",
    "pool",
    "priority",
    "onLost",
    "owner",
    "tags",
    "description",
    "version",
    "allowedOperations",
];

pub(crate) async fn run(command: Task, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Task::List(args) => list(args, client, format).await,
        Task::Show(Code { code }) => {
            print::object(format, &client.get(&["tasks", &code], Query::new()).await?, &FIELDS)
        }
        Task::Create(args) => create(*args, client, format).await,
        Task::Enable(Code { code }) => switch(&code, "enable", client, format).await,
        Task::Disable(Code { code }) => switch(&code, "disable", client, format).await,
        Task::Trigger { code, param, request_id } => {
            let mut body = json!({});
            if let Some(param) = param {
                body["param"] = to_value(&param)?;
            }
            if let Some(request_id) = request_id {
                body["requestId"] = request_id.into();
            }
            let answer = client.post(&["tasks", &code, "trigger"], &body).await?;
            match format {
                Format::Json => print::json(&answer),
                Format::Table => {
                    let again = if answer["duplicate"] == true { " (was triggered before)" } else { "" };
                    let id = answer["job"]["id"].as_str().unwrap_or_default();
                    print::out(&format!("job {id}{again}\n"))
                }
            }
        }
        Task::Delete { code, version } => {
            let version = version.map(|version| version.to_string());
            let answer = client.delete(&["tasks", &code], query(&[("version", version)])).await?;
            match format {
                Format::Json => print::json(&answer),
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
        ("sort", args.sort),
        ("page", args.page.map(|page| page.to_string())),
        ("size", args.size.map(|size| size.to_string())),
    ]);
    let answer = client.get(&["tasks"], parameters).await?;
    print::list(format, &answer, &COLUMNS)?;
    let (shown, total) = (answer["items"].as_array().map_or(0, Vec::len) as u64, answer["total"].as_u64().unwrap_or(0));
    if format == Format::Table && shown < total {
        print::out(&format!("{shown} of {total}: --page and --size show others\n"))?;
    }
    Ok(())
}

/// Only what was said: the server knows the defaults.
async fn create(args: TaskCreate, client: &Client, format: Format) -> Result<(), Failure> {
    let mut body = json!({ "code": args.code, "handler": args.handler });
    let said: [(&str, Option<Value>); 14] = [
        ("name", args.name.map(Value::from)),
        ("type", args.kind.map(Value::from)),
        ("param", args.param.as_deref().map(to_value).transpose()?),
        ("timeoutSeconds", args.timeout_seconds.map(Value::from)),
        ("failStrategy", args.fail_strategy.map(Value::from)),
        ("retryCount", args.retry_count.map(Value::from)),
        ("retryBase", args.retry_base.map(Value::from)),
        ("retryCap", args.retry_cap.map(Value::from)),
        ("pool", args.pool.map(Value::from)),
        ("priority", args.priority.map(Value::from)),
        ("onLost", args.on_lost.map(Value::from)),
        ("owner", args.owner.map(Value::from)),
        ("tags", (!args.tags.is_empty()).then(|| args.tags.into())),
        ("description", args.description.map(Value::from)),
    ];
    for (field, value) in said {
        if let Some(value) = value {
            body[field] = value;
        }
    }
    print::object(format, &client.post(&["tasks"], &body).await?, &FIELDS)
}

async fn switch(code: &str, verb: &str, client: &Client, format: Format) -> Result<(), Failure> {
    print::object(format, &client.post(&["tasks", code, verb], &json!({})).await?, &["code", "status", "version"])
}

fn to_value(argument: &str) -> Result<Value, Failure> {
    let json = json_argument(argument)?;
    serde_json::from_str(json.get()).map_err(|error| Failure::refused(format!("not JSON: {error}")))
}
