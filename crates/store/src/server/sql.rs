//! The statements, one verb per file. Each says what it does, who calls it and which index it relies on.
//!
//! `common`: both servers take the text in `server/queries/`. `own`: each has its own, in `postgres/queries/` and
//! `mysql/queries/`.

use super::statement::Statement;

macro_rules! statements {
    ($($kind:ident $name:ident = $file:literal;)+) => {
        $(pub(super) static $name: Statement = super::statement::$kind!($file);)+

        /// For the tests of plans: every statement.
        #[cfg(test)]
        pub(super) static ALL: &[&Statement] = &[$(&$name),+];
    };
}

statements! {
    common MIGRATIONS_READ = "migrations_read";
    own MIGRATION_FOREIGN = "migration_foreign";
    own MIGRATION_LOCK = "migration_lock";
    own MIGRATION_NOTE = "migration_note";
    own MIGRATION_TABLE = "migration_table";
    own MIGRATION_TABLE_THERE = "migration_table_there";
    own MIGRATION_UNLOCK = "migration_unlock";
    own NOW = "now";
}
