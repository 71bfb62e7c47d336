//! When a schedule fires, found without the product's search: second by second, from the text of the definition. Only
//! for the schedules that the workload draws: crons that name seconds, and intervals of whole seconds, in days of UTC.

use std::collections::BTreeSet;

use mainspring_model::schedule::{Every, Rhythm};
use mainspring_model::task::{TaskDefinition, TaskKind};
use mainspring_model::{Timestamp, limits};

const SECOND_MS: i64 = 1_000;
const DAY_MS: i64 = 86_400_000;
/// No schedule here rests longer.
const SEARCH_MS: i64 = 4 * DAY_MS;

#[derive(Debug)]
pub(crate) struct Oracle {
    rule: Rule,
    start_ms: Option<i64>,
    end_ms: Option<i64>,
    /// Days since 1970 on which it rests.
    rests: BTreeSet<i64>,
}

#[derive(Debug)]
enum Rule {
    /// In every minute.
    Seconds(BTreeSet<i64>),
    /// On multiples of it.
    Rate(i64),
    /// So long after the end of a job.
    Delay(i64),
}

impl Oracle {
    /// `None` for a task without a schedule.
    pub(crate) fn of(definition: &TaskDefinition, rests: BTreeSet<i64>) -> Option<Oracle> {
        if definition.kind != TaskKind::Cron {
            return None;
        }
        let rule = match (&definition.cron_expression, definition.every) {
            (Some(expression), _) => Rule::Seconds(seconds(expression)),
            (None, Some(Every { span, rhythm: Rhythm::FixedRate })) => Rule::Rate(span.as_ms()),
            (None, Some(Every { span, rhythm: Rhythm::FixedDelay })) => Rule::Delay(span.as_ms()),
            (None, None) => return None,
        };
        let [start_ms, end_ms] = [definition.start_at, definition.end_at].map(|at| at.map(Timestamp::as_ms));
        Some(Oracle { rule, start_ms, end_ms, rests })
    }

    fn fires_at(&self, ms: i64) -> bool {
        let fires = match &self.rule {
            Rule::Seconds(seconds) => seconds.contains(&(ms / SECOND_MS % 60)),
            Rule::Rate(step_ms) => (ms - self.start_ms.unwrap_or(0)) % step_ms == 0,
            Rule::Delay(_) => false,
        };
        fires && self.start_ms.is_none_or(|start| ms >= start)
    }

    fn is_over(&self, ms: i64) -> bool {
        self.end_ms.is_some_and(|end| ms > end)
    }

    /// The first after `after`. For a fixed delay: if a job ended then.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after_ms = after.as_ms();
        if let Rule::Delay(delay_ms) = self.rule {
            return Some(after_ms + delay_ms).filter(|ms| !self.is_over(*ms)).map(Timestamp::from_ms);
        }
        let mut ms = (after_ms.div_euclid(SECOND_MS) + 1) * SECOND_MS;
        while ms < after_ms + SEARCH_MS && !self.is_over(ms) {
            let day = ms.div_euclid(DAY_MS);
            if self.rests.contains(&day) {
                ms = (day + 1) * DAY_MS;
            } else if self.fires_at(ms) {
                return Some(Timestamp::from_ms(ms));
            } else {
                ms += SECOND_MS;
            }
        }
        None
    }

    /// From the first to the last, both included.
    pub(crate) fn between(&self, first: Timestamp, last: Timestamp) -> Vec<Timestamp> {
        let mut times = Vec::new();
        let mut after = first.plus_ms(-1);
        while let Some(next) = self.next(after).filter(|next| *next <= last) {
            times.push(next);
            after = next;
            if times.len() >= limits::MISSED_FIRES_COUNTED_MAX as usize {
                break;
            }
        }
        times
    }
}

/// The seconds that `*`, `*/n` or a list name; all other fields say "every".
fn seconds(expression: &str) -> BTreeSet<i64> {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let (first, rest) = if fields.len() == 5 { ("0", &fields[..]) } else { (fields[0], &fields[1..]) };
    assert!(rest.iter().all(|field| matches!(*field, "*" | "?")), "the oracle cannot read `{expression}`");
    match first.strip_prefix('*') {
        Some("") => (0..60).collect(),
        Some(step) => {
            let step = step.trim_start_matches('/').parse().expect("the workload writes numbers");
            (0..60).step_by(step).collect()
        }
        None => first.split(',').map(|second| second.parse().expect("the workload writes numbers")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_model::HandlerName;

    #[test]
    fn seconds_are_walked() {
        let check = |expression: &str, after_s: i64, expect_s: i64| {
            let definition = TaskDefinition::cron("x", HandlerName::stored("x"), expression);
            let oracle = Oracle::of(&definition, BTreeSet::from([1])).expect("it has a schedule");
            let next = oracle.next(Timestamp::from_ms(after_s * 1_000)).map(|next| next.as_ms() / 1_000);
            assert_eq!(next, Some(expect_s), "{expression} after {after_s}");
        };
        check("* * * * * ?", 7, 8);
        check("*/20 * * * * ?", 20, 40);
        check("3,59 * * * * ?", 3, 59);
        check("3,59 * * * * ?", 59, 63);
        check("* * * * *", 1, 60);
        // The second day is left out.
        check("* * * * *", 86_399, 2 * 86_400);
    }
}
