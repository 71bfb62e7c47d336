//! How many tests passed and failed, read from the last lines of the test runners.

use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// A step without a count of its own.
    pub(crate) fn of_step(succeeded: bool) -> Counts {
        Counts { passed: u64::from(succeeded), failed: u64::from(!succeeded) }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The counts in a summary of nextest or of the built-in test runner; `None` for every other line.
pub(crate) fn in_line(line: &str) -> Option<Counts> {
    let (_, nextest) = line.split_once(" tests run: ").or_else(|| line.split_once(" test run: ")).unzip();
    let built_in = line.trim_start().strip_prefix("test result: ");
    let summary = nextest.or(built_in)?;
    let mut counts = Counts::default();
    for part in without_parentheses(summary).split([',', ';', '.']) {
        let mut words = part.split_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else { continue };
        match words.next() {
            Some("passed") => counts.passed += number,
            Some("failed" | "timed" | "exec") => counts.failed += number, // `timed out`, `exec failed`
            _ => {}
        }
    }
    Some(counts)
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let check = |line: &str, expect: Option<(u64, u64)>| {
            assert_eq!(in_line(line), expect.map(|(passed, failed)| Counts { passed, failed }), "{line}");
        };
        check("     Summary [   0.123s] 57 tests run: 57 passed, 3 skipped", Some((57, 0)));
        check("     Summary [   0.123s] 1 test run: 1 passed, 0 skipped", Some((1, 0)));
        check(
            "Summary [ 9.1s] 9 tests run: 5 passed (1 slow, 2 flaky), 2 failed, 2 timed out, 1 skipped",
            Some((5, 4)),
        );
        check("Summary [ 9.1s] 3/9 tests run: 2 passed, 1 exec failed, 0 skipped", Some((2, 1)));
        check(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            Some((3, 0)),
        );
        check("test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out", Some((3, 2)));
        check("        PASS [   0.004s] xtask counts::tests::summaries_are_read", None);
    }
}
