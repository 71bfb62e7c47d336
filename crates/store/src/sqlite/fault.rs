//! What SQLite's codes mean for a write: was nothing written, or can nobody know?

use rusqlite::ErrorCode;

use crate::{StoreError, Trouble};

/// An error inside a verb, before anybody knows what becomes of its transaction.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    /// A row that is not what was written.
    Row(String),
    /// The verb panicked: a bug of ours, caught so that the writer lives on.
    Panic(String),
    /// The transaction that it was part of, or the connection, is gone because of this.
    Carried(Trouble, String),
}

pub(super) type Outcome<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    /// A value that does not fit what it is read as is the trouble of its row, not of the database.
    fn from(error: rusqlite::Error) -> Fault {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
        match error {
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..) => {
                Fault::Row(error.to_string())
            }
            error => Fault::Sql(error),
        }
    }
}

impl Fault {
    pub(super) fn trouble(&self) -> Trouble {
        match self {
            Fault::Sql(error) => trouble_of(error),
            Fault::Row(_) => Trouble::Corrupt,
            Fault::Panic(_) => Trouble::Statement,
            Fault::Carried(trouble, _) => *trouble,
        }
    }

    pub(super) fn reason(&self) -> String {
        match self {
            Fault::Sql(error) => error.to_string(),
            Fault::Row(reason) | Fault::Panic(reason) | Fault::Carried(_, reason) => reason.clone(),
        }
    }

    pub(super) fn not_applied(&self, verb: &'static str) -> StoreError {
        StoreError::NotApplied { verb, kind: self.trouble(), reason: self.reason() }
    }

    /// The same trouble for whoever shared the transaction.
    pub(super) fn shared(&self) -> Fault {
        Fault::Carried(self.trouble(), self.reason())
    }
}

/// A read-only remount shows as CANTOPEN at prepare: the files beside the database cannot be made.
pub(super) fn trouble_of(error: &rusqlite::Error) -> Trouble {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull => Trouble::Full,
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => Trouble::ReadOnly,
            ErrorCode::SystemIoFailure => Trouble::Io,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Trouble::Corrupt,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory => Trouble::Unavailable,
            _ => Trouble::Statement,
        },
        _ => Trouble::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn codes_are_told_apart() {
        let check = |code: i32, expect: Trouble| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(trouble_of(&error), expect, "{code}");
        };
        check(ffi::SQLITE_FULL, Trouble::Full);
        check(ffi::SQLITE_READONLY, Trouble::ReadOnly);
        check(ffi::SQLITE_CANTOPEN, Trouble::ReadOnly);
        check(ffi::SQLITE_IOERR_FSYNC, Trouble::Io);
        check(ffi::SQLITE_CORRUPT, Trouble::Corrupt);
        check(ffi::SQLITE_NOTADB, Trouble::Corrupt);
        check(ffi::SQLITE_BUSY, Trouble::Unavailable);
        check(ffi::SQLITE_LOCKED, Trouble::Unavailable);
        check(ffi::SQLITE_ERROR, Trouble::Statement);
    }
}
