//! Opening a database file: checked before it is trusted, never repaired.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use mainspring_model::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::migrate::{migrate, open_error};
use super::pragmas::{self, Role};
use super::sql;
use crate::OpenError;

/// A file below it is checked page by page at each start: that takes less than a second.
const ALWAYS_CHECKED_BYTES_MAX: u64 = 64 << 20;
/// One that was not closed cleanly is checked up to here; past it a check would hold up the restart for seconds, and is
/// left to `verify`.
const UNCLEAN_CHECKED_BYTES_MAX: u64 = 256 << 20;

const HEADER: &[u8; 16] = b"SQLite format 3\0";

pub(super) fn make_directory(path: &Path) -> Result<(), OpenError> {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => return Ok(()),
    };
    // Payloads and results are in it: whoever makes it keeps it to itself.
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| OpenError::Unusable {
        place: path.display().to_string(),
        reason: format!("its directory `{}` cannot be made: {error}", directory.display()),
    })
}

pub(super) fn open_database(path: &Path, now: Timestamp) -> Result<Connection, OpenError> {
    let place = path.display().to_string();
    check_header(path, &place)?;
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let unclean = std::fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn =
        Connection::open_with_flags(path, flags).map_err(|error| open_error(&place, "opening it", &error))?;
    pragmas::apply(&conn, Role::Writer).map_err(|error| open_error(&place, "its settings", &error))?;
    if bytes > 0 && (bytes < ALWAYS_CHECKED_BYTES_MAX || (unclean && bytes < UNCLEAN_CHECKED_BYTES_MAX)) {
        quick_check(&conn, &place)?;
    }
    migrate(&mut conn, &place, now.as_ms())?;
    check_moved(&conn, &place)?;
    match pragmas::use_wal(&conn) {
        Ok(true) => Ok(conn),
        Ok(false) => {
            Err(OpenError::Unusable { place, reason: "its file system cannot hold a shared log (WAL)".to_owned() })
        }
        Err(error) => Err(open_error(&place, "its log", &error)),
    }
}

/// `mainspring migrate` leaves a mark: whoever went on here would run jobs that are run elsewhere.
fn check_moved(conn: &Connection, place: &str) -> Result<(), OpenError> {
    let moved = conn.query_row(sql::MOVED_READ, [], |row| row.get(0)).optional();
    match moved.map_err(|error| open_error(place, "its mark", &error))? {
        Some(to) => Err(OpenError::Moved { place: place.to_owned(), to }),
        None => Ok(()),
    }
}

pub(super) fn open_in_memory(now: Timestamp) -> Result<Connection, OpenError> {
    let place = ":memory:";
    let mut conn = Connection::open_in_memory().map_err(|error| open_error(place, "opening it", &error))?;
    pragmas::apply(&conn, Role::Writer).map_err(|error| open_error(place, "its settings", &error))?;
    migrate(&mut conn, place, now.as_ms())?;
    Ok(conn)
}

/// A further connection to a database that has been opened and checked.
pub(super) fn open_connection(path: &Path, role: Role) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    pragmas::apply(&conn, role)?;
    Ok(conn)
}

fn log_of(path: &Path) -> std::path::PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// SQLite would say "not a database" only at the first statement, and not which file it means.
fn check_header(path: &Path, place: &str) -> Result<(), OpenError> {
    let mut header = Vec::new();
    match std::fs::File::open(path) {
        Ok(file) => {
            let read = file.take(HEADER.len() as u64).read_to_end(&mut header);
            read.map_err(|error| OpenError::Unusable { place: place.to_owned(), reason: error.to_string() })?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(OpenError::Unusable { place: place.to_owned(), reason: error.to_string() }),
    }
    if header.is_empty() || header == HEADER {
        return Ok(());
    }
    Err(OpenError::Corrupt { place: place.to_owned(), check: "header: it is not an SQLite database".to_owned() })
}

fn quick_check(conn: &Connection, place: &str) -> Result<(), OpenError> {
    let first: rusqlite::Result<String> = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match first {
        Ok(line) if line == "ok" => Ok(()),
        Ok(line) => Err(OpenError::Corrupt { place: place.to_owned(), check: format!("quick_check: {line}") }),
        Err(error) => Err(open_error(place, "quick_check", &error)),
    }
}
