//! What the error numbers of MySQL and MariaDB mean for a write.

use crate::Trouble;
use crate::server::fault::Class;

pub(crate) fn class_of(number: u16) -> Class {
    match number {
        // Lock wait time-out, deadlock, and NOWAIT.
        1205 | 1213 | 3572 => Class::Again,
        // Shut down, killed, the connection aborted or read in vain.
        1053 | 1152..=1161 | 1184 | 1927 | 2006 | 2013 | 4031 => Class::Broken,
        // Too many connections, out of memory, a statement that took too long or was interrupted.
        1040 | 1203 | 1226 | 1037 | 1038 | 1041 | 1317 | 1969 | 3024 => Class::Refused(Trouble::Unavailable),
        // The server, a table or the transaction takes no writes.
        1290 | 1792 | 1836 | 1036 => Class::Refused(Trouble::ReadOnly),
        1021 | 1114 => Class::Refused(Trouble::Full),
        // Errors of reading and writing files.
        1002..=1006 | 1015..=1019 | 1022..=1027 | 1030 => Class::Refused(Trouble::Io),
        1033..=1035 | 1194 | 1195 | 1712 => Class::Refused(Trouble::Corrupt),
        // A password that was changed, a database that is not there: somebody has to see to it, and may do so.
        1044 | 1045 | 1049 => Class::Refused(Trouble::Unavailable),
        _ => Class::Refused(Trouble::Statement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart() {
        let check = |number: u16, expect: Class| assert_eq!(class_of(number), expect, "{number}");
        check(1213, Class::Again);
        check(1205, Class::Again);
        check(2013, Class::Broken);
        check(1053, Class::Broken);
        check(1040, Class::Refused(Trouble::Unavailable));
        check(1290, Class::Refused(Trouble::ReadOnly));
        check(1792, Class::Refused(Trouble::ReadOnly));
        check(1114, Class::Refused(Trouble::Full));
        check(1062, Class::Refused(Trouble::Statement));
        check(1064, Class::Refused(Trouble::Statement));
    }
}
