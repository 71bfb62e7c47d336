//! A value that others wait for. Tokio's watch channel wakes its waiters in an order that it draws by itself; here they
//! are woken in the order in which they came.

use std::pin::pin;
use std::sync::Mutex;

use tokio::sync::Notify;

use crate::locked;

#[derive(Debug, Default)]
pub(crate) struct Watched<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> Watched<T> {
    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut locked(&self.value));
        self.changed.notify_waiters();
    }

    pub(crate) fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&locked(&self.value))
    }

    /// What `find` finds, as soon as it finds something.
    pub(crate) async fn when<R>(&self, find: impl Fn(&T) -> Option<R>) -> R {
        loop {
            // Listen before looking, or a change in between is missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = self.look(&find) {
                return found;
            }
            changed.await;
        }
    }
}
