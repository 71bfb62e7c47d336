//! The tables that the rules go by. An exception is a row with its reason, and a row that is no longer needed is a
//! complaint itself.

/// Folders and files that are not ours or not text for people.
pub(super) const NOT_OURS: &[&str] = &[".git", "target", "data", "node_modules", "peers", ".venv"];

/// What is read: by the end of the name.
pub(super) const TEXT_FILES: &[&str] = &[".rs", ".toml", ".md", ".sql", ".sh", ".yml", ".yaml", "Cargo.lock", "run"];

pub(super) const FILE_LINES_AIM: usize = 400;
pub(super) const FILE_LINES_MAX: usize = 500;
pub(super) const FUNCTION_LINES_MAX: usize = 70;

/// Files between the aim and the bound: (path, reason).
pub(super) const LONG_FILES: &[(&str, &str)] = &[
    ("crates/store/src/memory/mod.rs", "one short function per verb of the trait"),
    ("crates/store/src/sqlite/mod.rs", "one short function per verb of the trait"),
    ("tests/tests/cluster.rs", "the field scenarios of several nodes, in one place for both databases"),
];

/// Functions past the bound: (path, function, reason).
pub(super) const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

/// Work left open is written as `WORD(owner: reason)` or not at all.
pub(super) const OPEN_WORK: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// Paths of one person's machine.
pub(super) const MACHINE_PATHS: &[&str] = &["/home/", "/Users/", "/root/", "C:\\Users"];

/// Rooms without a purpose: names of modules and files, and ends of the names of types.
pub(super) const ROOMS: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"];
pub(super) const TYPE_ENDS: &[&str] = &["Util", "Utils", "Helper", "Manager"];

/// One word per thing: (identifier, the word of the house).
pub(super) const WORDS: &[(&str, &str)] = &[
    ("JobRun", "attempt"),
    ("JobExecution", "attempt"),
    ("JobInstance", "job"),
    ("TaskRun", "job"),
    ("TaskExecution", "job"),
    ("TaskInstance", "job"),
    ("QueueItem", "job"),
    ("job_run", "attempt"),
    ("job_execution", "attempt"),
    ("job_instance", "job"),
    ("task_run", "job"),
    ("task_instance", "job"),
    ("queue_item", "job"),
];

/// What each `[package]` takes from the workspace.
pub(super) const PACKAGE_FIELDS: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

/// Dependencies that are declared but not named in the crate's code: (crate, dependency, reason).
pub(super) const NOT_NAMED: &[(&str, &str, &str)] = &[];

/// Programs that a line of shell in the documents may start.
pub(super) const PROGRAMS: &[&str] = &[
    "cargo",
    "cat",
    "cd",
    "cp",
    "curl",
    "echo",
    "export",
    "for",
    "do",
    "done",
    "git",
    "gzip",
    "jq",
    "kill",
    "ls",
    "mainspring",
    "mkdir",
    "mv",
    "python3",
    "rm",
    "sha256sum",
    "sleep",
    "sqlite3",
    "sudo",
    "systemctl",
    "tail",
    "tar",
    "until",
    "while",
];

/// Languages of code blocks that hold commands.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "shell", "console"];
