//! Runs built-in scenarios.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

/// Runs the scenario for `seconds` of virtual time. Fails if the oracle found a violation.
pub fn run(name: &str, overrides: &[(&str, &str)], seed: u64, seconds: u64) -> Report {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, seed).unwrap();
    world.run_until(Instant::from_millis(seconds * 1_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0], "{name}, seed {seed}");
    report
}
