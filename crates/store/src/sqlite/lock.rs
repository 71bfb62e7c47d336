//! One process owns an embedded database. SQLite itself would let two in, and each would take the other's jobs for
//! those of a dead node.
//!
//! **Invariant:** the lock belongs to the open file, not to the process: it guards against a second store in the same
//! process too, and the kernel frees it whatever way the process ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::OpenError;

#[derive(Debug)]
pub(super) struct Lock {
    /// Closing them frees the locks. The named file says who has the database, the database itself is locked for those
    /// who come by another name of it (a link). SQLite's own locks are of another kind and do not meet these.
    _named: File,
    _database: File,
}

impl Lock {
    pub(super) fn take(database: &Path) -> Result<Lock, OpenError> {
        let place = database.display().to_string();
        // One place has one lock, whatever links lead to it.
        let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        let mut path = database.clone().into_os_string();
        path.push(".lock");
        let unusable = |error: std::io::Error| OpenError::Unusable {
            place: place.clone(),
            reason: format!("its lock file `{}` cannot be written: {error}", Path::new(&path).display()),
        };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(unusable)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(OpenError::InUse { holder: holder(&mut file), place }),
            Err(errno) => return Err(unusable(errno.into())),
        }
        // The pid is for people. On a full disk it cannot be written, and the lock holds all the same.
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        if let Err(error) = written {
            tracing::warn!(%error, "the pid could not be written to the lock file");
        }
        let itself = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&database);
        let itself = itself.map_err(|error| OpenError::Unusable {
            place: place.clone(),
            reason: format!("it cannot be opened: {error}"),
        })?;
        match flock(&itself, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _named: file, _database: itself }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(OpenError::InUse { holder: ", under another name of the file".to_owned(), place })
            }
            Err(errno) => Err(unusable(errno.into())),
        }
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(20).read_to_string(&mut text);
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) if pid == std::process::id() => format!(" (this one, pid {pid})"),
        (Ok(_), Ok(pid)) => format!(" (pid {pid})"),
        _ => String::new(),
    }
}
