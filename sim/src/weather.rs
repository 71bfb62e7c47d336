//! How the store fails at present.

use std::sync::Mutex;
use std::time::Duration;

use crate::locked;

/// For whoever calls.
#[derive(Debug)]
pub(crate) struct Weather {
    dice: Mutex<fastrand::Rng>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    calm: bool,
    /// Calls that are refused, and replies that are lost, of a thousand.
    fault_per_mille: u32,
    /// Until then, in milliseconds of the run, every call is refused.
    outage_until_ms: u64,
    /// Until then no call comes through.
    stall_until_ms: u64,
    /// Until then calls take ten times as long.
    slow_until_ms: u64,
}

const WAY_MS_MAX: u64 = 30;
const CALM_WAY_MS_MAX: u64 = 2;

impl Weather {
    pub(crate) fn new(dice: fastrand::Rng, fault_per_mille: u32) -> Weather {
        let state = State { calm: false, fault_per_mille, outage_until_ms: 0, stall_until_ms: 0, slow_until_ms: 0 };
        Weather { dice: Mutex::new(dice), state: Mutex::new(state) }
    }

    pub(crate) fn calm_down(&self) {
        let mut state = locked(&self.state);
        *state = State { calm: true, outage_until_ms: 0, stall_until_ms: 0, slow_until_ms: 0, ..*state };
    }

    pub(crate) fn is_calm(&self) -> bool {
        locked(&self.state).calm
    }

    pub(crate) fn outage_until(&self, ms: u64) {
        locked(&self.state).outage_until_ms = ms;
    }

    pub(crate) fn stall_until(&self, ms: u64) {
        locked(&self.state).stall_until_ms = ms;
    }

    pub(crate) fn slow_until(&self, ms: u64) {
        locked(&self.state).slow_until_ms = ms;
    }

    pub(crate) fn is_unlucky(&self, now_ms: u64) -> bool {
        let state = *locked(&self.state);
        let refused = now_ms < state.outage_until_ms;
        !state.calm && (refused || locked(&self.dice).u32(0..1_000) < state.fault_per_mille)
    }

    pub(crate) fn way(&self, now_ms: u64) -> Duration {
        let state = *locked(&self.state);
        let max = if state.calm { CALM_WAY_MS_MAX } else { WAY_MS_MAX };
        let ms = locked(&self.dice).u64(1..=max);
        Duration::from_millis(if now_ms < state.slow_until_ms { ms * 10 } else { ms })
    }

    pub(crate) fn stalled_until(&self) -> u64 {
        locked(&self.state).stall_until_ms
    }
}
