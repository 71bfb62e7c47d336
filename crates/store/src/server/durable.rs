//! Does a commit survive a power loss of the server? Read at the start and again with new connections: a server that took
//! the place of another one may be set up otherwise, and people change settings while it runs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fault::Outcome;
use super::kind::Server;
use super::session::Session;
use crate::Durability;

/// Connections that are opened together ask once.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Durable {
    last: Mutex<Looked>,
}

#[derive(Debug)]
struct Looked {
    weak: Vec<String>,
    at: Duration,
}

impl Durable {
    pub(super) async fn open(server: &Server, session: &mut Session, now: Duration) -> Outcome<Durable> {
        let weak = server.weak_settings(session).await?;
        warn(server, &weak);
        Ok(Durable { last: Mutex::new(Looked { weak, at: now }) })
    }

    /// With a new connection.
    pub(super) async fn look(&self, server: &Server, session: &mut Session, now: Duration) -> Outcome<()> {
        if now.saturating_sub(self.last().at) < LOOK_EVERY {
            return Ok(());
        }
        let weak = server.weak_settings(session).await?;
        let mut last = self.last();
        last.at = now;
        if last.weak != weak {
            match weak.is_empty() {
                true => tracing::info!(place = server.place(), "commits survive a power loss of the server again"),
                false => warn(server, &weak),
            }
            last.weak = weak;
        }
        Ok(())
    }

    /// Each setting that makes it weak, with what it should be.
    pub(super) fn now(&self) -> (Durability, Vec<String>) {
        let weak = self.last().weak.clone();
        (if weak.is_empty() { Durability::Full } else { Durability::Relaxed }, weak)
    }

    fn last(&self) -> MutexGuard<'_, Looked> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn warn(server: &Server, weak: &[String]) {
    let place = server.place();
    for setting in weak {
        tracing::warn!(place, setting, "a power loss of the database server can lose jobs that were acknowledged");
    }
}
