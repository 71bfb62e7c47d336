//! Has the database lost commits that were acknowledged? After a fail-over to a standby that lay behind, or when an older
//! copy took its place, claims of now and of then could bear the same fence.
//!
//! Each new connection is asked before its first use who its server is and how many heartbeats it remembers. Where either
//! is not as it was, one node makes all claims void: fences jump ahead, and what was held is released. Nothing is counted
//! against the jobs: their bodies may still run.
//!
//! **Invariants:** one node does it, by comparing and setting under the lock of the cluster's row. A history is a number
//! that is drawn, so that one which was lost never comes again; a process that was told another one knows that those it
//! had before are over. Fences of a new history are past all of the ones before: the database's time in milliseconds is.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fault::{Fault, Outcome};
use super::nodes::no_cluster;
use super::params::params;
use super::row::Columns;
use super::session::{Begin, Session};
use super::sql;
use crate::OpenError;

#[derive(Debug)]
pub(crate) struct History {
    place: String,
    /// The server says who it is. Some services do not let ask.
    knows_server: bool,
    known: Mutex<Known>,
}

#[derive(Debug, Clone, Default)]
struct Known {
    seen: Seen,
    over: BTreeSet<i64>,
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
        let history = History { place: place.to_owned(), knows_server: server.is_some(), known: Mutex::default() };
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
        self.known().saw(now);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a new connection, before its first use.
    pub(super) async fn check(&self, session: &mut Session) -> Outcome<()> {
        // Before the question: what others see meanwhile is no loss.
        let known = self.known().clone();
        session.begin(Begin::Snapshot).await?;
        let told = self.ask(session).await?;
        session.command("COMMIT").await?;
        if !known.is_lost(&told) {
            self.saw(told.seen);
            return Ok(());
        }
        session.begin(Begin::Write).await?;
        let is_ours = self.renew(session, &told).await?;
        session.command("COMMIT").await?;
        if is_ours {
            tracing::error!(
                place = self.place,
                server = told.server,
                written_by = told.written_by,
                beats_seen = known.seen.beats,
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
    async fn renew(&self, session: &mut Session, told: &Told) -> Outcome<bool> {
        if session.number(&sql::HISTORY_LOCK, &[]).await? != Some(told.seen.history) {
            return Ok(false);
        }
        let message = "history lost: the database went back to an earlier state";
        session.run(&sql::HISTORY_ATTEMPTS, &params![message]).await?;
        session.run(&sql::HISTORY_JOBS, &[]).await?;
        let floor = session.number(&sql::NOW, &[]).await?.unwrap_or(0);
        session.run(&sql::HISTORY_QUEUE, &params![floor]).await?;
        session.run(&sql::HISTORY_WRITE, &params![fastrand::i64(1..), 0_i64, floor]).await?;
        if let Some(server) = &told.server {
            session.run(&sql::SERVER_WRITE, &params![server.as_str()]).await?;
        }
        Ok(true)
    }
}

impl Known {
    /// A new history begins its own count. Word of one that is over is late, or the database went back to it: that shows
    /// at the next connection.
    fn saw(&mut self, now: Seen) {
        if now.history == self.seen.history {
            self.seen.beats = self.seen.beats.max(now.beats);
        } else if !self.over.contains(&now.history) {
            self.over.insert(self.seen.history);
            self.seen = now;
        }
    }

    fn is_lost(&self, told: &Told) -> bool {
        let is_other = told.server.is_some() && told.written_by.is_some() && told.server != told.written_by;
        let went_back = told.seen.history == self.seen.history && told.seen.beats < self.seen.beats;
        is_other || went_back || self.over.contains(&told.seen.history)
    }
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

    fn known(before: &[Seen]) -> Known {
        let mut known = Known { seen: before[0], ..Known::default() };
        before.iter().for_each(|seen| known.saw(*seen));
        known
    }

    #[test]
    fn a_loss_shows_by_the_server_by_the_count_of_heartbeats_or_by_a_history_that_was_over() {
        let check = |before: &[Seen], now: Seen, written_by: Option<&str>, server: Option<&str>, expect: bool| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            let told = Told { seen: now, written_by: own(written_by), server: own(server) };
            assert_eq!(known(before).is_lost(&told), expect, "{before:?} {told:?}");
        };
        check(&[seen(5, 7)], seen(5, 7), Some("a"), Some("a"), false);
        check(&[seen(5, 7)], seen(5, 9), Some("a"), Some("a"), false);
        check(&[seen(5, 7)], seen(5, 6), Some("a"), Some("a"), true);
        check(&[seen(5, 7)], seen(5, 9), Some("a"), Some("b"), true);
        check(&[seen(5, 7)], seen(5, 9), Some("a"), None, false);
        // Another node has seen to it: its count begins anew, and its number says nothing.
        check(&[seen(5, 7)], seen(3, 2), Some("b"), Some("b"), false);
        // That was lost as well.
        check(&[seen(5, 7), seen(3, 2)], seen(5, 9), Some("b"), Some("b"), true);
    }

    #[test]
    fn what_was_seen_never_goes_back() {
        assert_eq!(known(&[seen(5, 7), seen(5, 6)]).seen, seen(5, 7));
        assert_eq!(known(&[seen(5, 7), seen(5, 8)]).seen, seen(5, 8));
        assert_eq!(known(&[seen(5, 7), seen(3, 2)]).seen, seen(3, 2));
        assert_eq!(known(&[seen(5, 7), seen(3, 2), seen(5, 9)]).seen, seen(3, 2));
    }
}
