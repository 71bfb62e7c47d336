//! A server does what its methods say, of both kinds.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::Result;
use mainspring_test_servers::{Durability, How, Kind, Server, Session, shared, sql};

const KINDS: [Kind; 2] = [Kind::Postgres, Kind::MariaDb];

fn with_a_table(kind: Kind) -> Result<(Server, String)> {
    let server = Server::start(kind, Durability::Full)?;
    let database = server.fresh_database()?;
    sql(&database, "CREATE TABLE seen (n int PRIMARY KEY); INSERT INTO seen VALUES (1);")?;
    Ok((server, database))
}

fn count(database: &str) -> Result<String> {
    sql(database, "SELECT count(*) FROM seen;")
}

#[test]
fn databases_are_fresh_and_apart() -> Result<()> {
    for kind in KINDS {
        let (server, database) = with_a_table(kind)?;
        let other = server.fresh_database()?;
        assert_ne!(database, other);
        assert!(count(&other).is_err(), "a table of another database is not seen");
    }
    Ok(())
}

#[test]
fn every_way_to_stop_keeps_what_was_committed() -> Result<()> {
    for kind in KINDS {
        let (server, database) = with_a_table(kind)?;
        for (n, how) in [(2, How::Fast), (3, How::Immediate), (4, How::Kill)] {
            sql(&database, &format!("INSERT INTO seen VALUES ({n})"))?;
            server.stop(how)?;
            assert!(count(&database).is_err(), "{kind:?} answers after {how:?}");
            server.start_again()?;
            assert_eq!(count(&database)?, n.to_string(), "{kind:?} after {how:?}");
        }
    }
    Ok(())
}

#[test]
fn a_paused_server_answers_when_it_goes_on() -> Result<()> {
    for kind in KINDS {
        let (server, database) = with_a_table(kind)?;
        server.pause()?;
        let (answers, answer) = sync_channel(1);
        std::thread::scope(|scope| -> Result<()> {
            scope.spawn(|| answers.send(count(&database)));
            let too_early = answer.recv_timeout(Duration::from_millis(300));
            assert!(matches!(too_early, Err(RecvTimeoutError::Timeout)), "{kind:?}: {too_early:?}");
            server.resume()?;
            assert_eq!(answer.recv()??, "1", "{kind:?}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_paused_server_can_be_killed_and_starts_again() -> Result<()> {
    for kind in KINDS {
        let (server, database) = with_a_table(kind)?;
        server.pause()?;
        server.stop(How::Kill)?;
        server.start_again()?;
        assert_eq!(count(&database)?, "1", "{kind:?}");
    }
    Ok(())
}

#[test]
fn a_read_only_server_refuses_writes_until_it_is_not() -> Result<()> {
    for kind in KINDS {
        let (server, database) = with_a_table(kind)?;
        server.set_read_only(true)?;
        let refused = sql(&database, "INSERT INTO seen VALUES (2)").expect_err("a write to a read-only server");
        assert!(format!("{refused:#}").contains("read-only"), "{kind:?}: {refused:#}");
        assert_eq!(count(&database)?, "1");
        server.set_read_only(false)?;
        sql(&database, "INSERT INTO seen VALUES (2)")?;
    }
    Ok(())
}

#[test]
fn an_open_session_hears_that_its_server_is_read_only() -> Result<()> {
    for kind in KINDS {
        let (server, database) = with_a_table(kind)?;
        let mut session = Session::open(&database)?;
        session.tell("SELECT 1")?;
        assert_eq!(session.hear()?, "1");
        server.set_read_only(true)?;
        session.tell("INSERT INTO seen VALUES (2)")?;
        let refused = session.close().expect_err("a write to a read-only server");
        assert!(format!("{refused:#}").contains("read-only"), "{kind:?}: {refused:#}");
    }
    Ok(())
}

#[test]
fn servers_have_the_durability_they_were_asked_for() -> Result<()> {
    let check = |kind, durability, question: &str, expect: &str| -> Result<()> {
        let server = Server::start(kind, durability)?;
        assert_eq!(server.sql(question)?, expect, "{kind:?} {durability:?}");
        Ok(())
    };
    check(Kind::Postgres, Durability::Full, "SHOW fsync", "on")?;
    check(Kind::Postgres, Durability::Relaxed, "SHOW fsync", "off")?;
    check(Kind::MariaDb, Durability::Full, "SELECT @@innodb_flush_log_at_trx_commit", "1")?;
    check(Kind::MariaDb, Durability::Relaxed, "SELECT @@innodb_flush_log_at_trx_commit", "2")
}

/// MariaDB removes what it finds of its like when it starts, which breaks statements of another server.
#[test]
fn servers_do_not_share_a_place_for_temporary_files() -> Result<()> {
    let server = Server::start(Kind::MariaDb, Durability::Relaxed)?;
    assert_eq!(Path::new(&server.sql("SELECT @@tmpdir")?), server.folder());
    Ok(())
}

#[test]
fn a_shared_server_gives_each_test_its_database() -> Result<()> {
    for kind in KINDS {
        let (one, other) = (shared(kind)?, shared(kind)?);
        sql(&one, "CREATE TABLE seen (n int PRIMARY KEY)")?;
        sql(&other, "CREATE TABLE seen (n int PRIMARY KEY)")?;
    }
    Ok(())
}
