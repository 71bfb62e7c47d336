//! A verb on its way to a connection: a closure, and where its answer goes.
//!
//! **Invariants:** a panic inside a verb is an error of that verb; an answer is sent once, after its fate is known.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault::{Fault, Outcome};
use crate::StoreError;

/// A flood of submits and outcomes must not make fires late.
const PROMPT_VERB: &str = "fire";

/// What became of the transaction that a verb was part of.
#[derive(Debug)]
pub(super) enum Ending {
    Committed,
    RolledBack(Fault),
    /// The commit failed in a way that leaves its effect open.
    Unknown(Fault),
}

pub(super) trait Command: Send {
    /// Its instant has come: it waits for the transaction under way, and not for what has gathered meanwhile.
    fn is_prompt(&self) -> bool;
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
    fn is_prompt(&self) -> bool {
        self.verb == PROMPT_VERB
    }

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

/// One answer per item. A row that cannot be read is the answer of the item that met it: what that item wrote is undone,
/// and the others are done all the same. The common case costs nothing: only after such a row the command goes back to
/// its beginning and does each item in a savepoint of its own.
pub(super) fn answer_each<'i, I, T>(
    conn: &Connection,
    items: &'i [I],
    mut work: impl FnMut(&'i I) -> Outcome<T>,
    unreadable: impl Fn(&'i I, String) -> T,
) -> Outcome<Vec<T>> {
    let at_once: Outcome<Vec<T>> = items.iter().map(&mut work).collect();
    match at_once {
        Err(Fault::Row(_)) => {}
        decided => return decided,
    }
    begin_again(conn)?;
    let one = |item| {
        statement(conn, "SAVEPOINT item")?;
        let answer = match work(item) {
            Err(Fault::Row(reason)) => {
                statement(conn, "ROLLBACK TO item")?;
                unreadable(item, reason)
            }
            decided => decided?,
        };
        statement(conn, "RELEASE item")?;
        Ok(answer)
    };
    items.iter().map(one).collect()
}

/// Takes back what the running command wrote, and nothing of the others that share its transaction. One that runs
/// alone has no savepoint: its transaction is the whole of it.
fn begin_again(conn: &Connection) -> Outcome<()> {
    if statement(conn, "ROLLBACK TO command").is_err() {
        statement(conn, "ROLLBACK")?;
        statement(conn, "BEGIN IMMEDIATE")?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trouble;

    type Answer = oneshot::Receiver<Result<(), StoreError>>;

    fn inserts(sql: &'static str) -> (Box<dyn Command>, Answer) {
        let (call, answer) = Call::new("trial", move |conn: &Connection| Ok(conn.execute_batch(sql)?));
        (Box::new(call), answer)
    }

    fn run(conn: &Connection, calls: Vec<(Box<dyn Command>, Answer)>) -> Vec<Result<(), StoreError>> {
        let (mut commands, answers): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
        let ending = transact(conn, &mut commands);
        commands.into_iter().for_each(|command| command.reply(&ending));
        answers.into_iter().map(|mut answer| answer.try_recv().expect("it was answered")).collect()
    }

    fn kept(conn: &Connection) -> Vec<i64> {
        let mut rows = conn.prepare("SELECT x FROM t ORDER BY x").expect("prepares");
        let rows = rows.query_map([], |row| row.get(0)).expect("reads");
        rows.collect::<rusqlite::Result<_>>().expect("reads")
    }

    fn database() -> Connection {
        let conn = Connection::open_in_memory().expect("opens");
        conn.execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY, y BLOB)").expect("creates");
        conn
    }

    #[test]
    fn a_failing_command_leaves_no_trace_and_poisons_no_other() {
        let conn = database();
        let answers = run(
            &conn,
            vec![
                inserts("INSERT INTO t (x) VALUES (1)"),
                inserts("INSERT INTO t (x) VALUES (2); INSERT INTO t (x) VALUES (1)"),
                inserts("INSERT INTO t (x) VALUES (3)"),
            ],
        );
        assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!((kept(&conn), conn.is_autocommit()), (vec![1, 3], true));
        let alone = run(&conn, vec![inserts("INSERT INTO t (x) VALUES (4); INSERT INTO t (x) VALUES (1)")]);
        assert!(alone[0].is_err());
        assert_eq!((kept(&conn), conn.is_autocommit()), (vec![1, 3], true));
    }

    #[test]
    fn a_full_database_applies_nothing_of_the_transaction_and_says_so_to_all() {
        let conn = database();
        conn.execute_batch("PRAGMA max_page_count = 20").expect("sets");
        let big = "INSERT INTO t (x, y) VALUES (2, zeroblob(1000000))";
        let answers = run(&conn, vec![inserts("INSERT INTO t (x) VALUES (1)"), inserts(big)]);
        for answer in answers {
            let error = answer.expect_err("the disk is full");
            assert!(matches!(&error, StoreError::NotApplied { kind: Trouble::Full, .. }), "{error:?}");
        }
        assert_eq!((kept(&conn), conn.is_autocommit()), (vec![], true));
        assert!(run(&conn, vec![inserts("INSERT INTO t (x) VALUES (3)")])[0].is_ok(), "work goes on");
    }
}
