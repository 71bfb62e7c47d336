//! The suite, and what only SQLite can show: plans, files, corruption, full disks.

mod files;
mod plans;

use std::path::Path;

use crate::clock::SystemClock;
use crate::suite::Subject;

use super::SqliteStore;

async fn in_a_file() -> Subject {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory.path().join("main.db")).expect("opens");
    Subject::new(store).keeping(directory)
}

async fn inline() -> Subject {
    Subject::new(SqliteStore::inline(SystemClock::new()).expect("opens"))
}

fn open(path: &Path) -> Result<SqliteStore, crate::OpenError> {
    SqliteStore::open(path, SystemClock::new())
}

crate::store_suite!(file => crate::sqlite::tests::in_a_file);
crate::store_suite!(memory => crate::sqlite::tests::inline);
