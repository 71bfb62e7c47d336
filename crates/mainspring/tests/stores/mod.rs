//! What the tests of the library face share: every case runs on every store.

use std::time::Duration;

/// Every case on every store.
#[macro_export]
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case(super::Mainspring::in_memory()).await; })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let dir = tempfile::tempdir().expect("a directory");
                super::$case(super::Mainspring::sqlite(dir.path().join("jobs.db"))).await;
            })+
        }
    };
}

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, work).await.expect("it ends in time")
}
