//! The simulation as a test: seeds hold, runs repeat, and every check sees the fault it is there for.

use mainspring_sim::{Bug, Options, StoreKind, run};

/// Seeds that once found a fault of the engine or of a store.
const SEEDS_OF_FIXED_FAULTS: [u64; 26] = [
    1, 60, 101, 106, 118, 123, 147, 169, 170, 198, 204, 303, 332, 1394, 1778, 1862, 2207, 3128, 3237, 3249, 3631, 4447,
    4695, 4956, 5021, 5631,
];
const SEEDS_OF_FIXED_FAULTS_IN_MEMORY: [u64; 1] = [20_201];
const SEEDS_UNTIL_SEEN: u64 = 150;

fn check_holds(seed: u64, store: StoreKind) {
    let report = run(seed, Options { store, ..Options::default() });
    assert!(report.violations.is_empty(), "seed {seed} on {store:?}: {:#?}", report.violations);
    assert!(report.bodies > 0 && report.jobs > 0, "seed {seed} did nothing");
}

#[test]
fn twenty_seeds_hold_on_each_store() {
    for seed in 1..=20 {
        check_holds(seed, StoreKind::Sqlite);
        check_holds(seed, StoreKind::Memory);
    }
}

#[test]
fn seeds_that_once_failed_hold() {
    for seed in SEEDS_OF_FIXED_FAULTS {
        check_holds(seed, StoreKind::Sqlite);
    }
    for seed in SEEDS_OF_FIXED_FAULTS_IN_MEMORY {
        check_holds(seed, StoreKind::Memory);
    }
}

#[test]
fn a_seed_runs_the_same_twice() {
    for seed in 1..=20 {
        let trace = || {
            let report = run(seed, Options::default());
            (report.hash, report.events, report.last_events)
        };
        assert_eq!(trace(), trace(), "seed {seed}");
    }
}

#[test]
fn every_planted_fault_is_seen_by_its_check() {
    for bug in Bug::ALL.iter().copied() {
        let options = Options { bug: Some(bug), ..Options::default() };
        let sees = |seed| run(seed, options).violations.iter().any(|violation| violation.invariant == bug.breaks());
        assert!((1..=SEEDS_UNTIL_SEEN).any(sees), "{bug:?} is not seen by {}", bug.breaks());
    }
}
