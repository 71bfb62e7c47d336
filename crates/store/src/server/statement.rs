//! A statement: its text for PostgreSQL, and for MySQL.
//!
//! Texts are written with `$1`, `$2`, … MySQL knows only `?` in order of occurrence: for it the text is rewritten once,
//! and the values are bound as often and in the order that the text asks for.

use std::sync::OnceLock;

#[derive(Debug)]
pub(crate) struct Statement {
    /// Of its file, for messages.
    pub(crate) name: &'static str,
    pub(crate) postgres: &'static str,
    mysql: &'static str,
    rewritten: OnceLock<Rewritten>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// For each `?` the place of its value, from 0.
    pub(crate) order: Vec<usize>,
}

impl Statement {
    pub(crate) const fn new(name: &'static str, postgres: &'static str, mysql: &'static str) -> Statement {
        Statement { name, postgres, mysql, rewritten: OnceLock::new() }
    }

    /// A text that only one server has is empty for the other.
    pub(crate) fn is_for(&self, dialect: super::session::Dialect) -> bool {
        match dialect {
            #[cfg(feature = "postgres")]
            super::session::Dialect::Postgres => !self.postgres.is_empty(),
            #[cfg(feature = "mysql")]
            super::session::Dialect::MySql => !self.mysql.is_empty(),
        }
    }

    pub(crate) fn mysql(&'static self) -> &'static Rewritten {
        self.rewritten.get_or_init(|| rewrite(self.mysql))
    }
}

/// A text that both servers take as it is: `server/queries/<name>.sql`.
macro_rules! common {
    ($name:literal) => {
        $crate::server::statement::Statement::new(
            $name,
            include_str!(concat!("queries/", $name, ".sql")),
            include_str!(concat!("queries/", $name, ".sql")),
        )
    };
}
pub(crate) use common;

/// One text for each server: `postgres/queries/<name>.sql` and `mysql/queries/<name>.sql`.
macro_rules! own {
    ($name:literal) => {
        $crate::server::statement::Statement::new(
            $name,
            include_str!(concat!("../postgres/queries/", $name, ".sql")),
            include_str!(concat!("../mysql/queries/", $name, ".sql")),
        )
    };
}
pub(crate) use own;

/// A text that only PostgreSQL is ever asked.
macro_rules! postgres {
    ($name:literal) => {
        $crate::server::statement::Statement::new(
            $name,
            include_str!(concat!("../postgres/queries/", $name, ".sql")),
            "",
        )
    };
}
pub(crate) use postgres;

/// A text that only MySQL is ever asked.
macro_rules! mysql {
    ($name:literal) => {
        $crate::server::statement::Statement::new($name, "", include_str!(concat!("../mysql/queries/", $name, ".sql")))
    };
}
pub(crate) use mysql;

/// Dollars within quotes (paths into JSON) and comments stay.
fn rewrite(text: &str) -> Rewritten {
    let mut rewritten = Rewritten { text: String::with_capacity(text.len()), order: Vec::new() };
    for line in text.lines().filter(|line| !line.starts_with("--")) {
        let mut quoted = false;
        let mut rest = line.char_indices();
        while let Some((at, c)) = rest.next() {
            let behind = &line[at + c.len_utf8()..];
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            if c == '$' && !quoted && digits > 0 {
                let place: usize = behind[..digits].parse().expect("digits");
                rewritten.order.push(place - 1);
                rewritten.text.push('?');
                (0..digits).for_each(|_| _ = rest.next());
            } else {
                quoted ^= c == '\'';
                rewritten.text.push(c);
            }
        }
        rewritten.text.push('\n');
    }
    rewritten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_question_marks_in_order_of_occurrence() {
        let check = |text: &str, expect: &str, order: &[usize]| {
            let rewritten = rewrite(text);
            assert_eq!((rewritten.text.as_str(), rewritten.order.as_slice()), (expect, order), "{text}");
        };
        check("-- what\nSELECT $2, $1", "SELECT ?, ?\n", &[1, 0]);
        check("a = $1 OR b > $1 AND c = $12", "a = ? OR b > ? AND c = ?\n", &[0, 0, 11]);
        check(
            "JSON_TABLE($1, '$[*]' COLUMNS (a PATH '$[0]'))",
            "JSON_TABLE(?, '$[*]' COLUMNS (a PATH '$[0]'))\n",
            &[0],
        );
        check("'ü' || $1", "'ü' || ?\n", &[0]);
    }
}
