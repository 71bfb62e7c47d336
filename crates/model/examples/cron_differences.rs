//! Compares the search for fires with a slow walk through time, near changes of the clocks in random zones.
//! `cargo run --release -p mainspring-model --example cron_differences -- [CASES] [SEED]`
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../tests/oracle/mod.rs"]
mod oracle;

use fastrand::Rng;
use mainspring_model::cron::Zone;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let (cases, seed) = (arguments.next().unwrap_or(50_000), arguments.next().unwrap_or(1));
    let mut rng = Rng::with_seed(seed);
    let names: Vec<&str> = Zone::names().collect();
    let mut differences = 0;
    for case in 0..cases {
        let near = oracle::compare::difference(&mut rng, names[case as usize % names.len()]);
        // A tenth of the cases looks far ahead.
        let far = if case % 10 == 0 { oracle::compare::far_difference(&mut rng) } else { None };
        for difference in near.into_iter().chain(far) {
            differences += 1;
            println!("{difference}");
        }
    }
    println!("{cases} cases in {} zones, seed {seed}: {differences} differences", names.len());
    std::process::exit(i32::from(differences > 0));
}
