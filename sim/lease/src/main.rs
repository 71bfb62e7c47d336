//! Prints what is searched and what is found, a line per scene and per planted bug.

use std::io::Write;
use std::process::ExitCode;

use mainspring_lease_model::{Bug, Findings, Law, Scene, hunt, search};

const USAGE: &str = "mainspring-lease-model           every scene, every planted bug
mainspring-lease-model BUG…      these bugs, with the shortest ways to what they break";

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut out = std::io::stdout();
    let bug_of = |name: &String| Bug::ALL.iter().copied().find(|bug| format!("{bug:?}") == *name);
    let Some(named) = names.iter().map(bug_of).collect::<Option<Vec<Bug>>>() else {
        let _ = writeln!(out, "{USAGE}\n\nBugs: {:?}", Bug::ALL);
        return ExitCode::from(2);
    };
    let mut all_as_expected = true;
    if named.is_empty() {
        for scene in Scene::ALL {
            let findings = search(scene, threads);
            let broken: Vec<&str> = findings.broken.iter().map(|(law, _)| law.name()).collect();
            let holds = broken.is_empty() && findings.missed.is_empty();
            let verdict =
                if holds { "holds".to_owned() } else { format!("broken: {broken:?}, missed: {:?}", findings.missed) };
            let _ = writeln!(out, "{:<40}{:>9} states  {verdict}", scene.name, findings.states);
            all_as_expected &= holds;
        }
    }
    for bug in if named.is_empty() { Bug::ALL } else { &named } {
        let findings = hunt(*bug, threads);
        let missed: Vec<Law> = bug.breaks().iter().copied().filter(|law| !breaks(&findings, *law)).collect();
        let verdict =
            if missed.is_empty() { format!("found: {:?}", bug.breaks()) } else { format!("NOT FOUND: {missed:?}") };
        let _ = writeln!(out, "{:<40}{:>9} states  {verdict}", format!("{bug:?}"), findings.states);
        all_as_expected &= missed.is_empty();
        for (law, way) in findings.broken.iter().filter(|_| !named.is_empty()) {
            let _ = writeln!(out, "  {}", law.name());
            way.iter().for_each(|next| drop(writeln!(out, "    {next:?}")));
        }
    }
    if all_as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn breaks(findings: &Findings, law: Law) -> bool {
    findings.broken.iter().any(|(broken, _)| *broken == law)
}
