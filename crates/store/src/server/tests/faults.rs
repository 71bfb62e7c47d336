//! What breaks on the way to a server, and in it.

use std::time::Duration;

use futures_util::future::join_all;
use mainspring_model::JobId;
use mainspring_test_servers::{CutProxy, Direction, Durability, How, Kind, Mode, Server, When, shared};

use super::open;
use crate::clock::ManualClock;
use crate::server::ServerStore;
use crate::suite::world::T0;
use crate::{Press, Pressed, Result, Store as _, StoreError, Trouble};

/// A database on the server of all tests, behind a proxy that can cut.
fn proxied(kind: Kind) -> (CutProxy, String) {
    let database = shared(kind).expect("a database");
    let port = database.rsplit([':', '/']).nth(1).and_then(|port| port.parse().ok()).expect("a port");
    let proxy = CutProxy::to(kind, port).expect("starts");
    let url = proxy.url_of(&database).expect("a URL");
    (proxy, url)
}

async fn through_proxy(test: impl AsyncFn(&CutProxy, &ServerStore)) {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let (proxy, url) = proxied(kind);
        test(&proxy, &*open(&url).await).await;
    }
}

/// On a server of their own, through a proxy that can cut.
async fn on_own(test: impl AsyncFn(&Server, &CutProxy, &ServerStore)) {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let server = Server::start(kind, Durability::Relaxed).expect("starts");
        let proxy = CutProxy::before(&server).expect("starts");
        let database = server.fresh_database().expect("creates");
        let store = open(&proxy.url_of(&database).expect("a URL")).await;
        test(&server, &proxy, &store).await;
    }
}

async fn press(store: &ServerStore, request_id: &str) -> Result<Pressed> {
    store.press(Press { request_id: request_id.to_owned(), operation: "trial".to_owned(), now: T0 }).await
}

#[tokio::test]
async fn what_a_cut_commit_did_is_unknown_and_can_be_asked() {
    through_proxy(async |proxy, store| {
        press(store, "warm").await.expect("connects, which commits too");
        for (when, then) in [(When::Before, Pressed::First), (When::After, Pressed::UnderWay)] {
            let id = format!("{when:?}");
            proxy.cut_at_commit(when);
            let cut = press(store, &id).await;
            assert!(matches!(cut, Err(StoreError::Unknown { kind: Trouble::Unavailable, .. })), "{when:?}: {cut:?}");
            assert_eq!(press(store, &id).await.expect("answers"), then, "{when:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cut_before_the_commit_applied_nothing() {
    through_proxy(async |proxy, store| {
        press(store, "warm").await.expect("prepares");
        proxy.cut_at_statement("request", When::After);
        let cut = press(store, "a").await;
        assert!(matches!(cut, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{cut:?}");
        assert_eq!(press(store, "a").await.expect("answers"), Pressed::First);
    })
    .await;
}

#[tokio::test]
async fn a_single_write_that_was_cut_is_unknown() {
    through_proxy(async |proxy, store| {
        press(store, "a").await.expect("keeps");
        store.answer_press("a".to_owned(), Some("one".to_owned())).await.expect("prepares");
        proxy.cut_at_statement("UPDATE request", When::After);
        let cut = store.answer_press("a".to_owned(), Some("two".to_owned())).await;
        assert!(matches!(cut, Err(StoreError::Unknown { kind: Trouble::Unavailable, .. })), "{cut:?}");
        let answer = "two".to_owned();
        assert_eq!(press(store, "a").await.expect("answers"), Pressed::Again { answer });
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_gone_applies_nothing_and_is_found_again() {
    on_own(async |server, _, store| {
        server.stop(How::Kill).expect("stops");
        for _ in 0..3 {
            let gone = press(store, "a").await;
            assert!(matches!(gone, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{gone:?}");
        }
        server.start_again().expect("starts");
        assert_eq!(press(store, "a").await.expect("answers"), Pressed::First);
        assert_eq!(store.job(JobId(1)).await.expect("reads"), None);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_takes_no_writes_says_so() {
    on_own(async |server, proxy, store| {
        server.set_read_only(true).expect("sets");
        proxy.cut_all();
        store.now().await.expect("connects again");
        for _ in 0..2 {
            let refused = store.check_writable().await;
            assert!(matches!(refused, Err(StoreError::NotApplied { kind: Trouble::ReadOnly, .. })), "{refused:?}");
        }
        let refused = press(store, "a").await;
        assert!(matches!(refused, Err(StoreError::NotApplied { kind: Trouble::ReadOnly, .. })), "{refused:?}");
        assert_eq!(store.tasks().await.expect("reads"), []);
        server.set_read_only(false).expect("sets");
        proxy.cut_all();
        assert_eq!(press(store, "a").await.expect("answers"), Pressed::First);
        store.check_writable().await.expect("writes");
    })
    .await;
}

#[tokio::test]
async fn more_callers_than_connections_all_get_their_answer() {
    through_proxy(async |_, store| {
        let ids: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let pressed = join_all(ids.iter().map(|id| press(store, id))).await;
        assert!(pressed.iter().all(|pressed| matches!(pressed, Ok(Pressed::First))), "{pressed:?}");
    })
    .await;
}

#[tokio::test]
async fn connections_that_died_in_their_sleep_are_not_asked_one_after_another() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let (proxy, url) = proxied(kind);
        let clock = ManualClock::at(T0);
        let node: std::sync::Arc<dyn mainspring_model::Clock> = clock.clone();
        let store = ServerStore::open(&url, node).await.expect("opens");
        join_all((0..10).map(|_| store.now())).await;
        clock.advance(Duration::from_secs(60));
        proxy.set(Mode::Swallow(Direction::ToClient));
        // One is asked, then a new one is tried.
        let gone = tokio::time::timeout(Duration::from_secs(6), store.now()).await.expect("says so soon");
        assert!(matches!(gone, Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. })), "{gone:?}");
        proxy.set(Mode::Pass);
        store.now().await.expect("answers");
    }
}

#[tokio::test]
async fn a_setting_that_grows_weak_shows_with_the_next_connection() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let server = Server::start(kind, Durability::Full).expect("starts");
        let proxy = CutProxy::before(&server).expect("starts");
        let database = server.fresh_database().expect("creates");
        let store = open(&proxy.url_of(&database).expect("a URL")).await;
        let set = |to: [&str; 2]| match kind {
            Kind::Postgres => server.sql(&format!("ALTER ROLE ALL SET synchronous_commit = {}", to[0])),
            Kind::MariaDb => server.sql(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {}", to[1])),
        };
        let until = async |expect: crate::Durability| {
            while store.info().durability != expect {
                proxy.cut_all();
                drop(store.now().await);
            }
        };
        assert_eq!((store.info().durability, store.info().weak), (crate::Durability::Full, Vec::new()));
        for (to, expect) in [(["off", "2"], crate::Durability::Relaxed), (["on", "1"], crate::Durability::Full)] {
            set(to).expect("sets");
            tokio::time::timeout(Duration::from_secs(30), until(expect)).await.expect("is seen");
            assert_eq!(store.info().weak.len(), usize::from(to[0] == "off"), "{:?}", store.info().weak);
        }
    }
}
