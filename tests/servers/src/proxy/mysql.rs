//! The MySQL protocol, as far as the proxy must understand it.
//!
//! Packets are numbered: a command is 0 and its answer begins with 1. Clients that send a second command before they
//! have the first one's answer are followed as long as answers are short.

use std::collections::HashMap;

use super::statements::Executed;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const SEND_LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
const HEADER_BYTES: usize = 4;

#[derive(Debug, Default)]
pub(super) struct MySql {
    asked: u64,
    pub(super) answered: u64,
    /// Texts of statements whose number the server has yet to say, by the number of that answer.
    preparing: HashMap<u64, String>,
    prepared: HashMap<[u8; 4], String>,
}

/// Three bytes of length, one of number.
pub(super) fn message_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(..3)?;
    Some(HEADER_BYTES + usize::from(length[0]) + (usize::from(length[1]) << 8) + (usize::from(length[2]) << 16))
}

impl MySql {
    pub(super) fn client_says(&mut self, message: &[u8]) -> Option<Executed> {
        let (command, body) = message.get(HEADER_BYTES..)?.split_first()?;
        // Parts of the handshake and of long commands have other numbers.
        if message[3] != 0 || matches!(*command, QUIT | SEND_LONG_DATA | CLOSE) {
            return None;
        }
        self.asked += 1;
        match *command {
            QUERY => {
                let text = String::from_utf8_lossy(body).into_owned();
                return Some(Executed { text, answer: self.asked });
            }
            PREPARE => drop(self.preparing.insert(self.asked, String::from_utf8_lossy(body).into_owned())),
            EXECUTE => {
                let text = self.prepared.get(body.get(..4)?).cloned().unwrap_or_default();
                return Some(Executed { text, answer: self.asked });
            }
            _ => {}
        }
        None
    }

    pub(super) fn server_says(&mut self, message: &[u8]) {
        // Rows are numbered too and come past 1 again after 255; then nothing is left to answer.
        if message[3] != 1 || self.answered == self.asked {
            return;
        }
        self.answered += 1;
        if let Some(text) = self.preparing.remove(&self.answered)
            && let Some([0, number @ ..]) = message.get(HEADER_BYTES..HEADER_BYTES + 5)
        {
            self.prepared.insert(number.try_into().expect("four bytes"), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("short").to_le_bytes();
        [&length[..3], &[number], body].concat()
    }

    #[test]
    fn packets_are_measured() {
        assert_eq!(message_length(&packet(0, b"\x03COMMIT")), Some(11));
        assert_eq!(message_length(&[1, 1, 1]), Some(4 + 0x10101));
        assert_eq!(message_length(&[1, 1]), None);
    }

    #[test]
    fn a_query_is_executed_at_once_and_the_handshake_is_none() {
        let mut talk = MySql::default();
        talk.server_says(&packet(0, b"\x0a10.11"));
        assert_eq!(talk.client_says(&packet(1, b"\x03 capabilities")), None);
        talk.server_says(&packet(2, b"\0"));
        let executed = talk.client_says(&packet(0, b"\x03COMMIT"));
        assert_eq!(executed, Some(Executed { text: "COMMIT".to_owned(), answer: 1 }));
        talk.server_says(&packet(1, b"\0"));
        assert_eq!(talk.answered, 1);
    }

    #[test]
    fn a_prepared_statement_is_executed_by_its_number() {
        let mut talk = MySql::default();
        assert_eq!(talk.client_says(&packet(0, b"\x16INSERT")), None);
        talk.server_says(&packet(1, &[0, 7, 0, 0, 0, 0, 0]));
        talk.server_says(&packet(2, b"a column"));
        let executed = talk.client_says(&packet(0, &[EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0]));
        assert_eq!(executed, Some(Executed { text: "INSERT".to_owned(), answer: 2 }));
        assert_eq!(talk.client_says(&packet(0, &[CLOSE, 7, 0, 0, 0])), None);
        assert_eq!(talk.asked, 2);
    }

    #[test]
    fn long_answers_count_once() {
        let mut talk = MySql::default();
        talk.client_says(&packet(0, b"\x03SELECT"));
        for number in (1..=255).chain(0..=10) {
            talk.server_says(&packet(number, b"a row"));
        }
        assert_eq!(talk.answered, 1);
    }
}
