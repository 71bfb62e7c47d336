//! Opening: the schema, once, by one of many, and what is refused.

use super::{on_each, open, session};
use crate::clock::SystemClock;
use crate::server::migrate::interrupt;
use crate::{OpenError, ServerStore, Store as _};

#[tokio::test]
async fn a_fresh_database_gets_its_schema_from_one_of_many() {
    on_each(async |url| {
        let opening = (0..6).map(|_| ServerStore::open(url, SystemClock::new()));
        for opened in futures_util::future::join_all(opening).await {
            let store = opened.expect("opens");
            store.now().await.expect("answers");
        }
    })
    .await;
}

#[tokio::test]
async fn a_database_says_where_it_is_and_not_the_password() {
    on_each(async |url| {
        let place = open(url).await.info().place;
        assert!(url.contains('@') && !place.contains('@'), "{place}");
    })
    .await;
}

#[tokio::test]
async fn the_clock_is_the_databases() {
    on_each(async |url| {
        let store = open(url).await;
        let before = store.clock().now();
        let there = store.now().await.expect("answers");
        assert!(before <= there, "{before} is ahead of {there}");
        assert!(there.ms_since(before) < 1_000, "{before} is far behind {there}");
    })
    .await;
}

#[tokio::test]
async fn a_schema_of_a_newer_program_is_refused_unless_it_allows_this_one() {
    on_each(async |url| {
        drop(open(url).await);
        let mut session = session(url).await;
        let newer = |number: u32, min_version: u32| {
            format!("INSERT INTO schema_migration VALUES ({number}, {min_version}, 'x', 1, 0)")
        };
        session.command(&newer(900, 1)).await.expect("inserts");
        drop(open(url).await);
        session.command(&newer(901, 900)).await.expect("inserts");
        let refused = ServerStore::open(url, SystemClock::new()).await.expect_err("too new");
        assert!(matches!(refused, OpenError::TooNew { found: 901, .. }), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    on_each(async |url| {
        session(url).await.command("CREATE TABLE orders (id BIGINT PRIMARY KEY)").await.expect("creates");
        let refused = ServerStore::open(url, SystemClock::new()).await.expect_err("not ours").to_string();
        assert!(refused.contains("another program"), "{refused}");
        assert!(!ServerStore::exists(url).await.expect("answers"));
        let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema IN ('public', database_name)";
        let own = if url.starts_with("postgres") { "''" } else { "database()" };
        let tables: &'static str = Box::leak(tables.replace("database_name", own).into_boxed_str());
        assert_eq!(super::number(url, tables).await, 1, "nothing was made");
    })
    .await;
}

#[tokio::test]
async fn a_listener_that_says_nothing_is_no_database() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = mute.local_addr().expect("bound").port();
    for scheme in ["postgres", "mysql"] {
        let url = format!("{scheme}://me:secret@127.0.0.1:{port}/jobs");
        let refused = ServerStore::open(&url, SystemClock::new()).await.expect_err("it never answers");
        assert!(matches!(refused, OpenError::Unreachable { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_migration_that_was_interrupted_is_done_again() {
    on_each(async |url| {
        interrupt(&mut session(url).await).await;
        let store = open(url).await;
        store.now().await.expect("answers");
    })
    .await;
}
