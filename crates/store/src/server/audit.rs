//! Who changed what, written with the change; and the mark by which other nodes see that a definition has changed.

use mainspring_model::Timestamp;

use super::fault::Outcome;
use super::params::params;
use super::session::Session;
use super::sql;

/// Who changes something, and when.
#[derive(Debug)]
pub(super) struct By {
    pub(super) who: String,
    pub(super) now: Timestamp,
}

pub(super) async fn write_audit(session: &mut Session, by: &By, what: &str, object: &str, detail: &str) -> Outcome<()> {
    let row = params![by.now, by.who.as_str(), what, object, detail];
    session.run(&sql::AUDIT_INSERT, &row).await.map(drop)
}

/// A task, a pool or a calendar is another one now. All such changes meet in this row: it is written last.
pub(super) async fn definition_changed(session: &mut Session) -> Outcome<()> {
    session.run(&sql::CLUSTER_DEFINED, &[]).await.map(drop)
}
