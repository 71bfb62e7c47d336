//! The suite, and what only a file can show.

use super::SqliteStore;
use crate::clock::SystemClock;
use crate::suite::Subject;

async fn in_a_file() -> Subject {
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open(directory.path().join("main.db"), SystemClock::new()).expect("opens");
    Subject::new(store).keeping(directory)
}

async fn inline() -> Subject {
    Subject::new(SqliteStore::inline(SystemClock::new()).expect("opens"))
}

crate::store_suite!(file => crate::sqlite::tests::in_a_file);
crate::store_suite!(memory => crate::sqlite::tests::inline);
