//! Handler kind: a program in its own process tree.
//!
//! The program is configuration ([`CommandTemplate`]); a job brings values. It runs under a keeper (`shim`), so that
//! whatever it started is gone when its attempt is: at its end, at a cancellation, when the future is dropped at the
//! deadline, and when this process is killed. Its payload comes on standard input.
//!
//! Not in here: deadlines and retries, which are the engine's for all kinds.

mod output;
mod template;

use std::collections::BTreeMap;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use mainspring_model::text::excerpt;
use mainspring_model::{Refused, Verdict, limits};
use mainspring_store::Stream;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

pub use output::Say;
pub use template::{CommandTemplate, JobFacts, MEMORY_BYTES_MIN};

use self::output::Gathered;
use super::shim::{Order, Report, SHIM_ARGUMENT};
use crate::context::Context;
use crate::handler::Handler;

/// The running executable, also after its file was replaced by a newer one.
const OWN_EXECUTABLE: &str = "/proc/self/exe";
/// Inherited by every program.
const ENV_ALWAYS: [&str; 2] = ["PATH", "LANG"];
const RESULT_CHARS_MAX: usize = 4_000;
/// From the end of a tree to the end of its pipes: there is nobody left who could write.
const PIPES_END: Duration = Duration::from_secs(1);
/// What the keeper needs after its grace: the sweep.
const KEEPER_SLACK: Duration = Duration::from_secs(6);

/// Exit codes of `sysexits.h` with a meaning for retries.
const EX_DATAERR: i32 = 65;
const EX_CONFIG: i32 = 78;

#[derive(Debug, Clone)]
pub struct CommandHandler {
    template: CommandTemplate,
    arguments: Vec<template::Argument>,
    shim: PathBuf,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Killed(i32),
    /// It never ran. `for_good`: it will not run next time either.
    NotStarted {
        for_good: bool,
        reason: String,
    },
    /// The keeper went away without a word, and its tree with it.
    KeeperLost(String),
}

/// The end of a program and of all that it started, with the end of what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramEnd {
    pub end: End,
    /// It was asked to stop.
    pub stopped: bool,
    /// The last characters of standard output.
    pub stdout: String,
    pub stderr_line: String,
}

impl CommandHandler {
    /// The keeper is the running executable: its `main` begins with [`super::shim::shim_main_if_asked`].
    pub fn new(template: CommandTemplate) -> Result<CommandHandler, Refused> {
        let arguments = template.compile()?;
        Ok(CommandHandler { template, arguments, shim: OWN_EXECUTABLE.into() })
    }

    /// Another executable as the keeper, for programs whose `main` is not their own.
    #[must_use]
    pub fn with_shim(mut self, executable: impl Into<PathBuf>) -> CommandHandler {
        self.shim = executable.into();
        self
    }

    pub fn template(&self) -> &CommandTemplate {
        &self.template
    }

    /// Runs the program to its end. When `stop` comes first, the tree is killed and then this returns. When the
    /// future is dropped, the tree is killed too.
    pub async fn run(&self, facts: &JobFacts, stop: impl Future<Output = ()> + Send, say: Say<'_>) -> ProgramEnd {
        let mut stdout = Gathered::new(Stream::Stdout, self.template.output_bytes_max);
        let mut stderr = Gathered::new(Stream::Stderr, self.template.output_bytes_max);
        let (end, stopped) = match self.start(facts) {
            Ok((child, line, order)) => {
                self.attend(child, line, (order, facts.payload.as_bytes()), stop, (&mut stdout, &mut stderr), say).await
            }
            Err(end) => (end, false),
        };
        ProgramEnd { end, stopped, stdout: stdout.last_chars(RESULT_CHARS_MAX), stderr_line: stderr.last_line() }
    }

    fn start(&self, facts: &JobFacts) -> Result<(Child, UnixStream, Order), End> {
        let args =
            template::fill(&self.arguments, facts).map_err(|reason| End::NotStarted { for_good: true, reason })?;
        let order = Order {
            program: self.template.program.clone(),
            args,
            cwd: self.template.cwd.clone(),
            env: self.environment(facts),
            memory_bytes_max: self.template.memory_bytes_max,
            grace_ms: u64::try_from(self.template.kill_grace.as_millis()).unwrap_or(u64::MAX),
            stdin_bytes: facts.payload.len(),
        };
        let start = || -> std::io::Result<(Child, UnixStream)> {
            let (ours, theirs) = StdUnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let child = Command::new(&self.shim)
                .arg(SHIM_ARGUMENT)
                .arg(self.template.name.as_str()) // only for people who read process lists
                .env_clear()
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            Ok((child, UnixStream::from_std(ours)?))
        };
        match start() {
            Ok((child, line)) => Ok((child, line, order)),
            Err(error) => {
                let reason = format!("the keeper {} cannot be started: {error}", self.shim.display());
                Err(End::NotStarted { for_good: false, reason })
            }
        }
    }

    fn environment(&self, facts: &JobFacts) -> BTreeMap<String, String> {
        let inherited = ENV_ALWAYS.into_iter().chain(self.template.env.iter().map(String::as_str));
        let mut env: BTreeMap<String, String> =
            inherited.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
        env.insert("MAINSPRING_JOB_ID".to_owned(), facts.job_id.clone());
        env.insert("MAINSPRING_ATTEMPT".to_owned(), facts.attempt.to_string());
        env.insert("MAINSPRING_FENCE".to_owned(), facts.fence.to_string());
        env.insert("MAINSPRING_TASK".to_owned(), facts.task.clone());
        env.extend(facts.fire_time.clone().map(|time| ("MAINSPRING_FIRE_TIME".to_owned(), time)));
        if let Some(shard) = facts.shard {
            env.insert("MAINSPRING_SHARD_INDEX".to_owned(), shard.index.to_string());
            env.insert("MAINSPRING_SHARD_TOTAL".to_owned(), shard.total.to_string());
        }
        env
    }

    /// Reads both streams and the keeper's reports until all three have ended.
    async fn attend(
        &self,
        mut child: Child,
        line: UnixStream,
        order: (Order, &[u8]),
        stop: impl Future<Output = ()> + Send,
        (stdout, stderr): (&mut Gathered, &mut Gathered),
        say: Say<'_>,
    ) -> (End, bool) {
        let pipes = (child.stdout.take(), child.stderr.take());
        let outcome = {
            let reading = async {
                if let (Some(out), Some(err)) = pipes {
                    tokio::join!(stdout.read(out, say), stderr.read(err, say));
                }
            };
            let (mut reading, mut following) =
                (std::pin::pin!(reading), std::pin::pin!(self.follow(line, order, stop)));
            tokio::select! {
                biased;
                outcome = &mut following => {
                    // A pipe that somebody holds open all the same does not hold the attempt.
                    tokio::time::timeout(PIPES_END, reading).await.ok();
                    outcome
                }
                () = &mut reading => following.await,
            }
        };
        stdout.finish(say);
        stderr.finish(say);
        // The keeper is at its end; if it is not, the runtime reaps it later.
        tokio::time::timeout(PIPES_END, child.wait()).await.ok();
        outcome
    }

    /// Tells the keeper what to do and hears what became of it.
    async fn follow(
        &self,
        line: UnixStream,
        (order, input): (Order, &[u8]),
        stop: impl Future<Output = ()> + Send,
    ) -> (End, bool) {
        let (from_keeper, mut to_keeper) = line.into_split();
        let mut reports = BufReader::new(from_keeper).lines();
        let mut text = serde_json::to_vec(&order).unwrap_or_default();
        text.push(b'\n');
        text.extend_from_slice(input);
        // A failure shows as the end of the reports.
        to_keeper.write_all(&text).await.ok();

        let (mut stop, mut stopped, mut program) = (std::pin::pin!(stop), false, None);
        loop {
            let patience = if stopped { self.template.kill_grace + KEEPER_SLACK } else { Duration::MAX };
            let report = tokio::select! {
                biased;
                report = tokio::time::timeout(patience, reports.next_line()) => report,
                () = &mut stop, if !stopped => {
                    stopped = true;
                    to_keeper.write_all(b"s").await.ok();
                    continue;
                }
            };
            let report = match report {
                Ok(Ok(Some(report))) => serde_json::from_str(&report).ok(),
                Ok(_) => None,
                Err(_) => {
                    let reason = "the process tree did not end after signal 9".to_owned();
                    return (End::KeeperLost(reason), stopped);
                }
            };
            let end = match report {
                Some(Report::Started { pid }) => {
                    program = Pid::from_raw(pid);
                    continue;
                }
                Some(Report::NotStarted { for_good, reason }) => End::NotStarted { for_good, reason },
                Some(Report::Exited { code }) => End::Exited(code),
                Some(Report::Killed { signal }) => End::Killed(signal),
                None => {
                    if let Some(program) = program {
                        rustix::process::kill_process_group(program, Signal::KILL).ok();
                    }
                    End::KeeperLost("the keeper of the program was killed".to_owned())
                }
            };
            return (end, stopped);
        }
    }
}

#[async_trait]
impl Handler for CommandHandler {
    async fn handle(&self, context: Context) -> Verdict {
        let say = |stream: Stream, text: &str| context.output(stream, text);
        let end = self.run(&JobFacts::of(&context), context.cancelled(), &say).await;
        end.verdict()
    }
}

impl ProgramEnd {
    pub fn verdict(&self) -> Verdict {
        if self.stopped {
            return Verdict::Cancelled;
        }
        let error = match &self.end {
            End::Exited(0) => {
                return Verdict::Done { result: Some(self.stdout.clone()).filter(|text| !text.is_empty()) };
            }
            End::Exited(code) => self.with_last_line(format!("exit code {code}")),
            End::Killed(signal) => self.with_last_line(format!("killed by {}", signal_name(*signal))),
            End::NotStarted { reason, .. } | End::KeeperLost(reason) => reason.clone(),
        };
        match self.end {
            End::Exited(EX_DATAERR | EX_CONFIG) | End::NotStarted { for_good: true, .. } => Verdict::fail(error),
            _ => Verdict::retry(error),
        }
    }

    fn with_last_line(&self, what: String) -> String {
        if self.stderr_line.is_empty() {
            what
        } else {
            excerpt(&format!("{what}: {}", self.stderr_line), limits::ERROR_CHARS_MAX)
        }
    }
}

fn signal_name(number: i32) -> String {
    let name = match Signal::from_named_raw(number) {
        Some(Signal::KILL) => "SIGKILL",
        Some(Signal::TERM) => "SIGTERM",
        Some(Signal::INT) => "SIGINT",
        Some(Signal::HUP) => "SIGHUP",
        Some(Signal::QUIT) => "SIGQUIT",
        Some(Signal::SEGV) => "SIGSEGV",
        Some(Signal::ABORT) => "SIGABRT",
        Some(Signal::BUS) => "SIGBUS",
        Some(Signal::FPE) => "SIGFPE",
        Some(Signal::ILL) => "SIGILL",
        Some(Signal::PIPE) => "SIGPIPE",
        Some(Signal::ALARM) => "SIGALRM",
        Some(Signal::XCPU) => "SIGXCPU",
        _ => return format!("signal {number}"),
    };
    format!("{name} ({number})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_means_a_verdict() {
        let check = |end: End, stderr: &str, expect: Verdict| {
            let ended = ProgramEnd { end, stopped: false, stdout: "out".to_owned(), stderr_line: stderr.to_owned() };
            assert_eq!(ended.verdict(), expect);
        };
        check(End::Exited(0), "a warning", Verdict::done_with("out"));
        check(End::Exited(1), "no such host", Verdict::retry("exit code 1: no such host"));
        check(End::Exited(75), "", Verdict::retry("exit code 75"));
        check(End::Exited(65), "line 3", Verdict::fail("exit code 65: line 3"));
        check(End::Exited(78), "", Verdict::fail("exit code 78"));
        check(End::Killed(9), "", Verdict::retry("killed by SIGKILL (9)"));
        check(End::Killed(40), "x", Verdict::retry("killed by signal 40: x"));
        check(End::NotStarted { for_good: true, reason: "no".to_owned() }, "", Verdict::fail("no"));
        check(End::NotStarted { for_good: false, reason: "later".to_owned() }, "", Verdict::retry("later"));
        check(End::KeeperLost("gone".to_owned()), "", Verdict::retry("gone"));
    }

    #[test]
    fn whoever_was_stopped_is_cancelled_however_it_ended() {
        for end in [End::Exited(0), End::Exited(1), End::Killed(15)] {
            let ended = ProgramEnd { end, stopped: true, stdout: String::new(), stderr_line: String::new() };
            assert_eq!(ended.verdict(), Verdict::Cancelled);
        }
    }
}
