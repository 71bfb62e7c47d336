//! What a file can suffer: a second owner, foreign or damaged content, a newer schema, a full disk.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use mainspring_model::JobStatus;
use rusqlite::Connection;

use super::open;
use crate::sqlite::fault::Fault;
use crate::suite::{Subject, World};
use crate::{OpenError, SqliteStore, Store, StoreError, Trouble};

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

async fn world_at(path: &Path) -> World {
    World::new(&Subject::new(open(path).expect("opens"))).await
}

#[tokio::test]
async fn a_second_owner_is_refused_and_told_who_the_first_is() {
    let directory = directory();
    let path = directory.path().join("main.db");
    let first = open(&path).expect("opens");
    let refused = open(&path).expect_err("it is in use").to_string();
    assert!(refused.contains(&format!("pid {}", std::process::id())), "{refused}");
    drop(first);
    open(&path).expect("it is free again");
}

#[tokio::test]
async fn a_lock_of_another_process_is_seen() {
    let directory = directory();
    let path = directory.path().join("main.db");
    let lock = directory.path().join("main.db.lock");
    std::fs::write(&lock, "4242\n").expect("writes");
    // `flock` runs its command under the lock: the command says that it has it, and waits to be told to end.
    let child = Command::new("flock")
        .arg(&lock)
        .args(["sh", "-c", "echo ready; read _"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return }; // a machine without the command
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut ready).expect("the child has the lock");
    let refused = open(&path).expect_err("it is in use").to_string();
    assert!(refused.contains("pid 4242"), "{refused}");
    drop(child.stdin.take());
    child.wait().expect("ends");
    open(&path).expect("it is free again");
}

#[tokio::test]
async fn what_is_not_a_database_is_left_alone() {
    let directory = directory();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "dear diary, today I learned about schedulers").expect("writes");
    let error = open(&path).expect_err("it is no database");
    assert!(matches!(&error, OpenError::Corrupt { check, .. } if check.contains("header")), "{error}");
    assert!(std::fs::read_to_string(&path).expect("reads").starts_with("dear diary"));
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let directory = directory();
    let path = directory.path().join("other.db");
    Connection::open(&path).and_then(|conn| conn.execute_batch("CREATE TABLE recipes (x)")).expect("writes");
    let before = std::fs::read(&path).expect("reads");
    let error = open(&path).expect_err("it is not ours").to_string();
    assert!(error.contains("another program"), "{error}");
    assert_eq!(std::fs::read(&path).expect("reads"), before);
}

#[tokio::test]
async fn flipped_bytes_are_found_at_the_start() {
    let directory = directory();
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    world.fill(2_000).await;
    drop(world);
    let pages = std::fs::metadata(&path).expect("is there").len() / 4_096;
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).expect("opens");
    for page in pages / 4..pages / 2 {
        file.seek(SeekFrom::Start(page * 4_096)).expect("seeks");
        file.write_all(&[0xff; 64]).expect("writes");
    }
    drop(file);
    let error = open(&path).expect_err("it is damaged");
    assert!(matches!(&error, OpenError::Corrupt { check, .. } if check.contains("quick_check")), "{error}");
}

#[tokio::test]
async fn a_newer_or_changed_schema_is_refused() {
    let directory = directory();
    let path = directory.path().join("main.db");
    drop(open(&path).expect("opens"));
    let change = |statement: &str| {
        Connection::open(&path).and_then(|conn| conn.execute_batch(statement)).expect("changes");
    };
    change("INSERT INTO schema_migration VALUES (99, 'x', 0)");
    let error = open(&path).expect_err("it is newer");
    assert!(matches!(error, OpenError::TooNew { found: 99, .. }), "{error}");
    change("DELETE FROM schema_migration WHERE number = 99; UPDATE schema_migration SET checksum = 'edited'");
    let error = open(&path).expect_err("it is changed");
    assert!(matches!(error, OpenError::MigrationChanged { number: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    let directory = directory();
    let file = directory.path().join("file");
    std::fs::write(&file, "x").expect("writes");
    let error = open(&file.join("data/main.db")).expect_err("a file is no directory").to_string();
    assert!(error.contains("cannot be made"), "{error}");
    let error = open(directory.path()).expect_err("a directory is no file").to_string();
    assert!(error.contains("cannot be opened"), "{error}");
    open(&directory.path().join("new/and/deep/main.db")).expect("directories are made");
}

#[tokio::test]
async fn a_reopened_store_has_everything() {
    let directory = directory();
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    world.fill(100).await;
    let before = world.all_jobs().await;
    drop(world);
    assert!(!directory.path().join("main.db-wal").exists(), "a clean close leaves no log");
    let store = open(&path).expect("opens");
    let again = World::of(&Subject::new(store));
    assert_eq!(again.all_jobs().await, before);
}

#[tokio::test]
async fn planted_damage_is_found_by_verify() {
    let check = async |plant: &str, expect: &str| {
        let directory = directory();
        let path = directory.path().join("main.db");
        let world = world_at(&path).await;
        world.fill(10).await;
        drop(world);
        Connection::open(&path).and_then(|conn| conn.execute_batch(plant)).expect(plant);
        let found = open(&path).expect("opens").verify().await.expect("answers");
        assert!(found.iter().any(|violation| violation.invariant == expect), "{plant}: {found:?}");
        assert!(found.len() <= 40, "{} are too many to read", found.len());
    };
    check("INSERT INTO job_key VALUES ('k', 'mail.send', 77, 0)", "INV-2").await;
    check("INSERT INTO job_key VALUES ('k', 'mail.send', 1, 1)", "INV-3").await;
    check("UPDATE async_task SET fence = 0; UPDATE job_queue SET fence = 0", "INV-5").await;
    check("INSERT INTO job_queue VALUES (1, 'mail.send', 'default', 2, 0, 9, NULL, 0, 0, NULL)", "INV-8").await;
    check("DELETE FROM job_queue", "INV-24").await;
    check("UPDATE async_task SET trigger_type = 1, fire_time = 5", "INV-13").await;
    check("UPDATE async_task SET lost_count = 9 WHERE id = 1", "INV-18").await;
    check("UPDATE task_execution_log SET execute_status = 3; UPDATE async_task SET max_retry = -1", "INV-18").await;
    check("DELETE FROM alert_event", "INV-27").await;
    check("DELETE FROM dead_job", "INV-27").await;
    check("UPDATE task_execution_log SET execute_status = 1 WHERE job_id = 1", "INV-9").await;
}

#[tokio::test]
async fn a_row_of_a_newer_version_stops_no_other() {
    let directory = directory();
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    world.submit_plain(1..=3).await;
    drop(world);
    let newer = "UPDATE async_task SET task_status = 42 WHERE id = 2";
    Connection::open(&path).and_then(|conn| conn.execute_batch(newer)).expect("changes");
    let world = World::of(&Subject::new(open(&path).expect("opens")));
    assert_eq!(world.claim_ids(10).await, [1, 3]);
    assert_eq!(world.listed_ids().await, [3, 1]);
    let error = world.store().job(mainspring_model::JobId(2)).await.expect_err("it cannot be read");
    assert_eq!(error.kind(), Trouble::Corrupt);
}

/// Mounts a small file system; `None` where that is not allowed.
fn small_disk(at: &Path) -> Option<SmallDisk> {
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(at).output();
    mounted.is_ok_and(|output| output.status.success()).then(|| SmallDisk(at.to_owned()))
}

struct SmallDisk(std::path::PathBuf);

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).output());
    }
}

#[tokio::test]
async fn a_full_disk_applies_nothing_and_work_goes_on_when_there_is_space() {
    let directory = directory();
    let Some(disk) = small_disk(directory.path()) else { return };
    let filler = directory.path().join("filler");
    std::fs::write(&filler, vec![0; 900 * 1_024]).expect("fits");
    let world = world_at(&directory.path().join("main.db")).await;
    let mut stored = 0;
    let error = loop {
        assert!(stored < 100_000, "the disk never fills");
        match world.try_submit(stored + 1..=stored + 200).await {
            Ok(()) => stored += 200,
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, StoreError::NotApplied { kind: Trouble::Full, .. }), "{error:?}");
    assert_eq!(i64::try_from(world.all_jobs().await.len()).expect("fits"), stored, "earlier jobs are all there");
    std::fs::remove_file(&filler).expect("removes");
    world.try_submit(stored + 1..=stored + 200).await.expect("there is space again");
    assert_eq!(world.store().verify().await.expect("answers"), []);
    drop(world);
    drop(disk);
}

#[tokio::test]
async fn a_panic_in_a_verb_is_its_error_alone() {
    let directory = directory();
    let store: SqliteStore = open(&directory.path().join("main.db")).expect("opens");
    let panics = store.write::<()>("trial", |_| panic!("a bug"));
    let (bad, good) = tokio::join!(panics, store.check_writable());
    let error = bad.expect_err("it panicked");
    assert!(
        matches!(&error, StoreError::NotApplied { kind: Trouble::Statement, reason, .. } if reason.contains("a bug"))
    );
    good.expect("it shared the transaction at most");
    store.check_writable().await.expect("the writer lives");
    assert_eq!(JobStatus::ALL.len(), 8, "a new status needs a look at the partial indexes of the schema");
}

#[tokio::test]
async fn a_connection_that_saw_an_input_output_error_is_replaced() {
    let directory = directory();
    let store: SqliteStore = open(&directory.path().join("main.db")).expect("opens");
    let marked = store.write("mark", |conn| Ok(conn.execute_batch("CREATE TEMP TABLE mark (x)")?));
    marked.await.expect("marks the connection");
    let broken = Fault::Carried(Trouble::Io, "a write failed".to_owned());
    let error = store.write::<()>("trial", |_| Err(broken)).await.expect_err("it failed");
    assert!(matches!(error, StoreError::NotApplied { kind: Trouble::Io, .. }), "{error:?}");
    let mark = store.write("look", |conn| Ok(conn.prepare("SELECT x FROM temp.mark").is_ok()));
    assert!(!mark.await.expect("the writer lives"), "the connection is another one");
}
