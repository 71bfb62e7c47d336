//! The proxy before a small fake of a PostgreSQL server, message by message.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use mainspring_test_servers::{Counts, CutProxy, Direction, Kind, Mode, When};

const LONG: Duration = Duration::from_secs(20);
/// Long enough to believe that nothing comes.
const SILENCE: Duration = Duration::from_millis(200);
const FAREWELL: &str = "(closed)";

/// Tells the text of each query, and when the connection is closed. Answers each with `Done` and `Ready`.
fn fake_server() -> Result<(u16, Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let (tell, told) = sync_channel(100);
    in_thread(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tell = tell.clone();
            in_thread(move || {
                let _ = serve(stream, &tell);
                let _ = tell.send(FAREWELL.to_owned());
            });
        }
    });
    Ok((port, told))
}

fn in_thread(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().name("fake-server".to_owned()).spawn(work).expect("a thread can be started");
}

fn serve(mut client: TcpStream, tell: &SyncSender<String>) -> Result<()> {
    client.read_exact(&mut [0; 8])?;
    client.write_all(&message(b'Z', b"I"))?;
    loop {
        let mut head = [0; 5];
        client.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into()?) as usize - 4];
        client.read_exact(&mut body)?;
        tell.send(String::from_utf8(body)?.trim_end_matches('\0').to_owned())?;
        client.write_all(&[message(b'C', b"Done\0"), message(b'Z', b"I")].concat())?;
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short");
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

struct Stage {
    proxy: CutProxy,
    told: Receiver<String>,
}

fn stage() -> Result<Stage> {
    let (port, told) = fake_server()?;
    Ok(Stage { proxy: CutProxy::to(Kind::Postgres, port)?, told })
}

impl Stage {
    fn connect(&self) -> Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.proxy.port()))?;
        stream.set_read_timeout(Some(LONG))?;
        let mut client = Client(stream);
        client.send(&[8_u32.to_be_bytes(), 196_608_u32.to_be_bytes()].concat())?;
        assert_eq!(client.hear()?, Some('Z'));
        Ok(client)
    }

    #[track_caller]
    fn server_hears(&self, expect: &str) {
        assert_eq!(self.told.recv_timeout(LONG).as_deref(), Ok(expect));
    }

    #[track_caller]
    fn server_hears_nothing(&self) {
        assert_eq!(self.told.recv_timeout(SILENCE), Err(RecvTimeoutError::Timeout));
    }
}

struct Client(TcpStream);

impl Client {
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).context("send")
    }

    /// The type of the next message; nothing when the connection is closed.
    fn hear(&mut self) -> Result<Option<char>> {
        let mut head = [0; 5];
        match self.0.read_exact(&mut head) {
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => Ok(None),
            read => {
                read?;
                let mut body = vec![0; u32::from_be_bytes(head[1..].try_into()?) as usize - 4];
                self.0.read_exact(&mut body)?;
                Ok(Some(char::from(head[0])))
            }
        }
    }

    fn hears(&mut self, expect: &[Option<char>]) -> Result<()> {
        for next in expect {
            assert_eq!(self.hear()?, *next);
        }
        Ok(())
    }

    fn hears_nothing(&mut self) -> Result<()> {
        self.0.set_read_timeout(Some(SILENCE))?;
        let heard = self.0.read(&mut [0]);
        assert!(heard.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{heard:?}");
        self.0.set_read_timeout(Some(LONG))?;
        Ok(())
    }
}

#[test]
fn messages_arrive_whole_however_they_are_sent() -> Result<()> {
    let stage = stage()?;
    let mut client = stage.connect()?;
    for byte in query("SELECT 1") {
        client.send(&[byte])?;
    }
    stage.server_hears("SELECT 1");
    client.hears(&[Some('C'), Some('Z')])?;
    client.send(&[query("SELECT 2"), query("SELECT 3")].concat())?;
    stage.server_hears("SELECT 2");
    stage.server_hears("SELECT 3");
    client.hears(&[Some('C'), Some('Z'), Some('C'), Some('Z')])
}

#[test]
fn only_the_commit_is_cut_from_what_was_sent_with_it() -> Result<()> {
    for when in [When::Before, When::After] {
        let stage = stage()?;
        let mut client = stage.connect()?;
        let mut bystander = stage.connect()?;
        stage.proxy.cut_at_commit(when);
        client.send(&[query("INSERT"), query("COMMIT")].concat())?;
        stage.server_hears("INSERT");
        if when == When::After {
            stage.server_hears("COMMIT");
            client.hears(&[Some('C'), Some('Z'), None])?;
        }
        stage.server_hears(FAREWELL);
        assert_eq!(stage.proxy.counts(), Counts { accepted: 2, cut_statements: 1, ..Counts::default() });
        bystander.send(&query("COMMIT"))?;
        bystander.hears(&[Some('C'), Some('Z')])?;
    }
    Ok(())
}

#[test]
fn open_connections_go_on_when_new_ones_are_refused() -> Result<()> {
    let stage = stage()?;
    let mut client = stage.connect()?;
    stage.proxy.set(Mode::Refuse);
    let mut refused = Client(TcpStream::connect(("127.0.0.1", stage.proxy.port()))?);
    refused.hears(&[None])?;
    client.send(&query("SELECT 1"))?;
    client.hears(&[Some('C'), Some('Z')])?;
    assert_eq!(stage.proxy.counts(), Counts { accepted: 1, refused: 1, ..Counts::default() });
    Ok(())
}

#[test]
fn swallowed_questions_and_farewells_do_not_reach_the_server() -> Result<()> {
    let stage = stage()?;
    let mut client = stage.connect()?;
    stage.proxy.set(Mode::Swallow(Direction::ToServer));
    client.send(&query("SELECT 1"))?;
    client.hears_nothing()?;
    drop(client);
    stage.server_hears_nothing();
    stage.proxy.set(Mode::Pass);
    stage.server_hears(FAREWELL);
    Ok(())
}

#[test]
fn swallowed_answers_are_lost_for_good() -> Result<()> {
    let stage = stage()?;
    let mut client = stage.connect()?;
    stage.proxy.set(Mode::Swallow(Direction::ToClient));
    client.send(&query("SELECT 1"))?;
    stage.server_hears("SELECT 1");
    client.hears_nothing()?;
    stage.proxy.set(Mode::Pass);
    client.hears_nothing()?;
    client.send(&query("SELECT 2"))?;
    client.hears(&[Some('C'), Some('Z')])
}

#[test]
fn a_delay_ends_when_the_mode_does() -> Result<()> {
    let stage = stage()?;
    let mut client = stage.connect()?;
    stage.proxy.set(Mode::Delay(LONG * 100));
    client.send(&query("SELECT 1"))?;
    stage.server_hears("SELECT 1");
    client.hears_nothing()?;
    stage.proxy.set(Mode::Pass);
    client.hears(&[Some('C'), Some('Z')])
}

#[test]
fn both_ends_hear_of_a_cut_in_every_mode() -> Result<()> {
    let modes = [Mode::Pass, Mode::Delay(LONG), Mode::Refuse, Mode::Swallow(Direction::ToServer)];
    for mode in modes.into_iter().chain([Mode::Swallow(Direction::ToClient)]) {
        let stage = stage()?;
        let mut client = stage.connect()?;
        stage.proxy.set(mode);
        stage.proxy.cut_all();
        client.hears(&[None])?;
        stage.server_hears(FAREWELL);
        assert_eq!(stage.proxy.counts().cut_connections, 1, "{mode:?}");
    }
    Ok(())
}

#[test]
fn a_dropped_proxy_leaves_no_connection() -> Result<()> {
    let stage = stage()?;
    let mut client = stage.connect()?;
    let port = stage.proxy.port();
    drop(stage.proxy);
    client.hears(&[None])?;
    assert_eq!(stage.told.recv_timeout(LONG).as_deref(), Ok(FAREWELL));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    Ok(())
}

#[test]
fn a_server_that_is_away_is_as_away_through_the_proxy() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    drop(listener);
    let proxy = CutProxy::to(Kind::Postgres, port)?;
    Client(TcpStream::connect(("127.0.0.1", proxy.port()))?).hears(&[None])
}
