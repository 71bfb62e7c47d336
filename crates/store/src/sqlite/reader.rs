//! Readers on their own connections: a long list never delays a write, and a write never delays a list.
//!
//! **Invariant:** each verb sees one snapshot, however many statements it takes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::command::{Command, Ending, statement};
use super::fault::Fault;
use super::{open_connection, pragmas::Role};
use crate::{OpenError, Trouble};

/// Two cores' worth: lists are short, and the writer needs a core.
const READERS: usize = 2;
const WAITING_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Readers {
    commands: Option<mpsc::Sender<Box<dyn Command>>>,
    threads: Vec<JoinHandle<()>>,
}

type Waiting = Arc<Mutex<mpsc::Receiver<Box<dyn Command>>>>;

impl Readers {
    pub(super) fn start(path: &Path) -> Result<Readers, OpenError> {
        let (commands, waiting) = mpsc::channel(WAITING_MAX);
        let waiting: Waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::with_capacity(READERS);
        for number in 1..=READERS {
            let (waiting, path) = (Arc::clone(&waiting), path.to_owned());
            let place = path.display().to_string();
            let thread = std::thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || read(&waiting, path))
                .map_err(|error| OpenError::Unusable { place, reason: format!("no thread for a reader: {error}") })?;
            threads.push(thread);
        }
        Ok(Readers { commands: Some(commands), threads })
    }

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

impl Drop for Readers {
    fn drop(&mut self) {
        self.commands = None;
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

fn read(waiting: &Waiting, path: PathBuf) {
    let mut conn: Option<Connection> = None;
    loop {
        // One idle reader waits in the channel, the other one for the lock: either way the next verb finds one.
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        let Some(mut command) = next else { return };
        let opened = conn.take().map_or_else(|| open_connection(&path, Role::Reader), Ok);
        let ending = match opened {
            Err(error) => Ending::RolledBack(error.into()),
            Ok(open) => {
                let ending = in_snapshot(&open, command.as_mut());
                if open.is_autocommit() && matches!(ending, Ending::Committed) {
                    conn = Some(open);
                }
                ending
            }
        };
        command.reply(&ending);
    }
}

fn in_snapshot(conn: &Connection, command: &mut dyn Command) -> Ending {
    if let Err(error) = statement(conn, "BEGIN") {
        return Ending::RolledBack(error.into());
    }
    let result = command.run(conn);
    let end = statement(conn, "COMMIT");
    match (result, end) {
        (Ok(()), Ok(())) => Ending::Committed,
        (Err(fault), _) => Ending::RolledBack(fault),
        (_, Err(error)) => Ending::RolledBack(error.into()),
    }
}
