//! Where the servers' programs are, and under whose account they run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Where Debian puts programs that are not in everybody's PATH.
const MORE_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";

/// A command line. Its environment is empty but for PATH and what is given: no setting of the machine gets in.
#[derive(Debug)]
pub(crate) struct Program {
    words: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
}

impl Program {
    /// By name, from PATH or where Debian puts it.
    pub(crate) fn named(name: &str) -> Result<Program> {
        let place = find(name).with_context(|| {
            format!("{name} is not there: `cargo xtask test` installs it (Debian: {})", package_of(name))
        })?;
        Ok(Program { words: vec![place.into_os_string()], environment: Vec::new() })
    }

    pub(crate) fn arg(mut self, word: impl Into<OsString>) -> Program {
        self.words.push(word.into());
        self
    }

    pub(crate) fn args<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Program {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: &str) -> Program {
        self.environment.push((name, value.to_owned()));
        self
    }

    pub(crate) fn words(&self) -> &[OsString] {
        &self.words
    }

    pub(crate) fn give_environment(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
    }

    /// To run here and now, by whoever we are.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        self.give_environment(&mut command);
        command
    }
}

/// Where a program is: in PATH, among the system's, or with the newest PostgreSQL.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(MORE_FOLDERS.iter().map(PathBuf::from));
    folders.chain(newest_postgres()).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn newest_postgres() -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = std::fs::read_dir(POSTGRES_VERSIONS).into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = installed.filter(|path| path.join("bin/postgres").is_file()).max_by_key(|path| version(path))?;
    Some(newest.join("bin"))
}

fn package_of(program: &str) -> &'static str {
    if program.starts_with("maria") {
        "mariadb-server"
    } else if program == "pgbouncer" {
        "pgbouncer"
    } else {
        "postgresql"
    }
}

/// Under whom a server runs. Servers refuse root, so root lends them the account that their package made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account(Option<&'static str>);

impl Account {
    pub(crate) fn for_server(name: &'static str) -> Account {
        Account(rustix::process::geteuid().is_root().then_some(name))
    }

    /// Words that come before a command line. `setpriv` replaces itself, so the process keeps its number.
    pub(crate) fn words_before(self) -> Vec<String> {
        let Some(name) = self.0 else { return Vec::new() };
        let with = ["setpriv".to_owned(), format!("--reuid={name}"), format!("--regid={name}")];
        with.into_iter().chain(["--clear-groups".to_owned(), "--".to_owned()]).collect()
    }

    pub(crate) fn takes_over(self, folder: &Path) -> Result<()> {
        let Some(name) = self.0 else { return Ok(()) };
        let status = Command::new("chown").arg(format!("{name}:{name}")).arg(folder).status()?;
        ensure!(status.success(), "chown {name} {}: {status}", folder.display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        for program in ["sh", "initdb", "mariadbd"] {
            assert!(find(program).is_some(), "{program}");
        }
        assert!(find("no-such-program-here").is_none());
    }
}
