//! `mainspring job …`.

use mainspring_model::limits::MISSED_FIRES_COUNTED_MAX;
use serde_json::{Value, json};

use super::{query, requested};
use crate::args::{Format, Id, Job, JobList, Operated};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::print;

const COLUMNS: [&str; 10] =
    ["id", "task", "bizId", "status", "reason", "retryCount", "fireTime", "executeTime", "finishTime", "errorMsg"];
/// They take room only where a row has one.
const COLUMNS_OF_SOME: [&str; 2] = ["reason", "fireTime"];
const FIELDS: [&str; 29] = [
    "id",
    "task",
    "taskName",
    "bizId",
    "status",
    "waitReason",
    "attempts",
    "retryCount",
    "maxRetry",
    "lostCount",
    "fence",
    "executeTime",
    "nextRetryTime",
    "startTime",
    "finishTime",
    "pool",
    "priority",
    "trigger",
    "fireTime",
    "fires",
    "skipReason",
    "concurrencyKey",
    "node",
    "payload",
    "resultSummary",
    "errorMsg",
    "createTime",
    "updateTime",
    "allowedOperations",
];
const ATTEMPT_COLUMNS: [&str; 7] = ["id", "attempt", "status", "node", "executeTime", "costMs", "errorMessage"];

pub(crate) async fn run(command: Job, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Job::List(args) => list(args, client, format).await,
        Job::Show(Id { id }) => show(&id, client, format).await,
        Job::Retry(args) => operate(args, ("retry", "retried"), client, format).await,
        Job::Cancel(args) => operate(args, ("cancel", "cancelled"), client, format).await,
        Job::Fail(args) => operate(args, ("fail", "marked as failed"), client, format).await,
        Job::Release(args) => operate(args, ("release", "released"), client, format).await,
        Job::Output { id, follow } => {
            let attempt = attempt_of(&id, client).await?;
            if follow { follow_output(&attempt, client, format).await } else { output(&attempt, client, format).await }
        }
    }
}

async fn list(args: JobList, client: &Client, format: Format) -> Result<(), Failure> {
    let mut parameters = query(&[
        ("task", args.task),
        ("bizId", args.biz_id),
        ("pool", args.pool),
        ("trigger", args.trigger),
        ("from", args.from),
        ("to", args.to),
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("cursor", args.cursor),
    ]);
    parameters.extend(args.status.into_iter().map(|status| ("status", status)));
    let mut answer = client.get(&["jobs"], parameters).await?;
    if format == Format::Json {
        return print::json(&answer);
    }
    let jobs = answer["items"].as_array_mut().map(Vec::as_mut_slice).unwrap_or_default();
    jobs.iter_mut().for_each(say_why);
    let has = |field: &str| jobs.iter().any(|job| !job[field].is_null());
    let columns: Vec<&str> =
        COLUMNS.into_iter().filter(|field| !COLUMNS_OF_SOME.contains(field) || has(field)).collect();
    print::list(format, &answer, &columns)
}

/// Why it waits or was skipped, and for how many fire times it stands.
fn say_why(job: &mut Value) {
    let reason = ["waitReason", "skipReason"].into_iter().map(|field| &job[field]).find(|reason| !reason.is_null());
    job["reason"] = reason.cloned().unwrap_or_default();
    let fires = &job["fires"];
    if let (Some(time), Some(count)) = (job["fireTime"].as_str(), fires["count"].as_u64()) {
        let is_capped = count >= u64::from(MISSED_FIRES_COUNTED_MAX);
        let text = |field: &str| fires[field].as_str().unwrap_or_default();
        let told = format!("{count}, from {} to {}", text("first"), text("last"));
        let told = if is_capped { format!("at least {told}") } else { told };
        job["fireTime"] = format!("{time} ×{count}{}", if is_capped { "+" } else { "" }).into();
        job["fires"] = told.into();
    }
}

async fn show(id: &str, client: &Client, format: Format) -> Result<(), Failure> {
    let mut job = client.get(&["jobs", id], Query::new()).await?;
    if format == Format::Json {
        return print::json(&job);
    }
    say_why(&mut job);
    print::object(format, &job, &FIELDS)?;
    let attempts = client.get(&["jobs", id, "attempts"], Query::new()).await?;
    if attempts["items"].as_array().is_some_and(|items| !items.is_empty()) {
        print::out("\n")?;
        print::list(format, &attempts, &ATTEMPT_COLUMNS)?;
    }
    Ok(())
}

/// `done` is the verb's participle.
async fn operate(
    Operated { id, request }: Operated,
    (verb, done): (&str, &str),
    client: &Client,
    format: Format,
) -> Result<(), Failure> {
    let mut job = client.post(&["jobs", &id, verb], &requested(json!({}), request)).await?;
    if format == Format::Table && job["duplicate"] == true {
        job = client.get(&["jobs", &id], Query::new()).await?;
        let status = job["status"].as_str().unwrap_or_default();
        print::out(&format!("job {id} was {done} by this request before; it is {status} now\n"))?;
    }
    print::object(format, &job, &["id", "task", "status", "waitReason", "nextRetryTime", "allowedOperations"])
}

/// Ids of attempts hold a dash, ids of jobs do not.
async fn attempt_of(id: &str, client: &Client) -> Result<String, Failure> {
    if id.contains('-') {
        return Ok(id.to_owned());
    }
    let attempts = client.get(&["jobs", id, "attempts"], query(&[("limit", Some("1".to_owned()))])).await?;
    let newest = attempts["items"][0]["id"].as_str().map(str::to_owned);
    newest.ok_or_else(|| Failure::refused(format!("job {id} has no attempt yet: `mainspring job show {id}` says why")))
}

async fn output(attempt: &str, client: &Client, format: Format) -> Result<(), Failure> {
    let mut cursor = None;
    loop {
        let page = client.get(&["attempts", attempt, "output"], query(&[("cursor", cursor)])).await?;
        for chunk in page["items"].as_array().map(Vec::as_slice).unwrap_or_default() {
            print_chunk(chunk, format)?;
        }
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok(());
        }
    }
}

/// Output of programs as it is; lines that a handler logs get their end; as JSON one chunk a line.
fn print_chunk(chunk: &Value, format: Format) -> Result<(), Failure> {
    let text = chunk["text"].as_str().unwrap_or_default();
    match (format, chunk["stream"].as_str()) {
        (Format::Json, _) => print::out(&format!("{chunk}\n")),
        (Format::Table, Some("log" | "progress")) => print::out(&format!("{text}\n")),
        (Format::Table, _) => print::out(text),
    }
}

async fn follow_output(attempt: &str, client: &Client, format: Format) -> Result<(), Failure> {
    let follow = query(&[("follow", Some("true".to_owned()))]);
    let mut response = client.stream(&["attempts", attempt, "output"], follow).await?;
    let mut events = Events::default();
    while let Some(bytes) = response.chunk().await.map_err(|error| client.unreachable(&error))? {
        for (name, data) in events.read(&bytes) {
            match name.as_str() {
                "output" => print_chunk(&serde_json::from_str(&data).unwrap_or_default(), format)?,
                "end" => return Ok(()),
                "error" => return Err(Failure::failed(data)),
                _ => {}
            }
        }
    }
    Err(Failure::failed("the server ended the stream before the attempt was over: follow again"))
}

/// Server-sent events, as bytes come.
#[derive(Debug, Default)]
struct Events {
    pending: Vec<u8>,
    name: String,
    data: String,
}

impl Events {
    /// The events that these bytes complete.
    fn read(&mut self, bytes: &[u8]) -> Vec<(String, String)> {
        self.pending.extend_from_slice(bytes);
        let mut complete = Vec::new();
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() && !self.data.is_empty() {
                complete.push((std::mem::take(&mut self.name), std::mem::take(&mut self.data)));
            } else if let Some(name) = field(line, "event") {
                name.clone_into(&mut self.name);
            } else if let Some(data) = field(line, "data") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data);
            }
        }
        complete
    }
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let value = line.strip_prefix(name)?.strip_prefix(':')?;
    Some(value.strip_prefix(' ').unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_says_why_it_is_where_it_is() {
        let check = |mut job: Value, expect: [Value; 3]| {
            say_why(&mut job);
            assert_eq!(["reason", "fireTime", "fires"].map(|field| job[field].clone()), expect, "{job}");
        };
        check(json!({"waitReason": "POOL_FULL", "skipReason": null}), [json!("POOL_FULL"), Value::Null, Value::Null]);
        check(
            json!({"waitReason": null, "skipReason": "EXPIRED", "fireTime": "b"}),
            [json!("EXPIRED"), json!("b"), Value::Null],
        );
        let fires = json!({"first": "a", "last": "b", "count": 1_000});
        let told = json!("at least 1000, from a to b");
        check(json!({"fireTime": "b", "fires": fires}), [Value::Null, json!("b ×1000+"), told]);
        let fires = json!({"first": "a", "last": "b", "count": 3});
        check(json!({"fireTime": "b", "fires": fires}), [Value::Null, json!("b ×3"), json!("3, from a to b")]);
    }

    #[test]
    fn events_are_read_across_cuts() {
        let mut events = Events::default();
        let text =
            ": hello\n\nevent: output\nid: 3\ndata: {\"text\":\r\ndata: \"任\"}\n\nevent:end\ndata:x\n\n".as_bytes();
        let mut seen = Vec::new();
        for byte in text {
            seen.extend(events.read(std::slice::from_ref(byte)));
        }
        let expect = [("output", "{\"text\":\n\"任\"}"), ("end", "x")];
        assert_eq!(seen, expect.map(|(name, data)| (name.to_owned(), data.to_owned())));
    }
}
