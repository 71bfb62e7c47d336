//! Has the database lost commits that were acknowledged? After a fail-over to a standby that lay behind, or when an older
//! copy took its place, claims of now and of then could bear the same fence.
//!
//! Each new connection is asked before its first use who its server is and how many heartbeats it remembers. Where either
//! is not as it was, one node makes all claims void: fences jump ahead, and what was held is released. Nothing is counted
//! against the jobs: their bodies may still run.
//!
//! **Invariants:** no connection is used before a new history is there: see `renewal`. A history is a number that is drawn,
//! so that one which was lost never comes again; a process that was told another one knows that those it had before are
//! over.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

use super::driver::Driver;
use super::fault::{Class, Fault, Outcome};
use super::kind::Server;
use super::nodes::no_cluster;
use super::open::MIGRATION_MAX;
use super::params::params;
use super::renewal::renew;
use super::row::Columns;
use super::session::{Begin, Session};
use super::sql;
use crate::{OpenError, Trouble};

#[derive(Debug)]
pub(crate) struct History {
    server: Arc<Server>,
    /// Carries on with the renewal when its caller waits no longer.
    runtime: Handle,
    /// The server says who it is. Some services do not let ask.
    knows_server: bool,
    known: Mutex<Known>,
    /// One renewal at a time. The other nodes are kept out by the database.
    renewing: Arc<tokio::sync::Mutex<()>>,
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
pub(super) struct Told {
    pub(super) seen: Seen,
    /// Who wrote it, and who tells it now.
    pub(super) written_by: Option<String>,
    pub(super) server: Option<String>,
}

/// A verb would rather hear that the database is away than wait until the last fence is raised. That of a short queue is.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

impl History {
    /// At the start: whoever is first writes down which server it is, and the name of the cluster. Waits for a new history
    /// as long as it takes.
    pub(super) async fn open(
        session: &mut Session,
        server: &Arc<Server>,
        cluster: Option<&str>,
    ) -> Result<Arc<History>, OpenError> {
        let place = server.place();
        let unusable = |fault: Fault| fault.unusable(&place);
        let id = match server_of(session).await {
            Ok(id) => id,
            Err(fault) => {
                session.forget_failure();
                let reason = fault.reason();
                tracing::warn!(place, reason, "the server does not say who it is: a fail-over shows late");
                None
            }
        };
        let history = Arc::new(History {
            server: Arc::clone(server),
            runtime: Handle::current(),
            knows_server: id.is_some(),
            known: Mutex::default(),
            renewing: Arc::default(),
        });
        session.begin(Begin::Write).await.map_err(unusable)?;
        if let Some(name) = cluster {
            check_name(session, &place, name).await?;
        }
        if let Some(id) = &id {
            session.run(&sql::SERVER_NOTE, &params![id.as_str()]).await.map_err(unusable)?;
        }
        session.command("COMMIT").await.map_err(unusable)?;
        history.check(session, MIGRATION_MAX).await.map_err(unusable)?;
        Ok(history)
    }

    /// With each heartbeat.
    pub(super) fn saw(&self, now: Seen) {
        self.known().saw(now);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a new connection, before its first use. When history was lost it is good once there is a new one, and that may
    /// take longer than its caller has patience.
    pub(super) async fn check(self: &Arc<History>, session: &mut Session, patience: Duration) -> Outcome<()> {
        if self.lost(session).await?.is_none() {
            return Ok(());
        }
        let late = |_| {
            let reason = "history was lost, and the fences of all live jobs are being raised: try again in a moment";
            Err(Fault::Sql { class: Class::Refused(Trouble::Unavailable), reason: reason.to_owned() })
        };
        tokio::time::timeout(patience, self.until_renewed(session)).await.unwrap_or_else(late)
    }

    async fn until_renewed(self: &Arc<History>, session: &mut Session) -> Outcome<()> {
        loop {
            let turn = Arc::clone(&self.renewing).lock_owned().await;
            let Some(told) = self.lost(session).await? else { return Ok(()) };
            let (server, known) = (Arc::clone(&self.server), self.known().seen);
            let renewal = async move {
                let renewed = renew(&server, known, &told).await;
                drop(turn);
                renewed
            };
            match Driver::carry_out(&self.runtime, renewal).await {
                // Another node holds the row, and is at it.
                Some(Err(fault)) if fault.class() == Class::Again => {}
                Some(renewed) => renewed?,
                None => return Err(Fault::broken("the thread of the store ended")),
            }
        }
    }

    /// What the server says, if it cannot be so.
    async fn lost(&self, session: &mut Session) -> Outcome<Option<Told>> {
        // Before the question: what others see meanwhile is no loss.
        let known = self.known().clone();
        session.begin(Begin::Snapshot).await?;
        let told = self.ask(session).await?;
        session.command("COMMIT").await?;
        if known.is_lost(&told) {
            return Ok(Some(told));
        }
        self.saw(told.seen);
        Ok(None)
    }

    async fn ask(&self, session: &mut Session) -> Outcome<Told> {
        let server = if self.knows_server { server_of(session).await? } else { None };
        let row = session.one(&sql::HISTORY_READ, &[]).await?.ok_or_else(no_cluster)?;
        let mut c = Columns::of(&row);
        let seen = Seen { history: c.int()?, beats: c.int()? };
        Ok(Told { seen, written_by: c.opt_string()?, server })
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

/// System identifier and timeline, MySQL's UUID, or MariaDB's id with its number.
async fn server_of(session: &mut Session) -> Outcome<Option<String>> {
    let rows = session.rows(&sql::SERVER_READ, &[]).await?;
    let mut ids = Vec::with_capacity(rows.len());
    for row in &rows {
        ids.push((row.text(0)?.unwrap_or_default(), row.text(1)?.unwrap_or_default()));
    }
    Ok(name_of(&ids))
}

fn name_of(ids: &[(&str, &str)]) -> Option<String> {
    let id = |name: &str| ids.iter().find(|(of, id)| *of == name && !id.is_empty()).map(|(_, id)| *id);
    let name = id("server").or(id("server_uuid")).map(str::to_owned);
    // Before there was a UID: the number alone.
    name.or_else(|| {
        id("server_id")
            .map(|number| [id("server_uid"), Some(number)].into_iter().flatten().collect::<Vec<_>>().join("/"))
    })
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
    fn a_server_is_named_by_all_that_tells_it_from_others() {
        let check = |ids: &[(&str, &str)], expect: Option<&str>| assert_eq!(name_of(ids).as_deref(), expect, "{ids:?}");
        check(&[("server", "71/00000001")], Some("71/00000001"));
        check(&[("server", "")], None);
        check(&[("server_id", "1"), ("server_uuid", "ab-cd")], Some("ab-cd"));
        check(&[("server_id", "1"), ("server_uid", "fXdY=")], Some("fXdY=/1"));
        check(&[("server_id", "1")], Some("1"));
    }

    #[test]
    fn what_was_seen_never_goes_back() {
        assert_eq!(known(&[seen(5, 7), seen(5, 6)]).seen, seen(5, 7));
        assert_eq!(known(&[seen(5, 7), seen(5, 8)]).seen, seen(5, 8));
        assert_eq!(known(&[seen(5, 7), seen(3, 2)]).seen, seen(3, 2));
        assert_eq!(known(&[seen(5, 7), seen(3, 2), seen(5, 9)]).seen, seen(3, 2));
    }
}
