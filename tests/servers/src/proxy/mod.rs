//! Between a client and a server: a network that delays, loses and breaks, and above all breaks at the one moment when
//! the client cannot know what the server did.
//!
//! It reads whole messages of the PostgreSQL or MySQL protocol, without TLS or compression. A connection is cut as if
//! its peer had closed it. Not seen: a commit inside a procedure, and in MySQL the end of an answer of many packets (a
//! statement counts as answered with the first of them).

mod link;
mod mysql;
mod postgres;
mod statements;

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;

use crate::client::at_port;
use crate::keeper::free_port;
use crate::server::{Kind, Server};
use statements::Target;

/// What happens to bytes and to new connections. A change counts at once, for open connections too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Pass,
    /// Each answer comes later by this.
    Delay(Duration),
    /// New connections are closed at once; open ones go on.
    Refuse,
    /// Bytes this way are lost, as is the news that the connection was closed; it stays open.
    Swallow(Direction),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The server never sees the statement.
    Before,
    /// The server has done and answered it; the client does not hear that.
    After,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub accepted: u64,
    pub refused: u64,
    /// By [`CutProxy::cut_all`].
    pub cut_connections: u64,
    /// By [`CutProxy::cut_at_commit`] and [`CutProxy::cut_at_statement`].
    pub cut_statements: u64,
    pub swallowed_bytes: u64,
}

/// Dropping it cuts all connections.
#[derive(Debug)]
pub struct CutProxy {
    port: u16,
    core: Arc<Core>,
    acceptor: Option<JoinHandle<()>>,
}

/// What all threads of one proxy share.
#[derive(Debug)]
struct Core {
    kind: Kind,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    server_port: u16,
    mode: Mode,
    planned: Option<(Target, When)>,
    links: BTreeMap<u64, [TcpStream; 2]>,
    counts: Counts,
    closing: bool,
}

impl CutProxy {
    pub fn before(server: &Server) -> Result<CutProxy> {
        CutProxy::to(server.kind(), server.port())
    }

    /// To whatever speaks this protocol at this port of the machine.
    pub fn to(kind: Kind, server_port: u16) -> Result<CutProxy> {
        let port = free_port()?;
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let state = State {
            server_port,
            mode: Mode::Pass,
            planned: None,
            links: BTreeMap::new(),
            counts: Counts::default(),
            closing: false,
        };
        let core = Arc::new(Core { kind, state: Mutex::new(state), changed: Condvar::new() });
        let for_thread = Arc::clone(&core);
        let acceptor = std::thread::Builder::new().name("cut-proxy".to_owned());
        let acceptor = acceptor.spawn(move || accept(&listener, &for_thread))?;
        Ok(CutProxy { port, core, acceptor: Some(acceptor) })
    }

    /// The same database, reached through the proxy.
    pub fn url_of(&self, database: &str) -> Result<String> {
        at_port(database, self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, mode: Mode) {
        self.core.state().mode = mode;
        self.core.changed.notify_all();
    }

    /// From now on connections lead to this server; open ones stay where they are.
    pub fn lead_to(&self, server: &Server) {
        self.core.state().server_port = server.port();
    }

    /// Now; new connections go as the mode says.
    pub fn cut_all(&self) {
        let mut state = self.core.state();
        for (_, link) in std::mem::take(&mut state.links) {
            state.counts.cut_connections += 1;
            close(&link);
        }
        drop(state);
        self.core.changed.notify_all();
    }

    /// The connection of the next COMMIT that a client sends is cut, once. A later plan replaces an earlier one.
    pub fn cut_at_commit(&self, when: When) {
        self.core.state().planned = Some((Target::Commit, when));
    }

    /// As [`CutProxy::cut_at_commit`], at the next execution of a statement whose text holds this: also one that commits
    /// by itself, also a prepared one.
    pub fn cut_at_statement(&self, text: &str, when: When) {
        self.core.state().planned = Some((Target::Holding(text.to_owned()), when));
    }

    pub fn counts(&self) -> Counts {
        self.core.state().counts
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.core.state().closing = true;
        self.cut_all();
        // Wakes the acceptor, which then finds that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until the mode is another or the link is cut, or for this long.
    fn wait_while(&self, mode: Mode, link: u64, limit: Duration) {
        let same = |state: &mut State| state.mode == mode && state.links.contains_key(&link);
        drop(self.changed.wait_timeout_while(self.state(), limit, same));
    }
}

fn accept(listener: &TcpListener, core: &Arc<Core>) {
    for (number, client) in (0..).zip(listener.incoming()) {
        let mut state = core.state();
        if state.closing {
            return;
        }
        let Ok(client) = client else { continue };
        if state.mode == Mode::Refuse {
            state.counts.refused += 1;
            continue;
        }
        state.counts.accepted += 1;
        drop(state);
        link::open(number, client, core);
    }
}

/// Both ends hear it, and so does a thread that waits for bytes of either.
fn close(link: &[TcpStream; 2]) {
    for end in link {
        let _ = end.shutdown(Shutdown::Both);
    }
}
