//! Copies the log into the database without being seen in the latency of a commit.
//!
//! A thread of its own does the copying while the writer writes on. It cannot start the log anew while the writer
//! appends to it, so the writer does the last bit itself, between two transactions, when the log has grown to a bound:
//! nearly all pages are copied by then.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::fault::trouble_of;
use super::{open_connection, pragmas::Role};
use crate::{OpenError, Trouble};

/// The thread copies when the log has grown by this many pages (16 MB): its syncs and those of commits share the disk, so
/// they should be few.
const BACKGROUND_PAGES: u32 = 4_000;
/// The writer copies the rest when the log has this many pages (64 MB).
const WRITER_PAGES: u32 = 16_000;
const _: () = assert!(BACKGROUND_PAGES * 4 <= WRITER_PAGES);

/// The writer's part.
#[derive(Debug)]
pub(super) struct Policy {
    log_pages: Arc<AtomicU32>,
    /// The length at which somebody was last asked to copy.
    asked_at_pages: u32,
    wake: SyncSender<()>,
}

impl Policy {
    pub(super) fn log_pages(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.log_pages)
    }

    pub(super) fn after_commit(&mut self, conn: &Connection) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if pages < self.asked_at_pages {
            self.asked_at_pages = 0; // the log began anew
        }
        if pages - self.asked_at_pages < BACKGROUND_PAGES {
            return;
        }
        self.asked_at_pages = pages;
        if pages >= WRITER_PAGES {
            checkpoint(conn, CheckpointMode::PASSIVE);
        } else {
            // A full channel means that the thread has been asked already.
            let _asked_before = self.wake.try_send(());
        }
    }

    /// Nobody waits any more: the log is emptied, so that the next start has nothing to recover.
    pub(super) fn at_close(&self, conn: &Connection) {
        checkpoint(conn, CheckpointMode::TRUNCATE);
    }
}

fn checkpoint(conn: &Connection, mode: CheckpointMode) {
    match conn.wal_checkpoint_v2(None::<&str>, mode) {
        Ok(_) => {}
        // The other one copies at this moment.
        Err(error) if trouble_of(&error) == Trouble::Unavailable => {}
        // Nothing is lost: the log grows and the next checkpoint tries again.
        Err(error) => tracing::warn!(%error, "a checkpoint failed"),
    }
}

/// The thread. It ends when the policy is dropped.
#[derive(Debug)]
pub(super) struct Checkpointer {
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(path: PathBuf) -> Result<(Checkpointer, Policy), OpenError> {
        let (wake, woken) = sync_channel(1);
        let place = path.display().to_string();
        let body = move || {
            let mut conn = None;
            while woken.recv().is_ok() {
                if conn.is_none() {
                    conn = open_connection(&path, Role::Checkpointer).ok();
                }
                if let Some(conn) = &conn {
                    checkpoint(conn, CheckpointMode::PASSIVE);
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(body)
            .map_err(|error| OpenError::Unusable { place, reason: format!("no thread for checkpoints: {error}") })?;
        let policy = Policy { log_pages: Arc::default(), asked_at_pages: 0, wake };
        Ok((Checkpointer { thread: Some(thread) }, policy))
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_asked_once_per_growth_and_the_writer_copies_at_the_bound() {
        let (wake, woken) = sync_channel(1);
        let mut policy = Policy { log_pages: Arc::default(), asked_at_pages: 0, wake };
        let conn = Connection::open_in_memory().expect("opens");
        let mut check = |pages: u32, asks: bool| {
            policy.log_pages.store(pages, Ordering::Relaxed);
            policy.after_commit(&conn);
            assert_eq!(woken.try_recv().is_ok(), asks, "at {pages} pages");
        };
        check(BACKGROUND_PAGES - 1, false);
        check(BACKGROUND_PAGES, true);
        check(BACKGROUND_PAGES + 1, false);
        check(BACKGROUND_PAGES * 2, true);
        check(WRITER_PAGES, false); // the writer did it itself
        check(3, false); // the log began anew
        check(BACKGROUND_PAGES, true);
    }
}
