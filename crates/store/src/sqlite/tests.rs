//! The suite, and what only SQLite can show: plans, files, corruption, full disks.

mod files;
mod lanes;
mod migration;
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

#[tokio::test]
async fn random_verbs_answer_as_the_reference_does() {
    for seed in 0..40 {
        let reference = Subject::new(crate::MemoryStore::new(SystemClock::new()));
        crate::suite::differential::two_stores_agree(&reference, &inline().await, seed, 600).await;
    }
}

#[tokio::test]
async fn random_verbs_on_a_file_answer_as_the_reference_does() {
    let reference = Subject::new(crate::MemoryStore::new(SystemClock::new()));
    crate::suite::differential::two_stores_agree(&reference, &in_a_file().await, 1_000, 600).await;
}

#[tokio::test]
async fn limits_hold_under_random_verbs_and_nobody_is_stuck() {
    for seed in 100..106 {
        crate::suite::sequences::limits_hold_and_nobody_is_stuck(&inline().await, seed, 200).await;
    }
}
