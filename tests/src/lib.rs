//! What the tests of the real binary share: a server process, a client, the witness.
//!
//! The witness file, not the server, says which bodies really ran.

#![expect(clippy::disallowed_methods, reason = "these tests watch real processes in real time")]

pub mod chaos;
mod cluster;
mod fake_clock;
pub mod power;
mod server;
mod witness;

use std::time::{Duration, Instant};

pub use cluster::{Cluster, NodeOptions};
pub use fake_clock::FakeClock;
pub use server::{Answer, Options, Server, binary, client_needs_a_provider};
pub use witness::{Line, Witness};

/// Asks again until it is so. What is awaited comes by itself; the limit is for when it does not.
#[track_caller]
pub fn eventually(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// Since the test began to look.
pub fn stopwatch() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}

/// Milliseconds since 1970, by the clock of this machine.
pub fn wall_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("in range")
}
