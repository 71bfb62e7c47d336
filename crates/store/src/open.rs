//! From a URL to a store.

use std::sync::Arc;

use mainspring_model::Clock;

use crate::secrets::without_secrets;
use crate::{MemoryStore, OpenError, Store};

const KNOWN: &str = "use sqlite:///absolute/path, sqlite://relative/path, postgres://user:password@host/database, \
                     mysql://user:password@host/database or memory:";

/// Any URL of `KNOWN`; also `postgresql://` and `mariadb://`.
pub async fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, OpenError> {
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
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(crate::ServerStore::open(url, clock).await?)),
        #[cfg(not(feature = "postgres"))]
        Some(("postgres" | "postgresql", _)) => unknown("this build is without the feature `postgres`"),
        #[cfg(feature = "mysql")]
        Some(("mysql" | "mariadb", _)) => Ok(Arc::new(crate::ServerStore::open(url, clock).await?)),
        #[cfg(not(feature = "mysql"))]
        Some(("mysql" | "mariadb", _)) => unknown("this build is without the feature `mysql`"),
        _ => unknown(KNOWN),
    }
}

/// Is there a database of Mainspring? `open` would make one.
pub async fn exists(url: &str) -> Result<bool, OpenError> {
    match url.split_once("://") {
        Some(("sqlite", path)) => Ok(std::path::Path::new(path).exists()),
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        Some(("postgres" | "postgresql" | "mysql" | "mariadb", _)) => crate::ServerStore::exists(url).await,
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[tokio::test]
    async fn unknown_databases_are_refused_with_a_hint_and_without_secrets() {
        let check = async |url: &str, expect: &str| {
            let message = open(url, SystemClock::new()).await.expect_err(url).to_string();
            assert!(message.contains(expect), "{url}: {message}");
            assert!(!message.contains("hunter2"), "{message}");
        };
        check("postgres://me:hunter2@db:x/jobs", "it looks like postgres://").await;
        check("mysql://me:hunter2@db:x/jobs", "it looks like mysql://").await;
        check("mariadb://me:hunter2@db", "the database is missing").await;
        check("postgres://me:hunter2@127.0.0.1:1/jobs", "cannot be reached").await;
        check("mysql://me:hunter2@127.0.0.1:1/jobs", "cannot be reached").await;
        check("redis://me:hunter2@db", "use sqlite:///").await;
        check("mainspring.db", "use sqlite:///").await;
        check("sqlite://", "path is missing").await;
        assert_eq!(open("memory:", SystemClock::new()).await.expect("opens").info().kind, "memory");
    }
}
