//! An HTTP client that costs next to nothing: one kept connection, one request at a time, one write and mostly one
//! read for each. It shares the processors with the server that it measures, and a complete client (pool, redirects,
//! header maps, a task per connection) costs more than the server's own part of a request.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_BYTES_MAX: usize = 16 * 1024;
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(server: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(server).await.context("connecting to the server")?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, request: Vec::new(), answer: Vec::new() })
    }

    /// The body of the answer; a status that is not 2xx is an error with it.
    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &[u8]) -> Result<&[u8]> {
        self.request.clear();
        write!(
            self.request,
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )?;
        self.request.extend_from_slice(body);
        self.stream.write_all(&self.request).await.context("sending a request")?;
        let (head_bytes, head) = self.read_head().await?;
        let whole = head_bytes + head.body_bytes;
        while self.answer.len() < whole {
            self.read_more().await?;
        }
        let body = &self.answer[head_bytes..whole];
        if !(200..300).contains(&head.status) {
            bail!("{method} {path} was answered {}: {}", head.status, String::from_utf8_lossy(body));
        }
        Ok(body)
    }

    async fn read_head(&mut self) -> Result<(usize, Head)> {
        self.answer.clear();
        loop {
            if let Some(end) = self.answer.windows(4).position(|four| four == b"\r\n\r\n") {
                let text = std::str::from_utf8(&self.answer[..end]).context("the head of an answer")?;
                return Ok((end + 4, Head::parse(text)?));
            }
            anyhow::ensure!(self.answer.len() < HEAD_BYTES_MAX, "the head of an answer has no end");
            self.read_more().await?;
        }
    }

    async fn read_more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.answer).await.context("reading an answer")?;
        anyhow::ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    body_bytes: usize,
}

impl Head {
    fn parse(text: &str) -> Result<Head> {
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
        });
        let body_bytes = length.context("an answer without a length is not understood here")??;
        anyhow::ensure!(body_bytes <= BODY_BYTES_MAX, "an answer of {body_bytes} bytes");
        Ok(Head { status: status.context("an answer without a status")?, body_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_understood_or_refused() {
        let check = |text: &str, expect: Option<(u16, usize)>| {
            let head = Head::parse(text).ok().map(|head| (head.status, head.body_bytes));
            assert_eq!(head, expect, "{text}");
        };
        check("HTTP/1.1 201 Created\r\nContent-Length: 12", Some((201, 12)));
        check("HTTP/1.1 503 Busy\r\nretry-after: 1\r\ncontent-length:0", Some((503, 0)));
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked", None);
        check("nonsense", None);
    }
}
