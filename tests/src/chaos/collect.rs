//! Reads what the product shows and what the witness saw.

use std::collections::HashMap;

use serde_json::Value;

use super::history::{Attempt, Body, Ending, Job, Life, Ms, Task};
use crate::{Line, Server};

pub(super) fn jobs(node: &Server, tasks: &[Task]) -> Vec<Job> {
    tasks.iter().flat_map(|task| node.jobs_of(&task.code)).map(|shown| job(&shown)).collect()
}

pub(super) fn job(shown: &Value) -> Job {
    let text = |field: &str| shown[field].as_str().map(str::to_owned);
    let number = |field: &str| shown[field].as_u64().unwrap_or_default();
    Job {
        id: text("id").unwrap_or_default(),
        task: text("task").unwrap_or_default(),
        key: text("bizId"),
        lane: text("concurrencyKey"),
        status: text("status").unwrap_or_default(),
        due_ms: instant(&shown["executeTime"]).unwrap_or_default(),
        finish_ms: instant(&shown["finishTime"]),
        fire_ms: instant(&shown["fireTime"]),
        first_fire_ms: instant(&shown["fires"]["first"]),
        retries: number("retryCount"),
        max_retry: number("maxRetry"),
        losses: number("lostCount"),
        fence: shown["fence"].as_i64().unwrap_or_default(),
    }
}

pub(super) fn attempts(node: &Server, tasks: &[Task]) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    for task in tasks {
        let mut cursor = String::new();
        loop {
            let page = node.get(&format!("/tasks/{}/attempts?limit=200{cursor}", task.code));
            assert_eq!(page.status, 200, "{page:?}");
            attempts.extend(page.body["items"].as_array().expect("a list").iter().map(attempt));
            match page.body["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
    }
    attempts
}

fn attempt(shown: &Value) -> Attempt {
    Attempt {
        job: shown["jobId"].as_str().unwrap_or_default().to_owned(),
        fence: shown["fence"].as_i64().unwrap_or_default(),
        status: shown["status"].as_str().unwrap_or_default().to_owned(),
        start_ms: instant(&shown["executeTime"]).unwrap_or_default(),
        finish_ms: instant(&shown["finishTime"]),
    }
}

/// Starts and ends of the witness, joined.
pub(super) fn bodies(lines: &[Line], lives: &[Life]) -> Vec<Body> {
    let mut bodies: Vec<Body> = Vec::new();
    let mut open: HashMap<(String, i64, String), usize> = HashMap::new();
    for line in lines {
        let of = (line.job.clone(), line.fence, line.node.clone());
        if line.is_start {
            open.insert(of, bodies.len());
            let (job, fence, start_ms) = (line.job.clone(), line.fence, line.wall_ms);
            let pid = line.node.parse().expect("a process has a number");
            bodies.push(Body { job, fence, pid, start_ms, end_ms: Ms::MAX, ending: Ending::Never });
        } else if let Some(at) = open.remove(&of) {
            (bodies[at].end_ms, bodies[at].ending) = (line.wall_ms, Ending::Noted);
        }
    }
    for at in open.into_values() {
        let pid = bodies[at].pid;
        if let Some(died_ms) = lives.iter().find(|life| life.pid == pid).and_then(|life| life.died_ms) {
            (bodies[at].end_ms, bodies[at].ending) = (died_ms, Ending::WithProcess);
        }
    }
    bodies
}

fn instant(shown: &Value) -> Option<Ms> {
    let instant: mainspring::Timestamp = shown.as_str()?.parse().ok()?;
    Some(instant.as_ms())
}
