//! What a statement binds.

use std::borrow::Cow;

use mainspring_model::{Fence, Incarnation, JobId, Timestamp};

/// Text of a batch in one statement, as JSON. Servers refuse a statement that is longer than their `max_allowed_packet`, which
/// is 16 MiB on MariaDB unless somebody has changed it; and both keep all of a statement in memory.
const BATCH_BYTES_MAX: usize = 4 << 20;

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

    /// At least as many as `write_json` writes.
    fn json_bytes(&self, row: usize) -> usize {
        match self {
            Column::Ints(_) => INT_BYTES_MAX,
            Column::Texts(values) => values[row].as_deref().map_or(INT_BYTES_MAX, json_bytes),
        }
    }

    fn split_off(&mut self, at: usize) -> Self {
        match self {
            Column::Ints(values) => Column::Ints(values.split_off(at)),
            Column::Texts(values) => Column::Texts(values.split_off(at)),
        }
    }
}

/// A number or `null` with its comma.
const INT_BYTES_MAX: usize = 21;

/// With quotes and a comma.
fn json_bytes(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    });
    3 + bytes.sum::<usize>()
}

impl Batch<'_> {
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// As much of it as one statement takes, in order. A row that is longer than that is a part of its own.
    pub(crate) fn parts(self) -> Vec<Self> {
        self.parts_of(BATCH_BYTES_MAX)
    }

    fn parts_of(mut self, bytes_max: usize) -> Vec<Self> {
        let bytes_of = |row| 3 + self.columns.iter().map(|column| column.json_bytes(row)).sum::<usize>();
        let (mut cuts, mut bytes) = (Vec::new(), 0);
        for (row, more) in (0..self.rows()).map(bytes_of).enumerate() {
            bytes += more;
            if row > 0 && bytes > bytes_max {
                cuts.push(row);
                bytes = more;
            }
        }
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        for cut in cuts.into_iter().rev() {
            parts.push(Batch { columns: self.columns.iter_mut().map(|column| column.split_off(cut)).collect() });
        }
        parts.push(self);
        parts.reverse();
        parts
    }

    /// `[[1,"a"],[2,"b"]]`
    pub(crate) fn to_json(&self) -> String {
        let mut json = String::from("[");
        for row in 0..self.rows() {
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

    #[test]
    fn a_long_batch_is_cut_between_rows() {
        let check = |texts: &[&str], bytes_max: usize, expect: &[usize]| {
            let numbers = (0..texts.len() as i64).map(Some).collect();
            let words = texts.iter().map(|text| Some(Cow::Borrowed(*text))).collect();
            let whole = Batch { columns: vec![Column::Ints(numbers), Column::Texts(words)] };
            let parts = whole.clone().parts_of(bytes_max);
            assert_eq!(parts.iter().map(Batch::rows).collect::<Vec<_>>(), expect, "{texts:?}");
            assert!(parts.iter().all(|part| part.rows() < 2 || part.to_json().len() <= bytes_max + 1));
            let joined: Vec<String> =
                parts.iter().map(|part| part.to_json()[1..].trim_end_matches(']').to_owned()).collect();
            assert_eq!(format!("[{}]]", joined.join("],")), whole.to_json());
        };
        check(&["a", "b", "c"], 1_000, &[3]);
        check(&["a", "b", "c"], 60, &[2, 1]);
        check(&["a", "b", "c"], 1, &[1, 1, 1]);
        check(&[&"x".repeat(200), "b", "c"], 60, &[1, 2]);
        check(&["\u{1}\u{1}\u{1}\"", "b"], 60, &[1, 1]);
        assert_eq!(Batch { columns: Vec::new() }.parts_of(60).len(), 1);
    }
}
