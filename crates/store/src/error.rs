//! What can go wrong between the engine and a database, as the engine needs to know it.

/// The three answers to "did my write happen?" are the core of this type: no error (applied), `NotApplied`, `Unknown`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written; trying again may help.
    #[error("{verb}: not applied: {reason}")]
    NotApplied { verb: &'static str, kind: Trouble, reason: String },
    /// The commit may or may not have happened. Repeat the same guarded statement; never treat it as a failure.
    #[error("{verb}: outcome unknown: {reason}")]
    Unknown { verb: &'static str, kind: Trouble, reason: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Busy, locked, connection lost: back off and repeat.
    Unavailable,
    /// No space is left.
    Full,
    /// The disk or the server is read-only.
    ReadOnly,
    /// A write or a sync failed.
    Io,
    /// The file or a row is not what was written. Never repaired silently.
    Corrupt,
    /// A statement is wrong: a bug of ours.
    Statement,
    /// This kind of database cannot do it.
    Unsupported,
}

impl StoreError {
    pub fn kind(&self) -> Trouble {
        match self {
            StoreError::NotApplied { kind, .. } | StoreError::Unknown { kind, .. } => *kind,
        }
    }

    pub fn corrupt(verb: &'static str, reason: impl Into<String>) -> StoreError {
        StoreError::NotApplied { verb, kind: Trouble::Corrupt, reason: reason.into() }
    }
}

/// The store cannot be opened. Each names what to do next.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "database {place} is in use by another process{holder}: one process owns an embedded database; stop it, or give this one another data directory"
    )]
    InUse { place: String, holder: String },
    #[error("database {place} fails its check: {check}: restore a backup; nothing was changed")]
    Corrupt { place: String, check: String },
    #[error("database {place} has schema {found}, this program knows {known}: start a newer program")]
    TooNew { place: String, found: u32, known: u32 },
    #[error("migration {number} of {place} is not the one that was applied: {detail}")]
    MigrationChanged { place: String, number: u32, detail: String },
    #[error("database {place} was moved to {to}: name that one")]
    Moved { place: String, to: String },
    #[error(
        "database {place} holds an unfinished import, from {from}: run `mainspring migrate` again with --restart, or name another database"
    )]
    Unfinished { place: String, from: String },
    #[error("database {place} cannot be reached: {reason}")]
    Unreachable { place: String, reason: String },
    #[error("database {place} cannot be opened: {reason}")]
    Unusable { place: String, reason: String },
    #[error("`{url}` is not a database that this build knows: {hint}")]
    UnknownScheme { url: String, hint: String },
}
