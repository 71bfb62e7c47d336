//! Rules about source files: size, names, work left open, exceptions to lints, paths of a machine.

use super::Complaints;
use super::rules::{self, FILE_LINES_AIM, FILE_LINES_MAX, FUNCTION_LINES_MAX};
use super::rust_text;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for file in tree.files.iter().filter(|file| !names_what_it_looks_for(file)) {
        machine_paths(file, tree.place.as_deref(), complaints);
        if !file.path.ends_with(".md") && !file.path.ends_with("Cargo.lock") {
            let searched =
                if file.path.ends_with(".rs") { rust_text::split(&file.text).comments } else { file.text.clone() };
            open_work(file, &searched, complaints);
        }
    }
    for file in tree.ending(".rs") {
        let code = rust_text::split(&file.text).code;
        file_size(file, complaints);
        function_size(file, &code, complaints);
        allowed_lints(file, &code, complaints);
        rooms(file, complaints);
        words(file, &code, complaints);
    }
}

/// The rules themselves and their tests.
fn names_what_it_looks_for(file: &File) -> bool {
    file.path.starts_with("xtask/src/tidy/")
}

fn machine_paths(file: &File, place: Option<&str>, complaints: &mut Complaints) {
    for (number, line) in file.lines() {
        let here = place.filter(|place| line.contains(place));
        if let Some(path) = rules::MACHINE_PATHS.iter().copied().find(|path| line.contains(path)).or(here) {
            complaints.add(format!("{}:{number}", file.path), format!("`{path}` is a path of one machine"));
        }
    }
}

fn open_work(file: &File, searched: &str, complaints: &mut Complaints) {
    for (number, line) in (1..).zip(searched.lines()) {
        for word in rules::OPEN_WORK {
            let Some((before, after)) = line.split_once(word) else { continue };
            let joined = |c: char| c.is_alphanumeric() || c == '_';
            let part_of_a_word = before.ends_with(joined) || after.starts_with(joined);
            let owned = after.strip_prefix('(').and_then(|rest| rest.split_once(')')).is_some_and(|(inside, _)| {
                inside
                    .split_once(':')
                    .is_some_and(|(owner, reason)| !owner.trim().is_empty() && !reason.trim().is_empty())
            });
            if !part_of_a_word && !owned {
                complaints.add(format!("{}:{number}", file.path), format!("write `{word}(owner: reason)`, or do it"));
            }
        }
    }
}

fn file_size(file: &File, complaints: &mut Complaints) {
    let lines = file.text.lines().count();
    let excused = rules::LONG_FILES.iter().any(|(path, _)| *path == file.path);
    if lines > FILE_LINES_MAX || (lines > FILE_LINES_AIM && !excused) {
        let text =
            format!("{lines} lines, at most {FILE_LINES_AIM} (with a reason in tidy/rules.rs: {FILE_LINES_MAX})");
        complaints.add(&file.path, text);
    }
}

fn function_size(file: &File, code: &str, complaints: &mut Complaints) {
    for function in rust_text::functions(code) {
        let excused = rules::LONG_FUNCTIONS.iter().any(|(path, name, _)| *path == file.path && *name == function.name);
        if function.lines > FUNCTION_LINES_MAX && !excused {
            let text = format!("`{}` has {} lines, at most {FUNCTION_LINES_MAX}", function.name, function.lines);
            complaints.add(format!("{}:{}", file.path, function.line), text);
        }
    }
}

fn allowed_lints(file: &File, code: &str, complaints: &mut Complaints) {
    for (number, line) in (1..).zip(code.lines()) {
        let packed: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        if packed.contains("#[allow(") || packed.contains("#![allow(") {
            complaints
                .add(format!("{}:{number}", file.path), "take `expect(lint, reason = \"…\")` in place of `allow`");
        }
    }
}

fn rooms(file: &File, complaints: &mut Complaints) {
    for part in file.path.trim_end_matches(".rs").split('/') {
        if rules::ROOMS.contains(&part) {
            complaints.add(&file.path, format!("`{part}` does not say what is in it"));
        }
    }
}

fn words(file: &File, code: &str, complaints: &mut Complaints) {
    let mut names = rust_text::names(code).peekable();
    while let Some((number, name)) = names.next() {
        let place = || format!("{}:{number}", file.path);
        if let Some((word, ours)) = rules::WORDS.iter().find(|(word, _)| *word == name) {
            complaints.add(place(), format!("`{word}`: the word of the house is {ours}"));
        }
        let next = names.peek().map_or("", |(_, next)| next);
        if name == "mod" && rules::ROOMS.contains(&next) {
            complaints.add(place(), format!("`mod {next}` does not say what is in it"));
        }
        if matches!(name, "struct" | "enum" | "trait") && rules::TYPE_ENDS.iter().any(|end| next.ends_with(end)) {
            complaints.add(place(), format!("`{next}` does not say what it does"));
        }
    }
}

/// Rows of the tables that excuse nothing.
pub(super) fn needless_rows(tree: &Tree, complaints: &mut Complaints) {
    let table = "xtask/src/tidy/rules.rs";
    for (path, _) in rules::LONG_FILES {
        if tree.file(path).is_none_or(|file| file.text.lines().count() <= FILE_LINES_AIM) {
            complaints.add(table, format!("the row of {path} is not needed"));
        }
    }
    for (path, name, _) in rules::LONG_FUNCTIONS {
        let is_long = |file: &File| {
            let functions = rust_text::functions(&rust_text::split(&file.text).code);
            functions.iter().any(|function| function.name == *name && function.lines > FUNCTION_LINES_MAX)
        };
        if !tree.file(path).is_some_and(is_long) {
            complaints.add(table, format!("the row of `{name}` in {path} is not needed"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn a_tidy_file_is_left_in_peace() {
        let text =
            "// Why it is so. TODO(ann: when the second store comes)\nfn f() { let todo = \"TODO #[allow(x)] }\"; }\n";
        assert_eq!(said(check, &[("crates/a/src/lib.rs", text)]), "");
    }

    #[test]
    fn each_sin_is_found() {
        let one = |text: &str, expect: &str| assert_eq!(said(check, &[("a/src/lib.rs", text)]), expect, "{text}");
        one("// TODO later", "a/src/lib.rs:1: write `TODO(owner: reason)`, or do it");
        one("x();\n/* FIXME(ann) */", "a/src/lib.rs:2: write `FIXME(owner: reason)`, or do it");
        one("#![allow (dead_code)]", "a/src/lib.rs:1: take `expect(lint, reason = \"…\")` in place of `allow`");
        one("\n  #[allow(x)]\nfn f() {}", "a/src/lib.rs:2: take `expect(lint, reason = \"…\")` in place of `allow`");
        one("open(\"/home/bob/x\")", "a/src/lib.rs:1: `/home/` is a path of one machine");
        one("mod utils;", "a/src/lib.rs:1: `mod utils` does not say what is in it");
        one("pub struct JobManager;", "a/src/lib.rs:1: `JobManager` does not say what it does");
        one("fn f(x: JobRun) {}", "a/src/lib.rs:1: `JobRun`: the word of the house is attempt");
        one(&format!("fn f() {{{}}}", "\n".repeat(70)), "a/src/lib.rs:1: `f` has 71 lines, at most 70");
        one(&"x\n".repeat(401), "a/src/lib.rs: 401 lines, at most 400 (with a reason in tidy/rules.rs: 500)");
        assert_eq!(said(check, &[("a/src/common/x.rs", "")]), "a/src/common/x.rs: `common` does not say what is in it");
        assert_eq!(said(check, &[("a.sql", "-- TODO")]), "a.sql:1: write `TODO(owner: reason)`, or do it");
    }
}
