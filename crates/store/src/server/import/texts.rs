//! The statements of an import. They are worked out from the table of columns and not kept in files: a column is named in
//! one place, and no statement can forget it.

use std::sync::LazyLock;

use crate::server::statement::Statement;
use crate::transfer::tables::{TABLES, Table};

/// Rows of one insert: as many as are left fill the largest that fits, and so on.
pub(super) const ROWS: [usize; 3] = [100, 10, 1];

#[derive(Debug)]
pub(super) struct Texts {
    /// One for each of `ROWS`.
    pub(super) insert: [Statement; ROWS.len()],
    /// From one key to another, both with it.
    pub(super) range: Statement,
    pub(super) any: Statement,
    pub(super) count: Statement,
}

static ALL: LazyLock<Vec<Texts>> = LazyLock::new(|| TABLES.iter().map(Texts::of).collect());

/// Of a row of `TABLES`.
pub(super) fn texts_of(table: &Table) -> Option<&'static Texts> {
    ALL.iter().zip(&TABLES).find(|(_, of)| of.name == table.name).map(|(texts, _)| texts)
}

impl Texts {
    fn of(table: &Table) -> Texts {
        let name = table.name;
        Texts {
            insert: ROWS.map(|rows| statement(name, insert(table, rows))),
            range: statement(name, range(table)),
            any: statement(name, format!("SELECT 1 FROM {name} LIMIT 1")),
            count: statement(name, format!("SELECT count(*) FROM {name}")),
        }
    }
}

/// Kept as long as the process: an import is the only thing that it does.
fn statement(name: &'static str, text: String) -> Statement {
    let text: &'static str = text.leak();
    Statement::new(name, text, text)
}

fn names(table: &Table, count: usize) -> String {
    table.columns.iter().take(count).map(|column| column.to).collect::<Vec<_>>().join(", ")
}

/// `$3, $4`
fn values(first: usize, count: usize) -> String {
    (first..first + count).map(|at| format!("${at}")).collect::<Vec<_>>().join(", ")
}

fn insert(table: &Table, rows: usize) -> String {
    let columns = table.columns.len();
    let rows: Vec<String> = (0..rows).map(|row| format!("({})", values(1 + row * columns, columns))).collect();
    format!("INSERT INTO {} ({}) VALUES {}", table.name, names(table, columns), rows.join(", "))
}

/// MySQL finds its place in the index by the first column alone.
fn range(table: &Table) -> String {
    let (key, first, to) = (names(table, table.key), names(table, 1), 1 + table.key);
    let (from_all, to_all) = (values(1, table.key), values(to, table.key));
    let columns = names(table, table.columns.len());
    format!(
        "SELECT {columns} FROM {} WHERE {first} >= $1 AND {first} <= ${to} AND ({key}) >= ({from_all}) AND ({key}) <= ({to_all}) ORDER BY {key}",
        table.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::tables::{Column, Holds};

    #[test]
    fn statements_name_each_column_in_order() {
        const A: Column = Column { from: "a", to: "a", holds: Holds::Number };
        const B: Column = Column { from: "key", to: "b", holds: Holds::Exact };
        const C: Column = Column { from: "c", to: "c", holds: Holds::Bytes };
        let table = Table { name: "t", key: 2, columns: &[A, B, C], gives_ids: false };
        assert_eq!(insert(&table, 2), "INSERT INTO t (a, b, c) VALUES ($1, $2, $3), ($4, $5, $6)");
        assert_eq!(
            range(&table),
            "SELECT a, b, c FROM t WHERE a >= $1 AND a <= $3 AND (a, b) >= ($1, $2) AND (a, b) <= ($3, $4) ORDER BY a, b"
        );
    }

    #[test]
    fn every_table_has_its_texts() {
        assert!(TABLES.iter().all(|table| texts_of(table).is_some()));
    }
}
