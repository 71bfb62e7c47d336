//! Rules about Markdown: links lead somewhere, and commands are commands.

use super::Complaints;
use super::rules;
use super::tree::{File, Tree};
use crate::process::root;

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for file in tree.ending(".md") {
        links(tree, file, complaints);
        commands(file, complaints);
    }
}

fn links(tree: &Tree, file: &File, complaints: &mut Complaints) {
    for (number, line) in outside_code(file) {
        for target in targets(line) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { file.path.clone() } else { joined(file.folder(), path) };
            let text = match tree.file(&path) {
                Some(to) if !heading.is_empty() && !headings(to).any(|known| known == heading) => {
                    format!("`{target}`: {path} has no such heading")
                }
                // Not every file is read into the tree.
                None if !root().join(&path).exists() => format!("`{target}` leads nowhere"),
                _ => continue,
            };
            complaints.add(format!("{}:{number}", file.path), text);
        }
    }
}

/// What stands in the parentheses of `[text](target)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let plain = line.split('`').step_by(2);
    plain
        .flat_map(|piece| piece.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.trim())
}

fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// As the links to them are written: lower case, signs left out, hyphens for spaces.
fn headings(file: &File) -> impl Iterator<Item = String> {
    outside_code(file).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    })
}

fn outside_code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    blocks(file).filter(|(language, ..)| language.is_none()).map(|(_, number, line)| (number, line))
}

/// Every line with the language of the code block that it stands in.
fn blocks(file: &File) -> impl Iterator<Item = (Option<&str>, usize, &str)> {
    let mut language = None;
    file.lines().filter_map(move |(number, line)| {
        let Some(fence) = line.trim_start().strip_prefix("```") else { return Some((language, number, line)) };
        language = if language.is_none() { Some(fence.trim()) } else { None };
        None
    })
}

fn commands(file: &File, complaints: &mut Complaints) {
    let mut goes_on = false;
    let mut until = None; // the end of a text that is fed to a command
    for (language, number, line) in blocks(file) {
        let line = line.trim();
        if !language.is_some_and(|language| rules::SHELLS.contains(&language)) {
            (goes_on, until) = (false, None);
            continue;
        }
        if let Some(end) = until {
            until = Some(end).filter(|end| *end != line);
            continue;
        }
        let begins = !goes_on && !line.is_empty() && !line.starts_with('#');
        goes_on = line.ends_with(['\\', '|']) || (goes_on && line.is_empty());
        until = line
            .split_once("<<")
            .map(|(_, end)| end.trim_matches(['\'', '"', '-', ' ']).split(['\'', '"', ' ']).next().unwrap_or(""));
        if begins && !is_known(line) {
            complaints.add(format!("{}:{number}", file.path), format!("starts no known program: `{line}`"));
        }
    }
}

fn is_known(line: &str) -> bool {
    let is_setting =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(['-', '/']));
    let mut words = line.trim_start_matches("$ ").split_whitespace().skip_while(is_setting);
    let Some(program) = words.next() else { return true }; // settings only
    let name = program.rsplit('/').next().unwrap_or(program);
    rules::PROGRAMS.contains(&name) || name.ends_with(".sh")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn links_are_followed() {
        let other = ("docs/other.md", "# What it *does*, and how\n```sh\n# not a heading\n```\n");
        let one = |text: &str, expect: &str| assert_eq!(said(check, &[other, ("docs/a.md", text)]), expect, "{text}");
        one("[x](other.md) [y](../docs/other.md#what-it-does-and-how) [z](https://example.org) `[no](no.md)`", "");
        one("# Top\n[x](#top)", "");
        one("[x](missing.md)", "docs/a.md:1: `missing.md` leads nowhere");
        one("[x](other.md#not-a-heading)", "docs/a.md:1: `other.md#not-a-heading`: docs/other.md has no such heading");
        one("```text\n[x](missing.md)\n```", "");
    }

    #[test]
    fn commands_are_known_programs() {
        let one = |text: &str, expect: &str| assert_eq!(said(check, &[("a.md", text)]), expect, "{text}");
        one("```sh\n# why\nA=b cargo xtask run \\\n  --listen x\ntarget/release/mainspring serve\n```", "");
        one("```sh\ncurl -d @- x <<'END'\nnot a command\nEND\ncargo build\n```", "");
        one("```toml\nkey = 1\n```", "");
        one("```sh\ncargo build\nmainsprin serve\n```", "a.md:3: starts no known program: `mainsprin serve`");
    }
}
