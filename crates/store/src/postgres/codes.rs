//! What PostgreSQL's codes (SQLSTATE) mean for a write.

use crate::Trouble;
use crate::server::fault::Class;

pub(crate) fn class_of(code: &str) -> Class {
    match code {
        // Serialization, deadlock, lock not available, and a statement that met the change of a table.
        "40001" | "40P01" | "55P03" => Class::Again,
        "42P01" => Class::Gone,
        // Shut down, crashed, starting, and a session that was ended from outside.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Class::Broken,
        _ if code.starts_with("08") => Class::Broken,
        // A prepared statement that is not there any more, or whose table was changed: another connection has none such.
        "26000" | "0A000" => Class::Broken,
        // A statement that took too long: nothing is wrong with the connection.
        "57014" => Class::Refused(Trouble::Unavailable),
        "25006" => Class::Refused(Trouble::ReadOnly),
        "53100" => Class::Refused(Trouble::Full),
        // Too many connections, out of memory, and the like.
        _ if code.starts_with("53") => Class::Refused(Trouble::Unavailable),
        // A data file could not be read or written.
        _ if code.starts_with("58") => Class::Refused(Trouble::Io),
        // A damaged page or index.
        "XX001" | "XX002" => Class::Refused(Trouble::Corrupt),
        // A password that was changed, a database that was renamed: somebody has to see to it, and may do so.
        _ if code.starts_with("28") || code == "3D000" => Class::Refused(Trouble::Unavailable),
        _ => Class::Refused(Trouble::Statement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart() {
        let check = |code: &str, expect: Class| assert_eq!(class_of(code), expect, "{code}");
        check("40P01", Class::Again);
        check("40001", Class::Again);
        check("55P03", Class::Again);
        check("57P01", Class::Broken);
        check("08006", Class::Broken);
        check("25006", Class::Refused(Trouble::ReadOnly));
        check("53100", Class::Refused(Trouble::Full));
        check("53300", Class::Refused(Trouble::Unavailable));
        check("57014", Class::Refused(Trouble::Unavailable));
        check("XX001", Class::Refused(Trouble::Corrupt));
        check("23505", Class::Refused(Trouble::Statement));
        check("42P01", Class::Gone);
        check("", Class::Refused(Trouble::Statement));
    }
}
