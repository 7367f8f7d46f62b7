//! Same seed, same events. Every scenario of the repository runs twice, and the digests are
//! compared with `digests.txt`, so that other machines and later versions give the same events.
//! After an intended change of a model:
//!
//!     REDPOLL_ACCEPT=digests cargo test -p redpoll-sim --test all determinism

use std::fmt::Write;

use redpoll_base::Instant;
use redpoll_sim::{BUILT_IN, Scenario, World};

fn digest(scenario: &Scenario, seed: u64) -> (u64, u64) {
    let mut world = World::new(scenario, seed).unwrap();
    let ms = if scenario.nodes.len() > 100 {
        2_000
    } else {
        // Sensors that send a reading per second in batches need more than a minute for a batch.
        80_000
    };
    world.run_until(Instant::from_millis(ms));
    let report = world.report();
    let name = &scenario.name;
    assert!(report.oracle.ok, "{name}: {:?}", report.oracle.violations);
    assert!(report.events > 1_000, "{name}: nothing happens");
    (world.digest(), report.events)
}

const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");
const ACCEPT: &str = "REDPOLL_ACCEPT=digests cargo test -p redpoll-sim --test all determinism";

#[test]
fn every_scenario_runs_the_same_twice() {
    let mut found = "# scenario, seed, digest of all events, their number\n".to_owned();
    for built_in in BUILT_IN {
        let scenario = Scenario::load(built_in.name, &[]).unwrap();
        let first = digest(&scenario, 11);
        let second = digest(&scenario, 12);
        assert_eq!(first, digest(&scenario, 11), "{}", built_in.name);
        assert_ne!(first.0, second.0, "{}", built_in.name);
        for (seed, (digest, events)) in [(11, first), (12, second)] {
            writeln!(found, "{} {seed} {digest:016x} {events}", built_in.name).unwrap();
        }
    }
    if std::env::var_os("REDPOLL_ACCEPT").is_some_and(|what| what == "digests") {
        std::fs::write(KEPT, found).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(KEPT).unwrap();
    let changed: Vec<_> = found
        .lines()
        .filter(|line| !kept.lines().any(|other| other == *line))
        .collect();
    assert!(
        found == kept,
        "other events than in digests.txt: {changed:#?}\nif that is meant: {ACCEPT}"
    );
}

#[test]
fn every_shipped_scenario_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut shipped: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut built_in: Vec<_> = BUILT_IN.iter().map(|it| it.name.to_owned()).collect();
    shipped.sort();
    built_in.sort();
    assert_eq!(shipped, built_in);
}
