//! Every crate that is linked or run to build has a licence that deny.toml allows. cargo-deny says the same with more
//! words, where it is installed.

use anyhow::Result;

use super::Complaints;
use super::tree::Tree;
use crate::process::{cargo, output};

/// `name version|expression`, a line per crate of this platform.
pub(super) fn declared() -> Result<String> {
    output(&mut cargo([
        "tree",
        "--workspace",
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ]))
}

pub(super) fn check(tree: &Tree, declared: &str, complaints: &mut Complaints) {
    let deny = tree.file("deny.toml").map_or("", |file| &file.text);
    let allowed = allowed(deny);
    if allowed.is_empty() {
        complaints.add("deny.toml", "licenses.allow is missing");
        return;
    }
    let mut lines: Vec<&str> = declared.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    lines.sort_unstable();
    lines.dedup();
    for line in lines {
        let Some((package, expression)) = line.split_once('|') else { continue };
        if !is_allowed(expression, &allowed) {
            let text = format!("{package} has the licence `{expression}`, which is not in licenses.allow");
            complaints.add("deny.toml", text);
        }
    }
}

/// The texts in the list `allow` of `[licenses]`.
fn allowed(deny: &str) -> Vec<&str> {
    let list = deny.split_once("[licenses]").and_then(|(_, rest)| rest.split_once("allow = [")?.1.split_once(']'));
    list.map_or("", |(list, _)| list).split('"').skip(1).step_by(2).collect()
}

/// SPDX: `OR` binds weaker than `AND`; an old `/` means `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    !words.is_empty() && any(&mut rest, allowed) && rest.is_empty()
}

fn any(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut verdict = all(rest, allowed);
    while let [first, then @ ..] = *rest
        && *first == "OR"
    {
        *rest = then;
        verdict |= all(rest, allowed);
    }
    verdict
}

fn all(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut verdict = one(rest, allowed);
    while let [first, then @ ..] = *rest
        && *first == "AND"
    {
        *rest = then;
        verdict &= one(rest, allowed);
    }
    verdict
}

fn one(rest: &mut &[&str], allowed: &[&str]) -> bool {
    match *rest {
        ["(", then @ ..] => {
            *rest = then;
            let verdict = any(rest, allowed);
            *rest = rest.strip_prefix(&[")"]).unwrap_or(rest);
            verdict
        }
        [licence, "WITH", exception, then @ ..] => {
            *rest = then;
            allowed.contains(&format!("{licence} WITH {exception}").as_str())
        }
        [licence, then @ ..] => {
            *rest = then;
            allowed.contains(licence)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged() {
        let check = |expression: &str, expect: bool| {
            assert_eq!(is_allowed(expression, &["MIT", "ISC", "Zlib WITH x"]), expect, "{expression}");
        };
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0/MIT", true);
        check("MIT AND GPL-3.0", false);
        check("(GPL-3.0 OR MIT) AND ISC", true);
        check("GPL-3.0 AND (MIT OR ISC)", false);
        check("Zlib WITH x OR GPL-3.0", true);
        check("Zlib", false);
        check("", false);
    }

    #[test]
    fn a_foreign_licence_is_found() {
        let tree = Tree::of(&[("deny.toml", "[bans]\n[licenses]\nallow = [\n  \"MIT\",\n  \"ISC\",\n]\n")]);
        let mut complaints = Complaints::default();
        check(&tree, "a v1|MIT\nb v2|GPL-3.0\nb v2|GPL-3.0 (*)\n", &mut complaints);
        assert_eq!(complaints.0.len(), 1, "{complaints:?}");
    }
}
