//! Every PRAGMA that a connection is given, why, and a check that it took.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// `MSPR`: tells a Mainspring database from anybody else's.
pub(super) const APPLICATION_ID: i64 = 0x4d53_5052;

/// Statements that a connection keeps prepared: more than there are.
const STATEMENTS_KEPT: usize = 256;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The only one that writes, also in memory.
    Writer,
    Reader,
    Checkpointer,
}

/// Name, value to set, value to read back.
type Setting = (&'static str, &'static str, &'static str);

const ALL: &[Setting] = &[
    // A lock held by a checkpoint or a backup is short: wait for it rather than fail.
    ("busy_timeout", "5000", "5000"),
    // The code keeps references by itself, in an order of its own; a check per row would cost each write.
    ("foreign_keys", "OFF", "0"),
    // Statement journals and sorts never touch the disk.
    ("temp_store", "MEMORY", "2"),
    // A read error of a mapped file kills the process; one of read() is an error code.
    ("mmap_size", "0", "0"),
    // A broken schema text is an error, not a guess.
    ("trusted_schema", "OFF", "0"),
];

const WRITER: &[Setting] = &[
    // FULL syncs the log at each commit: power-loss replays lost acknowledged rows in nine of ten images with NORMAL,
    // and none with FULL.
    ("synchronous", "FULL", "2"),
    // 64 MB: the hot pages of queue, keys and the ends of the record.
    ("cache_size", "-65536", "-65536"),
    // Checkpoints are the checkpointer's: one inside a commit would be seen as a late answer.
    ("wal_autocheckpoint", "0", "0"),
];

const READER: &[Setting] = &[
    ("synchronous", "FULL", "2"),
    ("cache_size", "-16384", "-16384"),
    // A reader that writes would be a second writer.
    ("query_only", "ON", "1"),
];

const CHECKPOINTER: &[Setting] = &[
    // The sync of the log before, and of the database after the copy, is what makes a checkpoint safe.
    ("synchronous", "FULL", "2"),
    // It copies from the log, and reads no tables.
    ("cache_size", "-256", "-256"),
    ("wal_autocheckpoint", "0", "0"),
];

pub(super) fn apply(conn: &Connection, role: Role) -> rusqlite::Result<()> {
    let own = match role {
        Role::Writer => WRITER,
        Role::Reader => READER,
        Role::Checkpointer => CHECKPOINTER,
    };
    for (name, value, expect) in ALL.iter().chain(own) {
        conn.execute_batch(&format!("PRAGMA {name} = {value}"))?;
        let seen = read(conn, name)?;
        // An in-memory database has no file to map, and says so by no row.
        if seen.as_deref().unwrap_or(expect) != *expect {
            let reason = format!("PRAGMA {name} is {seen:?}, not {expect}");
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_MISUSE),
                Some(reason),
            ));
        }
    }
    // A plan never looks at bound values. Without this, a bound LIMIT makes SQLite prepare a statement anew each time
    // that it is bound: a quarter of the writer's time.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    Ok(())
}

/// Of the file, set once: readers go on while the writer writes. Answers whether the database is in that mode now.
pub(super) fn use_wal(conn: &Connection) -> rusqlite::Result<bool> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    Ok(mode == "wal")
}

fn read(conn: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = conn.prepare(&format!("PRAGMA {name}"))?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        None => Ok(None),
        Some(row) => Ok(Some(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("{other:?}"),
        })),
    }
}
