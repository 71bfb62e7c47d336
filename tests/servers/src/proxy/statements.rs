//! What a connection says, told alike for both protocols: which statement a message of the client executes, and which of
//! the server's answers is the one to it.

use crate::server::Kind;

use super::mysql::MySql;
use super::postgres::Postgres;

/// A statement that a client's message executes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Executed {
    pub(super) text: String,
    /// It is answered when the server has given this many answers on the connection.
    pub(super) answer: u64,
}

#[derive(Debug)]
pub(super) enum Target {
    Commit,
    Holding(String),
}

impl Target {
    pub(super) fn is_met(&self, text: &str) -> bool {
        match self {
            Target::Commit => commits(text),
            Target::Holding(part) => text.contains(part),
        }
    }
}

/// One of its statements is COMMIT, or END as PostgreSQL also says.
fn commits(text: &str) -> bool {
    let mut first_words = text.split(';').filter_map(|statement| statement.split_whitespace().next());
    first_words.any(|word| word.eq_ignore_ascii_case("commit") || word.eq_ignore_ascii_case("end"))
}

#[derive(Debug)]
pub(super) enum Conversation {
    Postgres(Postgres),
    MySql(MySql),
}

impl Conversation {
    pub(super) fn new(kind: Kind) -> Conversation {
        match kind {
            Kind::Postgres => Conversation::Postgres(Postgres::default()),
            Kind::MariaDb => Conversation::MySql(MySql::default()),
        }
    }

    /// Of the message that these bytes begin with, if they are enough to tell.
    pub(super) fn client_message_length(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Conversation::Postgres(postgres) => postgres.client_message_length(bytes),
            Conversation::MySql(_) => super::mysql::message_length(bytes),
        }
    }

    pub(super) fn server_message_length(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Conversation::Postgres(postgres) => postgres.server_message_length(bytes),
            Conversation::MySql(_) => super::mysql::message_length(bytes),
        }
    }

    pub(super) fn client_says(&mut self, message: &[u8]) -> Option<Executed> {
        match self {
            Conversation::Postgres(postgres) => postgres.client_says(message),
            Conversation::MySql(mysql) => mysql.client_says(message),
        }
    }

    pub(super) fn server_says(&mut self, message: &[u8]) {
        match self {
            Conversation::Postgres(postgres) => postgres.server_says(message),
            Conversation::MySql(mysql) => mysql.server_says(message),
        }
    }

    pub(super) fn answered(&self) -> u64 {
        match self {
            Conversation::Postgres(postgres) => postgres.answered,
            Conversation::MySql(mysql) => mysql.answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_its_first_word() {
        let check = |text: &str, expect: bool| assert_eq!(commits(text), expect, "{text}");
        check("COMMIT", true);
        check(" commit work ;", true);
        check("BEGIN; INSERT INTO a VALUES (1); COMMIT", true);
        check("END", true);
        check("SELECT 'COMMIT'", false);
        check("SELECT * FROM commits", false);
        check("", false);
    }
}
