//! From the embedded database to a server: everything arrives, and what goes wrong on the way is noticed and undone.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainspring_test_servers::sql as ask;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::team::{leave_behind, open_file, seen};
use super::{on_each, open};
use crate::clock::SystemClock;
use crate::suite::World;
use crate::suite::world::{NODE, T0, at, claim_request, new_node};
use crate::transfer::tables::TABLES;
use crate::transfer::{Moved, Progress, Stage, Start, TransferError, transfer};
use crate::{OpenError, Replaces, ServerStore, Store};

/// A directory of its own with the database of the team.
async fn team() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    leave_behind(&path).await;
    (directory, path)
}

/// What each test begins with, made once.
async fn on_each_with_a_team(test: impl AsyncFn(&str, &Path)) {
    let (_keep, first) = team().await;
    on_each(async |url| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("main.db");
        std::fs::copy(&first, &path).expect("copies");
        test(url, &path).await;
    })
    .await;
}

async fn carry(path: &Path, url: &str, start: Start, say: &mut dyn FnMut(Progress)) -> Result<Moved, TransferError> {
    transfer(&format!("sqlite://{}", path.display()), url, start, &*SystemClock::new(), say).await
}

async fn try_to_carry(path: &Path, url: &str) -> Result<Moved, TransferError> {
    carry(path, url, Start::Fresh, &mut |_| {}).await
}

fn in_file(path: &Path, text: &str) {
    Connection::open(path).expect("opens").execute_batch(text).expect(text);
}

/// As the documents say.
fn take_back(path: &Path) {
    in_file(path, "DELETE FROM store_meta WHERE name = 'moved'");
}

fn tell(url: &str, statement: &str) {
    ask(url, statement).expect(statement);
}

async fn refused(url: &str) -> OpenError {
    ServerStore::open(url, SystemClock::new()).await.expect_err("it is refused")
}

#[tokio::test]
async fn a_team_finds_everything_again() {
    on_each_with_a_team(async |url, path| {
        let moved = try_to_carry(path, url).await.expect("moves");
        for (table, found) in TABLES.iter().zip(&moved.tables) {
            assert!(found.rows > 0, "{}: the test has none", table.name);
            let there = ask(url, &format!("SELECT count(*) FROM {}", table.name)).expect("counts");
            assert_eq!((there, table.name), (found.rows.to_string(), found.name));
        }
        let (is_postgres, secret) = (url.starts_with("postgres"), url.contains('@'));
        assert!(secret && !moved.to.contains('@'), "{}", moved.to);
        assert_eq!(moved.without_nul, if is_postgres { 2 } else { 0 });
        let gone = open_file(path).expect_err("it was moved").to_string();
        assert!(gone.contains(&format!("moved to {} on 20", moved.to)), "{gone}");

        take_back(path);
        let here = Arc::new(open_file(path).expect("opens"));
        let there = open(url).await;
        assert_eq!(there.verify().await.expect("verify answers"), []);
        let nul = if is_postgres { "\u{fffd}" } else { "\\0" };
        let expect: Vec<String> =
            seen(Arc::<crate::SqliteStore>::clone(&here)).await.iter().map(|line| line.replace("\\0", nul)).collect();
        let found = seen(Arc::<ServerStore>::clone(&there)).await;
        assert_eq!(found.len(), expect.len());
        for (found, expect) in found.iter().zip(&expect) {
            assert_eq!(found, expect);
        }
        go_on(&*here, &*there).await;
    })
    .await;
}

/// A node of after the move: those of before are gone.
const NEXT: mainspring_model::Incarnation = mainspring_model::Incarnation(99);

/// Both hand out the same jobs, and what is new gets the same ids.
async fn go_on(here: &dyn Store, there: &dyn Store) {
    let mut ends = Vec::new();
    for store in [here, there] {
        let joined = store.join(new_node(NEXT, Replaces::Everyone), T0).await.expect("joins");
        let mut claims = BTreeSet::new();
        let claimed = store.claim(claim_request(NEXT, 5_000, at(100), at(100))).await.expect("claims");
        claims.extend(claimed.jobs.iter().map(|claim| (claim.id, claim.fence, claim.suspect, claim.lost_count)));
        store.leave(NEXT, at(200)).await.expect("leaves");
        let world_task = crate::suite::world::task("new");
        let change = store
            .create_task(
                world_task.clone(),
                crate::suite::world::definition(),
                mainspring_model::task::TaskSwitch::Enabled,
                None,
                "ann".to_owned(),
                T0,
            )
            .await;
        change.expect("creates");
        let id = store.task(&world_task).await.expect("reads").expect("is there").id;
        ends.push((joined.newest_job, claims, id, store.verify().await.expect("verify answers")));
    }
    assert!(ends[0].1.len() > 250, "there is work left: {}", ends[0].1.len());
    assert_eq!(ends[0], ends[1]);
}

#[tokio::test]
async fn a_target_with_anything_in_it_is_left_alone() {
    on_each_with_a_team(async |url, path| {
        let store = open(url).await;
        store.join(new_node(NODE, Replaces::Nobody), T0).await.expect("joins");
        let error = try_to_carry(path, url).await.expect_err("a node was there");
        assert!(matches!(&error, TransferError::Refused(text) if text.contains("rows in node")), "{error}");
        let error = carry(path, url, Start::Anew, &mut |_| {}).await.expect_err("it is no unfinished import");
        assert!(matches!(&error, TransferError::Refused(text) if text.contains("not empty")), "{error}");
        drop(open_file(path).expect("the source is usable"));
        drop(open(url).await);
    })
    .await;
}

/// Gives up at the first word of it, as a process that is killed.
async fn carry_until(path: &Path, url: &str, at: impl Fn(&Progress) -> bool) {
    let enough = Notify::new();
    let mut say = |progress: Progress| {
        if at(&progress) {
            enough.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = enough.notified() => {}
        ended = carry(path, url, Start::Fresh, &mut say) => panic!("it was to be interrupted: {ended:?}"),
    }
}

#[tokio::test]
async fn what_was_interrupted_is_no_database_and_is_done_again() {
    on_each_with_a_team(async |url, path| {
        carry_until(path, url, |progress| progress.stage == Stage::Copy && progress.table == "async_task").await;
        let half = ask(url, "SELECT count(*) FROM async_task").expect("counts");
        assert_eq!(half, "1000", "one batch of it");
        let error = refused(url).await;
        assert!(matches!(&error, OpenError::Unfinished { from, .. } if from.contains("main.db")), "{error}");
        let error = try_to_carry(path, url).await.expect_err("somebody must say so");
        assert!(error.to_string().contains("--restart"), "{error}");
        drop(open_file(path).expect("the source is usable"));

        carry(path, url, Start::Anew, &mut |_| {}).await.expect("moves");
        assert_eq!(open(url).await.verify().await.expect("verify answers"), []);
        open_file(path).expect_err("it was moved");
    })
    .await;
}

#[tokio::test]
async fn no_node_joins_while_it_is_filled() {
    on_each(async |url| {
        let early = open(url).await;
        tell(url, "INSERT INTO store_meta (name, value) VALUES ('import', 'elsewhere')");
        let error = early.join(new_node(NODE, Replaces::Nobody), T0).await.expect_err("not now").to_string();
        assert!(error.contains("filled by an import, from elsewhere"), "{error}");
        tell(url, "DELETE FROM store_meta WHERE name = 'import'");
        early.join(new_node(NODE, Replaces::Nobody), T0).await.expect("joins");
    })
    .await;
}

#[tokio::test]
async fn of_two_imports_the_later_one_goes_on() {
    on_each_with_a_team(async |url, path| {
        let mut say = |progress: Progress| {
            if progress.stage == Stage::Copy && progress.table == "async_task" {
                tell(url, "UPDATE store_meta SET value = 'the later one' WHERE name = 'import'");
            }
        };
        let error = carry(path, url, Start::Fresh, &mut say).await.expect_err("it gives up");
        assert!(error.to_string().contains("another import"), "{error}");
        assert!(refused(url).await.to_string().contains("the later one"));
    })
    .await;
}

/// Changes the target before this table is compared.
async fn carry_and_change(path: &Path, url: &str, before: &str, statement: &str) -> String {
    let changed = Cell::new(false);
    let mut say = |progress: Progress| {
        if progress.stage == Stage::Compare && progress.table == before && !changed.replace(true) {
            tell(url, statement);
        }
    };
    let error = carry(path, url, Start::Fresh, &mut say).await.expect_err("it is noticed");
    assert!(matches!(error, TransferError::Differs(_)), "{error}");
    assert!(matches!(refused(url).await, OpenError::Unfinished { .. }));
    drop(open_file(path).expect("the source is usable"));
    error.to_string()
}

#[tokio::test]
async fn a_row_that_is_not_what_it_was_is_noticed() {
    on_each_with_a_team(async |url, path| {
        let said = carry_and_change(path, url, "pool", "UPDATE async_task SET payload = '{}' WHERE id = 1234").await;
        assert!(said.contains("payload of row (1234) is \"{}\", not"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_row_that_came_from_nowhere_is_noticed() {
    on_each_with_a_team(async |url, path| {
        let stray = "INSERT INTO job_key (biz_id, task_code, job_id, while_live) VALUES ('龘', 'a', 1, 0)";
        let said = carry_and_change(path, url, "pool", stray).await;
        assert!(said.contains("job_key has"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_row_that_is_missing_is_noticed() {
    on_each_with_a_team(async |url, path| {
        let said = carry_and_change(path, url, "pool", "DELETE FROM async_task WHERE id = 1234").await;
        assert!(said.contains("async_task"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_source_that_cannot_be_had_is_refused() {
    on_each_with_a_team(async |url, path| {
        let owner = open_file(path).expect("opens");
        let error = try_to_carry(path, url).await.expect_err("a server has it");
        assert!(matches!(error, TransferError::Open(OpenError::InUse { .. })), "{error}");
        drop(owner);
        let error = try_to_carry(&path.with_extension("none"), url).await.expect_err("there is none").to_string();
        assert!(error.contains("no such file"), "{error}");
        assert!(!path.with_extension("none").exists(), "and none was made");
        let secret = "postgres://me:hunter2@db/x";
        let error = transfer(secret, url, Start::Fresh, &*SystemClock::new(), &mut |_| {}).await.expect_err("no file");
        assert!(error.to_string().contains("only sqlite://PATH") && !error.to_string().contains("hunter2"), "{error}");
        let error = try_to_carry(path, "redis://me:hunter2@db/x").await.expect_err("no server").to_string();
        assert!(error.contains("must be postgres://") && !error.contains("hunter2"), "{error}");
        in_file(path, "DELETE FROM job_queue WHERE job_id = (SELECT min(job_id) FROM job_queue)");
        let error = try_to_carry(path, url).await.expect_err("a live job has no row in the queue").to_string();
        assert!(error.contains("INV-") && error.contains("nothing was written"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_the_server_cannot_keep_is_said_before_anything_is_written() {
    on_each_with_a_team(async |url, path| {
        let said = async |statement: &str| {
            in_file(path, statement);
            try_to_carry(path, url).await.expect_err(statement).to_string()
        };
        let broken = said("UPDATE async_task SET payload = CAST(x'ff' AS TEXT) WHERE id = 7").await;
        assert!(broken.contains("async_task.payload of row (7): invalid utf-8"), "{broken}");
        in_file(path, "UPDATE async_task SET payload = '\"a' || char(0) || '\"' WHERE id = 7");
        if url.starts_with("postgres") {
            let nul = try_to_carry(path, url).await.expect_err("a payload is exact").to_string();
            assert!(nul.contains("async_task.payload of row (7) holds a NUL"), "{nul}");
        } else {
            let long = "UPDATE request SET request_id = replace(hex(zeroblob(101)), '00', 'é')";
            let long = said(long).await;
            assert!(long.contains("has 101 characters, the server keeps 100"), "{long}");
            in_file(path, "UPDATE request SET request_id = 'r1'");
        }
        assert_eq!(ask(url, "SELECT count(*) FROM pool").expect("counts"), "0");
        if url.starts_with("mysql") {
            try_to_carry(path, url).await.expect("a NUL is kept");
            let world = World { store: open(url).await };
            assert_eq!(world.job(7).await.payload.as_deref(), Some("\"a\0\""));
        }
    })
    .await;
}

fn is_day(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tables and columns of a schema, but for those that are not moved: see `tables`.
fn columns(lines: &str) -> BTreeSet<String> {
    let own = ["store_meta", "schema_migration", "cluster", "task_pin"];
    let is_part = |table: &str| table.ends_with("_default") || table.rsplit('_').next().is_some_and(is_day);
    let moves = |line: &&str| {
        let table = line.split('.').next().unwrap_or_default();
        !own.contains(&table) && !is_part(table)
    };
    lines.lines().filter(moves).filter(|line| *line != "async_task.closed_status").map(str::to_owned).collect()
}

#[tokio::test]
async fn no_column_is_left_behind() {
    on_each(async |url| {
        drop(open(url).await);
        let schema = if url.starts_with("postgres") { "current_schema()" } else { "database()" };
        let statement = format!(
            "SELECT concat(table_name, '.', column_name) FROM information_schema.columns WHERE table_schema = {schema}"
        );
        let there = columns(&ask(url, &statement).expect("lists"));
        let moved = TABLES.iter().flat_map(|table| table.columns.iter().map(|column| (table.name, column)));
        assert_eq!(there, moved.map(|(table, column)| format!("{table}.{}", column.to)).collect());
    })
    .await;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    drop(open_file(&path).expect("opens"));
    let conn = Connection::open(&path).expect("opens");
    let all = "SELECT group_concat(m.name || '.' || c.name, char(10))
               FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'";
    let here: String = conn.query_row(all, [], |row| row.get(0)).expect("lists");
    let moved = TABLES.iter().flat_map(|table| table.columns.iter().map(|column| (table.name, column)));
    assert_eq!(columns(&here), moved.map(|(table, column)| format!("{table}.{}", column.from)).collect());
}
