//! A new history: no claim of before is good any more.
//!
//! There may be a million live jobs, so their fences are raised in parts, each in a transaction of its own, and the new
//! history is written last: until then nobody gets a connection, and whoever finds it lost goes on from the beginning.
//!
//! **Invariants:** one node does it: it holds the row of the cluster from before the first part until the new history is
//! written. One that lost that row without noticing changes nothing more: each part looks, with its rows locked, whether
//! the history is still the lost one, and nobody claims one of these rows in a new history before it commits. Rows are
//! locked in the order queue, record, attempt, so no body begins in between. Fences of a new history are past all of the
//! ones before: the database's time in milliseconds is.

use std::time::Duration;

use mainspring_model::JobId;

use super::fault::{Class, Fault, Outcome};
use super::history::{Seen, Told};
use super::kind::Server;
use super::open::MIGRATION_MAX;
use super::params::params;
use super::row::Columns;
use super::session::{Begin, Session};
use super::sql;

/// Some 100 ms of work.
const PART_JOBS: i64 = 2_000;
/// A part that meets others is tried this often in all.
const TRIES_MAX: u32 = 5;
/// A node that is cut off must not keep the others from going on for longer. A part is done in less.
const QUIET_MAX: Duration = Duration::from_secs(60);

const STATE_EXECUTING: i64 = 2;

/// Nothing is to be done when another node was first. `Again`: another one is at it.
pub(super) async fn renew(server: &Server, known: Seen, told: &Told) -> Outcome<()> {
    let mut guard = server.connect(QUIET_MAX).await?;
    guard.command(guard.dialect().begin_words().not_quiet_for_long).await?;
    guard.begin(Begin::Write).await?;
    if guard.number(&sql::HISTORY_LOCK, &[]).await? != Some(told.seen.history) {
        return guard.command("COMMIT").await;
    }
    let place = server.place();
    tracing::error!(
        place,
        server = told.server,
        written_by = told.written_by,
        beats_seen = known.beats,
        beats_told = told.seen.beats,
        "history lost: the database has not all that it acknowledged; all claims are void, bodies that run are told"
    );
    let floor = guard.number(&sql::NOW, &[]).await?.unwrap_or(0);
    let mut session = server.connect(MIGRATION_MAX).await?;
    let (mut jobs, mut after) = (0, JobId(i64::MIN));
    while let Some((last, raised)) = raise(&mut session, told.seen.history, floor, after).await? {
        (jobs, after) = (jobs + raised, last);
        // So that it does not look as if nobody were there.
        guard.number(&sql::HISTORY_LOCK, &[]).await?;
    }
    guard.run(&sql::HISTORY_WRITE, &params![fastrand::i64(1..), 0_i64, floor]).await?;
    if let Some(server) = &told.server {
        guard.run(&sql::SERVER_WRITE, &params![server.as_str()]).await?;
    }
    guard.command("COMMIT").await?;
    tracing::warn!(place, jobs, floor, "the fences of all live jobs are raised: a new history begins");
    Ok(())
}

/// The last job of the next part, and how many there were; `None` when there are no more.
async fn raise(session: &mut Session, lost: i64, floor: i64, after: JobId) -> Outcome<Option<(JobId, u64)>> {
    let mut tries = 1;
    loop {
        session.begin(Begin::Write).await?;
        match part(session, lost, floor, after).await {
            Ok(part) => {
                session.command("COMMIT").await?;
                return Ok(part);
            }
            Err(fault) if fault.class() == Class::Again && tries < TRIES_MAX => {
                session.command("ROLLBACK").await?;
                session.forget_failure();
                tries += 1;
            }
            Err(fault) => return Err(fault),
        }
    }
}

async fn part(session: &mut Session, lost: i64, floor: i64, after: JobId) -> Outcome<Option<(JobId, u64)>> {
    let rows = session.rows(&sql::HISTORY_QUEUE_NEXT, &params![after, PART_JOBS]).await?;
    let (mut last, mut has_begun) = (None, false);
    for row in &rows {
        let mut c = Columns::of(row);
        last = Some(JobId(c.int()?));
        has_begun |= c.int()? == STATE_EXECUTING;
    }
    let Some(last) = last else { return Ok(None) };
    if session.number(&sql::HISTORY_NOW, &[]).await? != Some(lost) {
        return Err(Fault::again("another node has begun a new history meanwhile"));
    }
    if has_begun {
        session.run(&sql::HISTORY_JOBS, &params![after, last]).await?;
        let message = "history lost: the database went back to an earlier state";
        session.run(&sql::HISTORY_ATTEMPTS, &params![after, last, message]).await?;
    }
    let raised = session.run(&sql::HISTORY_QUEUE, &params![floor, after, last]).await?;
    Ok(Some((last, raised)))
}
