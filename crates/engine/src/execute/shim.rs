//! The keeper of one command: a small process between the engine and the program that a handler runs.
//!
//! It is this executable, started again with [`SHIM_ARGUMENT`]. Why a process of its own: only a parent hears of a
//! child's end, only a subreaper inherits the orphans of what it started, and only something outside the engine can
//! act when the engine is killed with signal 9. Killing the program alone leaves what it started; killing its group
//! leaves what called `setsid`; group and subreaper together leave nothing.
//!
//! Its standard input is a socket to the engine: an `Order`, the program's input, later perhaps a byte that says
//! stop. The end of that stream means that the engine is gone or has dropped the attempt, and means stop too. The
//! other way go `Report`s. Standard output and error are the engine's pipes, and the program inherits them.
//!
//! **Invariant:** when the keeper ends, nothing that it started is left. Deliberately not in here: clocks, caps and
//! verdicts. They are the engine's (`process`).

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio::time::Instant;

/// The hidden first argument that makes an executable the keeper.
pub const SHIM_ARGUMENT: &str = "__shim";

/// From the engine's death to signal 9: with the sweep it stays under the promised two seconds.
const ORPHAN_GRACE: Duration = Duration::from_millis(1_000);
/// A process that signal 9 does not end within this time hangs in the kernel; it dies when the kernel lets go of it.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);
const SWEEP_PAUSE: Duration = Duration::from_millis(10);
/// An order is arguments and environment: the kernel takes no more than 2 MB of them.
const ORDER_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What the engine asks for: one line of JSON, then `stdin_bytes` of input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) grace_ms: u64,
    pub(crate) stdin_bytes: usize,
}

/// What the keeper answers, one line of JSON each. All but `Started` are its last word.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Started { pid: i32 },
    NotStarted { for_good: bool, reason: String },
    Exited { code: i32 },
    Killed { signal: i32 },
}

/// Becomes the keeper, and never returns, when the arguments ask for it. To be called first in `main` by every
/// program whose engine has command handlers, unless it names another executable for that.
pub fn shim_main_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == SHIM_ARGUMENT) {
        let code = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(keep()).map_or(1, |()| 0),
            Err(_) => 1, // without a runtime there is no way to say more: the engine sees the end of the stream
        };
        std::process::exit(code);
    }
}

/// For an executable that is nothing but the keeper.
pub fn shim_main() -> ExitCode {
    shim_main_if_asked();
    ExitCode::from(2)
}

async fn keep() -> std::io::Result<()> {
    let socket = StdUnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    let (from_engine, mut to_engine) = UnixStream::from_std(socket)?.into_split();
    let mut from_engine = BufReader::new(from_engine);
    // Before anything is started, so that no signal is missed. The keeper itself is ended by the engine only: a
    // terminal's or a supervisor's signal reaches the engine, which decides.
    let mut signals = Signals::listen()?;

    let mut line = String::new();
    (&mut from_engine).take(ORDER_BYTES_MAX).read_line(&mut line).await?;
    let order: Order = serde_json::from_str(&line)?;
    let mut input = vec![0; order.stdin_bytes];
    from_engine.read_exact(&mut input).await?;

    let report = match own_session().and_then(|()| start(&order)) {
        Ok(child) => {
            let pid = child.id().cast_signed();
            send(&mut to_engine, &Report::Started { pid }).await;
            Keeper { from_engine, grace: Duration::from_millis(order.grace_ms) }.watch(child, input, &mut signals).await
        }
        Err(NotStarted { for_good, reason }) => Report::NotStarted { for_good, reason },
    };
    send(&mut to_engine, &report).await;
    Ok(())
}

/// The engine may be gone: then there is nobody to tell.
async fn send(to_engine: &mut OwnedWriteHalf, report: &Report) {
    if let Ok(mut line) = serde_json::to_string(report) {
        line.push('\n');
        to_engine.write_all(line.as_bytes()).await.ok();
    }
}

struct NotStarted {
    for_good: bool,
    reason: String,
}

impl NotStarted {
    fn here(what: &str, error: Errno) -> NotStarted {
        NotStarted { for_good: false, reason: format!("{what}: {error}") }
    }
}

fn own_session() -> Result<(), NotStarted> {
    match rustix::process::setsid() {
        Ok(_) | Err(Errno::PERM) => {} // PERM: it leads a session already
        Err(error) => return Err(NotStarted::here("no session of its own", error)),
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| NotStarted::here("orphans cannot be kept", error))?;
    rustix::thread::set_no_new_privs(true).map_err(|error| NotStarted::here("privileges cannot be held down", error))
}

fn start(order: &Order) -> Result<Child, NotStarted> {
    if let Some(cwd) = order.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        let reason = format!("the working directory {} does not exist", cwd.display());
        return Err(NotStarted { for_good: true, reason });
    }
    let mut command = Command::new(&order.program);
    command.args(&order.args).env_clear().envs(&order.env);
    command.stdin(Stdio::piped()).process_group(0);
    if let Some(cwd) = &order.cwd {
        command.current_dir(cwd);
    }
    let spawned = match order.memory_bytes_max {
        None => command.spawn(),
        Some(bytes) => spawn_limited(&mut command, bytes)?,
    };
    spawned.map_err(|error| {
        use std::io::ErrorKind as Kind;
        let for_good = matches!(
            error.kind(),
            Kind::NotFound | Kind::PermissionDenied | Kind::InvalidInput | Kind::ArgumentListTooLong
        ) || error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error());
        NotStarted { for_good, reason: format!("program `{}` cannot be started: {error}", order.program) }
    })
}

/// The limit is set around the start, so that the program and all that it starts inherit it from their first
/// instruction, while the keeper stays free. The hard limit follows, so that they cannot lift it.
fn spawn_limited(command: &mut Command, bytes: u64) -> Result<std::io::Result<Child>, NotStarted> {
    let own = rustix::process::getrlimit(Resource::As);
    let limit = own.maximum.map_or(bytes, |maximum| maximum.min(bytes));
    let set = |limit: Rlimit| {
        rustix::process::setrlimit(Resource::As, limit)
            .map_err(|error| NotStarted::here("the memory limit cannot be set", error))
    };
    set(Rlimit { current: Some(limit), maximum: own.maximum })?;
    let spawned = command.spawn();
    set(own)?;
    if let Ok(child) = &spawned {
        let both = Rlimit { current: Some(limit), maximum: Some(limit) };
        // Fails only when the program has ended already.
        rustix::process::prlimit(Pid::from_raw(child.id().cast_signed()), Resource::As, both).ok();
    }
    Ok(spawned)
}

/// What the keeper listens to. Only `child` means something; the others would end it and are taken away.
struct Signals {
    child: Listener,
    _ignored: [Listener; 4],
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            child: signal(SignalKind::child())?,
            _ignored: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ],
        })
    }
}

struct Keeper {
    from_engine: BufReader<OwnedReadHalf>,
    grace: Duration,
}

impl Keeper {
    /// From the start of the program to the end of everything that it started.
    #[expect(clippy::disallowed_methods, reason = "a process of its own, outside of every simulation")]
    async fn watch(mut self, mut child: Child, input: Vec<u8>, signals: &mut Signals) -> Report {
        let main = Pid::from_child(&child);
        let mut end = None;
        let (mut stop_at, mut connected, mut fed) = (None::<Instant>, true, false);
        let stdin = child.stdin.take();
        let mut feeding = std::pin::pin!(feed(stdin, input));
        while stop_at.is_none_or(|at| Instant::now() < at) {
            let family = reap(main, &mut end);
            // Asked to stop, the whole family has its grace; otherwise what outlives the program has none.
            if family == Family::Gone || (end.is_some() && stop_at.is_none()) {
                break;
            }
            let until = stop_at.unwrap_or_else(|| Instant::now() + Duration::from_secs(3_600));
            tokio::select! {
                biased;
                _ = signals.child.recv() => {}
                word = self.from_engine.read_u8(), if connected => {
                    connected = word.is_ok();
                    let grace = if connected { self.grace } else { self.grace.min(ORPHAN_GRACE) };
                    if stop_at.is_none() && end.is_none() {
                        rustix::process::kill_process_group(main, Signal::TERM).ok();
                        // A stopped program would not hear it.
                        rustix::process::kill_process_group(main, Signal::CONT).ok();
                    }
                    let at = Instant::now() + grace;
                    stop_at = Some(stop_at.map_or(at, |earlier| earlier.min(at)));
                }
                () = &mut feeding, if !fed => fed = true,
                () = tokio::time::sleep_until(until) => {}
            }
        }
        self.sweep(main, &mut end, signals).await;
        end.unwrap_or(Report::Killed { signal: Signal::KILL.as_raw() })
    }

    /// Signal 9 for every descendant, again and again until none is left: a process that forks while it is swept is
    /// found in the next round, because its children become the keeper's.
    #[expect(clippy::disallowed_methods, reason = "a process of its own, outside of every simulation")]
    async fn sweep(&self, main: Pid, end: &mut Option<Report>, signals: &mut Signals) {
        let limit = Instant::now() + SWEEP_LIMIT;
        while reap(main, end) == Family::Left && Instant::now() < limit {
            for pid in descendants() {
                rustix::process::kill_process(pid, Signal::KILL).ok();
            }
            tokio::time::timeout(SWEEP_PAUSE, signals.child.recv()).await.ok();
        }
    }
}

/// The program may never read it, or end before it has: neither is an error.
async fn feed(stdin: Option<std::process::ChildStdin>, input: Vec<u8>) {
    if let Some(Ok(mut stdin)) = stdin.map(tokio::process::ChildStdin::from_std) {
        stdin.write_all(&input).await.ok();
    }
}

#[derive(PartialEq, Eq)]
enum Family {
    Left,
    Gone,
}

/// Takes the ends of all children that have ended, orphans too, and notes the program's own.
fn reap(main: Pid, end: &mut Option<Report>) -> Family {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == main => {
                *end = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Some(Report::Exited { code }),
                    (None, Some(signal)) => Some(Report::Killed { signal }),
                    (None, None) => end.take(),
                }
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Family::Left,
            Err(_) => return Family::Gone, // CHILD: there are none
        }
    }
}

/// Everything below this process, from the process table. One pass sees a whole tree, where following children would
/// see one level.
fn descendants() -> Vec<Pid> {
    let mut children_of: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // It may have ended since the listing.
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else { continue };
        if let Some(parent) = parent_in_stat(&String::from_utf8_lossy(&stat)) {
            children_of.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![std::process::id().cast_signed()];
    while let Some(parent) = open.pop() {
        for child in children_of.remove(&parent).unwrap_or_default() {
            open.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    found
}

/// `pid (name) state parent …`: the name may hold anything, also spaces and parentheses.
fn parent_in_stat(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in_stat("17 (sh) S 4 17 17 0"), Some(4));
        assert_eq!(parent_in_stat("17 (a) b (c) R 99) Z 5 17"), Some(5));
        assert_eq!(parent_in_stat("17"), None);
    }
}
