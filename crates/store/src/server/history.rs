//! Has the database lost commits that were acknowledged? After a fail-over to a standby that lay behind, or when an older
//! copy took its place, claims of now and of then could bear the same fence.
//!
//! Each new connection is asked before its first use who its server is and how many heartbeats it remembers. Where either
//! is not as it was, one node makes all claims void: fences jump ahead, and what was held is released. Nothing is counted
//! against the jobs: their bodies may still run.
//!
//! **Invariants:** one node does it, by comparing and setting under the lock of the cluster's row; a process that hears of
//! a newer history forgets what it had seen of the older one.

use std::sync::{Mutex, PoisonError};

use super::fault::{Fault, Outcome};
use super::nodes::no_cluster;
use super::params::params;
use super::row::Columns;
use super::session::{Begin, Session};
use super::sql;
use crate::OpenError;

/// How far fences jump ahead: nobody claims one job that often while a standby lies behind.
const FENCES_SKIPPED: i64 = 1_000;

#[derive(Debug)]
pub(crate) struct History {
    place: String,
    /// The server says who it is. Some services do not let ask.
    knows_server: bool,
    seen: Mutex<Seen>,
}

/// What this process has seen of the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) history: i64,
    /// Heartbeats of all nodes.
    pub(super) beats: i64,
}

/// What a server says.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    seen: Seen,
    /// Who wrote it, and who tells it now.
    written_by: Option<String>,
    server: Option<String>,
}

impl History {
    /// At the start: whoever is first writes down which server it is, and the name of the cluster.
    pub(super) async fn open(session: &mut Session, place: &str, cluster: Option<&str>) -> Result<History, OpenError> {
        let unusable = |fault: Fault| fault.unusable(place);
        let server = match server_of(session).await {
            Ok(server) => server,
            Err(fault) => {
                session.forget_failure();
                tracing::warn!(
                    place,
                    reason = fault.reason(),
                    "the server does not say who it is: a fail-over shows late"
                );
                None
            }
        };
        let history = History { place: place.to_owned(), knows_server: server.is_some(), seen: Mutex::default() };
        session.begin(Begin::Write).await.map_err(unusable)?;
        if let Some(name) = cluster {
            check_name(session, place, name).await?;
        }
        if let Some(server) = &server {
            session.run(&sql::SERVER_NOTE, &params![server.as_str()]).await.map_err(unusable)?;
        }
        session.command("COMMIT").await.map_err(unusable)?;
        history.check(session).await.map_err(unusable)?;
        Ok(history)
    }

    /// With each heartbeat.
    pub(super) fn saw(&self, now: Seen) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = later(*seen, now);
    }

    fn seen(&self) -> Seen {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a new connection, before its first use.
    pub(super) async fn check(&self, session: &mut Session) -> Outcome<()> {
        // Before the question: what others see meanwhile is no loss.
        let seen = self.seen();
        session.begin(Begin::Snapshot).await?;
        let told = self.ask(session).await?;
        session.command("COMMIT").await?;
        if !is_lost(seen, &told) {
            self.saw(told.seen);
            return Ok(());
        }
        session.begin(Begin::Write).await?;
        let is_ours = self.renew(session, seen, &told).await?;
        session.command("COMMIT").await?;
        if is_ours {
            tracing::error!(
                place = self.place,
                server = told.server,
                written_by = told.written_by,
                beats_seen = seen.beats,
                beats_told = told.seen.beats,
                "history lost: the database has not all that it acknowledged; all claims are void, bodies that run are told"
            );
        }
        Ok(())
    }

    async fn ask(&self, session: &mut Session) -> Outcome<Told> {
        let server = if self.knows_server { server_of(session).await? } else { None };
        let row = session.one(&sql::HISTORY_READ, &[]).await?.ok_or_else(no_cluster)?;
        let mut c = Columns::of(&row);
        let seen = Seen { history: c.int()?, beats: c.int()? };
        Ok(Told { seen, written_by: c.opt_string()?, server })
    }

    /// `false`: another node was first.
    async fn renew(&self, session: &mut Session, seen: Seen, told: &Told) -> Outcome<bool> {
        if session.number(&sql::HISTORY_LOCK, &[]).await? != Some(told.seen.history) {
            return Ok(false);
        }
        let message = "history lost: the database went back to an earlier state";
        session.run(&sql::HISTORY_ATTEMPTS, &params![message]).await?;
        session.run(&sql::HISTORY_JOBS, &[]).await?;
        session.run(&sql::HISTORY_QUEUE, &params![FENCES_SKIPPED]).await?;
        let now = Seen { history: told.seen.history.max(seen.history) + 1, beats: told.seen.beats.max(seen.beats) + 1 };
        session.run(&sql::HISTORY_WRITE, &params![now.history, now.beats]).await?;
        if let Some(server) = &told.server {
            session.run(&sql::SERVER_WRITE, &params![server.as_str()]).await?;
        }
        Ok(true)
    }
}

/// A newer history begins its own count.
fn later(seen: Seen, now: Seen) -> Seen {
    if now.history == seen.history { Seen { beats: now.beats.max(seen.beats), ..now } } else { now }
}

fn is_lost(seen: Seen, told: &Told) -> bool {
    let is_other = told.server.is_some() && told.written_by.is_some() && told.server != told.written_by;
    let went_back = (told.seen.history, told.seen.beats) < (seen.history, seen.beats);
    is_other || went_back
}

/// System identifier and timeline, or the server's id.
async fn server_of(session: &mut Session) -> Outcome<Option<String>> {
    let rows = session.rows(&sql::SERVER_READ, &[]).await?;
    let ids = rows.iter().map(|row| row.text(1)).collect::<Outcome<Vec<_>>>()?;
    // The longest says most: MySQL has a UUID beside the number.
    Ok(ids.into_iter().flatten().max_by_key(|id| id.len()).map(str::to_owned))
}

async fn check_name(session: &mut Session, place: &str, name: &str) -> Result<(), OpenError> {
    let unusable = |fault: Fault| fault.unusable(place);
    session.run(&sql::CLUSTER_NAME_WRITE, &params![name]).await.map_err(unusable)?;
    let row = session.one(&sql::CLUSTER_NAME, &[]).await.map_err(unusable)?;
    let stored = row.map_or(Ok(None), |row| row.text(0).map(|name| name.map(str::to_owned))).map_err(unusable)?;
    let stored = stored.unwrap_or_default();
    if stored == name {
        return Ok(());
    }
    let reason =
        format!("it belongs to cluster `{stored}`, this node to `{name}`: name another database or that cluster");
    Err(OpenError::Unusable { place: place.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seen(history: i64, beats: i64) -> Seen {
        Seen { history, beats }
    }

    #[test]
    fn a_loss_shows_by_the_server_or_by_the_count_of_heartbeats() {
        let check = |before: Seen, now: Seen, written_by: Option<&str>, server: Option<&str>, expect: bool| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            let told = Told { seen: now, written_by: own(written_by), server: own(server) };
            assert_eq!(is_lost(before, &told), expect, "{before:?} {told:?}");
        };
        check(seen(0, 7), seen(0, 7), Some("a"), Some("a"), false);
        check(seen(0, 7), seen(0, 9), Some("a"), Some("a"), false);
        check(seen(0, 7), seen(0, 6), Some("a"), Some("a"), true);
        check(seen(0, 7), seen(0, 9), Some("a"), Some("b"), true);
        check(seen(0, 7), seen(0, 9), Some("a"), None, false);
        // Another node has seen to it: its count begins where it was.
        check(seen(0, 7), seen(1, 3), Some("b"), Some("b"), false);
        // That was lost as well.
        check(seen(1, 3), seen(0, 9), Some("b"), Some("b"), true);
    }

    #[test]
    fn what_was_seen_never_goes_back_within_a_history() {
        assert_eq!(later(seen(0, 7), seen(0, 6)), seen(0, 7));
        assert_eq!(later(seen(0, 7), seen(0, 8)), seen(0, 8));
        assert_eq!(later(seen(0, 7), seen(1, 2)), seen(1, 2));
    }
}
