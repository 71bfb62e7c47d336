//! The thread that drives the connections: their sockets belong to a runtime of the store's own.
//!
//! A connection is bound to the runtime that opened it. Those of the engine end with the engine, and bodies can starve that
//! of the application: neither may hold up the others' statements.

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::OpenError;

/// Ends with the store.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) runtime: Handle,
    _end: oneshot::Sender<()>,
}

impl Driver {
    pub(super) fn start(place: &str) -> Result<Driver, OpenError> {
        let unusable = |error: std::io::Error| OpenError::Unusable {
            place: place.to_owned(),
            reason: format!("its connections have no thread: {error}"),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(unusable)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        // Ends when the sender is dropped: nobody sends.
        let drive = move || drop(runtime.block_on(ended));
        std::thread::Builder::new().name("mainspring-db".to_owned()).spawn(drive).map_err(unusable)?;
        Ok(Driver { runtime: handle, _end: end })
    }

    /// Carries out on the thread what opens connections.
    pub(super) async fn carry_out<T: Send + 'static>(
        runtime: &Handle,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        runtime.spawn(work).await.ok()
    }
}
