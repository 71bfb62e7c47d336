//! From a URL to a store.

use std::sync::Arc;

use mainspring_model::Clock;

use crate::secrets::without_secrets;
use crate::{MemoryStore, OpenError, Store};

/// `sqlite:///absolute/path`, `sqlite://relative/path` or `memory:`.
pub fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, OpenError> {
    let unknown = |hint: &str| Err(OpenError::UnknownScheme { url: without_secrets(url), hint: hint.to_owned() });
    if url == "memory:" {
        return Ok(Arc::new(MemoryStore::new(clock)));
    }
    match url.split_once("://") {
        #[cfg(feature = "sqlite")]
        Some(("sqlite", "")) => unknown("the path is missing: sqlite://data/mainspring.db"),
        #[cfg(feature = "sqlite")]
        Some(("sqlite", path)) => Ok(Arc::new(crate::SqliteStore::open(path, clock)?)),
        #[cfg(not(feature = "sqlite"))]
        Some(("sqlite", _)) => unknown("this build is without the feature `sqlite`"),
        Some(("postgres" | "postgresql" | "mysql" | "mariadb", _)) => {
            unknown("PostgreSQL and MySQL come with a later version; until then use sqlite://data/mainspring.db")
        }
        _ => unknown("use sqlite:///absolute/path, sqlite://relative/path or memory:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn unknown_databases_are_refused_with_a_hint_and_without_secrets() {
        let check = |url: &str, expect: &str| {
            let message = open(url, SystemClock::new()).expect_err(url).to_string();
            assert!(message.contains(expect), "{url}: {message}");
            assert!(!message.contains("hunter2"), "{message}");
        };
        check("postgres://me:hunter2@db/x", "later version");
        check("mysql://db/x", "later version");
        check("redis://db", "use sqlite:///");
        check("mainspring.db", "use sqlite:///");
        check("sqlite://", "path is missing");
        assert_eq!(open("memory:", SystemClock::new()).expect("opens").info().kind, "memory");
    }
}
