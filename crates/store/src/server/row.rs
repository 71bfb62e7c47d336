//! Rows as the servers give them, read column by column in order.

use mainspring_model::Timestamp;
use sqlx::Row as _;

use super::fault::{Fault, Outcome};

#[derive(Debug)]
pub(crate) enum Row {
    #[cfg(feature = "postgres")]
    Postgres(sqlx::postgres::PgRow),
    #[cfg(feature = "mysql")]
    MySql(sqlx::mysql::MySqlRow),
}

/// One column of whichever row. Unchecked: columns of text with a binary collation look like bytes to the driver.
macro_rules! column {
    ($row:expr, $at:expr, $of:ty) => {
        match $row {
            #[cfg(feature = "postgres")]
            Row::Postgres(row) => row.try_get_unchecked::<$of, usize>($at),
            #[cfg(feature = "mysql")]
            Row::MySql(row) => row.try_get_unchecked::<$of, usize>($at),
        }
    };
}

impl Row {
    pub(crate) fn number(&self, at: usize) -> Outcome<Option<i64>> {
        Ok(column!(self, at, Option<i64>)?)
    }

    pub(crate) fn text(&self, at: usize) -> Outcome<Option<&str>> {
        Ok(column!(self, at, Option<&str>)?)
    }

    pub(crate) fn bytes(&self, at: usize) -> Outcome<Option<&[u8]>> {
        Ok(column!(self, at, Option<&[u8]>)?)
    }
}

/// A closed set's value from its code.
pub(crate) fn coded<T>(what: &str, code: i64, from: impl Fn(i64) -> Option<T>) -> Outcome<T> {
    from(code).ok_or_else(|| Fault::Row(format!("{what} {code} is not known to this version")))
}

fn word<T: std::str::FromStr>(what: &str, text: &str) -> Outcome<T> {
    text.parse().map_err(|_| Fault::Row(format!("{what} `{text}` is not known to this version")))
}

/// Counts are never negative in a sound row.
pub(crate) fn count(number: i64) -> Outcome<u32> {
    u32::try_from(number).map_err(|_| Fault::Row(format!("{number} is not a count")))
}

fn missing() -> Fault {
    Fault::Row("a column that always has a value has none".to_owned())
}

/// Reads the columns of a row in order.
#[derive(Debug)]
pub(crate) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row) -> Columns<'r> {
        Columns::from(row, 0)
    }

    pub(crate) fn from(row: &'r Row, first: usize) -> Columns<'r> {
        Columns { row, next: first }
    }

    pub(crate) fn skip(&mut self, columns: usize) {
        self.next += columns;
    }

    fn at(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn opt_int(&mut self) -> Outcome<Option<i64>> {
        let at = self.at();
        self.row.number(at)
    }

    pub(crate) fn int(&mut self) -> Outcome<i64> {
        self.opt_int()?.ok_or_else(missing)
    }

    pub(crate) fn opt_text(&mut self) -> Outcome<Option<&'r str>> {
        let at = self.at();
        self.row.text(at)
    }

    pub(crate) fn text(&mut self) -> Outcome<&'r str> {
        self.opt_text()?.ok_or_else(missing)
    }

    /// Owned, for what is handed on.
    pub(crate) fn string(&mut self) -> Outcome<String> {
        self.text().map(str::to_owned)
    }

    pub(crate) fn opt_string(&mut self) -> Outcome<Option<String>> {
        Ok(self.opt_text()?.map(str::to_owned))
    }

    pub(crate) fn time(&mut self) -> Outcome<Timestamp> {
        self.int().map(Timestamp::from_ms)
    }

    pub(crate) fn opt_time(&mut self) -> Outcome<Option<Timestamp>> {
        Ok(self.opt_int()?.map(Timestamp::from_ms))
    }

    /// A list that is kept as JSON.
    pub(crate) fn words(&mut self, what: &str) -> Outcome<Vec<String>> {
        serde_json::from_str(self.text()?).map_err(|error| Fault::Row(format!("{what}: {error}")))
    }

    pub(crate) fn flag(&mut self) -> Outcome<bool> {
        Ok(self.int()? != 0)
    }

    pub(crate) fn count(&mut self) -> Outcome<u32> {
        count(self.int()?)
    }

    pub(crate) fn opt_count(&mut self) -> Outcome<Option<u32>> {
        self.opt_int()?.map(count).transpose()
    }

    /// A node's number in the cluster.
    pub(crate) fn opt_node(&mut self) -> Outcome<Option<u16>> {
        let number = self.opt_int()?;
        let narrow = |number| u16::try_from(number).map_err(|_| Fault::Row(format!("{number} is not a node's number")));
        number.map(narrow).transpose()
    }

    pub(crate) fn coded<T>(&mut self, what: &str, from: impl Fn(i64) -> Option<T>) -> Outcome<T> {
        coded(what, self.int()?, from)
    }

    pub(crate) fn word<T: std::str::FromStr>(&mut self, what: &str) -> Outcome<T> {
        word(what, self.text()?)
    }

    pub(crate) fn opt_word<T: std::str::FromStr>(&mut self, what: &str) -> Outcome<Option<T>> {
        self.opt_text()?.map(|text| word(what, text)).transpose()
    }
}
