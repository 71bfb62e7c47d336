//! How a command fails: what is said, and the exit code that programs branch on.

use std::process::ExitCode;

use mainspring_store::transfer::TransferError;
use mainspring_store::{OpenError, Trouble};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed = 1,
    /// Wrong use, or refused by the server.
    Refused = 2,
    /// No server, a database in use: the same call may work later.
    Unavailable = 69,
    Configuration = 78,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// For people, on standard error. Empty: what there is to say has been said.
    pub(crate) message: String,
    /// For programs, on standard output with `--format json`.
    pub(crate) problem: Option<Value>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), problem: None }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Refused, message)
    }

    pub(crate) fn configuration(complaints: &[String]) -> Failure {
        Failure::new(Exit::Configuration, complaints.join("\n"))
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        let exit = match error {
            OpenError::InUse { .. } | OpenError::Unreachable { .. } => Exit::Unavailable,
            _ => Exit::Configuration,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Failure {
        match error {
            TransferError::Open(error) => error.into(),
            TransferError::Refused(text) => Failure::refused(text),
            TransferError::Differs(_) => Failure::failed(error.to_string()),
            TransferError::Store(error) => {
                let exit = if error.kind() == Trouble::Unavailable { Exit::Unavailable } else { Exit::Failed };
                Failure::new(exit, format!("{error}; run it again, with --restart if it says so then"))
            }
        }
    }
}
