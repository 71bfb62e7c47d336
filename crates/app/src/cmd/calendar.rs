//! `mainspring calendar …`.

use mainspring_model::calendar::{Day, day, days};
use serde_json::{Map, Value};
use toml::Table;

use super::read_file;
use crate::args::Format;
use crate::args::calendar::{Calendar, Name};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::{print, task_file};

pub(crate) async fn run(command: Calendar, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Calendar::List => list(client, format).await,
        Calendar::Show(Name { name }) => show(&client.get(&["calendars", &name], Query::new()).await?, format),
        Calendar::Put { name, file, description } => {
            let (place, text) = read_file(&file)?;
            let mut body = days_of(&text).map_err(|why| Failure::refused(format!("{place}: {why}")))?;
            if let Some(description) = description {
                body.insert("description".to_owned(), description.into());
            }
            let calendar = client.put(&["calendars", &name], &body).await?;
            show(&calendar, format)?;
            match calendar["ended"].as_array().map(Vec::as_slice) {
                Some(ended @ [_, ..]) if format == Format::Table => print::out(&told_of_ended(ended)),
                _ => Ok(()),
            }
        }
        Calendar::Delete(Name { name }) => {
            let answer = client.delete(&["calendars", &name], Query::new(), None::<&()>).await?;
            match format {
                Format::Json => print::json(&answer),
                Format::Table => print::out(&format!("calendar {name} is deleted\n")),
            }
        }
    }
}

async fn list(client: &Client, format: Format) -> Result<(), Failure> {
    let mut answer = client.get(&["calendars"], Query::new()).await?;
    if format == Format::Table {
        for calendar in answer["items"].as_array_mut().into_iter().flatten() {
            for field in ["excluded", "working"] {
                calendar[field] = calendar[field].as_array().map_or(0, Vec::len).into();
            }
        }
    }
    print::list(format, &answer, &["name", "excluded", "working", "tasks", "description"])
}

fn show(calendar: &Value, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print::json(calendar);
    }
    print::object(format, calendar, &["name", "description", "tasks"])?;
    for (field, sign) in [("excluded", ""), ("working", "+")] {
        let lines = ranges(&calendar[field]).into_iter().map(|range| format!("  {sign}{range}\n"));
        let lines: String = lines.collect();
        if !lines.is_empty() {
            print::out(&format!("{field}\n{lines}"))?;
        }
    }
    Ok(())
}

fn told_of_ended(codes: &[Value]) -> String {
    let codes: Vec<&str> = codes.iter().filter_map(Value::as_str).collect();
    format!("no fire time is left because of it for: {}\n", codes.join(", "))
}

/// Days that follow each other in one word, as `put` takes them.
fn ranges(days: &Value) -> Vec<String> {
    let days = days.as_array().into_iter().flatten().filter_map(Value::as_str).filter_map(|text| day(text).ok());
    let mut ranges: Vec<(Day, Day)> = Vec::new();
    for day in days {
        match ranges.last_mut() {
            Some((_, last)) if last.tomorrow().is_ok_and(|next| next == day) => *last = day,
            _ => ranges.push((day, day)),
        }
    }
    let shown = |(first, last): (Day, Day)| if first == last { first.to_string() } else { format!("{first}/{last}") };
    ranges.into_iter().map(shown).collect()
}

/// The body for the server, from JSON, TOML or plain lines.
fn days_of(text: &str) -> Result<Map<String, Value>, String> {
    let text = task_file::without_mark(text);
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"));
    }
    if text.lines().any(is_toml) {
        let table: Table =
            toml::from_str(text).map_err(|error| format!("it is not TOML: {}", error.to_string().trim()))?;
        return Ok(table.into_iter().map(|(name, value)| (name, task_file::json_of(value))).collect());
    }
    days_of_lines(text)
}

/// No day has a key.
fn is_toml(line: &str) -> bool {
    let said = line.split('#').next().unwrap_or_default();
    said.split_once('=').is_some_and(|(key, _)| !key.trim_start().starts_with(|c: char| c == '+' || c.is_ascii_digit()))
}

/// All lines that are wrong are told at once.
fn days_of_lines(text: &str) -> Result<Map<String, Value>, String> {
    let (mut excluded, mut working, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let said = line.split('#').next().unwrap_or_default().trim();
        let (list, day) = match said.strip_prefix('+') {
            Some(rest) => (&mut working, rest.trim()),
            None if said.is_empty() => continue,
            None => (&mut excluded, said),
        };
        match check_line(day) {
            Ok(()) => list.push(Value::from(day)),
            Err(why) => wrong.push(format!("line {number}: {why}")),
        }
    }
    match wrong.as_slice() {
        [] => {
            Ok([("excluded".to_owned(), excluded.into()), ("working".to_owned(), working.into())].into_iter().collect())
        }
        [only] => Err(only.clone()),
        several => Err(format!("{} lines are wrong\n  {}", several.len(), several.join("\n  "))),
    }
}

fn check_line(said: &str) -> Result<(), String> {
    let Err(refused) = days(said) else { return Ok(()) };
    match said.split_once(char::is_whitespace) {
        Some((first, rest)) if days(first).is_ok() && !rest.trim_start().starts_with('/') => {
            let rest = mainspring_model::text::excerpt(&print::harmless(rest.trim()), 40);
            Err(format!("`{rest}` stands behind the day: a comment begins with #"))
        }
        _ => Err(print::harmless(&refused.detail)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn days_are_read_from_lines_toml_and_json() {
        let expect = json!({"excluded": ["2026-10-01", "2026-10-05/2026-10-07"], "working": ["2026-10-10"]});
        for text in [
            "# National days\n2026-10-01\n\n 2026-10-05/2026-10-07 # = a range\n+2026-10-10\n",
            "excluded = [2026-10-01, '2026-10-05/2026-10-07']\nworking = ['2026-10-10']\n",
            r#" {"excluded": ["2026-10-01", "2026-10-05/2026-10-07"], "working": ["2026-10-10"]}"#,
        ] {
            assert_eq!(days_of(text).map(Value::Object), Ok(expect.clone()), "{text}");
        }
        assert!(days_of("excluded = [").is_err() && days_of("{").is_err());
    }

    #[test]
    fn wrong_lines_are_told_all_at_once() {
        let check = |text: &str, expect: &str| {
            assert_eq!(days_of(text).expect_err(text), expect, "{text}");
        };
        check(
            "2026-12-25 Christmas = off\n",
            "line 1: `Christmas = off` stands behind the day: a comment begins with #",
        );
        check("+ # nothing", "line 1: `` is not a day such as 2026-10-01");
        check("2026-10-01 / x", "line 1: `x` is not a day such as 2026-10-01");
        check(
            "2026-10-01 # good\n2026-13-01\n\n+2026-10-07/2026-10-01 b\n",
            "2 lines are wrong\n  line 2: `2026-13-01` is not a day such as 2026-10-01\n  line 4: `2026-10-01 b` is not \
             a day such as 2026-10-01",
        );
    }

    #[test]
    fn days_in_a_row_are_one_range() {
        let days = json!(["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-03"]);
        assert_eq!(ranges(&days), ["2026-02-27/2026-03-01", "2026-03-03"]);
        assert_eq!(ranges(&Value::Null), [""; 0]);
    }
}
