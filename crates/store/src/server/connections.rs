//! The connections of one kind of work: how many, how they are made, and when one is not used again.
//!
//! **Invariants:** a connection comes back only when it is known to be outside of a transaction; whoever waits for one
//! hears within `WAIT` that there is none; heartbeats have connections of their own, so a lease never waits behind load.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mainspring_model::Clock;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::days::Days;
use super::driver::Driver;
use super::durable::Durable;
use super::fault::{Class, Fault, Outcome};
use super::history::{History, PATIENCE};
use super::kind::Server;
use super::session::Session;
use crate::Trouble;

/// How long a verb waits for a connection.
const WAIT: Duration = Duration::from_secs(2);
/// How long a new connection may take, with its TLS and its password.
const CONNECT: Duration = Duration::from_secs(3);
/// One that rested longer is asked first whether it still lives: firewalls forget quiet connections without a word.
const TRUSTED_IDLE: Duration = Duration::from_secs(20);
/// A server that is there answers at once.
const PING: Duration = Duration::from_secs(1);
/// An old one is replaced: servers keep memory per connection, and after a change of the server behind a name the nodes
/// should follow.
const LIFE_MAX: Duration = Duration::from_secs(30 * 60);

/// What a group of connections is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purpose {
    pub(super) connections_max: usize,
    /// How long a statement may take on the server.
    pub(super) statement_max: Duration,
}

/// Everything else. A server that is silent must not hold a caller longer than the caller will wait; what a healthy one is
/// asked takes milliseconds.
pub(super) const WORK: Purpose = Purpose { connections_max: 10, statement_max: Duration::from_secs(3) };
/// What looks at every row, nightly or by hand.
pub(super) const SCAN: Purpose = Purpose { connections_max: 1, statement_max: Duration::from_secs(600) };
/// The heartbeat: late is as good as never.
pub(super) const BEAT: Purpose = Purpose { connections_max: 1, statement_max: Duration::from_secs(3) };

/// Hints to other nodes, which wait for no verb.
#[cfg(feature = "postgres")]
pub(super) const HINTS: Purpose = Purpose { connections_max: 1, statement_max: Duration::from_secs(3) };

/// What a new connection is asked before its first use, and what all of them know.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    pub(super) history: Arc<History>,
    pub(super) durable: Arc<Durable>,
    pub(super) days: Arc<Days>,
}

#[derive(Debug)]
pub(crate) struct Connections {
    server: Arc<Server>,
    purpose: Purpose,
    clock: Arc<dyn Clock>,
    checks: Checks,
    /// Whose sockets they are.
    runtime: Handle,
    permits: Semaphore,
    /// The one that rested shortest is taken first.
    idle: Mutex<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    session: Session,
    born: Duration,
    since: Duration,
}

/// A connection in use. Dropped without `give_back` it is closed, and the server undoes what it was doing.
#[derive(Debug)]
pub(crate) struct Lent<'c> {
    pub(crate) session: Session,
    pub(super) fresh: bool,
    born: Duration,
    of: &'c Connections,
    _permit: SemaphorePermit<'c>,
}

impl Connections {
    pub(super) fn new(server: Arc<Server>, purpose: Purpose, clock: Arc<dyn Clock>, checks: Checks) -> Connections {
        let permits = Semaphore::new(purpose.connections_max);
        Connections { server, purpose, clock, checks, runtime: Handle::current(), permits, idle: Mutex::default() }
    }

    pub(crate) async fn take(&self) -> Outcome<Lent<'_>> {
        let waited = tokio::time::timeout(WAIT, self.permits.acquire()).await;
        let permit = match waited {
            Ok(permit) => permit.map_err(|_| busy("the store is closed".to_owned()))?,
            Err(_) => {
                let all = self.purpose.connections_max;
                return Err(busy(format!("all {all} connections were in use for {WAIT:?}")));
            }
        };
        while let Some(mut idle) = self.pop() {
            let rested = self.clock.monotonic().saturating_sub(idle.since);
            if rested < TRUSTED_IDLE || matches!(tokio::time::timeout(PING, idle.session.ping()).await, Ok(Ok(()))) {
                return Ok(Lent { session: idle.session, fresh: false, born: idle.born, of: self, _permit: permit });
            }
            // The others rested longer. To find each of them dead would take longer than the caller waits.
            self.forget_idle();
        }
        let session = self.connect().await?;
        Ok(Lent { session, fresh: true, born: self.clock.monotonic(), of: self, _permit: permit })
    }

    async fn connect(&self) -> Outcome<Session> {
        let (server, statement_max) = (Arc::clone(&self.server), self.purpose.statement_max);
        let connecting = Driver::carry_out(&self.runtime, async move { server.connect(statement_max).await });
        let ended = || Err(Fault::broken("the thread of the store ended".to_owned()));
        let late = |_| Err(Fault::broken(format!("no connection within {CONNECT:?}")));
        let connected = tokio::time::timeout(CONNECT, connecting).await;
        let mut session = connected.map_or_else(late, |connected| connected.unwrap_or_else(ended))?;
        self.checks.history.check(&mut session, PATIENCE).await?;
        self.checks.durable.look(&self.server, &mut session, self.clock.monotonic()).await?;
        session.learn_days(Arc::clone(&self.checks.days));
        Ok(session)
    }

    /// One connection broke: the server was restarted or is another one, so the resting ones are likely broken too.
    pub(super) fn forget_idle(&self) {
        let idle = std::mem::take(&mut *self.idle());
        drop(idle);
    }

    fn pop(&self) -> Option<Idle> {
        let now = self.clock.monotonic();
        let mut idle = self.idle();
        idle.retain(|idle| now.saturating_sub(idle.born) < LIFE_MAX);
        idle.pop()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    /// It is outside of a transaction, and every answer was read.
    pub(crate) fn give_back(self) {
        let since = self.of.clock.monotonic();
        self.of.idle().push(Idle { session: self.session, born: self.born, since });
    }
}

fn busy(reason: String) -> Fault {
    Fault::Sql { class: Class::Refused(Trouble::Unavailable), reason }
}
