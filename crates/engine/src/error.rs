//! The two ways in which a call of the engine fails. (A third, a bug, is an assertion.)

use mainspring_model::{Code, Refused, Span};
use mainspring_store::{StoreError, Trouble};

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The caller's request cannot be carried out as it stands. Nothing was stored.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store cannot answer now. A submit whose outcome is unknown may have been stored: repeat it with its key.
    #[error("the store is unavailable: {0}")]
    Unavailable(#[from] StoreError),
}

/// How long a caller should wait before it tries again.
pub const RETRY_AFTER: Span = Span::from_ms(1_000);

impl Error {
    /// The stable code of every failure, also of the store's.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Refused(refused) => refused.code.as_str(),
            Error::Unavailable(error) if error.kind() == Trouble::Full => "STORAGE_FULL",
            Error::Unavailable(_) => "STORE_UNAVAILABLE",
        }
    }

    pub fn http_status(&self) -> u16 {
        match self {
            Error::Refused(refused) => refused.code.http_status(),
            Error::Unavailable(error) if error.kind() == Trouble::Full => 507,
            Error::Unavailable(_) => 503,
        }
    }

    pub(crate) fn stopping() -> Error {
        Error::Refused(Refused::new(Code::Stopping, "the node is stopping").retry_after(RETRY_AFTER))
    }
}
