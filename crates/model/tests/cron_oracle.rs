//! The search against a walk through time, in all zones of the database. `cargo run --release -p mainspring-model
//! --example cron_differences` walks further.

mod oracle;

use fastrand::Rng;
use mainspring_model::cron::Zone;
use oracle::compare::{difference, difference_behind, far_difference};

#[test]
fn fires_are_those_of_a_clock_on_the_wall() {
    let mut rng = Rng::with_seed(20_261_201);
    let names: Vec<&str> = Zone::names().collect();
    assert!(names.len() > 590);
    let differences: Vec<String> =
        names.iter().cycle().take(3 * names.len()).filter_map(|name| difference(&mut rng, name)).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn a_date_that_a_country_left_out_is_not_made_up_for() {
    let mut rng = Rng::with_seed(30_12);
    // A few days before each.
    let jumps = [
        ("Pacific/Apia", 1_325_000_000),
        ("Pacific/Fakaofo", 1_325_000_000),
        ("Pacific/Kwajalein", 745_700_000),
        ("Pacific/Kiritimati", 788_600_000),
        ("Pacific/Kanton", 788_600_000),
    ];
    for (name, before) in jumps {
        let differences: Vec<String> = (0..40).filter_map(|_| difference_behind(&mut rng, name, before)).collect();
        assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    }
}

#[test]
fn fires_far_away_are_found_and_impossible_ones_are_not() {
    let mut rng = Rng::with_seed(29_02);
    let differences: Vec<String> = (0..1_500).filter_map(|_| far_difference(&mut rng)).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
