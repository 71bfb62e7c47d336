//! The chaos proof in short: a minute of each database. `cargo xtask chaos` runs it for as long as you like.

use std::time::Duration;

use mainspring_e2e::chaos::{Chaos, Kind};
use mainspring_test_servers::Kind as Store;

#[test]
fn two_nodes_on_postgres() {
    short(Store::Postgres);
}

#[test]
fn two_nodes_on_mariadb() {
    short(Store::MariaDb);
}

fn short(store: Store) {
    let chaos = Chaos { store, nodes: 2, length: Duration::from_secs(75), seed: 4, keep: false };
    let report = chaos.run();
    assert!(report.breaches().is_empty(), "{report}");
    // A run in which little happens proves little.
    let struck = |kind: Kind| report.faults.get(&kind).copied().unwrap_or(0);
    assert!(struck(Kind::Kill) > 0 && struck(Kind::Pause) > 0 && report.faults.len() >= 8, "{report}");
    assert!(report.verdict.facts["jobs"] > 400 && report.verdict.facts["fire times"] > 80, "{report}");
    assert!(!report.verdict.take_overs_ms.is_empty() && !report.verdict.resumptions_ms.is_empty(), "{report}");
}
