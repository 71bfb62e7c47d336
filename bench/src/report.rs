//! Medians of all runs, beside bars, raw limits and a peer: a table in Markdown.

use std::fmt::Write;

use crate::args::{Scenario, StoreKind, Subject};
use crate::bound;
use crate::figures::Figures;
use crate::rows::{self, Bar, Row, W5_TO_W2};
use crate::runs::{Machine, Run};

/// Past this share of the CPUs in other hands a run says more about them.
const DISTURBED_PERCENT: f64 = 15.0;

pub(crate) fn table(machine: &Machine, runs: &[Run]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\nmainspring {} · {} CPUs · Linux {} · {} · {}\n",
        machine.version, machine.cpus, machine.kernel, machine.database, machine.disk
    );
    let medians = Medians(runs);
    limits(&mut text, &medians, machine.store);
    scenarios(&mut text, &medians, machine.store);
    for run in runs.iter().filter(|run| run.scenario == Scenario::Cluster) {
        text.push_str(&bound::lines(&run.figures));
    }
    let disturbed = runs.iter().filter(|run| foreign(run) > DISTURBED_PERCENT).count();
    if disturbed > 0 {
        let _ = writeln!(
            text,
            "\n{disturbed} of {} runs were disturbed: others used more than {DISTURBED_PERCENT} % of the CPUs.",
            runs.len()
        );
    }
    for run in runs {
        if let Some(error) = &run.error {
            let _ = writeln!(text, "\n{} ({:?}) failed: {error}", run.scenario.name(), run.subject);
        }
    }
    text
}

fn foreign(run: &Run) -> f64 {
    run.figures.get("foreign_percent").unwrap_or(0.0)
}

/// For the progress on the terminal: what the table will show, and the disturbance.
pub(crate) fn one_line(store: StoreKind, scenario: Scenario, figures: &Figures) -> String {
    let rows = rows::rows(store);
    let of_table = rows.iter().filter(|row| row.scenario == scenario).map(|row| row.figure);
    let of_limits = rows::limits(store).iter().filter(|_| scenario == Scenario::Limits).map(|(figure, _)| *figure);
    let known = of_table.chain(of_limits).chain(["foreign_percent"]);
    let shown: Vec<String> = known.filter_map(|name| Some(format!("{name} {}", number(figures.get(name)?)))).collect();
    shown.join(", ")
}

fn limits(text: &mut String, medians: &Medians<'_>, store: StoreKind) {
    let limits = rows::limits(store);
    if medians.of(Scenario::Limits, Subject::Raw, limits[0].0).is_none() {
        return;
    }
    let _ = writeln!(text, "| raw limit | median (min–max) |\n|---|---:|");
    for (figure, label) in limits {
        if let Some(value) = medians.of(Scenario::Limits, Subject::Raw, figure) {
            let _ = writeln!(text, "| {label} | {} |", value.shown());
        }
    }
    let _ = writeln!(text);
}

fn scenarios(text: &mut String, medians: &Medians<'_>, store: StoreKind) {
    let _ = writeln!(
        text,
        "| | | library | bar | REST | bar | effectum | library ÷ effectum | library ÷ raw |\n\
         |---|---|---:|---|---:|---|---:|---:|---:|"
    );
    for row in &rows::rows(store) {
        let library = medians.of(row.scenario, Subject::Library, row.figure);
        let rest = medians.of(row.scenario, Subject::Rest, row.figure);
        let effectum = medians.of(row.scenario, Subject::Effectum, row.figure);
        if library.is_none() && rest.is_none() && effectum.is_none() {
            continue;
        }
        let raw = row.raw.and_then(|figure| medians.of(Scenario::Limits, Subject::Raw, figure));
        let _ = writeln!(text, "{}", line(row, library, rest, effectum, raw));
    }
}

fn line(row: &Row, library: Option<Spread>, rest: Option<Spread>, peer: Option<Spread>, raw: Option<Spread>) -> String {
    let shown = |value: Option<Spread>| value.map_or(String::new(), |value| value.shown());
    let cells = [
        row.scenario.name(),
        row.label.to_owned(),
        shown(library),
        judged(row.library, library),
        shown(rest),
        judged(row.rest, rest),
        shown(peer),
        ratio(library, peer),
        ratio(library, raw),
    ];
    format!("| {} |", cells.join(" | "))
}

fn judged(bar: Bar, value: Option<Spread>) -> String {
    let (sign, limit) = match bar {
        Bar::No => return String::new(),
        Bar::AtLeast(limit) => ("≥", limit),
        Bar::AtMost(limit) => ("≤", limit),
    };
    let verdict = match value {
        None => "",
        Some(value) if is_met(bar, value.median) => " met",
        Some(_) => " **missed**",
    };
    format!("{sign} {}{verdict}", number(limit))
}

fn is_met(bar: Bar, value: f64) -> bool {
    match bar {
        Bar::No => true,
        Bar::AtLeast(limit) => value >= limit,
        Bar::AtMost(limit) => value <= limit,
    }
}

fn ratio(ours: Option<Spread>, theirs: Option<Spread>) -> String {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if theirs.median > 0.0 => format!("{:.2}", ours.median / theirs.median),
        _ => String::new(),
    }
}

#[derive(Debug, Clone, Copy)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] };
        Some(Spread { min, median, max })
    }

    fn shown(self) -> String {
        if self.min == self.max {
            number(self.median)
        } else {
            format!("{} ({}–{})", number(self.median), number(self.min), number(self.max))
        }
    }
}

struct Medians<'a>(&'a [Run]);

impl Medians<'_> {
    fn of(&self, scenario: Scenario, subject: Subject, figure: &str) -> Option<Spread> {
        if figure == W5_TO_W2 {
            let rate = |scenario| Some(self.of(scenario, subject, "rate_per_s")?.median);
            return Spread::of(vec![rate(scenario)? / rate(Scenario::W2)?]);
        }
        let of_it = self.0.iter().filter(|run| run.scenario == scenario && run.subject == subject);
        Spread::of(of_it.filter_map(|run| run.figures.get(figure)).collect())
    }
}

/// Three digits that mean something, thousands apart.
fn number(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 100.0 {
        let digits = format!("{:.0}", value.abs());
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
        let sign = if value <= -0.5 { "-" } else { "" };
        return format!("{sign}{}", groups.join(","));
    }
    if value.abs() >= 10.0 { format!("{value:.1}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        let check = |value: f64, expect: &str| assert_eq!(number(value), expect);
        check(0.0, "0");
        check(1_234_567.4, "1,234,567");
        check(60_000.0, "60,000");
        check(-1_500.0, "-1,500");
        check(23.45, "23.4");
        check(0.154, "0.15");
        check(-0.3, "-0.30");
    }

    #[test]
    fn the_median_of_an_even_count_lies_between() {
        let check = |values: &[f64], expect: Option<f64>| {
            assert_eq!(Spread::of(values.to_vec()).map(|spread| spread.median), expect);
        };
        check(&[], None);
        check(&[3.0, 1.0, 2.0], Some(2.0));
        check(&[4.0, 1.0, 2.0, 3.0], Some(2.5));
    }

    #[test]
    fn bars_are_judged_by_the_median() {
        let value = Spread::of(vec![59_000.0, 61_000.0, 90_000.0]);
        assert_eq!(judged(Bar::AtLeast(60_000.0), value), "≥ 60,000 met");
        assert_eq!(judged(Bar::AtMost(0.15), value), "≤ 0.15 **missed**");
        assert_eq!(judged(Bar::No, value), "");
    }
}
