//! The protocol holds in every state of every scene, and every law sees the bugs that are planted for it.

use mainspring_lease_model::{Bug, Law, Scene, hunt, search};

fn check_holds(scene: &'static Scene) {
    let findings = search(scene, 1);
    assert!(findings.broken.is_empty(), "{}: {:#?}", scene.name, findings.broken);
    assert!(findings.missed.is_empty(), "{}: what must be possible is not: {:?}", scene.name, findings.missed);
}

// A test per scene: they are searched side by side.

#[test]
fn calls_may_be_late_lost_or_doubled() {
    check_holds(&Scene::LEASES);
}

#[test]
fn a_node_may_be_paused_at_any_time() {
    check_holds(&Scene::PAUSES);
}

#[test]
fn a_node_may_crash_at_any_time() {
    check_holds(&Scene::CRASHES);
}

#[test]
fn rows_of_gone_nodes_may_be_deleted() {
    check_holds(&Scene::PURGE);
}

#[test]
fn a_node_may_drain() {
    check_holds(&Scene::DRAIN);
}

#[test]
fn people_may_interfere() {
    check_holds(&Scene::PEOPLE);
}

#[test]
fn people_may_interfere_while_leases_end() {
    check_holds(&Scene::PEOPLE_LEASES);
}

#[test]
fn fail_overs_may_lose_what_was_committed_last() {
    check_holds(&Scene::FAIL_OVER);
}

#[test]
fn a_fail_over_may_lose_what_people_did() {
    check_holds(&Scene::FAIL_OVER_PEOPLE);
}

#[test]
fn a_fail_over_may_lose_renewals() {
    check_holds(&Scene::FAIL_OVER_LEASES);
}

#[test]
fn every_planted_bug_is_seen_by_its_laws() {
    for bug in Bug::ALL.iter().copied() {
        let findings = hunt(bug, 1);
        for law in bug.breaks() {
            let is_seen = findings.broken.iter().any(|(broken, _)| broken == law);
            assert!(is_seen, "{bug:?} is not seen by {}", law.name());
        }
    }
}

#[test]
fn every_law_has_a_bug_that_it_sees() {
    for law in Law::ALL {
        assert!(Bug::ALL.iter().any(|bug| bug.breaks().contains(law)), "no bug is planted for {}", law.name());
    }
}
