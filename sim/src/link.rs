//! What ties a node to the world: alive, paused or dead. A dead node stays in memory like a process that the kernel
//! never schedules again: its calls and sleeps do not end, so its tasks can do nothing.

use std::time::Duration;

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Link {
    /// Counts the starts of nodes in this run.
    pub(crate) number: u32,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    dead: bool,
    paused: bool,
    /// A polite stop with this limit was asked for.
    stop: Option<Duration>,
    /// Ends of pauses, for bounds that a pause may stretch.
    pauses: u32,
}

impl Link {
    pub(crate) fn new(number: u32) -> Link {
        Link { number, state: watch::Sender::new(State::default()) }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.state.borrow().dead
    }

    pub(crate) fn pauses(&self) -> u32 {
        self.state.borrow().pauses
    }

    pub(crate) fn kill(&self) {
        self.state.send_modify(|state| state.dead = true);
    }

    pub(crate) fn pause(&self) {
        self.state.send_modify(|state| state.paused = true);
    }

    pub(crate) fn resume(&self) {
        self.state.send_modify(|state| {
            state.pauses += u32::from(state.paused);
            state.paused = false;
        });
    }

    pub(crate) fn ask_to_stop(&self, limit: Duration) {
        self.state.send_modify(|state| state.stop = Some(limit));
    }

    /// Passes while the node runs.
    pub(crate) async fn gate(&self) {
        self.until(|state| !state.dead && !state.paused).await;
    }

    pub(crate) async fn died(&self) {
        self.until(|state| state.dead).await;
    }

    pub(crate) async fn stop_asked(&self) -> Duration {
        self.until(|state| state.stop.is_some()).await;
        self.state.borrow().stop.unwrap_or_default()
    }

    async fn until(&self, mut holds: impl FnMut(&State) -> bool) {
        let reached = self.state.subscribe().wait_for(|state| holds(state)).await.is_ok();
        if !reached {
            std::future::pending::<()>().await; // the sender lives in `self`: cannot happen
        }
    }
}
