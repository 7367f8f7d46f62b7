//! Modules that the tests compile: loading, clocks, frames, random numbers.

mod support;

use std::collections::BTreeSet;

use redpoll_base::Instant;
use redpoll_sim::{BuildError, PrintedLine, World};

use support::{compile, line, world};

fn run(world: &mut World, seconds: u64) -> Vec<PrintedLine> {
    world.run_until(Instant::from_millis(seconds * 1_000));
    assert_eq!(world.report().oracle.violations, [""; 0]);
    world.take_printed()
}

fn of<'a>(lines: &'a [PrintedLine], node: usize, word: &str) -> Vec<&'a str> {
    let own = lines.iter().filter(|line| line.node == node);
    own.filter_map(|line| line.text.strip_prefix(word))
        .map(str::trim)
        .collect()
}

/// Frames pass in both directions over the medium; a node out of range receives none.
#[test]
fn modules_exchange_frames() {
    let module = compile("frames", &[]);
    let mut world = world(&line(&[&*module; 3]), &[], 1).unwrap();
    let lines = run(&mut world, 10);
    let calls = of(&lines, 1, "heard")
        .iter()
        .filter(|it| **it == "1")
        .count();
    assert!((8..=10).contains(&calls), "{calls}");
    let answers = of(&lines, 0, "heard");
    assert_eq!(answers.len(), calls, "each call is answered");
    assert!(answers.iter().all(|it| *it == "102"), "{answers:?}");
    let far = of(&lines, 2, "heard");
    assert!(
        far.len() == calls && far.iter().all(|it| *it == "102"),
        "{far:?}"
    );
    assert_eq!(of(&lines, 0, "deaf"), [""; 0], "a frame has a signal");
}

/// Each iteration of a waiting loop takes one `modules.quantum`. A timer in microseconds expires at
/// its exact time, even if the node's clock is fast or slow.
#[test]
fn time_is_the_simulations() {
    let module = compile("time", &[]);
    for (quantum, drift) in [("192 us", "0"), ("1 ms", "400"), ("192 us", "-700")] {
        let set = [
            ("modules.quantum", quantum),
            ("nodes.node-1.drift_ppm", drift),
        ];
        let mut world = world(&line(&[&*module]), &set, 3).unwrap();
        let lines = run(&mut world, 10);
        assert_eq!(of(&lines, 0, "exactly").len(), 1, "{drift}");
        assert_eq!(of(&lines, 0, "missed"), [""; 0], "{drift}");
        // The frame takes 32 µs per byte for 16 bytes and eight more. Two more iterations of the
        // loop follow the iteration at its end.
        let least = 768 + 2 * if quantum == "1 ms" { 1_000 } else { 192 };
        for waited in of(&lines, 0, "waited") {
            let waited: u64 = waited.parse().unwrap();
            assert!((least - 2..least + 8).contains(&waited), "{waited} {least}");
        }
        assert!(of(&lines, 0, "waited").len() >= 8);
    }
}

/// Each node has its own globals and random numbers. The random numbers depend only on the seed,
/// not on other nodes.
#[test]
fn nodes_of_one_module_share_no_state() {
    let module = compile("copies", &[]);
    let numbers = |nodes: usize, seed| {
        let mut world = world(&line(&vec![&*module; nodes]), &[], seed).unwrap();
        let lines = run(&mut world, 3);
        let own = |node| -> Vec<String> {
            let both = ["begins", "exactly"].map(|word| of(&lines, node, word));
            both.iter().flatten().map(|it| (*it).to_owned()).collect()
        };
        (0..nodes).map(own).collect::<Vec<_>>()
    };
    let few = numbers(3, 7);
    assert_eq!(
        few.iter().flatten().collect::<BTreeSet<_>>().len(),
        6,
        "{few:?}"
    );
    assert_eq!(few, numbers(3, 7));
    assert_eq!(few, numbers(40, 7)[..3], "whoever else there is");
    assert_ne!(few, numbers(3, 8));
}

#[test]
fn a_file_that_is_not_a_module_is_named() {
    let without = compile("without-time", &["-DsimCurrentTime=anotherName"]);
    let text = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let nowhere = std::path::Path::new("/nowhere/node.so");
    let cases = [
        (
            &*without,
            "has no symbol simCurrentTime; allowed: firmware for Cooja, built with Contiki-NG",
        ),
        (&*text, "which is not a module ("),
        (nowhere, "cannot be read (No such file"),
    ];
    for (file, expected) in cases {
        let error = world(&line(&[file]), &[], 1).unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, BuildError::Module { .. }), "{told}");
        assert!(told.starts_with("nodes.node-1.module: got "), "{told}");
        assert!(told.contains(expected) && !told.contains('\n'), "{told}");
    }
}
