//! Hints to the other nodes: what a verb has done that somebody may wait for.
//!
//! **Invariant:** a hint is sent after the commit, by a task of its own that puts together what has gathered while the last
//! one was on its way. Hints may be lost; whoever waits also looks by himself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Notify, broadcast};
use tokio::task::AbortHandle;

use super::ServerStore;
use crate::{Fired, Operated, Settled, Submitted, TakenOver, Wake};

/// Hints that a slow reader may lie behind; then it looks by itself.
const HINTS_KEPT: usize = 64;
const ALL: [(Wake, &str, u8); 3] =
    [(Wake::Jobs, "jobs", 1), (Wake::Definitions, "definitions", 2), (Wake::Held, "held", 4)];

/// Where hints go and come from, and the tasks that carry them.
#[derive(Debug)]
pub(crate) struct Hints {
    bell: Arc<Bell>,
    heard: broadcast::Sender<Wake>,
    tasks: Vec<AbortHandle>,
}

impl Hints {
    pub(crate) fn new(bell: Arc<Bell>, heard: broadcast::Sender<Wake>, tasks: Vec<AbortHandle>) -> Hints {
        Hints { bell, heard, tasks }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Wake> {
        self.heard.subscribe()
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// What is to be sent.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    asked: AtomicU8,
    rung: Notify,
}

impl Bell {
    pub(crate) fn ring(&self, wake: Wake) {
        let bit = ALL.iter().find(|(of, ..)| *of == wake).map_or(0, |(.., bit)| *bit);
        if bit != 0 && self.asked.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            self.rung.notify_one();
        }
    }

    pub(crate) async fn rung(&self) {
        self.rung.notified().await;
    }

    /// What has gathered, as one text. Empty: nothing.
    pub(crate) fn take(&self) -> String {
        let asked = self.asked.swap(0, Ordering::AcqRel);
        let words = ALL.iter().filter(|(.., bit)| asked & bit != 0).map(|(_, word, _)| *word);
        words.collect::<Vec<_>>().join(",")
    }
}

/// Words of a newer version are of no account.
pub(crate) fn wakes_of(text: &str) -> impl Iterator<Item = Wake> {
    text.split(',').filter_map(|word| ALL.iter().find(|(_, known, _)| *known == word).map(|(wake, ..)| *wake))
}

pub(crate) fn channel() -> broadcast::Sender<Wake> {
    broadcast::Sender::new(HINTS_KEPT)
}

impl ServerStore {
    pub(super) fn ring(&self, wake: Wake) {
        if let Some(hints) = &self.hints {
            hints.bell.ring(wake);
        }
    }

    /// A definition has changed; its limits may let jobs go on.
    pub(super) fn ring_definitions(&self) {
        self.ring(Wake::Definitions);
        self.ring(Wake::Jobs);
    }

    pub(super) fn ring_submitted(&self, answers: &[Submitted]) {
        if answers.iter().any(|answer| matches!(answer, Submitted::Stored { claimed: false, .. })) {
            self.ring(Wake::Jobs);
        }
        if answers.iter().any(|answer| !answer.replaced().is_empty()) {
            self.ring(Wake::Held);
        }
    }

    pub(super) fn ring_fired(&self, answers: &[Fired]) {
        if answers.iter().any(|fired| matches!(fired, Fired::Done(_))) {
            self.ring(Wake::Jobs);
        }
        if answers.iter().any(|fired| fired.replaced().next().is_some()) {
            self.ring(Wake::Held);
        }
    }

    pub(super) fn ring_settled(&self, answers: &[Settled]) {
        if answers.contains(&Settled::AppliedAndFreed) {
            self.ring(Wake::Jobs);
        }
    }

    pub(super) fn ring_operated(&self, operated: &Operated) {
        if matches!(operated, Operated::Done(_)) {
            self.ring(Wake::Jobs);
            self.ring(Wake::Held);
        }
    }

    pub(super) fn ring_taken_over(&self, taken_over: &TakenOver) {
        if !taken_over.is_empty() {
            self.ring(Wake::Jobs);
            self.ring(Wake::Held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_gather_until_they_are_sent() {
        let bell = Bell::default();
        assert_eq!(bell.take(), "");
        bell.ring(Wake::Held);
        bell.ring(Wake::Jobs);
        bell.ring(Wake::Jobs);
        let text = bell.take();
        assert_eq!((text.as_str(), bell.take().as_str()), ("jobs,held", ""));
        assert_eq!(wakes_of(&text).collect::<Vec<_>>(), [Wake::Jobs, Wake::Held]);
        assert_eq!(wakes_of("ping,definitions,new").collect::<Vec<_>>(), [Wake::Definitions]);
    }
}
