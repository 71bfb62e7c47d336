//! What ties a node to the world: alive, paused or dead. A dead node stays in memory like a process that the kernel
//! never schedules again: its calls and sleeps do not end, so its tasks can do nothing.

use std::time::Duration;

use crate::watched::Watched;

#[derive(Debug)]
pub(crate) struct Link {
    /// Counts the starts of nodes in this run.
    pub(crate) number: u32,
    state: Watched<State>,
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
        Link { number, state: Watched::default() }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.state.look(|state| state.dead)
    }

    pub(crate) fn pauses(&self) -> u32 {
        self.state.look(|state| state.pauses)
    }

    pub(crate) fn kill(&self) {
        self.state.change(|state| state.dead = true);
    }

    pub(crate) fn pause(&self) {
        self.state.change(|state| state.paused = true);
    }

    pub(crate) fn resume(&self) {
        self.state.change(|state| {
            state.pauses += u32::from(state.paused);
            state.paused = false;
        });
    }

    pub(crate) fn ask_to_stop(&self, limit: Duration) {
        self.state.change(|state| state.stop = Some(limit));
    }

    pub(crate) fn is_to_stop(&self) -> bool {
        self.state.look(|state| state.stop.is_some())
    }

    /// Passes while the node runs.
    pub(crate) async fn gate(&self) {
        self.state.when(|state| (!state.dead && !state.paused).then_some(())).await;
    }

    pub(crate) async fn died(&self) {
        self.state.when(|state| state.dead.then_some(())).await;
    }

    pub(crate) async fn stop_asked(&self) -> Duration {
        self.state.when(|state| state.stop).await
    }
}
