//! Replays the stored inputs of every target, and runs each target with some random inputs.

use redpoll_fuzz::{Mutator, TARGETS, Target};

/// Number of random inputs for a fast target.
const RANDOM: u32 = 2_000;
/// Targets that simulate or use files; they run with a hundredth of the random inputs.
const SLOW: [&str; 8] = [
    "cache", "command", "k7", "node", "noise", "scenario", "tcp", "world",
];

#[test]
fn the_kept_inputs_of_every_target_find_nothing() {
    for target in TARGETS {
        for input in target.seeds().unwrap() {
            (target.run)(&input);
        }
    }
}

#[test]
fn random_inputs_find_nothing() {
    for target in TARGETS {
        let is_slow = SLOW.contains(&target.name);
        let mut mutator = Mutator::new(1, target.seeds().unwrap());
        let mut input = Vec::new();
        for _ in 0..if is_slow { RANDOM / 100 } else { RANDOM } {
            mutator.next(&mut input);
            (target.run)(&input);
        }
    }
}

#[test]
fn every_folder_of_inputs_belongs_to_a_target() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/seeds");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let target = Target::find(&name).unwrap_or_else(|| panic!("no target {name}"));
        assert!(!target.seeds().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_inputs_and_kept_inputs_are_changed() {
    let seed = vec![7; 40];
    let inputs = |number| {
        let mut mutator = Mutator::new(number, vec![seed.clone()]);
        let mut input = Vec::new();
        let mut all = Vec::new();
        for _ in 0..200 {
            mutator.next(&mut input);
            all.push(input.clone());
        }
        all
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
    let near = |input: &&Vec<u8>| input.windows(8).any(|part| part == [7; 8]) && **input != seed;
    assert!(inputs(1).iter().filter(near).count() > 50);
}
