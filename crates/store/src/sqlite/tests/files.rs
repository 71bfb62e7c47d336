//! What a file can suffer: a second owner, foreign or damaged content, a newer schema, a full disk.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use mainspring_model::{Code, JobId, JobStatus, Unique};
use rusqlite::Connection;

use super::open;
use crate::sqlite::command::answer_each;
use crate::sqlite::fault::{Fault, Outcome};
use crate::suite::world::{T0, TASK, done, keyed, new_job, settlement, task};
use crate::suite::{Subject, World};
use crate::{NewJob, OpenError, Settled, SqliteStore, Store, StoreError, Submitted, Trouble};

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
    check("INSERT INTO job_queue VALUES (1, 'mail.send', 'default', 2, 0, 9, NULL, 0, 0, NULL, 0)", "INV-8").await;
    check("DELETE FROM job_queue", "INV-24").await;
    check("UPDATE job_queue SET owner = NULL WHERE state = 2", "INV-24").await;
    check("UPDATE job_queue SET state = 1, owner = 5 WHERE state = 0", "INV-24").await;
    check("UPDATE async_task SET trigger_type = 1 + 3 * (id % 2), fire_time = 5", "INV-13").await;
    check("UPDATE job_queue SET owner = NULL, state = 4, lane = 1, concurrency_key = ''", "LANE").await;
    check("UPDATE job_queue SET owner = NULL, state = 5, lane = 1, concurrency_key = ''", "LANE").await;
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
    world.submit_plain(1..=4).await;
    drop(world);
    let newer = "UPDATE async_task SET task_status = 42 WHERE id = 2;
                 UPDATE async_task SET error_msg = CAST(x'ff' AS TEXT) WHERE id = 3";
    Connection::open(&path).and_then(|conn| conn.execute_batch(newer)).expect("changes");
    let world = World::of(&Subject::new(open(&path).expect("opens")));
    assert_eq!(world.claim_ids(10).await, [1, 3, 4], "an attempt of 3 needs no older message");
    assert_eq!(world.listed_ids().await, [4, 1]);
    let error = world.store().job(JobId(2)).await.expect_err("it cannot be read");
    assert_eq!(error.kind(), Trouble::Corrupt);
}

/// A world on a file whose rows were changed by somebody else.
async fn tampered(fill: impl AsyncFnOnce(&World), change: &str) -> (tempfile::TempDir, World) {
    let directory = directory();
    let path = directory.path().join("main.db");
    let world = world_at(&path).await;
    fill(&world).await;
    Connection::open(&path).and_then(|conn| conn.execute_batch(change)).expect("changes");
    (directory, world)
}

#[tokio::test]
async fn an_attempt_that_cannot_be_read_stops_no_other_outcome() {
    let claims = std::cell::RefCell::new(Vec::new());
    let fill = async |world: &World| {
        world.submit_plain(1..=4).await;
        claims.replace(world.claim(4, T0).await.jobs);
        let second = claims.borrow()[1].clone();
        world.start(&second, T0).await;
    };
    // Job 2 belongs to somebody else now, and its attempt ended in a way that this version does not know.
    let (_directory, world) = tampered(
        fill,
        "UPDATE job_queue SET fence = 9 WHERE job_id = 2;
         UPDATE task_execution_log SET execute_status = 42 WHERE job_id = 2",
    )
    .await;
    let batch: Vec<_> = claims.borrow().iter().map(|claim| settlement(claim, done(Some("ok")))).collect();
    use Settled::{AlreadyApplied, Applied, Unreadable};
    let settle = || world.store().settle(batch.clone(), T0);
    assert_eq!(settle().await.expect("answers"), [Applied, Unreadable, Applied, Applied]);
    assert_eq!(settle().await.expect("answers"), [AlreadyApplied, Unreadable, AlreadyApplied, AlreadyApplied]);
}

#[tokio::test]
async fn an_attempt_that_cannot_be_read_ends_no_list() {
    let fill = async |world: &World| {
        world.submit_plain(1..=6).await;
        for claim in world.claim(6, T0).await.jobs {
            world.settle(settlement(&claim, done(None))).await;
        }
    };
    let (_directory, world) =
        tampered(fill, "UPDATE task_execution_log SET execute_status = 42 WHERE job_id = 4").await;
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = world.store().attempts_of_task(&task(TASK), 2, cursor).await.expect("reads");
        seen.extend(page.items.iter().map(|attempt| attempt.job.0));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [6, 5, 3, 2, 1]);
}

#[tokio::test]
async fn a_first_job_that_cannot_be_read_stops_no_other_submit() {
    let fill = async |world: &World| {
        let big = Some(format!("\"{}\"", "x".repeat(30_000)).into());
        world.stored(vec![keyed(1, "newer", Unique::Always)]).await;
        world.stored(vec![NewJob { payload: big, ..keyed(2, "no payload", Unique::Always) }]).await;
    };
    let (_directory, world) =
        tampered(fill, "UPDATE async_task SET task_status = 42 WHERE id = 1; DELETE FROM attachment").await;
    let batch = vec![
        new_job(3),
        keyed(4, "newer", Unique::Always),
        keyed(5, "no payload", Unique::Always),
        keyed(6, "fresh", Unique::Always),
    ];
    for _ in 0..2 {
        let answers = world.submit(batch.clone()).await;
        let is_stored = |answer: &Submitted| matches!(answer, Submitted::Stored { claimed: false, .. });
        assert!(is_stored(&answers[0]) && is_stored(&answers[3]), "{answers:?}");
        assert!(matches!(&answers[1], Submitted::Refused(refused) if refused.code == Code::JobUnreadable));
        assert!(matches!(answers[2], Submitted::Duplicate { id: JobId(2), payload_differs: true, .. }), "{answers:?}");
    }
    assert_eq!(world.claim_ids(10).await, [3, 6], "1 cannot be read, and 2 has no payload");
}

fn note(conn: &Connection, name: &str) -> Outcome<()> {
    Ok(conn.execute("INSERT INTO store_meta VALUES (?1, 'x')", [name]).map(drop)?)
}

/// Writes three items, of which the second meets a bad row after its write.
fn note_each(conn: &Connection, prefix: &str) -> Outcome<Vec<bool>> {
    let work = |item: &i32| {
        note(conn, &format!("{prefix} {item}"))?;
        if *item == 2 { Err(Fault::Row("damaged".to_owned())) } else { Ok(true) }
    };
    answer_each(conn, &[1, 2, 3], work, |_, _| false)
}

#[tokio::test]
async fn an_item_that_meets_a_bad_row_is_undone_and_its_neighbours_in_the_transaction_stay() {
    let directory = directory();
    let store: SqliteStore = open(&directory.path().join("main.db")).expect("opens");
    let alone = store.write("alone", |conn| note_each(conn, "alone"));
    assert_eq!(alone.await.expect("answers"), [true, false, true]);
    // The first command keeps the writer busy until the others wait: these share a transaction.
    let (go, waits) = std::sync::mpsc::sync_channel::<()>(1);
    let busy = store.write("busy", move |_| Ok(waits.recv().is_ok()));
    let neighbour = store.write("neighbour", |conn| note(conn, "neighbour"));
    let shared = store.write("shared", |conn| note_each(conn, "shared"));
    let (_, neighbour, shared, sent) = tokio::join!(biased; busy, neighbour, shared, async { go.send(()) });
    sent.expect("the writer waits");
    neighbour.expect("is written");
    assert_eq!(shared.expect("answers"), [true, false, true]);
    let names = store.read("look", |conn| {
        let mut rows = conn.prepare("SELECT name FROM store_meta WHERE value = 'x' ORDER BY name")?;
        Ok(rows.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?)
    });
    assert_eq!(names.await.expect("reads"), ["alone 1", "alone 3", "neighbour", "shared 1", "shared 3"]);
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
