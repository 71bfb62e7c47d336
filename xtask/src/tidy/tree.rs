//! The text files of the repository, read once.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::rules;

#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    /// Where it lies on this machine: nothing in it may say so.
    pub(super) place: Option<String>,
}

#[derive(Debug)]
pub(super) struct File {
    /// From the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Tree> {
        let place = Some(format!("{}/", root.display()));
        let mut tree = Tree { files: Vec::new(), place };
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
                let path: PathBuf = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if path.is_symlink() || rules::NOT_OURS.contains(&name) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if rules::TEXT_FILES.iter().any(|end| name.ends_with(end)) {
                    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
                    let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                    tree.files.push(File { path, text });
                }
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Tree { files: files.iter().map(file).collect(), place: Some("/home/ann/".to_owned()) }
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(super) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

impl File {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}
