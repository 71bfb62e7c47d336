//! Hints of the store that looking is worth it. They can be lost: everything that hears one also looks by itself.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::limits;
use mainspring_store::Wake;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::core::Core;

/// Hints that came together.
#[derive(Debug, Default)]
struct Heard {
    jobs: bool,
    definitions: bool,
    held: bool,
}

pub(crate) async fn hear(core: Arc<Core>) {
    let Some(mut wakes) = core.store.wakes() else {
        return core.quit.cancelled().await;
    };
    loop {
        let mut heard = Heard::default();
        match wakes.recv().await {
            Ok(wake) => heard.add(wake),
            Err(RecvError::Lagged(_)) => heard.add(Wake::Anything),
            Err(RecvError::Closed) => return core.quit.cancelled().await,
        }
        heard.add_waiting(&mut wakes);
        core.heed(&heard);
        // A storm of hints is answered by one look.
        core.clock.sleep(Duration::from_millis(limits::WAKE_PAUSE_MS)).await;
    }
}

impl Heard {
    fn add(&mut self, wake: Wake) {
        self.jobs |= matches!(wake, Wake::Jobs | Wake::Anything);
        self.definitions |= matches!(wake, Wake::Definitions | Wake::Anything);
        self.held |= matches!(wake, Wake::Held | Wake::Anything);
    }

    fn add_waiting(&mut self, wakes: &mut Receiver<Wake>) {
        loop {
            match wakes.try_recv() {
                Ok(wake) => self.add(wake),
                Err(TryRecvError::Lagged(_)) => self.add(Wake::Anything),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }
}

impl Core {
    fn heed(&self, heard: &Heard) {
        if heard.jobs {
            self.pools.look_when_low();
            self.claim_wake.notify_one();
        }
        if heard.definitions {
            self.node.follow_wake.notify_one();
        }
        if heard.held {
            self.node.reconcile_wake.notify_one();
        }
    }
}
