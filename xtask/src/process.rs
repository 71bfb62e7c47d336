//! Starting programs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context, Result};

pub(crate) use mainspring_test_servers::find;

/// The root of the workspace: the one that cargo was called in, for a target folder can serve several.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let package = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        Path::new(&package).parent().expect("xtask lies in the workspace").to_owned()
    });
    &ROOT
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The cargo that started this program, at the root of the workspace.
pub(crate) fn cargo<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(args);
    command
}

/// Runs to the end. `false`: it said no.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    Ok(status.success())
}

/// What it wrote to standard output, when it succeeded.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("start {command:?}"))?;
    anyhow::ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("read the output of {command:?}"))
}

/// Runs to the end, shows both streams as they come, and hands every line over without its colours.
pub(crate) fn watched(command: &mut Command, on_line: impl FnMut(&str) + Send) -> Result<bool> {
    if std::io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(|| format!("start {command:?}"))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");
    let on_line = std::sync::Mutex::new(on_line);
    std::thread::scope(|scope| {
        scope.spawn(|| pass_on(stderr, std::io::stderr(), &on_line));
        pass_on(stdout, std::io::stdout(), &on_line);
    });
    Ok(child.wait()?.success())
}

fn pass_on(from: impl Read, mut to: impl Write, on_line: &std::sync::Mutex<impl FnMut(&str)>) {
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let text = String::from_utf8_lossy(&line);
        // A closed terminal does not change what the program says.
        drop(writeln!(to, "{text}"));
        if let Ok(mut on_line) = on_line.lock() {
            on_line(&without_colours(&text));
        }
    }
}

fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| c.is_ascii_alphabetic()).map_or(piece.len(), |at| at + 1);
        plain.push_str(&piece[end..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_colours("\u{1b}[32;1m   ok\u{1b}[0m: 3 passed"), "   ok: 3 passed");
        assert_eq!(without_colours("plain"), "plain");
    }
}
