//! Broadcasts: one job, the *parent*, becomes a *part* on every node that can run it, and ends when all parts have.
//!
//! The parent waits in a pool that every node serves, and what runs for it is not its handler but the engine's
//! coordinator. Parts are jobs of the same task that carry their index. They begin in the pool of the node that they are
//! meant for, and keep their index wherever they run.

use serde::Serialize;

use crate::ids::{BizId, HandlerName, Incarnation, JobId, PoolName};
use crate::job::{JobStatus, Shard};
use crate::limits;
use crate::node::Skills;
use crate::task::{OnLost, TaskDefinition};
use crate::text;
use crate::verdict::Verdict;

/// Parents wait here.
const COORDINATORS: &str = "@broadcast";

impl PoolName {
    /// The pool of parents, on every node.
    pub fn of_broadcasts() -> PoolName {
        PoolName::stored(COORDINATORS)
    }

    /// The pool of parts that are meant for one node.
    pub fn of_node(node: Incarnation) -> PoolName {
        PoolName::stored(&format!("@{}", node.0))
    }

    /// Not for people: no pool of theirs can have such a name.
    pub fn is_reserved(&self) -> bool {
        self.as_str().starts_with('@')
    }
}

impl TaskDefinition {
    /// Where its jobs wait for a slot.
    pub fn pool_of_jobs(&self) -> PoolName {
        if self.broadcast { PoolName::of_broadcasts() } else { self.pool.clone() }
    }
}

/// Is it the parent of a broadcast, whatever its task has become since?
pub fn is_parent(pool: &PoolName) -> bool {
    pool.as_str() == COORDINATORS
}

/// The key of a part: whoever repeats the work of a coordinator finds what was made.
pub fn part_key(parent: JobId, index: u32) -> BizId {
    BizId::stored(&format!("shard@{parent}@{index}"))
}

/// A coordinator can be repeated, whatever is true of the bodies of its task.
pub fn on_lost(pool: &PoolName, of_task: OnLost) -> OnLost {
    if is_parent(pool) { OnLost::Rerun } else { of_task }
}

/// Which pool each part goes to. `nodes`: those that take new work. `made`: what an earlier coordinator has begun with; the
/// same parts are meant, and one that is missing goes to any node. Empty: nobody can run a part now.
pub fn routes(
    handler: &HandlerName,
    labels: &[String],
    nodes: &[(Incarnation, Skills)],
    made: Option<Shard>,
) -> Vec<PoolName> {
    let suited: Vec<Incarnation> =
        nodes.iter().filter(|(_, skills)| skills.suit(handler, labels)).map(|(node, _)| *node).collect();
    let parts = made.map_or(suited.len(), |shard| shard.total as usize);
    suited.iter().cycle().take(parts).copied().map(PoolName::of_node).collect()
}

/// How a part ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PartEnd {
    pub job: JobId,
    pub status: JobStatus,
    pub result: Option<String>,
    pub error: Option<String>,
}

#[derive(Serialize)]
struct Joined {
    total: usize,
    parts: Vec<JoinedPart>,
}

#[derive(Serialize)]
struct JoinedPart {
    index: usize,
    job: JobId,
    status: &'static str,
    result: Option<String>,
}

/// What the parent's end is, when all its parts have ended; by index.
pub fn join(parts: &[PartEnd]) -> Verdict {
    let total = parts.len();
    let bad: Vec<String> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| part.status != JobStatus::Success)
        .map(|(index, part)| {
            let error = part.error.as_deref().map(|error| text::excerpt(error, limits::PART_TEXT_CHARS_MAX));
            format!("part {index} (job {}) {}: {}", part.job, part.status, error.as_deref().unwrap_or("no reason kept"))
        })
        .collect();
    if !bad.is_empty() {
        // They were retried by themselves.
        return Verdict::fail(format!("{} of {total} parts failed: {}", bad.len(), bad.join("; ")));
    }
    let chars = limits::part_text_chars(total);
    let shown = |(index, part): (usize, &PartEnd)| JoinedPart {
        index,
        job: part.job,
        status: part.status.as_str(),
        result: part.result.as_deref().map(|result| text::excerpt(result, chars)),
    };
    let joined = Joined { total, parts: parts.iter().enumerate().map(shown).collect() };
    Verdict::done_with(serde_json::to_string(&joined).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Ended, Facts, Next, decide};
    use crate::task::{FailStrategy, RetryRule};
    use crate::time::Timestamp;

    fn ended(job: i64, status: JobStatus, words: &str) -> PartEnd {
        let words = Some(words.to_owned());
        match status {
            JobStatus::Success => PartEnd { job: JobId(job), status, result: words, error: None },
            _ => PartEnd { job: JobId(job), status, result: None, error: words },
        }
    }

    #[test]
    fn names_of_people_are_never_reserved() {
        let node = PoolName::of_node(Incarnation(i64::MAX));
        for name in [PoolName::of_broadcasts(), node.clone()] {
            assert!(name.is_reserved(), "{name}");
            assert!(PoolName::new(name.as_str()).is_err(), "{name}");
        }
        assert_eq!(node.as_str(), "@9223372036854775807");
        assert!(!PoolName::default_pool().is_reserved());
        assert!(is_parent(&PoolName::of_broadcasts()) && !is_parent(&node));
    }

    #[test]
    fn a_part_goes_to_every_node_that_can_run_it() {
        let node = |number, handlers: &[&str], labels: &[&str]| {
            let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
            (Incarnation(number), Skills { handlers: words(handlers), labels: words(labels) })
        };
        let nodes = [node(1, &["h"], &["eu"]), node(2, &["other"], &["eu"]), node(3, &["h"], &[])];
        let check = |labels: &[&str], made: Option<u32>, expect: &[&str]| {
            let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
            let made = made.map(|total| Shard { index: 0, total });
            let routes = routes(&HandlerName::stored("h"), &labels, &nodes, made);
            assert_eq!(routes.iter().map(PoolName::as_str).collect::<Vec<_>>(), expect, "{labels:?} {made:?}");
        };
        check(&[], None, &["@1", "@3"]);
        check(&["eu"], None, &["@1"]);
        check(&["gpu"], None, &[]);
        check(&[], Some(3), &["@1", "@3", "@1"]);
        check(&[], Some(1), &["@1"]);
        check(&["gpu"], Some(3), &[]);
    }

    #[test]
    fn the_parent_ends_as_its_parts_did() {
        let check = |parts: &[PartEnd], expect: Verdict| assert_eq!(join(parts), expect);
        let parts = [ended(7, JobStatus::Success, "3 rows"), ended(8, JobStatus::Success, "é")];
        let joined = r#"{"total":2,"parts":[{"index":0,"job":"7","status":"SUCCESS","result":"3 rows"},{"index":1,"job":"8","status":"SUCCESS","result":"é"}]}"#;
        check(&parts, Verdict::done_with(joined));
        let parts = [
            ended(7, JobStatus::Failed, "no disk"),
            ended(8, JobStatus::Success, ""),
            ended(9, JobStatus::Timeout, "timed out after 5 ms"),
        ];
        let error = "2 of 3 parts failed: part 0 (job 7) FAILED: no disk; part 2 (job 9) TIMEOUT: timed out after 5 ms";
        check(&parts, Verdict::fail(error));
    }

    #[test]
    fn the_joined_result_is_never_too_large() {
        let facts = Facts {
            retry_count: 0,
            max_retry: 0,
            lost_count: 0,
            retry: RetryRule::default(),
            fail_strategy: FailStrategy::Retry,
            on_lost: OnLost::Rerun,
        };
        for total in [1, 3, 200, limits::BROADCAST_PARTS_MAX] {
            for result in ["\u{1}", "汉", "\""] {
                let part = ended(i64::MAX, JobStatus::Success, &result.repeat(1_000));
                let decision = decide(Ended::Answered(join(&vec![part; total])), &facts, Timestamp::default(), 0);
                let is_success = matches!(decision.next, Next::Final { status: JobStatus::Success, .. });
                assert!(is_success, "{total} parts of {result:?}");
            }
        }
    }

    #[test]
    fn a_lost_coordinator_is_repeated() {
        assert_eq!(on_lost(&PoolName::of_broadcasts(), OnLost::Fail), OnLost::Rerun);
        assert_eq!(on_lost(&PoolName::default_pool(), OnLost::Fail), OnLost::Fail);
    }
}
