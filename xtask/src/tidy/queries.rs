//! Rules about .sql files: each is used, and says what it is for.

use super::Complaints;
use super::rust_text;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for file in tree.ending(".sql").filter(|file| file.path.starts_with("crates/store/src/")) {
        let stem = file.name().trim_end_matches(".sql");
        let mut sources = tree.ending(".rs").filter(|source| source.path.starts_with("crates/store/src/"));
        if !sources.any(|source| rust_text::holds_word(&source.text, stem)) {
            complaints.add(&file.path, "is named nowhere in the store");
        }
        if file.folder().ends_with("/queries") {
            opening(file, complaints);
        }
    }
}

/// The first line says what it does and who calls it, the second which index it relies on.
fn opening(file: &File, complaints: &mut Complaints) {
    if !file.text.lines().take(2).all(|line| line.starts_with("-- ")) || file.text.lines().count() < 2 {
        complaints.add(&file.path, "opens with two comment lines: what and for whom; which index");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn queries_are_used_and_say_what_they_are_for() {
        let source =
            ("crates/store/src/sqlite/mod.rs", "query!(claim_due_jobs, settle); include_str!(\"0001_init.sql\")");
        let good = "-- Ends attempts. Called by write back.\n-- Index: job_queue(id).\nUPDATE";
        let one = |path: &str, text: &str| said(check, &[source, (path, text)]);
        assert_eq!(one("crates/store/src/sqlite/queries/settle.sql", good), "");
        assert_eq!(one("crates/store/src/sqlite/migrations/0001_init.sql", "CREATE"), "");
        let path = "crates/store/src/sqlite/queries/claim_due.sql";
        assert_eq!(one(path, good), format!("{path}: is named nowhere in the store"));
        let path = "crates/store/src/sqlite/queries/settle.sql";
        assert_eq!(
            one(path, "-- x\nUPDATE"),
            format!("{path}: opens with two comment lines: what and for whom; which index")
        );
    }
}
