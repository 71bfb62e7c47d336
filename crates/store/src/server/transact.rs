//! A verb as one transaction: BEGIN, work, COMMIT, and what an error in each of them means.
//!
//! **Invariants:** before COMMIT was sent, nothing was written (`NotApplied`); from then on until its answer came, nobody
//! knows (`Unknown`). A transaction that the server gave up for another one is done again from its beginning, so the work
//! of a verb keeps nothing from a try before. A connection on which anything odd happened is closed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mainspring_model::Clock as _;

use super::ServerStore;
use super::connections::{Connections, Lent};
use super::fault::{Class, Fault, Outcome};
use super::session::{Begin, Session};
use crate::{Result, StoreError};

/// A transaction that meets others is tried this often in all.
const TRIES_MAX: u32 = 5;
/// Before the first repetition; each further one waits up to twice as long.
const PAUSE_MS: u64 = 4;
/// Connections that turn out to be dead at the first word, one after another.
const DEAD_MAX: u32 = 2;

/// How the work of a verb is enclosed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A transaction that writes.
    Write,
    /// Several statements that must see one state of the database.
    Read,
    /// One statement that reads.
    Look,
    /// One statement that writes and is its own transaction.
    Single,
}

/// The tries of one verb.
#[derive(Debug)]
pub(super) struct Run<'s> {
    store: &'s ServerStore,
    connections: &'s Connections,
    verb: &'static str,
    mode: Mode,
    tries: u32,
    dead: u32,
}

/// `run!(self, Write, "submit", session => submit::submit(session, owner, &jobs))`: the work is an expression and not a
/// closure, for a future that borrows from its closure cannot be promised to be `Send`. It is evaluated for each try.
macro_rules! run {
    ($store:expr, $mode:ident, $verb:expr, $session:ident => $work:expr) => {
        $crate::server::transact::run!(@on $store.run($verb, $crate::server::transact::Mode::$mode), $session => $work)
    };
    // On the connection of the heartbeat.
    ($store:expr, Beat, $mode:ident, $verb:expr, $session:ident => $work:expr) => {
        $crate::server::transact::run!(@on $store.run_beat($verb, $crate::server::transact::Mode::$mode), $session => $work)
    };
    // On a connection for statements that take long.
    ($store:expr, Scan, $mode:ident, $verb:expr, $session:ident => $work:expr) => {
        $crate::server::transact::run!(@on $store.run_scan($verb, $crate::server::transact::Mode::$mode), $session => $work)
    };
    (@on $run:expr, $session:ident => $work:expr) => {{
        let mut run = $run;
        loop {
            let mut lent = run.begin().await?;
            let $session = &mut lent.session;
            let worked = $work.await;
            if let Some(ended) = run.end(lent, worked).await {
                break ended;
            }
        }
    }};
}
pub(super) use run;

impl ServerStore {
    pub(super) fn run(&self, verb: &'static str, mode: Mode) -> Run<'_> {
        Run { store: self, connections: &self.work, verb, mode, tries: 1, dead: 0 }
    }

    pub(super) fn run_beat(&self, verb: &'static str, mode: Mode) -> Run<'_> {
        Run { connections: &self.beat, ..self.run(verb, mode) }
    }

    pub(super) fn run_scan(&self, verb: &'static str, mode: Mode) -> Run<'_> {
        Run { connections: &self.scan, ..self.run(verb, mode) }
    }
}

impl<'s> Run<'s> {
    /// A connection, within a transaction where there is to be one.
    pub(super) async fn begin(&mut self) -> Result<Lent<'s>> {
        loop {
            let mut lent = self.connections.take().await.map_err(|fault| fault.not_applied(self.verb))?;
            let begin = match self.mode {
                Mode::Write => Begin::Write,
                Mode::Read => Begin::Snapshot,
                Mode::Single if lent.session.is_pooled() => Begin::Write,
                Mode::Look if lent.session.is_pooled() => Begin::Snapshot,
                Mode::Look | Mode::Single => return Ok(lent),
            };
            match lent.session.begin(begin).await {
                Ok(()) => return Ok(lent),
                Err(fault) => self.is_dead(&lent, &fault)?,
            }
        }
    }

    /// What the verb answers; `None` when it is to be done again.
    pub(super) async fn end<T>(&mut self, lent: Lent<'s>, worked: Outcome<T>) -> Option<Result<T>> {
        match self.mode {
            Mode::Write | Mode::Read => self.end_transaction(lent, worked).await,
            Mode::Look | Mode::Single if lent.session.is_pooled() => self.end_transaction(lent, worked).await,
            Mode::Look | Mode::Single => self.end_statement(lent, worked).await,
        }
    }

    async fn end_transaction<T>(&mut self, mut lent: Lent<'s>, worked: Outcome<T>) -> Option<Result<T>> {
        let session = &mut lent.session;
        let worked = match worked {
            // A commit would be a rollback that the server calls a success.
            Ok(_) if session.has_failed() => Err(Fault::statement("a failed statement was taken for a success")),
            worked => worked,
        };
        match worked {
            Ok(answer) => match session.command("COMMIT").await {
                Ok(()) => {
                    lent.give_back();
                    Some(Ok(answer))
                }
                // The server says that it has undone the transaction.
                Err(fault) if fault.class() == Class::Again => self.again(fault).await,
                Err(fault) => Some(Err(self.unknown(&fault))),
            },
            Err(fault) => {
                if fault.class() != Class::Broken && session.command("ROLLBACK").await.is_ok() {
                    session.forget_failure();
                    lent.give_back();
                }
                self.again(fault).await
            }
        }
    }

    async fn end_statement<T>(&mut self, mut lent: Lent<'s>, worked: Outcome<T>) -> Option<Result<T>> {
        match worked {
            Ok(answer) => {
                lent.give_back();
                Some(Ok(answer))
            }
            Err(fault) if fault.class() == Class::Broken => match self.mode {
                Mode::Single => Some(Err(self.unknown(&fault))),
                _ => self.is_dead(&lent, &fault).err().map(Err),
            },
            Err(fault) => {
                // The server answered, and there is no transaction: the connection is as good as before.
                lent.session.forget_failure();
                lent.give_back();
                self.again(fault).await
            }
        }
    }

    /// A resting connection that turns out to be broken says nothing about the server: another one may do.
    fn is_dead(&mut self, lent: &Lent<'_>, fault: &Fault) -> Result<()> {
        self.connections.forget_idle();
        self.dead += 1;
        match fault.class() {
            Class::Broken if !lent.fresh && self.dead <= DEAD_MAX => Ok(()),
            _ => Err(fault.not_applied(self.verb)),
        }
    }

    /// Nothing was written.
    async fn again<T>(&mut self, fault: Fault) -> Option<Result<T>> {
        match fault.class() {
            Class::Again if self.tries < TRIES_MAX => {
                self.store.repeated.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(verb = self.verb, reason = fault.reason(), "met another transaction, done again");
                self.store.clock.sleep(pause(self.tries)).await;
                self.tries += 1;
                None
            }
            Class::Broken => {
                self.connections.forget_idle();
                Some(Err(fault.not_applied(self.verb)))
            }
            _ => Some(Err(fault.not_applied(self.verb))),
        }
    }

    fn unknown(&self, fault: &Fault) -> StoreError {
        self.connections.forget_idle();
        fault.unknown(self.verb)
    }
}

/// Nodes that met must not meet again at once.
fn pause(tries: u32) -> Duration {
    let longest_ms = PAUSE_MS << tries.min(6);
    Duration::from_millis(JITTER.with_borrow_mut(|dice| dice.u64(1..=longest_ms)))
}

thread_local! {
    /// Nothing that a test would want to repeat hangs on it.
    static JITTER: std::cell::RefCell<fastrand::Rng> = std::cell::RefCell::new(fastrand::Rng::new());
}

/// One answer per item of a batch. A row that cannot be read is the answer of the item that met it: what that item wrote
/// is undone, and the others are done all the same. The common case costs nothing: only after such a row the transaction
/// begins again and does each item in a savepoint of its own. So it must be all that the transaction does.
///
/// ```ignore
/// let mut each = Each::new(items.len());
/// while let Some(at) = each.next(session).await? {
///     let answer = one(session, &items[at]).await;
///     each.answer(session, answer, |reason| unreadable(reason)).await?;
/// }
/// Ok(each.answers())
/// ```
#[derive(Debug)]
pub(super) struct Each<T> {
    items: usize,
    answers: Vec<T>,
    careful: bool,
}

impl<T> Each<T> {
    pub(super) fn new(items: usize) -> Each<T> {
        Each { items, answers: Vec::with_capacity(items), careful: false }
    }

    /// The next item. After a row that cannot be read they come again from the first one: then the caller also forgets
    /// what it has kept from earlier ones.
    pub(super) async fn next(&mut self, session: &mut Session) -> Outcome<Option<usize>> {
        if self.answers.len() == self.items {
            return Ok(None);
        }
        if self.careful {
            session.command("SAVEPOINT item").await?;
        }
        Ok(Some(self.answers.len()))
    }

    pub(super) async fn answer(
        &mut self,
        session: &mut Session,
        answer: Outcome<T>,
        unreadable: impl FnOnce(String) -> T,
    ) -> Outcome<()> {
        match answer {
            Err(Fault::Row(_)) if !self.careful => {
                session.begin_again().await?;
                self.answers.clear();
                self.careful = true;
                return Ok(());
            }
            Err(Fault::Row(reason)) => {
                session.command("ROLLBACK TO SAVEPOINT item").await?;
                self.answers.push(unreadable(reason));
            }
            answer => self.answers.push(answer?),
        }
        if self.careful {
            session.command("RELEASE SAVEPOINT item").await?;
        }
        Ok(())
    }

    pub(super) fn answers(self) -> Vec<T> {
        self.answers
    }
}
