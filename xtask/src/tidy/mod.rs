//! The rules of the house that no compiler keeps.
//!
//! A rule is a function of the tree to complaints; the tables that it goes by are in `rules`. Nothing is mended here.

mod documents;
mod licences;
mod manifests;
mod queries;
mod rules;
mod rust_text;
mod sources;
mod tree;

use std::fmt;
use std::path::Path;

use anyhow::Result;

use tree::Tree;

/// One thing that is wrong, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Complaint {
    /// `path` or `path:line`.
    place: String,
    text: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

#[derive(Debug, Default)]
struct Complaints(Vec<Complaint>);

impl Complaints {
    fn add(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.0.push(Complaint { place: place.into(), text: text.into() });
    }
}

pub(crate) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let tree = Tree::read(root)?;
    let mut complaints = Complaints::default();
    judge(&tree, &mut complaints);
    licences::check(&tree, &licences::declared()?, &mut complaints);
    complaints.0.sort();
    Ok(complaints.0)
}

fn judge(tree: &Tree, complaints: &mut Complaints) {
    sources::check(tree, complaints);
    sources::needless_rows(tree, complaints);
    manifests::check(tree, complaints);
    queries::check(tree, complaints);
    documents::check(tree, complaints);
}

/// For the tests of the rules: what one of them says about a made-up tree, a line per complaint.
#[cfg(test)]
fn said(rule: fn(&Tree, &mut Complaints), files: &[(&str, &str)]) -> String {
    let mut complaints = Complaints::default();
    rule(&Tree::of(files), &mut complaints);
    complaints.0.sort();
    complaints.0.iter().map(Complaint::to_string).collect::<Vec<_>>().join("\n")
}
