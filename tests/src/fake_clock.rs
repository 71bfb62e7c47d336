//! A wall clock that the test sets, for one server process: `libfaketime` reads how far it is off from a file. Time that
//! is measured goes on as it does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone)]
pub struct FakeClock {
    offset: PathBuf,
}

impl FakeClock {
    /// `seconds` since 1970.
    pub fn at(dir: &Path, seconds: i64) -> FakeClock {
        let clock = FakeClock { offset: dir.join("clock-offset") };
        clock.set(seconds);
        clock
    }

    pub fn set(&self, seconds: i64) {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).expect("this machine's clock is after 1970").as_secs_f64();
        let off = seconds as f64 - now;
        // In one step: the server must not read half of it.
        let next = self.offset.with_extension("next");
        std::fs::write(&next, format!("{off:+.3}\n")).expect("the offset can be written");
        std::fs::rename(&next, &self.offset).expect("the offset can be replaced");
    }

    pub(crate) fn give_to(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).env("FAKETIME_TIMESTAMP_FILE", &self.offset);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("TZ", "UTC");
    }
}

fn library() -> PathBuf {
    let lib = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let places = lib.map(|dir| dir.join("faketime/libfaketimeMT.so.1"));
    let found = places.into_iter().find(|path| path.exists());
    found.expect("libfaketime is there: `cargo xtask test` installs it (Debian: apt-get install faketime)")
}
