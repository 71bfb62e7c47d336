//! Brings a database to the schema of this program: numbered migrations, each applied once, in one transaction.
//!
//! **Invariants:** an applied migration never changes (its checksum is kept); a schema newer than the program is left
//! alone; a crash in a migration leaves the schema before it.

use rusqlite::{Connection, OptionalExtension, params};

use super::fault::trouble_of;
use super::pragmas::APPLICATION_ID;
use crate::{OpenError, Trouble};

struct Migration {
    number: u32,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, sql: include_str!("migrations/0001_init.sql") },
    Migration { number: 2, sql: include_str!("migrations/0002_schedules.sql") },
    Migration { number: 3, sql: include_str!("migrations/0003_nodes.sql") },
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migration (
    number     INTEGER PRIMARY KEY,
    checksum   TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT";

pub(super) fn migrate(conn: &mut Connection, place: &str, now_ms: i64) -> Result<(), OpenError> {
    migrate_up_to(u32::MAX, conn, place, now_ms)
}

/// Tests make the database of an older program with it.
pub(super) fn migrate_up_to(last: u32, conn: &mut Connection, place: &str, now_ms: i64) -> Result<(), OpenError> {
    let sql_error = |error: rusqlite::Error| open_error(place, "its schema", &error);
    // A program that is too old must not write at all, not even the table of migrations.
    let fresh = is_fresh(conn).map_err(sql_error)?;
    if !fresh {
        check_applied(conn, place)?;
    }
    let transaction = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(sql_error)?;
    apply_missing(&transaction, last, now_ms).map_err(sql_error)?;
    transaction.commit().map_err(sql_error)
}

fn apply_missing(conn: &Connection, last: u32, now_ms: i64) -> rusqlite::Result<()> {
    conn.execute_batch(TABLE)?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.number <= last) {
        let applied = conn
            .query_row("SELECT 1 FROM schema_migration WHERE number = ?1", [migration.number], |_| Ok(()))
            .optional()?;
        if applied.is_none() {
            conn.execute_batch(migration.sql)?;
            conn.execute(
                "INSERT INTO schema_migration (number, checksum, applied_at) VALUES (?1, ?2, ?3)",
                params![migration.number, checksum(migration.sql), now_ms],
            )?;
        }
    }
    let marked: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if marked != APPLICATION_ID {
        conn.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    }
    Ok(())
}

/// Nothing in it yet: no table of anybody.
fn is_fresh(conn: &Connection) -> rusqlite::Result<bool> {
    conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

fn check_applied(conn: &Connection, place: &str) -> Result<(), OpenError> {
    let sql_error = |error: rusqlite::Error| open_error(place, "its schema", &error);
    let marked: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(sql_error)?;
    if marked != APPLICATION_ID {
        let reason = "it is a database of another program; name another file".to_owned();
        return Err(OpenError::Unusable { place: place.to_owned(), reason });
    }
    let known = MIGRATIONS.last().map_or(0, |migration| migration.number);
    let mut statement =
        conn.prepare("SELECT number, checksum FROM schema_migration ORDER BY number").map_err(sql_error)?;
    let rows = statement
        .query_map([], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
        .map_err(sql_error)?;
    if let Some((found, _)) = rows.last().filter(|(number, _)| *number > known) {
        return Err(OpenError::TooNew { place: place.to_owned(), found: *found, known });
    }
    for (number, applied) in rows {
        let ours = MIGRATIONS.iter().find(|migration| migration.number == number).map(|m| checksum(m.sql));
        if ours.as_deref() != Some(applied.as_str()) {
            let detail = "its text differs from the one this program carries".to_owned();
            return Err(OpenError::MigrationChanged { place: place.to_owned(), number, detail });
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits: tells an edited file from the applied one. Not a defence against an adversary, who could edit
/// the schema itself.
fn checksum(sql: &str) -> String {
    let hash = sql
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// What an error means while the database is opened.
pub(super) fn open_error(place: &str, check: &str, error: &rusqlite::Error) -> OpenError {
    match trouble_of(error) {
        Trouble::Corrupt => OpenError::Corrupt { place: place.to_owned(), check: format!("{check}: {error}") },
        Trouble::ReadOnly => OpenError::Unusable {
            place: place.to_owned(),
            reason: format!("the file or its directory cannot be written: {error}"),
        },
        _ => OpenError::Unusable { place: place.to_owned(), reason: error.to_string() },
    }
}
