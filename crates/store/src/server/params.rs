//! What a statement binds.

use std::borrow::Cow;

use mainspring_model::{Fence, Incarnation, JobId, Timestamp};

/// One value, or a table of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param<'a> {
    Int(Option<i64>),
    Text(Option<Cow<'a, str>>),
    Bytes(Option<Cow<'a, [u8]>>),
    /// Rows for a statement that handles a whole batch. PostgreSQL gets each column as an array (`$k`, `$k+1`, … for
    /// UNNEST), MySQL one JSON array of rows (for JSON_TABLE): such statements differ anyway.
    Batch(Batch<'a>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Batch<'a> {
    pub(crate) columns: Vec<Column<'a>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<Cow<'a, str>>>),
}

impl Column<'_> {
    fn write_json(&self, row: usize, json: &mut String) {
        match self {
            Column::Ints(values) => match values[row] {
                Some(number) => json.push_str(&number.to_string()),
                None => json.push_str("null"),
            },
            Column::Texts(values) => match &values[row] {
                Some(text) => json.push_str(&serde_json::to_string(text).unwrap_or_default()),
                None => json.push_str("null"),
            },
        }
    }

    fn len(&self) -> usize {
        match self {
            Column::Ints(values) => values.len(),
            Column::Texts(values) => values.len(),
        }
    }
}

impl Batch<'_> {
    /// `[[1,"a"],[2,"b"]]`
    pub(crate) fn to_json(&self) -> String {
        let rows = self.columns.first().map_or(0, Column::len);
        let mut json = String::from("[");
        for row in 0..rows {
            json.push_str(if row == 0 { "[" } else { ",[" });
            for (at, column) in self.columns.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                column.write_json(row, &mut json);
            }
            json.push(']');
        }
        json.push(']');
        json
    }
}

/// `params![id, fence, text]`: the values of a statement, in the order of its `$1`, `$2`, ….
macro_rules! params {
    ($($value:expr),* $(,)?) => { [$($crate::server::params::Param::from($value)),*] };
}
pub(crate) use params;

macro_rules! ints {
    ($($of:ty => $number:expr),+ $(,)?) => {$(
        impl From<$of> for Param<'_> {
            fn from(value: $of) -> Self {
                let number: fn($of) -> i64 = $number;
                Param::Int(Some(number(value)))
            }
        }
        impl From<Option<$of>> for Param<'_> {
            fn from(value: Option<$of>) -> Self {
                let number: fn($of) -> i64 = $number;
                Param::Int(value.map(number))
            }
        }
    )+};
}

ints! {
    i64 => |number| number,
    u32 => i64::from,
    u16 => i64::from,
    bool => i64::from,
    JobId => |id| id.0,
    Fence => |fence| fence.0,
    Incarnation => |incarnation| incarnation.0,
    Timestamp => Timestamp::as_ms,
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Param<'a> {
        Param::Text(Some(Cow::Borrowed(text)))
    }
}

impl<'a> From<Option<&'a str>> for Param<'a> {
    fn from(text: Option<&'a str>) -> Param<'a> {
        Param::Text(text.map(Cow::Borrowed))
    }
}

impl From<String> for Param<'_> {
    fn from(text: String) -> Self {
        Param::Text(Some(Cow::Owned(text)))
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(text: &'a String) -> Self {
        Param::Text(Some(Cow::Borrowed(text)))
    }
}

impl From<Option<String>> for Param<'_> {
    fn from(text: Option<String>) -> Self {
        Param::Text(text.map(Cow::Owned))
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(bytes: &'a [u8]) -> Param<'a> {
        Param::Bytes(Some(Cow::Borrowed(bytes)))
    }
}

impl<'a> From<Batch<'a>> for Param<'a> {
    fn from(batch: Batch<'a>) -> Param<'a> {
        Param::Batch(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_a_json_array_of_rows() {
        let texts = vec![Some(Cow::Borrowed("a\"b")), None];
        let batch = Batch { columns: vec![Column::Ints(vec![Some(1), None]), Column::Texts(texts)] };
        assert_eq!(batch.to_json(), r#"[[1,"a\"b"],[null,null]]"#);
        assert_eq!(Batch { columns: Vec::new() }.to_json(), "[]");
    }
}
