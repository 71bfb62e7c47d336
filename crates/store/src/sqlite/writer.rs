//! The one writer: a thread that drains what waits into one transaction, commits, and only then answers.
//!
//! **Invariants:** an answer `Ok` is sent after its commit; while one transaction commits the next one gathers, without
//! timers; the thread outlives every error, and a connection that saw an I/O error is replaced before it is trusted.
//! Deliberately not here: what the verbs do.

use std::path::PathBuf;
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::mpsc;

use super::checkpoint::Policy;
use super::command::{Command, Ending, transact};
use super::fault::Fault;
use super::{open_connection, pragmas::Role};
use crate::{OpenError, Trouble};

/// Verbs that wait for the writer; past it callers wait for a place.
const WAITING_MAX: usize = 1_024;
/// Verbs in one transaction: keeps the wait for its commit in the low milliseconds.
const TRANSACTION_VERBS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Writer {
    commands: Option<mpsc::Sender<Box<dyn Command>>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for dyn Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Command")
    }
}

impl Writer {
    pub(super) fn start(conn: Connection, path: PathBuf, policy: Policy) -> Result<Writer, OpenError> {
        let (commands, waiting) = mpsc::channel(WAITING_MAX);
        let place = path.display().to_string();
        let body = Body { conn: Some(conn), path, policy };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || body.run(waiting))
            .map_err(|error| OpenError::Unusable { place, reason: format!("no thread for the writer: {error}") })?;
        Ok(Writer { commands: Some(commands), thread: Some(thread) })
    }

    /// Hands the command back when the writer has ended.
    pub(super) async fn send(&self, command: Box<dyn Command>) {
        let ended = || Ending::RolledBack(Fault::Carried(Trouble::Unavailable, "the store is closed".to_owned()));
        match &self.commands {
            None => command.reply(&ended()),
            Some(commands) => {
                if let Err(mpsc::error::SendError(command)) = commands.send(command).await {
                    command.reply(&ended());
                }
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was shown when it happened.
            drop(thread.join());
        }
    }
}

struct Body {
    /// `None` after an error that makes the connection doubtful, until it is opened again.
    conn: Option<Connection>,
    path: PathBuf,
    policy: Policy,
}

impl Body {
    fn run(mut self, mut waiting: mpsc::Receiver<Box<dyn Command>>) {
        if let Some(conn) = &mut self.conn {
            watch_log(conn, &self.policy);
        }
        let mut batch: Vec<Box<dyn Command>> = Vec::with_capacity(TRANSACTION_VERBS_MAX);
        while let Some(first) = waiting.blocking_recv() {
            batch.push(first);
            while batch.len() < TRANSACTION_VERBS_MAX {
                match waiting.try_recv() {
                    Ok(command) => batch.push(command),
                    Err(_) => break,
                }
            }
            // Callers wait for their answers, so none has two commands here whose order could matter.
            batch.sort_by_key(|command| !command.is_prompt());
            let prompt = batch.partition_point(|command| command.is_prompt());
            if prompt > 0 {
                self.commit(batch.drain(..prompt).collect());
            }
            if !batch.is_empty() {
                self.commit(std::mem::take(&mut batch));
            }
        }
        if let Some(conn) = &self.conn {
            self.policy.at_close(conn);
        }
    }

    fn commit(&mut self, mut commands: Vec<Box<dyn Command>>) {
        let ending = self.transact(&mut commands);
        for command in commands {
            command.reply(&ending);
        }
        if let Some(conn) = &self.conn {
            self.policy.after_commit(conn);
        }
    }

    fn transact(&mut self, batch: &mut [Box<dyn Command>]) -> Ending {
        let conn = match self.conn.take().map_or_else(|| self.reopen(), Ok) {
            Ok(conn) => conn,
            Err(fault) => return Ending::RolledBack(fault),
        };
        let ending = transact(&conn, batch);
        let doubtful = match &ending {
            Ending::Committed => false,
            Ending::RolledBack(fault) => {
                matches!(fault.trouble(), Trouble::Io | Trouble::Corrupt) || !conn.is_autocommit()
            }
            Ending::Unknown(_) => true,
        };
        if doubtful {
            tracing::warn!(?ending, "the writer's connection is replaced");
        } else {
            self.conn = Some(conn);
        }
        ending
    }

    fn reopen(&self) -> Result<Connection, Fault> {
        let mut conn = open_connection(&self.path, Role::Writer)?;
        watch_log(&mut conn, &self.policy);
        Ok(conn)
    }
}

/// After each commit SQLite says how long the log is.
fn watch_log(conn: &mut Connection, policy: &Policy) {
    let pages = policy.log_pages();
    let hook = move |_: &mut Wal, log_pages: std::ffi::c_int| {
        pages.store(u32::try_from(log_pages).unwrap_or(0), std::sync::atomic::Ordering::Relaxed);
        Ok(())
    };
    if let Err(error) = conn.wal_hook(Some(hook)) {
        tracing::warn!(%error, "the length of the log is not known: it is checkpointed at close only");
    }
}
