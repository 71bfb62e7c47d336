//! Files that declare tasks: `[[task]]` tables, or JSON. The fields of a task are those of the REST interface, and are
//! not looked at here.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use toml::Table;

/// The entries of a file, or what is wrong with it as a whole.
pub(crate) fn tasks(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    let text = without_mark(text);
    if is_json(text) { of_json(text) } else { of_toml(text) }
}

/// Some editors begin a file with a mark of its encoding.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A table of TOML begins with a bracket too.
fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{') || text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', ']']))
}

/// Kept as it is written: numbers that are too large for this program stay whole.
fn of_json(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Whole {
        #[serde(alias = "task")]
        tasks: Vec<Box<RawValue>>,
    }
    let read = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::from_str(text).map(|whole: Whole| whole.tasks)
    };
    read.map_err(|error| format!("it is not a list of tasks in JSON: {error}"))
}

fn of_toml(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    let mut whole: Table =
        toml::from_str(text).map_err(|error| format!("it is not TOML: {}", error.to_string().trim()))?;
    let entries = [whole.remove("task"), whole.remove("tasks")];
    if let Some(key) = whole.keys().next() {
        return Err(format!("there is no key `{key}`: it has [[task]] tables"));
    }
    let mut tasks = Vec::new();
    for entry in entries.into_iter().flatten() {
        let toml::Value::Array(list) = entry else {
            return Err("it has [[task]] tables, with two brackets".to_owned());
        };
        for entry in list {
            tasks.push(to_raw_value(&json_of(entry)).map_err(|error| error.to_string())?);
        }
    }
    Ok(tasks)
}

/// Instants and days are text in JSON.
pub(crate) fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(name, value)| (name, json_of(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read_from_toml_and_json() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let read = tasks(text).map(|tasks| tasks.iter().map(|task| task.get()).collect::<Vec<_>>().join(";"));
            match (read, expect) {
                (Ok(read), Ok(expect)) => assert_eq!(read, expect, "{text}"),
                (Err(why), Err(expect)) => assert!(why.contains(expect), "{text}: {why}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        };
        check(
            "[[task]]\ncode = 'a'\n[[task]]\nstartAt = 2026-12-01T08:00:00Z",
            Ok(r#"{"code":"a"};{"startAt":"2026-12-01T08:00:00Z"}"#),
        );
        check("# nothing\n", Ok(""));
        check("\u{feff}[{\"code\": \"a\"}]", Ok(r#"{"code": "a"}"#));
        check("[[task]]\nparam = { x = [1, 2.5, true] }", Ok(r#"{"param":{"x":[1,2.5,true]}}"#));
        check(r#"{"tasks": [{"n": 36893488147419103233}]}"#, Ok(r#"{"n": 36893488147419103233}"#));
        check(r#" [{"code": "a"}]"#, Ok(r#"{"code": "a"}"#));
        check("[task]\ncode = 'a'", Err("two brackets"));
        check("[{]", Err("it is not a list of tasks in JSON"));
        check("task = 1", Err("two brackets"));
        check("[[tesk]]\ncode = 'a'", Err("there is no key `tesk`"));
        check(r#"{"tasks": [], "x": 1}"#, Err("unknown field `x`"));
        check("code = ", Err("it is not TOML"));
    }
}
