//! `mainspring task apply`: a file of tasks, and what becomes of each.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::args::Format;
use crate::client::Client;
use crate::cmd::read_file;
use crate::failure::{Exit, Failure};
use crate::{complaint, print, task_file};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Tell,
    Write,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    tasks: &'a [Box<RawValue>],
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

pub(super) async fn run(
    file: &str,
    mode: Mode,
    request_id: Option<&str>,
    client: &Client,
    format: Format,
) -> Result<(), Failure> {
    let (name, text) = read_file(file)?;
    let tasks = task_file::tasks(&text).map_err(|why| Failure::refused(format!("{name}: {why}")))?;
    let body = Body { tasks: &tasks, dry_run: mode == Mode::Tell, request_id };
    let answer = client.post(&["tasks", "apply"], &body).await?;
    match format {
        Format::Json => print::json(&answer)?,
        Format::Table => print::out(&told(&answer, &tasks))?,
    }
    if answer["failed"].as_u64() == Some(0) {
        return Ok(());
    }
    // It was all said above.
    Err(Failure::new(Exit::Refused, ""))
}

/// `tasks` are the entries that are answered, in the same order.
fn told(answer: &Value, tasks: &[Box<RawValue>]) -> String {
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text: String =
        results.iter().enumerate().map(|(at, one)| result(one, tasks.get(at).map(Box::as_ref))).collect();
    let count = |change: &str| results.iter().filter(|result| result["change"] == change).count();
    let counts = [
        (count("CREATED"), "created"),
        (count("UPDATED"), "updated"),
        (count("UNCHANGED"), "unchanged"),
        (results.iter().filter(|result| result["error"].is_object()).count(), "failed"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    text.push_str(&if counts.is_empty() { "no tasks".to_owned() } else { counts.join(", ") });
    if answer["dryRun"] == true {
        text.push_str(" (dry run: nothing was written)");
    }
    if answer["duplicate"] == true {
        text.push_str(" (was asked for before)");
    }
    text.push('\n');
    text
}

fn result(result: &Value, task: Option<&RawValue>) -> String {
    let code = print::harmless(result["code"].as_str().unwrap_or("(an entry without a code)"));
    let error = &result["error"];
    if error.is_object() {
        return format!("! {code}\n{}", refusal(error, task));
    }
    let sign = match result["change"].as_str() {
        Some("CREATED") => '+',
        Some("UPDATED") => '~',
        _ => '=',
    };
    let differences = result["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let line = |one: &Value| {
        let (field, to) = (one["field"].as_str().unwrap_or_default(), print::cell(&one["to"]));
        match sign {
            '+' => format!("    {field}: {to}\n"),
            _ => format!("    {field}: {} → {to}\n", print::cell(&one["from"])),
        }
    };
    format!("{sign} {code}\n{}", differences.iter().map(line).collect::<String>())
}

fn refusal(error: &Value, task: Option<&RawValue>) -> String {
    let said = task.and_then(|task| serde_json::from_str(task.get()).ok()).unwrap_or_default();
    complaint::told(error, &said).lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_told_by_sign_and_field() {
        let answer = json!({"dryRun": true, "failed": 1, "results": [
            {"code": "a", "change": "CREATED", "differences": [{"field": "handler", "from": null, "to": "http"}]},
            {"code": "b", "change": "UPDATED", "differences": [
                {"field": "owner", "from": null, "to": "ann"}, {"field": "tags", "from": ["x"], "to": []}]},
            {"code": "c", "change": "UNCHANGED", "differences": []},
            {"code": "d\u{1b}", "differences": [], "error": {"detail": "no", "code": "HANDLER_NOT_FOUND", "hint": "h"}},
        ]});
        let expect = "+ a\n    handler: http\n~ b\n    owner: - → ann\n    tags: x → -\n= c\n! d\\u{1b}\n    \
                      no (HANDLER_NOT_FOUND)\n      h\n1 created, 1 updated, 1 unchanged, 1 failed (dry run: nothing \
                      was written)\n";
        assert_eq!(told(&answer, &[]), expect);
        assert_eq!(told(&json!({"results": []}), &[]), "no tasks\n");
    }
}
