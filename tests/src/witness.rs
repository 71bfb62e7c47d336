//! Reads the witness file: one line per start and end of a body.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub job: String,
    pub attempt: u32,
    pub fence: i64,
    pub node: String,
    pub wall_ms: i64,
    pub is_start: bool,
}

#[derive(Debug)]
pub struct Witness(PathBuf);

impl Witness {
    pub fn at(path: &Path) -> Witness {
        Witness(path.to_owned())
    }

    pub fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("not a line of a witness: {line}"))).collect()
    }

    pub fn starts_of(&self, job: &str) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.is_start && line.job == job).collect()
    }
}

fn parse(line: &str) -> Option<Line> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [job, attempt, fence, node, wall_ms, what] = fields[..] else { return None };
    Some(Line {
        job: job.to_owned(),
        attempt: attempt.parse().ok()?,
        fence: fence.parse().ok()?,
        node: node.to_owned(),
        wall_ms: wall_ms.parse().ok()?,
        is_start: match what {
            "start" => true,
            "end" => false,
            _ => return None,
        },
    })
}
