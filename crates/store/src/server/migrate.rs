//! Brings a database to the schema of this program: numbered migrations, each applied once, by one node at a time.
//!
//! **Invariants:** an applied migration never changes (its checksum is kept); a schema newer than the program is left
//! alone, unless it says that this program may still work with it; PostgreSQL applies a migration whole or not at all;
//! MySQL cannot, so there each is noted as begun before and as done after, and one that was interrupted is done again
//! from its beginning: its statements can be repeated.

use super::fault::{Fault, Outcome};
use super::kind::Server;
use super::params::params;
use super::row::Columns;
use super::session::{Dialect, Session};
use super::sql;
use crate::OpenError;

#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) number: u32,
    /// The oldest schema whose programs may go on with the database once this one is applied. Its own number: none.
    pub(crate) min_version: u32,
    pub(crate) sql: &'static str,
}

/// What the database says of one migration.
#[derive(Debug, PartialEq, Eq)]
struct Applied {
    number: u32,
    min_version: u32,
    checksum: String,
    is_done: bool,
}

/// What each new migration runs into: who is first does the work, the others wait and find it done.
pub(super) async fn migrate(session: &mut Session, server: &Server, now_ms: i64) -> Result<(), OpenError> {
    let place = server.place();
    let migrations = migrations_of(session.dialect());
    let missing = missing(session, migrations, &place).await?;
    if missing == 0 {
        return Ok(());
    }
    let applied = match session.dialect() {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => apply_in_transaction(session, migrations, &place, now_ms).await,
        #[cfg(feature = "mysql")]
        Dialect::MySql => apply_step_by_step(session, migrations, &place, now_ms).await,
    };
    applied?;
    tracing::info!(place, migrations = missing, "the schema was brought up to date");
    Ok(())
}

fn migrations_of(dialect: Dialect) -> &'static [Migration] {
    match dialect {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => crate::postgres::MIGRATIONS,
        #[cfg(feature = "mysql")]
        Dialect::MySql => crate::mysql::MIGRATIONS,
    }
}

/// How many are not applied. A program that is too old must not write at all, not even the table of migrations.
async fn missing(session: &mut Session, ours: &[Migration], place: &str) -> Result<usize, OpenError> {
    let unusable = |fault: Fault| fault.unusable(place);
    if !session.exists(&sql::MIGRATION_TABLE_THERE, &[]).await.map_err(unusable)? {
        let is_foreign = session.exists(&sql::MIGRATION_FOREIGN, &[]).await.map_err(unusable)?;
        if !is_foreign {
            return Ok(ours.len());
        }
        // Looked at again: another node may have begun with its first migration in between.
        if !session.exists(&sql::MIGRATION_TABLE_THERE, &[]).await.map_err(unusable)? {
            let reason = "it holds tables of another program; name another database".to_owned();
            return Err(OpenError::Unusable { place: place.to_owned(), reason });
        }
    }
    let applied = read(session).await.map_err(unusable)?;
    check(&applied, ours, place)?;
    let is_done = |number| applied.iter().any(|applied| applied.number == number && applied.is_done);
    Ok(ours.iter().filter(|migration| !is_done(migration.number)).count())
}

async fn read(session: &mut Session) -> Outcome<Vec<Applied>> {
    let rows = session.rows(&sql::MIGRATIONS_READ, &[]).await?;
    let decode = |row| {
        let mut c = Columns::of(row);
        Ok(Applied { number: c.count()?, min_version: c.count()?, checksum: c.string()?, is_done: c.flag()? })
    };
    rows.iter().map(decode).collect()
}

fn check(applied: &[Applied], ours: &[Migration], place: &str) -> Result<(), OpenError> {
    let known = ours.last().map_or(0, |migration| migration.number);
    for theirs in applied {
        let Some(migration) = ours.iter().find(|migration| migration.number == theirs.number) else {
            if theirs.min_version > known || theirs.number <= known {
                let found = applied.last().map_or(theirs.number, |newest| newest.number);
                return Err(OpenError::TooNew { place: place.to_owned(), found, known });
            }
            tracing::warn!(
                place,
                schema = theirs.number,
                known,
                "the schema is newer than this program, and allows it"
            );
            continue;
        };
        if checksum(migration.sql) != theirs.checksum {
            let detail = "its text differs from the one this program carries".to_owned();
            return Err(OpenError::MigrationChanged { place: place.to_owned(), number: theirs.number, detail });
        }
    }
    Ok(())
}

#[cfg(feature = "postgres")]
async fn apply_in_transaction(
    session: &mut Session,
    ours: &[Migration],
    place: &str,
    now_ms: i64,
) -> Result<(), OpenError> {
    let unusable = |fault: Fault| fault.unusable(place);
    // Held until the end of the transaction. Somebody else's migration may take long.
    session.command("SET lock_timeout = 0; BEGIN").await.map_err(unusable)?;
    session.rows(&sql::MIGRATION_LOCK, &[]).await.map_err(unusable)?;
    session.run(&sql::MIGRATION_TABLE, &[]).await.map_err(unusable)?;
    let applied = read(session).await.map_err(unusable)?;
    check(&applied, ours, place)?;
    for migration in ours.iter().filter(|ours| !applied.iter().any(|applied| applied.number == ours.number)) {
        session.command(migration.sql).await.map_err(|fault| step_failed(migration, &fault, place))?;
        note(session, migration, true, now_ms).await.map_err(unusable)?;
    }
    session.command("COMMIT").await.map_err(unusable)
}

#[cfg(feature = "mysql")]
async fn apply_step_by_step(
    session: &mut Session,
    ours: &[Migration],
    place: &str,
    now_ms: i64,
) -> Result<(), OpenError> {
    let unusable = |fault: Fault| fault.unusable(place);
    if session.number(&sql::MIGRATION_LOCK, &[]).await.map_err(unusable)? != Some(1) {
        let reason = "another node has been changing its schema for a minute: wait for it, then start again".to_owned();
        return Err(OpenError::Unusable { place: place.to_owned(), reason });
    }
    session.run(&sql::MIGRATION_TABLE, &[]).await.map_err(unusable)?;
    let applied = read(session).await.map_err(unusable)?;
    check(&applied, ours, place)?;
    let collation = crate::mysql::byte_collation(session).await.map_err(unusable)?;
    let is_done = |number| applied.iter().any(|applied| applied.number == number && applied.is_done);
    for migration in ours.iter().filter(|migration| !is_done(migration.number)) {
        note(session, migration, false, now_ms).await.map_err(unusable)?;
        let text = migration.sql.replace("$collation", collation);
        session.command(&text).await.map_err(|fault| step_failed(migration, &fault, place))?;
        note(session, migration, true, now_ms).await.map_err(unusable)?;
    }
    session.rows(&sql::MIGRATION_UNLOCK, &[]).await.map(drop).map_err(unusable)
}

fn step_failed(migration: &Migration, fault: &Fault, place: &str) -> OpenError {
    let reason = format!("migration {} failed: {}", migration.number, fault.reason());
    OpenError::Unusable { place: place.to_owned(), reason }
}

async fn note(session: &mut Session, migration: &Migration, is_done: bool, now_ms: i64) -> Outcome<()> {
    let row = params![migration.number, migration.min_version, checksum(migration.sql), is_done, now_ms];
    session.run(&sql::MIGRATION_NOTE, &row).await.map(drop)
}

/// FNV-1a, 64 bits: tells an edited file from the applied one. Not a defence against an adversary, who could edit
/// the schema itself.
fn checksum(sql: &str) -> String {
    let hash = sql
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// Leaves a database as a node does that died within its first migration.
#[cfg(test)]
pub(super) async fn interrupt(session: &mut Session) {
    let first = &migrations_of(session.dialect())[0];
    match session.dialect() {
        // It is undone by the server.
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            let half = format!("BEGIN; {}; ROLLBACK", first.sql);
            session.command(&half).await.expect("begins");
        }
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            session.run(&sql::MIGRATION_TABLE, &[]).await.expect("creates");
            note(session, first, false, 0).await.expect("notes");
            let collation = crate::mysql::byte_collation(session).await.expect("asks");
            let text = first.sql.replace("$collation", collation);
            let half = text.split_once("CREATE TABLE IF NOT EXISTS job_queue").expect("has it").0;
            session.command(half).await.expect("begins");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &[Migration] =
        &[Migration { number: 1, min_version: 1, sql: "one" }, Migration { number: 2, min_version: 1, sql: "two" }];

    fn applied(number: u32, min_version: u32, sql: &str) -> Applied {
        Applied { number, min_version, checksum: checksum(sql), is_done: true }
    }

    #[test]
    fn a_newer_schema_is_left_alone_unless_it_allows_this_program() {
        let with = |more: Vec<Applied>| {
            let mut all = vec![applied(1, 1, "one"), applied(2, 1, "two")];
            all.extend(more);
            check(&all, OURS, "here")
        };
        assert!(with(vec![]).is_ok());
        assert!(with(vec![applied(3, 2, "three")]).is_ok());
        let refused = with(vec![applied(3, 2, "three"), applied(4, 3, "four")]);
        assert!(matches!(refused, Err(OpenError::TooNew { found: 4, known: 2, .. })), "{refused:?}");
    }

    #[test]
    fn a_changed_migration_is_noticed() {
        let refused = check(&[applied(1, 1, "another")], OURS, "here");
        assert!(matches!(refused, Err(OpenError::MigrationChanged { number: 1, .. })), "{refused:?}");
    }
}
