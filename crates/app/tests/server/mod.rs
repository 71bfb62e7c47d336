//! A server of the real binary, and commands that talk to it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) const MAINSPRING: &str = env!("CARGO_BIN_EXE_mainspring");
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) hello: String,
    pub(crate) dir: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(config: &str) -> Server {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("mainspring.toml"), config).expect("written");
        let mut child = Command::new(MAINSPRING)
            .args(["serve", "--dev", "--listen", "127.0.0.1:0"])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(dir.path().join("log")).expect("a log"))
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut hello: Vec<String> = Vec::new();
        while hello.last().is_none_or(|line| !line.contains("first")) {
            match lines.next() {
                Some(line) => hello.push(line.expect("text")),
                None => panic!("{}", std::fs::read_to_string(dir.path().join("log")).expect("a log")),
            }
        }
        let hello = hello.join("\n");
        let url = hello.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned();
        Server { child, url, hello, dir }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        run_in(self.dir.path(), &[args, &["--server", &self.url]].concat())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--format", "json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    pub(crate) fn task(&self, code: &str, handler: &str) {
        self.json(&["task", "create", code, "--handler", handler, "--retry-count", "0"]);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    pub(crate) fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => return status,
                None => assert!(start.elapsed() < limit, "it still runs after {limit:?}: {}", self.log()),
            }
            std::thread::yield_now();
        }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).expect("a log")
    }

    pub(crate) fn witness(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("witness.tsv")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn run_in(dir: &Path, args: &[&str]) -> Output {
    Command::new(MAINSPRING).args(args).current_dir(dir).stdin(Stdio::null()).output().expect("runs")
}

pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::yield_now();
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
