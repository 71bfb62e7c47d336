//! Rules about Cargo.toml, Cargo.lock and docs/dependencies.md.

use super::Complaints;
use super::rules;
use super::rust_text;
use super::tree::{File, Tree};

const ROOT: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";
const DENY: &str = "deny.toml";
const ROWS: &str = "docs/dependencies.md";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let Some(root) = tree.file(ROOT) else { return };
    let members = || tree.files.iter().filter(|file| file.name() == ROOT && file.path != ROOT);
    for member in members() {
        package_fields(member, complaints);
        versions(member, complaints);
        unnamed(tree, member, complaints);
    }
    let declared: Vec<Dependency> = dependencies(root).filter(|found| !found.value.contains("path =")).collect();
    for dependency in &declared {
        if !members().any(|member| dependencies(member).any(|used| used.name == dependency.name)) {
            complaints.add(place(root, dependency), format!("`{}` is used by no crate", dependency.name));
        }
    }
    rows(tree, root, &declared, complaints);
    lock(tree, complaints);
}

fn package_fields(member: &File, complaints: &mut Complaints) {
    for field in rules::PACKAGE_FIELDS {
        if !member.text.lines().any(|line| line.trim() == format!("{field}.workspace = true")) {
            complaints.add(&member.path, format!("`{field}.workspace = true` is missing"));
        }
    }
    if !member.text.contains("[lints]\nworkspace = true") {
        complaints.add(&member.path, "`[lints] workspace = true` is missing");
    }
}

fn versions(member: &File, complaints: &mut Complaints) {
    for dependency in dependencies(member).filter(|found| !found.value.contains("workspace = true")) {
        complaints
            .add(place(member, &dependency), format!("`{}`: versions live in the workspace root", dependency.name));
    }
}

/// A dependency that the crate's code does not name is not needed.
fn unnamed(tree: &Tree, member: &File, complaints: &mut Complaints) {
    for dependency in dependencies(member) {
        let name = dependency.name.replace('-', "_");
        let excused = rules::NOT_NAMED
            .iter()
            .any(|(folder, excused, _)| *folder == member.folder() && *excused == dependency.name);
        let inside = format!("{}/", member.folder());
        let mut sources = tree.ending(".rs").filter(|file| file.path.starts_with(&inside));
        if !excused && !sources.any(|file| rust_text::holds_word(&file.text, &name)) {
            complaints.add(place(member, &dependency), format!("`{}` is not named in the code", dependency.name));
        }
    }
}

/// Each dependency has a row `| name | …`, and each row its dependency.
fn rows(tree: &Tree, root: &File, declared: &[Dependency<'_>], complaints: &mut Complaints) {
    let Some(file) = tree.file(ROWS) else {
        complaints.add(ROWS, "is missing: it says why each dependency is here");
        return;
    };
    let row_of = |line: &str| Some(line.strip_prefix("| `")?.split_once("` |")?.0.to_owned());
    let rows: Vec<(usize, String)> = file.lines().filter_map(|(number, line)| Some((number, row_of(line)?))).collect();
    for dependency in declared {
        if !rows.iter().any(|(_, name)| name == dependency.name) {
            complaints.add(place(root, dependency), format!("`{}` has no row in {ROWS}", dependency.name));
        }
    }
    for (number, name) in &rows {
        if !declared.iter().any(|dependency| dependency.name == name) {
            complaints.add(format!("{ROWS}:{number}"), format!("`{name}` is not a dependency of the workspace"));
        }
    }
}

/// One version of each crate, from one registry. Exceptions are rows of `[bans] skip` in deny.toml.
fn lock(tree: &Tree, complaints: &mut Complaints) {
    let Some(lock) = tree.file(LOCK) else {
        complaints.add(LOCK, "is missing: it belongs into the repository");
        return;
    };
    let skipped: Vec<&str> = tree.file(DENY).map(|deny| texts_after(&deny.text, "crate = \"")).unwrap_or_default();
    let packages: Vec<Package> = packages(&lock.text);
    for package in &packages {
        if package.source.is_some_and(|source| source != REGISTRY) {
            complaints.add(LOCK, format!("{} {} does not come from the registry", package.name, package.version));
        }
        let newest =
            packages.iter().filter(|other| other.name == package.name).all(|other| order(other) <= order(package));
        let exact = format!("{}@{}", package.name, package.version);
        if !newest && !skipped.contains(&exact.as_str()) {
            complaints.add(LOCK, format!("{exact} beside a newer one: merge them, or say why in {DENY} (bans.skip)"));
        }
        if newest && skipped.contains(&exact.as_str()) {
            complaints.add(DENY, format!("the row of {exact} is not needed"));
        }
    }
    for exact in skipped {
        if !packages.iter().any(|package| format!("{}@{}", package.name, package.version) == exact) {
            complaints.add(DENY, format!("the row of {exact} is not needed"));
        }
    }
}

#[derive(Debug)]
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    source: Option<&'a str>,
}

fn packages(lock: &str) -> Vec<Package<'_>> {
    lock.split("[[package]]")
        .skip(1)
        .filter_map(|text| {
            let value = |start: &str| texts_after(text, start).first().copied();
            Some(Package {
                name: value("\nname = \"")?,
                version: value("\nversion = \"")?,
                source: value("\nsource = \""),
            })
        })
        .collect()
}

/// `1.10.2` as numbers.
fn order(package: &Package<'_>) -> Vec<u64> {
    package.version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0)).collect()
}

/// Every text between `start` and the next quotation mark.
fn texts_after<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.split(start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[derive(Debug)]
struct Dependency<'a> {
    line: usize,
    name: &'a str,
    value: &'a str,
}

fn place(file: &File, dependency: &Dependency<'_>) -> String {
    format!("{}:{}", file.path, dependency.line)
}

/// The lines of all dependency tables: `name = …` and `name.workspace = true`.
fn dependencies(file: &File) -> impl Iterator<Item = Dependency<'_>> {
    let mut inside = false;
    file.lines().filter_map(move |(line, text)| {
        if let Some(table) = text.trim().strip_prefix('[') {
            inside = table.trim_end_matches(']').ends_with("dependencies");
            return None;
        }
        let (name, value) =
            text.split_once(['=', '.']).filter(|_| inside && !text.starts_with([' ', '#', '}', ']']))?;
        Some(Dependency { line, name: name.trim(), value })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    const MEMBER: &str = "[package]\nname = \"a\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\npublish.workspace = true\n\n[lints]\nworkspace = true\n\n[dependencies]\nserde-json.workspace = true\n";
    const WORKSPACE: &str = "[workspace.dependencies]\na = { path = \"a\" }\nserde-json = \"1\"\n";
    const LOCKED: &str = "\n[[package]]\nname = \"serde-json\"\nversion = \"1.9.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    const ROW: &str = "| `serde-json` | JSON | … |\n";

    fn check_tree(changes: &[(&str, &str)], expect: &str) {
        let mut files = vec![
            ("Cargo.toml", WORKSPACE),
            ("Cargo.lock", LOCKED),
            ("a/Cargo.toml", MEMBER),
            ("a/src/lib.rs", "use serde_json::Value;"),
            ("docs/dependencies.md", ROW),
            ("deny.toml", ""),
        ];
        for (path, text) in changes {
            files.retain(|(present, _)| present != path);
            files.push((path, text));
        }
        assert_eq!(said(check, &files), expect, "{changes:?}");
    }

    #[test]
    fn a_tidy_workspace_is_left_in_peace() {
        check_tree(&[], "");
    }

    #[test]
    fn manifests_are_checked() {
        let versioned = MEMBER.replace("serde-json.workspace = true", "serde-json = \"1\"");
        check_tree(
            &[("a/Cargo.toml", &versioned)],
            "a/Cargo.toml:13: `serde-json`: versions live in the workspace root",
        );
        let unlicensed = MEMBER.replace("license.workspace = true\n", "");
        check_tree(&[("a/Cargo.toml", &unlicensed)], "a/Cargo.toml: `license.workspace = true` is missing");
        let unlinted = MEMBER.replace("[lints]\nworkspace = true\n", "");
        check_tree(&[("a/Cargo.toml", &unlinted)], "a/Cargo.toml: `[lints] workspace = true` is missing");
        check_tree(&[("a/src/lib.rs", "")], "a/Cargo.toml:13: `serde-json` is not named in the code");
        let unused = format!("{WORKSPACE}tokio = \"1\"\n");
        check_tree(
            &[("Cargo.toml", &unused)],
            "Cargo.toml:4: `tokio` has no row in docs/dependencies.md\nCargo.toml:4: `tokio` is used by no crate",
        );
        let stale = format!("{ROW}| `tokio` | … |\n");
        check_tree(
            &[("docs/dependencies.md", &stale)],
            "docs/dependencies.md:2: `tokio` is not a dependency of the workspace",
        );
    }

    #[test]
    fn the_lock_file_is_checked() {
        let older = LOCKED.replace("1.9.0", "1.10.0");
        let two = format!("{LOCKED}{older}");
        let complaint =
            "Cargo.lock: serde-json@1.9.0 beside a newer one: merge them, or say why in deny.toml (bans.skip)";
        check_tree(&[("Cargo.lock", &two)], complaint);
        let excuse = "skip = [{ crate = \"serde-json@1.9.0\", reason = \"…\" }]";
        check_tree(&[("Cargo.lock", &two), ("deny.toml", excuse)], "");
        check_tree(&[("deny.toml", excuse)], "deny.toml: the row of serde-json@1.9.0 is not needed");
        let foreign =
            LOCKED.replace("registry+https://github.com/rust-lang/crates.io-index", "git+https://example.org/x");
        check_tree(&[("Cargo.lock", &foreign)], "Cargo.lock: serde-json 1.9.0 does not come from the registry");
    }
}
