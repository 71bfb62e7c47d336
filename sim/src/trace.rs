//! All that happens in a run, as a rolling hash and the last lines.

use std::collections::VecDeque;

const LAST_EVENTS: usize = 200;

#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    events: u64,
    last: VecDeque<String>,
    kept_max: usize,
}

impl Trace {
    /// `whole`: for a person who wants to read all of it.
    pub(crate) fn new(seed: u64, whole: bool) -> Trace {
        let kept_max = if whole { usize::MAX } else { LAST_EVENTS };
        Trace { hash: seed, events: 0, last: VecDeque::new(), kept_max }
    }

    pub(crate) fn add(&mut self, at_ms: u64, event: &str) {
        let line = format!("{:>8.3} {event}", at_ms as f64 / 1_000.0);
        let mut hash = self.hash;
        for byte in line.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.hash = hash.rotate_left(5);
        self.events += 1;
        if self.last.len() >= self.kept_max {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn last(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }
}
