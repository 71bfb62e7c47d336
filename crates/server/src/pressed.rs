//! The request ids of operations: the same id twice has one effect.
//!
//! **Invariant:** an id has its place before its operation begins, and whoever comes with the same id waits for the end
//! of it. An operation that failed has done nothing, so the next one with its id tries again.
//!
//! Ids are kept by this process, for a while and not without bound. Past that, after a restart, and when a caller goes
//! away in the middle of its operation, the state machine still refuses what would do harm twice. Deliberately not here:
//! ids of triggers, which make jobs; the store keeps those as keys.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use mainspring_model::Timestamp;

use crate::limits;

#[derive(Debug, Default)]
pub(crate) struct Pressed(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    presses: HashMap<Arc<str>, Arc<Press>>,
    oldest_first: VecDeque<(Timestamp, Arc<str>)>,
}

/// Locked while its operation is carried out; `true` when that has succeeded.
type Press = tokio::sync::Mutex<bool>;

impl Pressed {
    /// Carries the operation out unless that was done under this key. `None`: it was.
    pub(crate) async fn once<T, E, F>(
        &self,
        key: &str,
        now: Timestamp,
        operation: impl FnOnce() -> F,
    ) -> Result<Option<T>, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let press = self.press(key, now);
        let mut is_done = press.lock().await;
        if *is_done {
            return Ok(None);
        }
        let done = operation().await?;
        *is_done = true;
        Ok(Some(done))
    }

    fn press(&self, key: &str, now: Timestamp) -> Arc<Press> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |since: Timestamp| now.ms_since(since) >= limits::REQUEST_ID_KEPT_MS;
        known.forget_while(|since, _| is_old(since));
        if let Some(press) = known.presses.get(key) {
            return Arc::clone(press);
        }
        known.forget_while(|_, kept| kept >= limits::REQUEST_IDS_MAX);
        let (key, press): (Arc<str>, Arc<Press>) = (key.into(), Arc::default());
        known.presses.insert(Arc::clone(&key), Arc::clone(&press));
        known.oldest_first.push_back((now, key));
        press
    }
}

impl Known {
    /// The oldest first, while its age and the number of those that are kept say so.
    fn forget_while(&mut self, is_too_much: impl Fn(Timestamp, usize) -> bool) {
        while let Some((since, key)) = self.oldest_first.front()
            && is_too_much(*since, self.oldest_first.len())
        {
            self.presses.remove(key);
            self.oldest_first.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_ms(1_790_000_000_000);

    async fn press(pressed: &Pressed, key: &str, now: Timestamp) -> bool {
        pressed.once(key, now, async || Ok::<_, ()>(())).await.is_ok_and(|done| done.is_some())
    }

    #[tokio::test]
    async fn an_id_is_carried_out_once_until_it_is_old() {
        let pressed = Pressed::default();
        let at = |ms| T0.plus_ms(ms);
        assert!(press(&pressed, "a", at(0)).await);
        assert!(press(&pressed, "b", at(1)).await);
        assert!(!press(&pressed, "a", at(limits::REQUEST_ID_KEPT_MS - 1)).await);
        assert!(press(&pressed, "a", at(limits::REQUEST_ID_KEPT_MS)).await);
        assert!(!press(&pressed, "b", at(limits::REQUEST_ID_KEPT_MS)).await);
    }

    #[tokio::test]
    async fn ids_are_bounded_and_the_oldest_go_first() {
        let pressed = Pressed::default();
        for number in 0..=limits::REQUEST_IDS_MAX {
            assert!(press(&pressed, &number.to_string(), T0).await);
        }
        assert!(!press(&pressed, "1", T0).await);
        assert!(press(&pressed, "0", T0).await);
        let known = pressed.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!((known.presses.len(), known.oldest_first.len()), (limits::REQUEST_IDS_MAX, limits::REQUEST_IDS_MAX));
    }

    #[tokio::test]
    async fn simultaneous_presses_have_one_effect_and_a_failed_one_none() {
        let pressed = Pressed::default();
        let gate = tokio::sync::Semaphore::new(0);
        let operation = async |answer: Result<(), &'static str>| {
            gate.acquire().await.expect("the gate is there").forget();
            answer
        };
        let press = |answer| pressed.once("a", T0, move || operation(answer));
        let (failed, first, second, ()) =
            tokio::join!(press(Err("no")), press(Ok(())), press(Ok(())), async { gate.add_permits(2) });
        assert_eq!((failed, first, second), (Err("no"), Ok(Some(())), Ok(None)));
    }
}
