//! A folder and the process in it, both gone when their keeper is dropped or the process that holds it ends.
//!
//! A shell waits for the end of a pipe that only this process holds open: that comes also after SIGKILL. A parent-death
//! signal would not do: it comes when a thread ends, and the children of the killed server would not hear it.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::programs::{Account, Program};
use crate::wait_for;

/// Told line by line which process is the current one; an empty line says there is none. Processes are stopped before
/// their children are read, so that none is born in between.
const WATCHDOG: &str = r#"
end() {
    kill -STOP "$1"
    for child in $(cat /proc/"$1"/task/*/children); do end "$child"; done
    kill -KILL "$1"
}
while read -r line; do current=$line; done
if [ -n "$current" ]; then end "$current"; fi
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" && break; sleep 0.1; done
"#;

/// Begins when it is told to, which is after the watchdog knows it.
const BEGIN_WHEN_TOLD: &str = r#"read -r _ && exec "$@" </dev/null"#;

const START_LIMIT: Duration = Duration::from_secs(60);
const END_LIMIT: Duration = Duration::from_secs(60);
const PORTS_TRIED: usize = 10;
/// Below the ports that systems lend to outgoing connections: nobody takes one while its server is stopped.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

#[derive(Debug)]
pub(crate) struct Keeper {
    folder: PathBuf,
    account: Account,
    watchdog: Mutex<Watchdog>,
    current: Mutex<Option<Child>>,
}

#[derive(Debug)]
struct Watchdog {
    shell: Child,
    orders: Option<ChildStdin>,
}

impl Keeper {
    /// Its processes run under this account; the folder is the account's. It is made in `place`.
    pub(crate) fn new(name: &str, account: Account, place: &Path) -> Result<Keeper> {
        let folder = tempfile::Builder::new().prefix(&format!("mainspring-{name}-")).tempdir_in(place)?.keep();
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCHDOG, "watchdog"]).arg(&folder);
        // A group of its own: a signal to the tests' group must not end it before its work is done.
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut shell = shell.spawn().context("start a watchdog")?;
        let orders = shell.stdin.take();
        let watchdog = Mutex::new(Watchdog { shell, orders });
        account.takes_over(&folder)?;
        Ok(Keeper { folder, account, watchdog, current: Mutex::new(None) })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.join("log")).unwrap_or_default()).into_owned()
    }

    /// Starts it and leaves it running. What it says is appended to the log.
    pub(crate) fn start(&self, program: &Program) -> Result<()> {
        ensure!(self.has_ended()?, "a process runs already");
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = Command::new("sh");
        command.args(["-c", BEGIN_WHEN_TOLD, "begin"]).args(self.account.words_before()).args(program.words());
        program.give_environment(&mut command);
        // Its temporary files too: MariaDB begins by removing those of its like, also from under a server that runs.
        command.current_dir(&self.folder).env("TMPDIR", &self.folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        let mut child = command.spawn().with_context(|| format!("start {program:?}"))?;
        self.tell_watchdog(&child.id().to_string())?;
        child.stdin.take().context("stdin is piped")?.write_all(b"go\n")?;
        *self.current() = Some(child);
        Ok(())
    }

    /// Starts it and waits until it says that it is ready. `false`: it ended, for its port is taken.
    pub(crate) fn start_service(&self, program: &Program, ready: &str) -> Result<bool> {
        let said_before = self.log().len();
        self.start(program)?;
        wait_for(START_LIMIT, "the service is ready", || {
            // In this order: what an ended process has said is complete.
            let ended = self.has_ended()?;
            let log = self.log();
            let said = log.get(said_before..).context("a log only grows")?;
            if said.contains(ready) && !ended {
                return Ok(Some(true));
            }
            ensure!(!ended || said.contains("in use"), "it ended");
            Ok(ended.then_some(false))
        })
        .with_context(|| format!("start {program:?}:\n{}", self.log()))
    }

    /// As [`Keeper::start_service`], on a port that nobody uses, which it gives.
    pub(crate) fn start_on_a_free_port(&self, ready: &str, program: impl Fn(u16) -> Result<Program>) -> Result<u16> {
        for _ in 0..PORTS_TRIED {
            let port = free_port()?;
            if self.start_service(&program(port)?, ready)? {
                return Ok(port);
            }
        }
        bail!("no free port in {PORTS_TRIED} attempts:\n{}", self.log())
    }

    /// Starts it, waits for its end, and refuses any but a good one.
    pub(crate) fn run(&self, program: &Program) -> Result<()> {
        self.start(program)?;
        let status = self.wait_end()?;
        ensure!(status.is_none_or(|status| status.success()), "{program:?} ended with {status:?}:\n{}", self.log());
        Ok(())
    }

    pub(crate) fn has_ended(&self) -> Result<bool> {
        let mut current = self.current();
        let ended = match current.as_mut() {
            Some(child) => child.try_wait()?.is_some(),
            None => true,
        };
        if ended && current.take().is_some() {
            self.tell_watchdog("")?;
        }
        Ok(ended)
    }

    /// How the current process ended, if there was one.
    pub(crate) fn wait_end(&self) -> Result<Option<ExitStatus>> {
        let mut current = self.current();
        let Some(child) = current.as_mut() else { return Ok(None) };
        let status = wait_for(END_LIMIT, "the process ends", || Ok(child.try_wait()?))?;
        *current = None;
        self.tell_watchdog("")?;
        Ok(Some(status))
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// All processes stand still, also those that were being made.
    pub(crate) fn freeze(&self) -> Result<()> {
        stop_with_children(self.pid()?)?;
        Ok(())
    }

    pub(crate) fn thaw(&self) -> Result<()> {
        for process in family(self.pid()?)? {
            tolerate_ended(kill_process(process, Signal::CONT))?;
        }
        Ok(())
    }

    /// As a loss of power, but for what the operating system has taken already.
    pub(crate) fn kill(&self) -> Result<()> {
        let pid = self.pid()?;
        stop_with_children(pid)?;
        let processes = family(pid)?;
        for process in &processes {
            tolerate_ended(kill_process(*process, Signal::KILL))?;
        }
        self.wait_end()?;
        // Whoever starts next must not find an old process at its data.
        wait_for(END_LIMIT, "all processes end", || Ok((!processes.iter().any(|pid| is_alive(*pid))).then_some(())))
    }

    pub(crate) fn pid(&self) -> Result<Pid> {
        let id = self.current().as_ref().context("the server is stopped; start it again first")?.id();
        Pid::from_raw(i32::try_from(id)?).context("a process has a number")
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn tell_watchdog(&self, line: &str) -> Result<()> {
        let mut watchdog = self.watchdog.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let orders = watchdog.orders.as_mut().context("the watchdog listens")?;
        orders.write_all(format!("{line}\n").as_bytes()).context("tell the watchdog")
    }
}

impl Drop for Keeper {
    /// The watchdog does the work, as it would after a kill.
    fn drop(&mut self) {
        let watchdog = self.watchdog.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        watchdog.orders = None;
        if let Some(child) = self.current.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner) {
            let _ = child.wait();
        }
        let _ = watchdog.shell.wait();
    }
}

/// Free when it was asked for; another process may still be faster.
pub(crate) fn free_port() -> Result<u16> {
    let mut dice = fastrand::Rng::new();
    let mut ports = std::iter::repeat_with(|| dice.u16(PORTS)).take(1_000);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).context("no port is free")
}

/// The process and all that descend from it, ancestors first.
fn family(pid: Pid) -> Result<Vec<Pid>> {
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        let threads = fs::read_dir(format!("/proc/{}/task", found[next].as_raw_nonzero()));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace() {
                found.extend(Pid::from_raw(child.parse()?));
            }
        }
        next += 1;
    }
    Ok(found)
}

/// Until a look finds no process that the look before did not: a parent that stands still has no more children.
fn stop_with_children(pid: Pid) -> Result<()> {
    let mut stopped = 0;
    loop {
        let processes = family(pid)?;
        if processes.len() == stopped {
            return Ok(());
        }
        stopped = processes.len();
        for process in processes {
            tolerate_ended(kill_process(process, Signal::STOP))?;
            wait_for(END_LIMIT, "a process stands still", || Ok(stands_still(process).then_some(())))?;
        }
    }
}

fn tolerate_ended(sent: rustix::io::Result<()>) -> Result<()> {
    match sent {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A process that ended but was not waited for has state Z; nothing of it runs.
fn is_alive(pid: Pid) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn stands_still(pid: Pid) -> bool {
    state(pid).is_none_or(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
