//! Answers on standard output: tables for people, JSON for programs. A reader that goes away (`| head`) is no error.

use std::io::{ErrorKind, IsTerminal, Write};

use serde_json::Value;

use crate::args::Format;
use crate::failure::Failure;

/// A cell longer than this makes the rows of a list break on a terminal.
const CELL_CHARS_MAX: usize = 60;

pub(crate) fn out(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        // Nobody reads any more: there is nothing left to do, and it is nobody's failure.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(Failure::failed(format!("standard output cannot be written: {error}"))),
    }
}

/// Where standard error is closed too, there is nobody to tell.
pub(crate) fn complain(message: &str) {
    writeln!(std::io::stderr(), "mainspring: {message}").ok();
}

/// How far it is. Beside the answer, so that a program reads that alone.
pub(crate) fn progress(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}

pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    out(&format!("{value:#}\n"))
}

/// One object: its fields below each other.
pub(crate) fn object(format: Format, value: &Value, fields: &[&str]) -> Result<(), Failure> {
    if format == Format::Json {
        return json(value);
    }
    let shown: Vec<Vec<String>> = fields
        .iter()
        .filter(|field| value.get(**field).is_some_and(|value| !value.is_null()))
        .map(|field| vec![(*field).to_owned(), one_line(&cell(&value[*field]))])
        .collect();
    out(&columns(&shown))
}

/// A list: one row each.
pub(crate) fn list(format: Format, answer: &Value, fields: &[&str]) -> Result<(), Failure> {
    if format == Format::Json {
        return json(answer);
    }
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    // A program or a file behind a pipe has no edge at which rows would break.
    let chars_max = if std::io::stdout().is_terminal() { CELL_CHARS_MAX } else { usize::MAX };
    let short = |value: &Value| mainspring_model::text::excerpt(&one_line(&cell(value)), chars_max);
    let rows = items.iter().map(|item| fields.iter().map(|field| short(&item[*field])).collect()).collect();
    table(&fields.iter().map(|field| heading(field)).collect::<Vec<_>>(), rows)?;
    match answer["nextCursor"].as_str() {
        Some(cursor) => out(&format!("more: --cursor {cursor}\n")),
        None => Ok(()),
    }
}

pub(crate) fn table(headings: &[String], rows: Vec<Vec<String>>) -> Result<(), Failure> {
    let mut all = vec![headings.to_vec()];
    all.extend(rows);
    out(&columns(&all))
}

/// `executeTime` → `EXECUTE TIME`.
fn heading(field: &str) -> String {
    let mut words = String::new();
    for c in field.chars() {
        if c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_uppercase());
    }
    words
}

pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => harmless(text),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            harmless(&items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A line of its own would be taken for the next row.
fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', "⏎").replace('\t', " ")
}

/// Stored text may hold sequences that a terminal obeys: they are shown, not sent.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

/// Aligned, two spaces apart, nothing behind the last column.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|text| columns_of(text)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', widths[at] - columns_of(cell) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// On a terminal: characters from Hangul on (Chinese, Japanese, Korean, emoji) are two wide, near enough.
fn columns_of(text: &str) -> usize {
    text.chars().map(|c| if c >= '\u{1100}' && !('\u{2000}'..'\u{2e80}').contains(&c) { 2 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_as_a_terminal_shows_them() {
        let rows = [vec!["A".to_owned(), "B".to_owned()], vec!["任务".to_owned(), String::new()]];
        assert_eq!(columns(&rows), "A     B\n任务\n");
        assert_eq!(columns_of("a → …"), 5);
        assert_eq!(heading("executeTime"), "EXECUTE TIME");
        assert_eq!(cell(&serde_json::json!("\u{1b}[31mred")), "\\u{1b}[31mred");
        assert_eq!(one_line(&cell(&serde_json::json!("a\r\nb\tc\n"))), "a⏎b c");
        assert_eq!(cell(&serde_json::json!(["a", "b"])), "a, b");
        assert_eq!(cell(&serde_json::json!({"a": 1})), r#"{"a":1}"#);
    }
}
