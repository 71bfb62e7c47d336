//! The embedded database as the source of a move to a server: held alone, recovered as at a start, read in the order of
//! its keys. At the end it is marked as moved, and opens no more.

use std::path::Path;

use mainspring_model::Timestamp;
use rusqlite::wal::CheckpointMode;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Rows, params, types::ValueRef};

use super::command::statement;
use super::fault::{Fault, Outcome};
use super::{lock, nodes, numbers, open, sql};
use crate::transfer::tables::{Holds, Table};
use crate::transfer::value::{Row, Value, bytes_of};
use crate::{OpenError, Result, Violation};

const VERB: &str = "migrate";

/// Dropped in this order: the connection, then the lock.
#[derive(Debug)]
pub(crate) struct Export {
    conn: Connection,
    pub(crate) place: String,
    _lock: lock::Lock,
}

impl Export {
    /// Nobody else has the file from here on. Its schema is the newest afterwards.
    pub(crate) fn open(path: &Path, now: Timestamp) -> std::result::Result<Export, OpenError> {
        let place = path.display().to_string();
        if !path.exists() {
            return Err(OpenError::Unusable { place, reason: "there is no such file".to_owned() });
        }
        let lock = lock::Lock::take(path)?;
        let conn = open::open_database(path, now)?;
        Ok(Export { conn, place, _lock: lock })
    }

    /// What a start would do: whoever held jobs is gone, and what it held is released or settled as lost.
    pub(crate) fn recover(&self, now: Timestamp) -> Result<()> {
        self.transact(|conn| nodes::end_all(conn, now))
    }

    pub(crate) fn verify(&self) -> Result<Vec<Violation>> {
        numbers::verify(&self.conn).map_err(|fault| fault.not_applied(VERB))
    }

    /// The largest id that a table ever gave, also to a row that is gone.
    pub(crate) fn newest_id(&self, table: &Table) -> Result<i64> {
        let read = || {
            let id = table.columns[0].from;
            let text = format!("SELECT coalesce(max({id}), 0) FROM {}", table.name);
            let newest: i64 = self.conn.query_row(&text, [], |row| row.get(0))?;
            let deleted: Option<i64> = match table.name {
                "task_info" => self.conn.query_row(sql::TASK_NEWEST_DELETED, [], |row| row.get(0)).optional()?,
                _ => None,
            };
            Ok(newest.max(deleted.unwrap_or(0)))
        };
        read().map_err(|fault: Fault| fault.not_applied(VERB))
    }

    /// All rows of a table, in the order of its key.
    pub(crate) fn rows(&self, table: &Table) -> Result<Reading<'_>> {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.from).collect();
        let key = columns[..table.key].join(", ");
        let text = format!("SELECT {} FROM {} ORDER BY {key}", columns.join(", "), table.name);
        let prepared = self.conn.prepare_cached(&text);
        Ok(Reading { statement: prepared.map_err(|error| Fault::from(error).not_applied(VERB))? })
    }

    /// Written through to the file itself: a copy of it alone says so too.
    pub(crate) fn mark_moved(&self, to: &str, now: Timestamp) -> Result<()> {
        self.transact(|conn| {
            conn.prepare_cached(sql::MOVED_WRITE)?.execute(params![format!("{to} on {now}")])?;
            Ok(())
        })?;
        match self.conn.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE) {
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::from(error).not_applied(VERB)),
        }
    }

    fn transact(&self, work: impl FnOnce(&Connection) -> Outcome<()>) -> Result<()> {
        let done = statement(&self.conn, "BEGIN IMMEDIATE")
            .map_err(Fault::from)
            .and_then(|()| work(&self.conn))
            .and_then(|()| Ok(statement(&self.conn, "COMMIT")?));
        // Without a commit the connection undoes it when it is closed, which is next.
        done.map_err(|fault| fault.not_applied(VERB))
    }
}

/// A query of a whole table.
pub(crate) struct Reading<'e> {
    statement: CachedStatement<'e>,
}

impl Reading<'_> {
    pub(crate) fn batches<'r>(&'r mut self, table: &'r Table) -> Result<Batches<'r>> {
        let rows = self.statement.query([]);
        Ok(Batches { rows: rows.map_err(|error| Fault::from(error).not_applied(VERB))?, table })
    }
}

pub(crate) struct Batches<'r> {
    rows: Rows<'r>,
    table: &'r Table,
}

impl Batches<'_> {
    /// No more than so many rows, and no further row once it has so many bytes. Empty at the end.
    pub(crate) fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Vec<Row>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < rows_max && bytes < bytes_max {
            let read = self.rows.next().map_err(Fault::from);
            let row = match read.map_err(|fault| fault.not_applied(VERB))? {
                None => break,
                Some(row) => read_row(row, self.table).map_err(|fault| fault.not_applied(VERB))?,
            };
            bytes += bytes_of(&row);
            batch.push(row);
        }
        Ok(batch)
    }
}

fn read_row(row: &rusqlite::Row<'_>, table: &Table) -> Outcome<Row> {
    let mut values = Row::with_capacity(table.columns.len());
    for (at, column) in table.columns.iter().enumerate() {
        let value = match (row.get_ref(at)?, column.holds) {
            (ValueRef::Null, _) => Value::None,
            (ValueRef::Integer(number), Holds::Number) => Value::Number(number),
            (ValueRef::Text(text), Holds::Exact | Holds::Words) => match std::str::from_utf8(text) {
                Ok(text) => Value::Text(text.to_owned()),
                Err(error) => return Err(unreadable(table, column.from, &values, &error.to_string())),
            },
            (ValueRef::Blob(bytes), Holds::Bytes) => Value::Bytes(bytes.to_owned()),
            (other, _) => return Err(unreadable(table, column.from, &values, &format!("is {}", other.data_type()))),
        };
        values.push(value);
    }
    Ok(values)
}

fn unreadable(table: &Table, column: &str, before: &[Value], what: &str) -> Fault {
    let key = crate::transfer::value::key_of(before, table.key);
    Fault::Row(format!("{}.{column} of row ({key}): {what}", table.name))
}
