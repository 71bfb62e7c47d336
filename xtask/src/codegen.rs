//! Files in the repository that are made from the code. A test of their crate compares each with what it should be.

use std::fs;

use anyhow::{Context, Result};

use crate::process::{cargo, output, root, succeeds};

pub(crate) fn write_all() -> Result<bool> {
    let document = output(&mut cargo(["run", "--quiet", "--package", "mainspring-server", "--example", "openapi"]))?;
    write("docs/openapi.json", &document)?;
    println!("snapshots of the command line pages");
    succeeds(cargo(["test", "--quiet", "--package", "mainspring-app"]).env("INSTA_UPDATE", "always"))
}

fn write(path: &str, text: &str) -> Result<()> {
    let file = root().join(path);
    if fs::read_to_string(&file).is_ok_and(|present| present == text) {
        println!("{path}: unchanged");
        return Ok(());
    }
    fs::write(&file, text).with_context(|| format!("write {path}"))?;
    println!("{path}: written");
    Ok(())
}
