//! Where the databases lie: the figures mean nothing without it.

use std::fs;
use std::path::Path;

/// Device, type and mount point of the file system that holds `path`.
pub(crate) fn of(path: &Path) -> String {
    let Ok(path) = path.canonicalize() else { return "unknown".to_owned() };
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let holds = |line: &&str| line.split(' ').nth(1).is_some_and(|point| path.starts_with(point));
    let depth = |line: &&str| line.split(' ').nth(1).map_or(0, str::len);
    // Of two that are mounted at one place the later one counts.
    mounts.lines().filter(holds).max_by_key(depth).map_or("unknown".to_owned(), |line| {
        let fields: Vec<&str> = line.split(' ').take(3).collect();
        match fields[..] {
            [device, point, kind] => format!("{kind} on {device} at {point}"),
            _ => "unknown".to_owned(),
        }
    })
}

pub(crate) fn is_memory(description: &str) -> bool {
    ["tmpfs", "ramfs", "devtmpfs"].iter().any(|kind| description.starts_with(&format!("{kind} ")))
}
