//! The fingerprint of a stored run covers all crates that can change its result.

use std::path::Path;

use redpoll_experiments::FINGERPRINT;

#[path = "../fingerprint.rs"]
mod build;

fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap()
}

#[test]
fn the_simulator_is_all_that_it_depends_on() {
    let found = build::simulator(&root().join("crates"));
    for name in [
        "sim", "stack", "tcp", "base", "replay", "rivals", "ota", "uart",
    ] {
        assert!(found.contains(name), "{name} is missing: {found:?}");
    }
    // Only the simulator's tests depend on these crates, or the crates depend on the simulator.
    for name in ["testkit", "leaf", "experiments", "studies", "cli"] {
        assert!(!found.contains(name), "{name} decides no run: {found:?}");
    }
}

#[test]
fn more_sources_give_another_fingerprint() {
    let fingerprint = |more: &[&str]| {
        let more: Vec<_> = more.iter().map(|path| root().join(path)).collect();
        build::fingerprint(root(), &more)
    };
    assert_eq!(fingerprint(&[]), FINGERPRINT);
    let probes = "crates/studies/src/vocabulary/probes";
    let file = "crates/studies/src/vocabulary/probes/slots.rs";
    let all = [
        fingerprint(&[]),
        fingerprint(&[probes]),
        fingerprint(&[file]),
    ];
    assert!(
        all[0] != all[1] && all[1] != all[2] && all[0] != all[2],
        "{all:?}"
    );
}
