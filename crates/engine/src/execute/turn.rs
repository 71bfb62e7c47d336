//! Who may run beside whom after a crash (`model::decide::Care`).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring_model::decide::Care;
use tokio::sync::Notify;

use crate::core::Core;
use crate::locked;

/// For how long a job on its last chance waits to be alone: beside jobs that come without end it takes its chance in
/// company.
const ALONE_WAIT: Duration = Duration::from_secs(30);

/// What an attempt holds while it runs and until its outcome is written, so that the guilty one among suspects is found.
#[derive(Debug)]
#[expect(dead_code, reason = "the seats are held, not read")]
pub(crate) enum Turn {
    Free,
    Careful(Seat),
    Alone(Seat),
}

impl Turn {
    pub(super) fn is_careful(&self) -> bool {
        !matches!(self, Turn::Free)
    }
}

/// Seats for suspects: many for careful ones, or one for who is alone. Who is to be alone lets all others go first: a job
/// that was lost once waits for one that is alone now, not for all that want to be.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    careful: usize,
    is_alone: bool,
    /// Careful ones that wait for who is alone.
    waiting: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Careful,
    Alone,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    kind: Kind,
}

impl Seats {
    fn take(self: &Arc<Seats>, kind: Kind) -> Option<Seat> {
        let mut taken = locked(&self.taken);
        match kind {
            Kind::Careful if !taken.is_alone => taken.careful += 1,
            Kind::Alone if !taken.is_alone && taken.careful == 0 && taken.waiting == 0 => taken.is_alone = true,
            _ => return None,
        }
        Some(Seat { seats: Arc::clone(self), kind })
    }

    async fn wait_for(self: &Arc<Seats>, kind: Kind) -> Seat {
        let _waiting = (kind == Kind::Careful).then(|| WaitingCareful::at(Arc::clone(self)));
        loop {
            let freed = self.freed.notified();
            if let Some(seat) = self.take(kind) {
                return seat;
            }
            freed.await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = locked(&self.seats.taken);
        match self.kind {
            Kind::Careful => taken.careful -= 1,
            Kind::Alone => taken.is_alone = false,
        }
        drop(taken);
        self.seats.freed.notify_waiters();
    }
}

struct WaitingCareful(Arc<Seats>);

impl WaitingCareful {
    fn at(seats: Arc<Seats>) -> WaitingCareful {
        locked(&seats.taken).waiting += 1;
        WaitingCareful(seats)
    }
}

impl Drop for WaitingCareful {
    fn drop(&mut self) {
        locked(&self.0.taken).waiting -= 1;
        self.0.freed.notify_waiters();
    }
}

/// Its turn, if it need not wait.
pub(super) fn turn_at_once(core: &Core, care: Care) -> Option<Turn> {
    match care {
        Care::Normal => Some(Turn::Free),
        Care::WriteStartFirst => core.suspects.take(Kind::Careful).map(Turn::Careful),
        Care::Alone => core.suspects.take(Kind::Alone).map(Turn::Alone),
    }
}

pub(super) async fn wait_for_turn(core: &Core, care: Care) -> Turn {
    match care {
        Care::Normal => Turn::Free,
        Care::WriteStartFirst => Turn::Careful(core.suspects.wait_for(Kind::Careful).await),
        Care::Alone => tokio::select! {
            biased;
            alone = core.suspects.wait_for(Kind::Alone) => Turn::Alone(alone),
            () = core.clock.sleep(ALONE_WAIT) => Turn::Careful(core.suspects.wait_for(Kind::Careful).await),
        },
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn who_is_alone_waits_for_the_careful_and_lets_them_go_first() {
        let seats = Arc::new(Seats::default());
        let first = seats.take(Kind::Careful).expect("nobody is there");
        let second = seats.take(Kind::Careful).expect("they share");
        let mut alone = Box::pin(seats.wait_for(Kind::Alone));
        assert!(alone.as_mut().now_or_never().is_none());
        let third = seats.take(Kind::Careful).expect("nobody waits for who wants to be alone");
        drop((first, second, third));
        let alone = alone.now_or_never().expect("all have gone");
        let mut careful = Box::pin(seats.wait_for(Kind::Careful));
        let mut next = Box::pin(seats.wait_for(Kind::Alone));
        assert!(careful.as_mut().now_or_never().is_none() && next.as_mut().now_or_never().is_none());
        drop(alone);
        assert!(next.as_mut().now_or_never().is_none(), "a careful one waits");
        let careful = careful.now_or_never().expect("it is its turn");
        assert!(next.as_mut().now_or_never().is_none());
        drop(careful);
        assert!(next.now_or_never().is_some());
    }

    #[test]
    fn who_gives_up_waiting_keeps_nobody_back() {
        let seats = Arc::new(Seats::default());
        let alone = seats.take(Kind::Alone).expect("nobody is there");
        let mut careful = Box::pin(seats.wait_for(Kind::Careful));
        assert!(careful.as_mut().now_or_never().is_none());
        drop(alone);
        assert!(seats.take(Kind::Alone).is_none());
        drop(careful);
        assert!(seats.take(Kind::Alone).is_some());
    }
}
