//! Programs that the build and the tests need beside cargo, and the Debian packages that bring them.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

pub(crate) struct Need {
    /// One of these is enough.
    programs: &'static [&'static str],
    packages: &'static [&'static str],
    why: &'static str,
}

/// To build.
pub(crate) const BUILD: &[Need] = &[Need {
    programs: &["cc", "gcc", "clang"],
    // Recommended packages are not installed, but a compiler without the headers of libc is none.
    packages: &["gcc", "libc6-dev"],
    why: "SQLite is compiled into the binary",
}];

/// To test, besides.
pub(crate) const TEST: &[Need] = &[
    Need {
        programs: &["strace"],
        packages: &["strace"],
        why: "the fault tests make writes fail and rebuild the disk after a power loss",
    },
    Need {
        programs: &["faketime"],
        packages: &["faketime"],
        why: "tests of schedules give the server a wall clock that they set",
    },
    Need { programs: &["initdb"], packages: &["postgresql"], why: "the PostgreSQL store is tested on real servers" },
    Need { programs: &["mariadbd"], packages: &["mariadb-server"], why: "the MySQL store is tested on real servers" },
    Need {
        programs: &["pgbouncer"],
        packages: &["pgbouncer"],
        why: "the PostgreSQL store must work behind a pooler of connections",
    },
];

/// Installs what is missing where that is possible, and otherwise says what to install.
pub(crate) fn provide(needs: &[&[Need]]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().copied().flatten().filter(|need| !is_met(need)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    let reasons: Vec<String> = missing.iter().map(|need| format!("{} ({})", need.programs[0], need.why)).collect();
    let by_hand = format!("missing: {}; install: {}", reasons.join(", "), packages.join(" "));
    if process::find("apt-get").is_none() || !is_root() {
        bail!("{by_hand} (on Debian: sudo apt-get install {})", packages.join(" "));
    }
    println!("installing {}", packages.join(" "));
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q").args(args);
        process::succeeds(&mut command)
    };
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(&packages);
    // The package lists of a fresh machine are often empty; a refresh that fails shows in the install.
    apt(&["update"])?;
    if !apt(&install)? || missing.iter().any(|need| !is_met(need)) {
        bail!("{by_hand}: apt-get could not");
    }
    Ok(())
}

fn is_met(need: &Need) -> bool {
    need.programs.iter().any(|program| process::find(program).is_some())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_programs_is_enough() {
        let need = |programs| Need { programs, packages: &["x"], why: "x" };
        assert!(is_met(&need(&["no-such-program-here", "sh"])));
        assert!(!is_met(&need(&["no-such-program-here"])));
    }
}
