//! What a submit from SQL holds of its task until the application commits, on MySQL and MariaDB.
//!
//! PostgreSQL has a lock on a row that fires and results pass and a deletion does not. Here each task has a row beside its
//! own for that: the procedure holds it in common with others, `Lock::Remove` for itself alone.

use mainspring_model::{TaskCode, TaskDefinition};

use crate::server::fault::Outcome;
use crate::server::params::{Param, params};
use crate::server::session::Session;
use crate::server::sql;
use crate::server::statement::Statement;

/// The task is new, or its jobs are in lanes from now on, or in none any more: then the caller holds it by `Lock::Remove`.
pub(in crate::server) async fn put(session: &mut Session, code: &TaskCode, definition: &TaskDefinition) -> Outcome<()> {
    run(session, &sql::PIN_PUT, &params![code.as_str(), definition.is_guarded()]).await
}

/// The caller holds the task by `Lock::Remove`.
pub(in crate::server) async fn remove(session: &mut Session, code: &TaskCode) -> Outcome<()> {
    run(session, &sql::PIN_DELETE, &params![code.as_str()]).await
}

/// Of a database that was filled otherwise.
#[cfg(feature = "sqlite")]
pub(in crate::server) async fn fill(session: &mut Session) -> Outcome<()> {
    run(session, &sql::PINS_FILL, &[]).await
}

async fn run(session: &mut Session, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<()> {
    match statement.is_for(session.dialect()) {
        true => session.run(statement, params).await.map(drop),
        false => Ok(()),
    }
}
