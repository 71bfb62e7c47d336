//! The pooler shares few sessions among many clients.

use anyhow::Result;
use mainspring_test_servers::{Durability, Kind, Server, pgbouncer, sql};

#[test]
fn many_clients_share_few_sessions() -> Result<()> {
    let server = Server::start(Kind::Postgres, Durability::Relaxed)?;
    let database = server.fresh_database()?;
    let pooler = pgbouncer(&server)?;
    let pooled = pooler.url_of(&database)?;
    sql(&pooled, "CREATE TABLE seen (session int)")?;
    std::thread::scope(|scope| {
        let note = "INSERT INTO seen SELECT pg_backend_pid() FROM pg_sleep(0.05)";
        let clients: Vec<_> = (0..12).map(|_| scope.spawn(|| sql(&pooled, note))).collect();
        clients.into_iter().try_for_each(|client| client.join().expect("no panic").map(drop))
    })?;
    assert_eq!(sql(&database, "SELECT count(*), count(DISTINCT session) <= 4 FROM seen")?, "12\tt");
    Ok(())
}

#[test]
fn a_session_belongs_to_a_client_for_a_transaction_only() -> Result<()> {
    let server = Server::start(Kind::Postgres, Durability::Relaxed)?;
    let pooler = pgbouncer(&server)?;
    let console = pooler.url_of(&format!("{}/pgbouncer", server.base_url()))?;
    let settings = sql(&console, "SHOW CONFIG")?;
    assert!(settings.contains("pool_mode\ttransaction"), "{settings}");
    Ok(())
}
