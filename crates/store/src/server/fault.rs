//! What an error of a database server means for a write: was nothing written, or can nobody know?

use crate::{OpenError, StoreError, Trouble};

/// What to do about an error of one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The server gave up on this transaction because of another one: the whole of it is tried again.
    Again,
    /// The connection is gone, or nobody knows what it is doing.
    Broken,
    /// There is no such table. Of a partition: somebody dropped it a moment ago.
    Gone,
    /// The server is there and said no.
    Refused(Trouble),
}

/// An error inside a verb, before anybody knows what becomes of its transaction.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql {
        class: Class,
        reason: String,
    },
    /// A row that is not what was written.
    Row(String),
}

pub(crate) type Outcome<T> = Result<T, Fault>;

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Fault {
        match &error {
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Fault::Row(error.to_string()),
            _ => Fault::Sql { class: class_of(&error), reason: text_of(&error) },
        }
    }
}

impl Fault {
    pub(crate) fn broken(reason: impl Into<String>) -> Fault {
        Fault::Sql { class: Class::Broken, reason: reason.into() }
    }

    /// What was read is not so any more: the verb is done again from its beginning.
    pub(super) fn again(reason: impl Into<String>) -> Fault {
        Fault::Sql { class: Class::Again, reason: reason.into() }
    }

    /// A bug of ours.
    pub(crate) fn statement(reason: impl Into<String>) -> Fault {
        Fault::Sql { class: Class::Refused(Trouble::Statement), reason: reason.into() }
    }

    pub(super) fn class(&self) -> Class {
        match self {
            Fault::Sql { class, .. } => *class,
            Fault::Row(_) => Class::Refused(Trouble::Corrupt),
        }
    }

    pub(super) fn trouble(&self) -> Trouble {
        match self.class() {
            Class::Again | Class::Broken => Trouble::Unavailable,
            Class::Gone => Trouble::Statement,
            Class::Refused(trouble) => trouble,
        }
    }

    pub(crate) fn reason(&self) -> String {
        match self {
            Fault::Sql { reason, .. } | Fault::Row(reason) => reason.clone(),
        }
    }

    pub(super) fn not_applied(&self, verb: &'static str) -> StoreError {
        StoreError::NotApplied { verb, kind: self.trouble(), reason: self.reason() }
    }

    pub(super) fn unknown(&self, verb: &'static str) -> StoreError {
        StoreError::Unknown { verb, kind: self.trouble(), reason: self.reason() }
    }

    /// While the database is opened.
    pub(crate) fn unusable(&self, place: &str) -> OpenError {
        let (place, reason) = (place.to_owned(), self.reason());
        match self.trouble() {
            Trouble::Unavailable => OpenError::Unreachable { place, reason },
            _ => OpenError::Unusable { place, reason },
        }
    }
}

fn class_of(error: &sqlx::Error) -> Class {
    match error {
        #[cfg(feature = "postgres")]
        sqlx::Error::Database(answer) if answer.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() => {
            crate::postgres::class_of(answer.code().as_deref().unwrap_or(""))
        }
        #[cfg(feature = "mysql")]
        sqlx::Error::Database(answer) => match answer.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
            Some(answer) => crate::mysql::class_of(answer.number()),
            None => Class::Refused(Trouble::Statement),
        },
        sqlx::Error::Configuration(_) | sqlx::Error::Encode(_) | sqlx::Error::InvalidArgument(_) => {
            Class::Refused(Trouble::Statement)
        }
        sqlx::Error::ColumnNotFound(_) | sqlx::Error::ColumnIndexOutOfBounds { .. } => {
            Class::Refused(Trouble::Statement)
        }
        _ => Class::Broken,
    }
}

/// What the server said, without what the driver puts before it.
fn text_of(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(answer) => match answer.code() {
            Some(code) => format!("{} ({code})", answer.message()),
            None => answer.message().to_owned(),
        },
        other => other.to_string(),
    }
}
