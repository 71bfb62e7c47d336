//! The proxy between the servers' own clients and real servers.

#![expect(clippy::disallowed_methods, reason = "real servers are watched in real time")]

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mainspring_test_servers::{
    Counts, CutProxy, Direction, Durability, How, Kind, Mode, Server, Session, When, find, shared, sql,
};

const KINDS: [Kind; 2] = [Kind::Postgres, Kind::MariaDb];
const TRANSACTION: &str = "BEGIN; INSERT INTO seen VALUES (2); COMMIT;";

/// A database with a table of one row, a proxy before it, and the database's URL through the proxy.
struct Stage {
    database: String,
    proxy: CutProxy,
    through: String,
}

fn stage(kind: Kind) -> Result<Stage> {
    let database = shared(kind)?;
    sql(&database, "CREATE TABLE seen (n int PRIMARY KEY); INSERT INTO seen VALUES (1)")?;
    let port = database.rsplit_once(':').expect("a port").1.split('/').next().expect("a port").parse()?;
    let proxy = CutProxy::to(kind, port)?;
    let through = proxy.url_of(&database)?;
    Ok(Stage { database, proxy, through })
}

impl Stage {
    fn rows(&self) -> Result<String> {
        sql(&self.database, "SELECT count(*) FROM seen")
    }
}

#[test]
fn what_is_let_through_arrives() -> Result<()> {
    for kind in KINDS {
        let stage = stage(kind)?;
        sql(&stage.through, TRANSACTION)?;
        assert_eq!(stage.rows()?, "2");
        let long = "x".repeat(1_000_000);
        assert_eq!(sql(&stage.through, &format!("SELECT '{long}'"))?, long, "{kind:?}");
        assert_eq!(stage.proxy.counts(), Counts { accepted: 2, ..Counts::default() });
    }
    Ok(())
}

#[test]
fn a_commit_is_cut_before_the_server_or_after_it_once() -> Result<()> {
    for kind in KINDS {
        for (when, rows) in [(When::Before, "1"), (When::After, "2")] {
            let stage = stage(kind)?;
            stage.proxy.cut_at_commit(when);
            assert_eq!(sql(&stage.through, "SELECT count(*) FROM seen")?, "1", "no commit, no cut");
            assert!(sql(&stage.through, TRANSACTION).is_err(), "{kind:?} {when:?}");
            assert_eq!(stage.rows()?, rows, "{kind:?} {when:?}");
            assert_eq!(stage.proxy.counts().cut_statements, 1);
            sql(&stage.through, "BEGIN; INSERT INTO seen VALUES (3); COMMIT;")?;
            assert_eq!(stage.proxy.counts().cut_statements, 1);
        }
    }
    Ok(())
}

#[test]
fn a_statement_that_commits_by_itself_is_cut_by_its_text() -> Result<()> {
    for kind in KINDS {
        for (when, rows) in [(When::Before, "1"), (When::After, "2")] {
            let stage = stage(kind)?;
            stage.proxy.cut_at_statement("INSERT INTO seen", when);
            assert!(sql(&stage.through, "SELECT 1; INSERT INTO seen VALUES (2)").is_err(), "{kind:?} {when:?}");
            assert_eq!(stage.rows()?, rows, "{kind:?} {when:?}");
        }
    }
    Ok(())
}

#[test]
fn a_prepared_statement_is_cut_too() -> Result<()> {
    let script = tempfile::NamedTempFile::new()?;
    std::fs::write(script.path(), "BEGIN;\nINSERT INTO seen SELECT count(*) + 1 FROM seen;\nCOMMIT;\n")?;
    for (text, when, rows) in [
        ("INSERT", When::Before, "1"),
        // The transaction goes with its connection.
        ("INSERT", When::After, "1"),
        ("COMMIT", When::Before, "1"),
        ("COMMIT", When::After, "2"),
    ] {
        let stage = stage(Kind::Postgres)?;
        match text {
            "COMMIT" => stage.proxy.cut_at_commit(when),
            text => stage.proxy.cut_at_statement(text, when),
        }
        let mut pgbench = Command::new(find("pgbench").expect("PostgreSQL's own load generator"));
        pgbench.args(["--protocol=prepared", "--no-vacuum", "--transactions=1", "--file"]).arg(script.path());
        let ended = pgbench.arg(&stage.through).output()?;
        assert!(!ended.status.success(), "{text} {when:?}: {ended:?}");
        assert_eq!(stage.proxy.counts().cut_statements, 1, "{text} {when:?}: {ended:?}");
        assert_eq!(stage.rows()?, rows, "{text} {when:?}");
    }
    Ok(())
}

#[test]
fn a_refused_client_hears_it_at_once() -> Result<()> {
    for kind in KINDS {
        let stage = stage(kind)?;
        stage.proxy.set(Mode::Refuse);
        assert!(sql(&stage.through, "SELECT 1").is_err(), "{kind:?}");
        assert!(stage.proxy.counts().refused > 0);
        stage.proxy.set(Mode::Pass);
        sql(&stage.through, "SELECT 1")?;
    }
    Ok(())
}

#[test]
fn a_proxy_stays_when_its_server_restarts() -> Result<()> {
    for kind in KINDS {
        let server = Server::start(kind, Durability::Relaxed)?;
        let proxy = CutProxy::before(&server)?;
        let through = proxy.url_of(&server.fresh_database()?)?;
        sql(&through, "SELECT 1")?;
        server.stop(How::Fast)?;
        assert!(sql(&through, "SELECT 1").is_err(), "{kind:?}");
        server.start_again()?;
        sql(&through, "SELECT 1")?;
    }
    Ok(())
}

#[test]
fn a_proxy_can_lead_to_another_server() -> Result<()> {
    let servers =
        [Server::start(Kind::Postgres, Durability::Relaxed)?, Server::start(Kind::Postgres, Durability::Relaxed)?];
    let proxy = CutProxy::before(&servers[0])?;
    let through = proxy.url_of(&format!("{}/postgres", servers[0].base_url()))?;
    let port = |server: &Server| server.port().to_string();
    assert_eq!(sql(&through, "SHOW port")?, port(&servers[0]));
    proxy.lead_to(&servers[1]);
    assert_eq!(sql(&through, "SHOW port")?, port(&servers[1]));
    Ok(())
}

#[test]
fn an_answer_can_be_delayed() -> Result<()> {
    for kind in KINDS {
        let stage = stage(kind)?;
        stage.proxy.set(Mode::Delay(Duration::from_millis(200)));
        let start = Instant::now();
        sql(&stage.through, "SELECT 1")?;
        // The answers to the greeting and to the statement.
        assert!(start.elapsed() >= Duration::from_millis(400), "{kind:?}: {:?}", start.elapsed());
    }
    Ok(())
}

#[test]
fn swallowed_statements_do_not_arrive_and_swallowed_answers_were_done() -> Result<()> {
    for kind in KINDS {
        for (direction, rows) in [(Direction::ToServer, "1"), (Direction::ToClient, "2")] {
            let stage = stage(kind)?;
            let mut session = Session::open(&stage.through)?;
            session.tell("SELECT 1")?;
            assert_eq!(session.hear()?, "1");
            stage.proxy.set(Mode::Swallow(direction));
            session.tell("INSERT INTO seen VALUES (2)")?;
            stage.wait_until_bytes_are_swallowed()?;
            stage.proxy.cut_all();
            assert!(session.close().is_err(), "{kind:?}: the connection was cut");
            assert_eq!(stage.proxy.counts().cut_connections, 1);
            assert_eq!(stage.rows()?, rows, "{kind:?} {direction:?}");
        }
    }
    Ok(())
}

impl Stage {
    fn wait_until_bytes_are_swallowed(&self) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(20);
        while self.proxy.counts().swallowed_bytes == 0 {
            ensure!(Instant::now() < end, "nothing is swallowed");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}
