//! A fail-over to an asynchronous standby loses what was not shipped, and only that.

use anyhow::Result;
use mainspring_test_servers::{Durability, How, Kind, Server, sql};

#[test]
fn a_promoted_standby_has_what_was_shipped_and_not_what_came_later() -> Result<()> {
    let primary = Server::start(Kind::Postgres, Durability::Full)?;
    let database = primary.fresh_database()?;
    sql(&database, "CREATE TABLE seen (n int PRIMARY KEY); INSERT INTO seen VALUES (1)")?;
    let standby = primary.standby()?;
    let copy = standby.server().url_of(&database)?;
    sql(&database, "INSERT INTO seen VALUES (2)")?;
    standby.wait_until_it_has_all_of(&primary)?;
    assert_eq!(sql(&copy, "SELECT n FROM seen ORDER BY n")?, "1\n2");
    assert!(sql(&copy, "INSERT INTO seen VALUES (3)").is_err(), "a standby takes no writes");

    standby.stop_following()?;
    sql(&database, "INSERT INTO seen VALUES (3)")?;
    primary.stop(How::Kill)?;
    let promoted = standby.promote()?;
    sql(&copy, "INSERT INTO seen VALUES (4)")?;
    assert_eq!(sql(&copy, "SELECT n FROM seen ORDER BY n")?, "1\n2\n4");
    promoted.stop(How::Fast)?;
    promoted.start_again()?;
    assert_eq!(sql(&copy, "SELECT count(*) FROM seen")?, "3");
    Ok(())
}
