//! A row between two databases, as both are read: what is compared is what was written.

use super::tables::{Column, Holds};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    None,
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

pub(crate) type Row = Vec<Value>;

impl Value {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Value::None | Value::Number(_) => size_of::<i64>(),
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => write!(f, "{:?}", mainspring_model::text::excerpt(text, 60)),
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

pub(crate) fn bytes_of(row: &Row) -> usize {
    row.iter().map(Value::bytes).sum()
}

/// `7, "a"`: which row it is, for a message.
pub(crate) fn key_of(row: &[Value], key: usize) -> String {
    row.iter().take(key).map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// What a server cannot keep as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nul {
    Kept,
    Lost,
}

/// Why this value cannot be moved. `chars_max` is what the server's column holds.
pub(crate) fn misfit(value: &Value, column: &Column, nul: Nul, chars_max: Option<usize>) -> Option<String> {
    let Value::Text(text) = value else { return None };
    if nul == Nul::Lost && column.holds == Holds::Exact && text.contains('\0') {
        return Some("holds a NUL character, which the server cannot store".to_owned());
    }
    // Bytes are no fewer than characters.
    let too_long = chars_max.filter(|max| text.len() > *max && text.chars().count() > *max);
    too_long.map(|max| format!("has {} characters, the server keeps {max}", text.chars().count()))
}

/// As the server will keep it. `true`: a character is lost.
pub(crate) fn fit(value: &mut Value, column: &Column, nul: Nul) -> bool {
    match value {
        Value::Text(text) if nul == Nul::Lost && column.holds == Holds::Words && text.contains('\0') => {
            *text = text.replace('\0', "\u{fffd}");
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn column(holds: Holds) -> Column {
        Column { from: "a", to: "a", holds }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let check = |value: &Value, holds, nul, chars_max, expect: Option<&str>| {
            let said = misfit(value, &column(holds), nul, chars_max);
            assert!(said.as_deref().unwrap_or("").contains(expect.unwrap_or("")), "{value:?}: {said:?}");
            assert_eq!(said.is_some(), expect.is_some(), "{value:?}: {said:?}");
        };
        check(&text("a\0b"), Holds::Exact, Nul::Lost, None, Some("NUL"));
        check(&text("a\0b"), Holds::Exact, Nul::Kept, None, None);
        check(&text("a\0b"), Holds::Words, Nul::Lost, None, None);
        check(&text("äöü"), Holds::Exact, Nul::Lost, Some(3), None);
        check(&text("äöüß"), Holds::Exact, Nul::Lost, Some(3), Some("4 characters"));
        check(&Value::Number(i64::MIN), Holds::Number, Nul::Lost, Some(1), None);
        check(&Value::Bytes(vec![0; 9]), Holds::Bytes, Nul::Lost, Some(1), None);
    }

    #[test]
    fn only_words_lose_a_nul() {
        let check = |holds, nul, expect: &str, lost: bool| {
            let mut value = text("a\0b");
            assert_eq!((fit(&mut value, &column(holds), nul), value), (lost, text(expect)));
        };
        check(Holds::Words, Nul::Lost, "a\u{fffd}b", true);
        check(Holds::Words, Nul::Kept, "a\0b", false);
        check(Holds::Exact, Nul::Lost, "a\0b", false);
    }
}
