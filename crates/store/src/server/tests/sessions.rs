//! What a session and its transactions promise, on the real servers.

use super::plans::prepare_on_postgres;
use super::{on_each, open, session};
use crate::server::fault::{Class, Fault, Outcome};
use crate::server::params::{Batch, Column, Param, params};
use crate::server::row::Columns;
use crate::server::session::{Dialect, Session};
use crate::server::statement::Statement;
use crate::server::transact::{Each, run};
use crate::server::{ServerStore, sql};
use crate::{Result, StoreError, Trouble};

static PUT: Statement = same("INSERT INTO store_meta (name, value) VALUES ($1, $2)");
static SET: Statement = same("UPDATE store_meta SET value = $2 WHERE name = $1 AND value <> $1");
static GET: Statement = same("SELECT value FROM store_meta WHERE name = $1");
/// Without what the store itself has written.
static ALL: Statement = same("SELECT name FROM store_meta WHERE name <> 'server' ORDER BY name");
static WRONG: Statement = same("SELECT nothing FROM nowhere");
static SUM: Statement = Statement::new(
    "sum",
    "SELECT n, t FROM unnest($1, $2) AS b (n, t) ORDER BY n",
    "SELECT n, t FROM json_table($1, '$[*]' COLUMNS (n BIGINT PATH '$[0]', t LONGTEXT PATH '$[1]')) b ORDER BY n",
);

const fn same(text: &'static str) -> Statement {
    Statement::new("trial", text, text)
}

async fn put(session: &mut Session, name: &str) -> Outcome<()> {
    session.run(&PUT, &params![name, "x"]).await.map(drop)
}

async fn names(store: &ServerStore) -> Vec<String> {
    let read: Result<Vec<String>> = async {
        let rows = run!(store, Look, "names", session => session.rows(&ALL, &[]))?;
        Ok(rows.iter().map(|row| Columns::of(row).string().expect("a name")).collect())
    }
    .await;
    read.expect("reads")
}

#[tokio::test]
async fn a_verb_that_fails_leaves_no_trace() {
    on_each(async |url| {
        let store = open(url).await;
        let failed: Result<()> = async {
            run!(store, Write, "trial", session => async {
                put(session, "a").await?;
                Err::<(), _>(Fault::Row("nobody can read it".to_owned()))
            })
        }
        .await;
        assert!(matches!(failed, Err(StoreError::NotApplied { kind: Trouble::Corrupt, .. })), "{failed:?}");
        assert_eq!(names(&store).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_failed_statement_is_never_committed() {
    on_each(async |url| {
        let store = open(url).await;
        let failed: Result<()> = async {
            run!(store, Write, "trial", session => async {
                put(session, "a").await?;
                drop(session.run(&WRONG, &[]).await);
                Ok(())
            })
        }
        .await;
        assert!(matches!(failed, Err(StoreError::NotApplied { kind: Trouble::Statement, .. })), "{failed:?}");
        assert_eq!(names(&store).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn two_that_lock_each_other_both_get_through() {
    on_each(async |url| {
        let store = open(url).await;
        let fill: Result<()> = async {
            run!(store, Write, "fill", session => async {
                put(session, "a").await?;
                put(session, "b").await
            })
        }
        .await;
        fill.expect("fills");
        let both_have_one = tokio::sync::Barrier::new(2);
        let tries = std::sync::atomic::AtomicU32::new(0);
        let cross = async |first: &str, second: &str| -> Result<()> {
            run!(store, Write, "cross", session => async {
                session.run(&SET, &params![first, "y"]).await?;
                if tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 {
                    both_have_one.wait().await;
                }
                session.run(&SET, &params![second, "z"]).await.map(drop)
            })
        };
        let (one, other) = tokio::join!(cross("a", "b"), cross("b", "a"));
        one.expect("gets through");
        other.expect("gets through");
        assert!(tries.into_inner() > 2, "one was done again");
        assert!(store.repeated.load(std::sync::atomic::Ordering::Relaxed) > 0);
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_was_cut_while_it_rested_is_replaced() {
    on_each(async |url| {
        let store = open(url).await;
        names(&store).await;
        cut_all_others(url).await;
        assert_eq!(names(&store).await, [""; 0], "a read");
        cut_all_others(url).await;
        let put: Result<()> = async { run!(store, Write, "trial", session => put(session, "a")) }.await;
        put.expect("a write");
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_cut_within_a_transaction_applies_nothing() {
    on_each(async |url| {
        let store = open(url).await;
        let failed: Result<()> = async {
            run!(store, Write, "trial", session => async {
                put(session, "a").await?;
                cut_all_others(url).await;
                put(session, "b").await
            })
        }
        .await;
        assert!(matches!(failed, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{failed:?}");
        assert_eq!(names(&store).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_commit_without_an_answer_is_unknown() {
    on_each(async |url| {
        let store = open(url).await;
        let unknown: Result<()> = async {
            run!(store, Write, "trial", session => async {
                put(session, "a").await?;
                cut_all_others(url).await;
                Ok(())
            })
        }
        .await;
        assert!(matches!(unknown, Err(StoreError::Unknown { kind: Trouble::Unavailable, .. })), "{unknown:?}");
    })
    .await;
}

pub(super) async fn cut_all_others(url: &str) {
    let mut session = session(url).await;
    if url.starts_with("postgres") {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        session.command(cut).await.expect("cuts");
        return;
    }
    let others = "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()";
    let others: &'static Statement = Box::leak(Box::new(same(others)));
    for row in session.rows(others, &[]).await.expect("asks") {
        let id = row.number(0).expect("a number").expect("an id");
        // It may have gone by itself.
        drop(session.command(&format!("KILL {id}")).await);
    }
}

#[tokio::test]
async fn an_item_that_cannot_be_read_stops_no_other() {
    on_each(async |url| {
        let store = open(url).await;
        let answered: Result<Vec<bool>> = async {
            run!(store, Write, "trial", session => async {
                let items = ["a", "bad", "c"];
                let mut each = Each::new(items.len());
                while let Some(at) = each.next(session).await? {
                    let answer = match put(session, items[at]).await {
                        Ok(()) if items[at] == "bad" => Err(Fault::Row("bad".to_owned())),
                        done => done.map(|()| true),
                    };
                    each.answer(session, answer, |_| false).await?;
                }
                Ok(each.answers())
            })
        }
        .await;
        assert_eq!(answered.expect("answers"), [true, false, true]);
        assert_eq!(names(&store).await, ["a", "c"]);
    })
    .await;
}

#[tokio::test]
async fn texts_come_back_as_they_were_and_compare_byte_by_byte() {
    on_each(async |url| {
        let mut session = session_with_schema(url).await;
        for text in ["ü", "u", "U", "u ", "🦀", "a\nb", "'$1' -- ?"] {
            session.run(&PUT, &params![text, text]).await.expect(text);
            let row = session.one(&GET, &params![text]).await.expect(text).expect(text);
            assert_eq!(row.text(0).expect("reads"), Some(text));
        }
        // PostgreSQL keeps no NUL.
        session.run(&PUT, &params!["nul", "a\0b"]).await.expect("keeps");
        let row = session.one(&GET, &params!["nul"]).await.expect("reads").expect("is there");
        let expect = if url.starts_with("postgres") { "a\u{fffd}b" } else { "a\0b" };
        assert_eq!(row.text(0).expect("reads"), Some(expect));
    })
    .await;
}

#[tokio::test]
async fn an_update_counts_the_rows_that_it_found() {
    on_each(async |url| {
        let mut session = session_with_schema(url).await;
        put(&mut session, "a").await.expect("puts");
        for _ in 0..2 {
            assert_eq!(session.run(&SET, &params!["a", "same"]).await.expect("sets"), 1);
        }
        assert_eq!(session.run(&SET, &params!["b", "same"]).await.expect("sets"), 0);
        let twice = put(&mut session, "a").await.expect_err("is there");
        assert_eq!(twice.class(), Class::Refused(Trouble::Statement), "{twice:?}");
    })
    .await;
}

#[tokio::test]
async fn a_batch_arrives_whole() {
    on_each(async |url| {
        let mut session = session_with_schema(url).await;
        let long = "ü\0".repeat(200_000);
        let ints = Column::Ints(vec![Some(1), Some(i64::MAX), None, Some(i64::MIN)]);
        let texts = Column::Texts(vec![Some("a\"'\\ü🦀".into()), None, Some("".into()), Some(long.as_str().into())]);
        let rows = session.rows(&SUM, &params![Batch { columns: vec![ints, texts] }]).await.expect("reads");
        let mut read: Vec<_> =
            rows.iter().map(|row| (row.number(0).expect("reads"), row.text(1).expect("reads"))).collect();
        read.sort_unstable();
        let lost = if url.starts_with("postgres") { "\u{fffd}" } else { "\0" };
        let long = long.replace('\0', lost);
        let expect = [
            (None, Some("")),
            (Some(i64::MIN), Some(long.as_str())),
            (Some(1), Some("a\"'\\ü🦀")),
            (Some(i64::MAX), None),
        ];
        assert!(read == expect, "{:?}", read.iter().map(|(n, t)| (n, t.map(str::len))).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn every_statement_is_understood_by_both_servers() {
    on_each(async |url| {
        let mut session = session_with_schema(url).await;
        let dialect = session.dialect();
        for statement in sql::ALL.iter().filter(|statement| statement.is_for(dialect)) {
            match dialect {
                Dialect::Postgres if !statement.name.starts_with("migration") => {
                    drop(prepare_on_postgres(&mut session, statement).await);
                }
                _ => session.prepare(statement).await.expect(statement.name),
            }
        }
    })
    .await;
}

async fn session_with_schema(url: &str) -> Session {
    drop(open(url).await);
    session(url).await
}

#[test]
fn values_become_parameters() {
    assert_eq!(params![1_i64, Some("x"), true], [Param::Int(Some(1)), Param::from("x"), Param::Int(Some(1))]);
}

#[tokio::test]
async fn a_heartbeat_does_not_wait_behind_load() {
    on_each(async |url| {
        let store = open(url).await;
        let (all_busy, end) = (tokio::sync::Barrier::new(11), tokio::sync::Notify::new());
        let hold = async || -> Result<()> {
            run!(store, Write, "hold", session => async {
                session.exists(&ALL, &[]).await?;
                all_busy.wait().await;
                end.notified().await;
                Ok(())
            })
        };
        let beats = async {
            all_busy.wait().await;
            let beat: Result<bool> =
                async { run!(store, Beat, Look, "beat", session => session.exists(&ALL, &[])) }.await;
            let work = async { run!(store, Look, "work", session => session.exists(&ALL, &[])) }.await;
            end.notify_waiters();
            (beat, work)
        };
        let (held, (beat, work)) = tokio::join!(futures_util::future::join_all((0..10).map(|_| hold())), beats);
        assert!(held.iter().all(Result::is_ok), "{held:?}");
        beat.expect("answers");
        assert!(matches!(work, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{work:?}");
    })
    .await;
}
