//! A node's lease: others believe that it lives until the lease ends by the database's clock. The node judges itself
//! earlier, by its own monotonic clock, so that nothing of it goes on when others begin to take over.
//!
//! The age of a lease is counted from when the last confirmed renewal was *sent*: the database cannot have written it
//! before.

use std::time::Duration;

/// What a node is to do about its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Sound {
        /// Until the next renewal is to be sent.
        renew_in: Duration,
    },
    /// It holds, and it is time to renew it.
    RenewNow,
    /// It cannot be relied on any more: nothing may begin, and what runs must be out before it ends.
    Fence,
}

/// `confirmed` and `now` are by one monotonic clock.
pub fn judge(confirmed: Duration, now: Duration, lease: Duration) -> Lease {
    let age = now.saturating_sub(confirmed);
    if age >= fence_after(lease) {
        return Lease::Fence;
    }
    match renew_every(lease).saturating_sub(age) {
        Duration::ZERO => Lease::RenewNow,
        renew_in => Lease::Sound { renew_in },
    }
}

/// Two renewals may fail before the third is too late.
pub fn renew_every(lease: Duration) -> Duration {
    lease / 3
}

/// The last quarter is for the bodies to end in: their grace, and the second that a keeper of processes takes.
pub fn fence_after(lease: Duration) -> Duration {
    lease / 4 * 3
}

/// How long a body may go on after its node has lost its lease.
pub fn body_grace(lease: Duration) -> Duration {
    lease / 30
}

/// A renewal that hangs is given up after this time, so that the next one is still in time.
pub fn try_limit(lease: Duration) -> Duration {
    lease / 6
}

/// Between two tries. Bounded: a node comes back soon after its database, however long that was away.
pub fn try_again_after(lease: Duration) -> Duration {
    (lease / 15).min(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    const LEASE: Duration = Duration::from_millis(limits::LEASE_MS_DEFAULT);

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_lease_is_renewed_at_a_third_and_given_up_at_three_quarters() {
        let check = |age: f64, expect| assert_eq!(judge(seconds(100.0), seconds(100.0 + age), LEASE), expect, "{age}");
        check(0.0, Lease::Sound { renew_in: seconds(5.0) });
        check(4.0, Lease::Sound { renew_in: seconds(1.0) });
        check(5.0, Lease::RenewNow);
        check(11.2, Lease::RenewNow);
        check(11.25, Lease::Fence);
        check(3_600.0, Lease::Fence);
    }

    #[test]
    fn an_answer_from_the_future_is_no_reason_to_fence() {
        assert_eq!(judge(seconds(9.0), seconds(8.0), LEASE), Lease::Sound { renew_in: seconds(5.0) });
    }

    #[test]
    fn bodies_are_out_before_the_lease_ends() {
        let keeper = Duration::from_secs(1);
        for ms in [limits::LEASE_MS_MIN, limits::LEASE_MS_DEFAULT, limits::LEASE_MS_MAX] {
            let lease = Duration::from_millis(ms);
            assert!(fence_after(lease) + body_grace(lease) + keeper < lease, "a lease of {ms} ms");
            assert!(renew_every(lease) + try_limit(lease) + try_again_after(lease) < fence_after(lease));
        }
    }
}
