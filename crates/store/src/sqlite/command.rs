//! A verb on its way to a connection: a closure, and where its answer goes.
//!
//! **Invariants:** a panic inside a verb is an error of that verb; an answer is sent once, after its fate is known.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault::{Fault, Outcome};
use crate::StoreError;

/// What became of the transaction that a verb was part of.
#[derive(Debug)]
pub(super) enum Ending {
    Committed,
    RolledBack(Fault),
    /// The commit failed in a way that leaves its effect open.
    Unknown(Fault),
}

pub(super) trait Command: Send {
    /// Does the work and keeps the answer. The error, when it failed.
    fn run(&mut self, conn: &Connection) -> Result<(), Fault>;
    fn reply(self: Box<Self>, ending: &Ending);
}

pub(super) struct Call<T, F> {
    verb: &'static str,
    work: Option<F>,
    answer: Option<Outcome<T>>,
    to: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Call<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Outcome<T> + Send,
{
    pub(super) fn new(verb: &'static str, work: F) -> (Call<T, F>, oneshot::Receiver<Result<T, StoreError>>) {
        let (to, answer) = oneshot::channel();
        (Call { verb, work: Some(work), answer: None, to }, answer)
    }
}

impl<T, F> Command for Call<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Outcome<T> + Send,
{
    fn run(&mut self, conn: &Connection) -> Result<(), Fault> {
        let work = self.work.take().expect("a command runs once");
        let outcome = catch_unwind(AssertUnwindSafe(|| work(conn)))
            .unwrap_or_else(|panic| Err(Fault::Panic(format!("panicked: {}", panic_text(panic.as_ref())))));
        let result = outcome.as_ref().map(|_| ()).map_err(Fault::shared);
        self.answer = Some(outcome);
        result
    }

    fn reply(self: Box<Self>, ending: &Ending) {
        let verb = self.verb;
        let answer = match (self.answer, ending) {
            (Some(Err(fault)), _) => Err(fault.not_applied(verb)),
            (Some(Ok(answer)), Ending::Committed) => Ok(answer),
            (_, Ending::RolledBack(fault)) => Err(fault.not_applied(verb)),
            (_, Ending::Unknown(fault)) => {
                Err(StoreError::Unknown { verb, kind: fault.trouble(), reason: fault.reason() })
            }
            (None, Ending::Committed) => Err(Fault::Panic("it was not run".to_owned()).not_applied(verb)),
        };
        // Nobody waits any more: the caller was cancelled, and the verb is committed all the same.
        drop(self.to.send(answer));
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("?")
}

/// Runs commands in one transaction. With more than one, each has a savepoint: a failing one poisons no other.
pub(super) fn transact(conn: &Connection, commands: &mut [Box<dyn Command>]) -> Ending {
    if let Err(error) = statement(conn, "BEGIN IMMEDIATE") {
        return Ending::RolledBack(error.into());
    }
    let result = match commands {
        [single] => single.run(conn),
        many => many.iter_mut().try_for_each(|command| run_in_savepoint(conn, command.as_mut())),
    };
    match result {
        Err(fault) => match roll_back(conn) {
            Ok(()) => Ending::RolledBack(fault),
            Err(error) => Ending::Unknown(error.into()),
        },
        Ok(()) => match statement(conn, "COMMIT") {
            Ok(()) => Ending::Committed,
            Err(error) => after_failed_commit(conn, error.into()),
        },
    }
}

/// `Err` when the whole transaction is lost, not when the command failed for itself.
fn run_in_savepoint(conn: &Connection, command: &mut dyn Command) -> Result<(), Fault> {
    statement(conn, "SAVEPOINT command")?;
    if let Err(fault) = command.run(conn) {
        // SQLite rolls the whole transaction back by itself on a full disk and on I/O errors.
        if conn.is_autocommit() {
            return Err(fault);
        }
        statement(conn, "ROLLBACK TO command")?;
    }
    statement(conn, "RELEASE command")?;
    Ok(())
}

fn after_failed_commit(conn: &Connection, fault: Fault) -> Ending {
    let rolled_back = roll_back(conn).is_ok();
    // The log may have been written and only its sync have failed: then a recovery would find the commit.
    if fault.trouble() == crate::Trouble::Io || !rolled_back {
        Ending::Unknown(fault)
    } else {
        Ending::RolledBack(fault)
    }
}

fn roll_back(conn: &Connection) -> rusqlite::Result<()> {
    if conn.is_autocommit() { Ok(()) } else { statement(conn, "ROLLBACK") }
}

pub(super) fn statement(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}
