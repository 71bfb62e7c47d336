//! The PostgreSQL protocol, as far as the proxy must understand it.
//!
//! The server says ReadyForQuery once for the start of a session, once per simple query and once per Sync: its count
//! tells which question was answered. In the extended protocol a statement outside a transaction commits with the Sync
//! after it, so that is its answer too.

use std::collections::HashMap;

use super::statements::Executed;

const SSL_REQUEST: u32 = 80_877_103;
const ENCRYPTION_REQUEST: u32 = 80_877_104;

#[derive(Debug, Default)]
pub(super) struct Postgres {
    /// Messages before that have no type.
    is_started: bool,
    /// Requests for encryption, each answered with one byte.
    one_byte_answers: usize,
    asked: u64,
    pub(super) answered: u64,
    /// Texts by the names of prepared statements and of portals.
    statements: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, String>,
}

impl Postgres {
    pub(super) fn client_message_length(&self, bytes: &[u8]) -> Option<usize> {
        if self.is_started { typed_length(bytes) } else { number(bytes, 0).map(|length| length as usize) }
    }

    pub(super) fn server_message_length(&self, bytes: &[u8]) -> Option<usize> {
        if self.one_byte_answers > 0 { Some(1) } else { typed_length(bytes) }
    }

    pub(super) fn client_says(&mut self, message: &[u8]) -> Option<Executed> {
        if !self.is_started {
            self.starts(message);
            return None;
        }
        let (kind, body) = (message[0], message.get(5..)?);
        let (first, rest) = text(body);
        match kind {
            b'Q' => {
                self.asked += 1;
                return Some(Executed { text: readable(first), answer: self.asked });
            }
            b'P' => drop(self.statements.insert(first.to_vec(), readable(text(rest).0))),
            b'B' => {
                let statement = self.statements.get(text(rest).0).cloned().unwrap_or_default();
                self.portals.insert(first.to_vec(), statement);
            }
            b'E' => {
                let text = self.portals.get(first).cloned().unwrap_or_default();
                return Some(Executed { text, answer: self.asked + 1 });
            }
            b'S' | b'F' => self.asked += 1,
            _ => {}
        }
        None
    }

    fn starts(&mut self, message: &[u8]) {
        match number(message, 4) {
            Some(SSL_REQUEST | ENCRYPTION_REQUEST) => self.one_byte_answers += 1,
            _ => {
                self.is_started = true;
                self.asked = 1;
            }
        }
    }

    pub(super) fn server_says(&mut self, message: &[u8]) {
        if self.one_byte_answers > 0 {
            self.one_byte_answers -= 1;
        } else if message[0] == b'Z' {
            self.answered += 1;
        }
    }
}

fn typed_length(bytes: &[u8]) -> Option<usize> {
    Some(number(bytes, 1)? as usize + 1)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Up to a zero byte, and what follows it.
fn text(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

fn readable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short");
        [&[kind], length.to_be_bytes().as_slice(), body].concat()
    }

    fn untyped(code: u32) -> Vec<u8> {
        [8_u32.to_be_bytes(), code.to_be_bytes()].concat()
    }

    fn started() -> Postgres {
        let mut talk = Postgres::default();
        assert_eq!(talk.client_says(&untyped(196_608)), None);
        talk.server_says(&typed(b'Z', b"I"));
        assert_eq!((talk.asked, talk.answered), (1, 1));
        talk
    }

    #[test]
    fn messages_are_measured_before_and_after_the_start() {
        let mut talk = Postgres::default();
        assert_eq!(talk.client_message_length(&untyped(SSL_REQUEST)), Some(8));
        assert_eq!(talk.client_message_length(&[0, 0, 0]), None);
        talk.client_says(&untyped(SSL_REQUEST));
        assert_eq!(talk.server_message_length(b"N"), Some(1));
        talk.server_says(b"N");
        talk.client_says(&untyped(196_608));
        assert_eq!(talk.client_message_length(&typed(b'Q', b"SELECT 1\0")), Some(14));
        assert_eq!(talk.server_message_length(&typed(b'Z', b"I")), Some(6));
        assert_eq!(talk.server_message_length(b"Z"), None);
    }

    #[test]
    fn a_simple_query_is_executed_at_once() {
        let mut talk = started();
        let executed = talk.client_says(&typed(b'Q', b"COMMIT\0"));
        assert_eq!(executed, Some(Executed { text: "COMMIT".to_owned(), answer: 2 }));
    }

    #[test]
    fn a_prepared_statement_is_executed_by_its_portal_and_answered_with_the_sync() {
        let mut talk = started();
        assert_eq!(talk.client_says(&typed(b'P', b"s1\0INSERT\0\0\0")), None);
        assert_eq!(talk.client_says(&typed(b'S', b"")), None);
        for answer in [3, 4] {
            assert_eq!(talk.client_says(&typed(b'B', b"p\0s1\0\0\0\0\0\0\0")), None);
            let executed = talk.client_says(&typed(b'E', b"p\0\0\0\0\0"));
            assert_eq!(executed, Some(Executed { text: "INSERT".to_owned(), answer }));
            talk.client_says(&typed(b'S', b""));
        }
    }
}
