//! One connection through the proxy: a thread each way.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::statements::Conversation;
use super::{Core, Direction, Mode, When, close};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
struct Link {
    number: u64,
    core: Arc<Core>,
    conversation: Mutex<Conversation>,
    /// The next bytes of the server begin an answer.
    asked: AtomicBool,
    /// The answer with this number is not to reach the client.
    cut_at_answer: Mutex<Option<u64>>,
}

/// What becomes of a message.
enum Fate {
    Forward,
    Lost,
    Cut,
}

pub(super) fn open(number: u64, client: TcpStream, core: &Arc<Core>) {
    let core = Arc::clone(core);
    in_thread(move || {
        let address = ([127, 0, 0, 1], core.state().server_port).into();
        // A server that is away looks as it would without the proxy: the connection is closed.
        let Ok(server) = TcpStream::connect_timeout(&address, CONNECT_LIMIT) else { return };
        let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else { return };
        let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else { return };
        let link = Link {
            number,
            conversation: Mutex::new(Conversation::new(core.kind)),
            core: Arc::clone(&core),
            asked: AtomicBool::new(false),
            cut_at_answer: Mutex::new(None),
        };
        let mut state = core.state();
        if state.closing {
            return;
        }
        let (Ok(client_end), Ok(server_end)) = (client.try_clone(), server.try_clone()) else { return };
        state.links.insert(number, [client_end, server_end]);
        drop(state);
        let link = Arc::new(link);
        let back = Arc::clone(&link);
        in_thread(move || back.carry(Direction::ToClient, server_too, client_too));
        link.carry(Direction::ToServer, client, server);
    });
}

fn in_thread(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("cut-proxy-link".to_owned());
    thread.spawn(work).expect("a thread can be started");
}

impl Link {
    fn carry(&self, direction: Direction, mut from: TcpStream, mut to: TcpStream) {
        let mut waiting = Vec::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = from.read(&mut chunk).unwrap_or(0);
            if count == 0 {
                break;
            }
            waiting.extend_from_slice(&chunk[..count]);
            let (passing, is_cut) = self.judge(direction, &mut waiting);
            if direction == Direction::ToClient && !passing.is_empty() && self.asked.swap(false, Ordering::Relaxed) {
                self.delay();
            }
            if to.write_all(&passing).is_err() || is_cut {
                break;
            }
        }
        // Lost bytes and a lost farewell: the other end must not learn that this one is gone.
        self.core.wait_while(Mode::Swallow(direction), self.number, Duration::MAX);
        self.close();
    }

    /// What of the complete messages goes on, and whether the connection ends after that.
    fn judge(&self, direction: Direction, waiting: &mut Vec<u8>) -> (Vec<u8>, bool) {
        let mut passing = Vec::new();
        loop {
            let length = match direction {
                Direction::ToServer => self.conversation().client_message_length(waiting),
                Direction::ToClient => self.conversation().server_message_length(waiting),
            };
            let Some(length) = length.filter(|length| *length <= waiting.len()) else { return (passing, false) };
            // A message has a byte at least, whatever its length says.
            let message: Vec<u8> = waiting.drain(..length.max(1)).collect();
            let fate = match direction {
                Direction::ToServer => self.fate_of_client_message(&message),
                Direction::ToClient => self.fate_of_server_message(&message),
            };
            match fate {
                Fate::Forward => passing.extend(message),
                Fate::Lost => {}
                Fate::Cut => return (passing, true),
            }
        }
    }

    fn fate_of_client_message(&self, message: &[u8]) -> Fate {
        let mut state = self.core.state();
        if state.mode == Mode::Swallow(Direction::ToServer) {
            state.counts.swallowed_bytes += message.len() as u64;
            return Fate::Lost;
        }
        let executed = self.conversation().client_says(message);
        self.asked.store(true, Ordering::Relaxed);
        let Some(executed) = executed else { return Fate::Forward };
        match state.planned.take_if(|(target, _)| target.is_met(&executed.text)) {
            None => Fate::Forward,
            Some((_, When::Before)) => {
                state.counts.cut_statements += 1;
                Fate::Cut
            }
            Some((_, When::After)) => {
                *self.cut_at_answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(executed.answer);
                Fate::Forward
            }
        }
    }

    fn fate_of_server_message(&self, message: &[u8]) -> Fate {
        let mut state = self.core.state();
        let (answered_before, answered) = {
            let mut conversation = self.conversation();
            let before = conversation.answered();
            conversation.server_says(message);
            (before, conversation.answered())
        };
        let cut_at = *self.cut_at_answer.lock().unwrap_or_else(PoisonError::into_inner);
        match cut_at {
            Some(last) if answered >= last => {
                state.counts.cut_statements += 1;
                Fate::Cut
            }
            Some(last) if answered_before + 1 >= last => Fate::Lost,
            _ if state.mode == Mode::Swallow(Direction::ToClient) => {
                state.counts.swallowed_bytes += message.len() as u64;
                Fate::Lost
            }
            _ => Fate::Forward,
        }
    }

    fn delay(&self) {
        let mode = self.core.state().mode;
        if let Mode::Delay(length) = mode {
            self.core.wait_while(mode, self.number, length);
        }
    }

    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let ends = self.core.state().links.remove(&self.number);
        if let Some(ends) = ends {
            close(&ends);
        }
    }
}
