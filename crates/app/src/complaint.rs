//! How a problem is told to people: each complaint once, and a wrong expression with a mark below the place.

use serde_json::Value;

use crate::print::{cell, harmless};

/// The first line says what is wrong, those behind it are indented. `said` is the body that was refused: the expression
/// stands in it.
pub(crate) fn told(problem: &Value, said: &Value) -> String {
    let text = |value: &Value| harmless(value.as_str().unwrap_or_default());
    let complaint = |error: &Value| {
        let (field, detail) = (text(&error["field"]), text(&error["detail"]));
        // Many details begin with the name of their field.
        if detail.starts_with(&field) { detail } else { format!("{field}: {detail}") }
    };
    let errors = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headline = match errors {
        [] => text(&problem["detail"]),
        [only] => complaint(only),
        several => format!("{} things are wrong", several.len()),
    };
    let kind = [text(&problem["code"]), text(&problem["class"])].join(" ");
    let position = problem["position"].as_u64().and_then(|position| usize::try_from(position).ok());
    let column = position.map_or_else(String::new, |position| format!(", column {position}"));
    let mut told = format!("{headline} ({}{column})", kind.trim());
    if let (Some(position), Some(wrong)) = (position, errors.first().and_then(|error| wrong_text(error, said))) {
        told.push_str(&marked(wrong, position));
    }
    for error in errors.iter().filter(|_| errors.len() > 1) {
        told.push_str(&format!("\n  {}", complaint(error)));
    }
    for one in problem["differences"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let (field, yours, stored) = (text(&one["field"]), &one["yours"], &one["stored"]);
        told.push_str(&format!("\n  {field}: yours {yours}, stored {stored}"));
    }
    if problem["hint"].is_string() {
        told.push_str(&format!("\n  {}", cell(&problem["hint"])));
    }
    told
}

fn wrong_text<'a>(error: &Value, said: &'a Value) -> Option<&'a str> {
    said.get(error["field"].as_str()?)?.as_str()
}

/// The text with a caret below a column of it, counted from 1.
fn marked(text: &str, position: usize) -> String {
    // A terminal shows these two columns wide.
    let columns = |c: char| if c >= '\u{1100}' { 2 } else { 1 };
    let before: usize = text.chars().take(position.saturating_sub(1)).map(columns).sum();
    let shown: String = text.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
    format!("\n  {shown}\n  {:before$}^", "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_caret_stands_below_the_wrong_character() {
        assert_eq!(marked("0 25 * * *", 3), "\n  0 25 * * *\n    ^");
        assert_eq!(marked("＊ ？", 3), "\n  ＊ ？\n     ^");
        assert_eq!(marked("a\tb", 3), "\n  a·b\n    ^");
        assert_eq!(marked("", 1), "\n  \n  ^");
    }

    #[test]
    fn each_complaint_is_told_once() {
        let check = |problem: Value, said: Value, expect: &str| assert_eq!(told(&problem, &said), expect);
        check(json!({"detail": "no", "code": "TASK_NOT_FOUND", "hint": "h"}), Value::Null, "no (TASK_NOT_FOUND)\n  h");
        let error = |field: &str, detail: &str| json!({"field": field, "detail": detail});
        check(
            json!({"detail": "a is 1", "code": "VALIDATION", "errors": [error("a", "a is 1")]}),
            Value::Null,
            "a is 1 (VALIDATION)",
        );
        check(
            json!({"detail": "x (and 1 more)", "code": "VALIDATION", "errors": [error("a", "x"), error("b", "b\u{1b}")]}),
            Value::Null,
            "2 things are wrong (VALIDATION)\n  a: x\n  b\\u{1b}",
        );
        let cron = json!({"detail": "d", "code": "CRON_INVALID", "class": "RANGE", "position": 3, "hint": "h",
                          "errors": [error("cronExpression", "d")]});
        let expect = "cronExpression: d (CRON_INVALID RANGE, column 3)";
        check(cron.clone(), json!({"cronExpression": "0 25"}), &format!("{expect}\n  0 25\n    ^\n  h"));
        check(cron, Value::Null, &format!("{expect}\n  h"));
        let sides = json!({"detail": "d", "code": "VERSION_CONFLICT",
                           "differences": [{"field": "owner", "yours": "ann", "stored": null}]});
        check(sides, Value::Null, "d (VERSION_CONFLICT)\n  owner: yours \"ann\", stored null");
    }
}
