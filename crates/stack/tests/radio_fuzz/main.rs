//! A border router, a router, a leaf, a sleepy leaf and a host, whose radios report arbitrary
//! events: frames cut, changed, joined, doubled, delayed and forged, forged data requests, results
//! without a radio operation, and jumps of time by milliseconds to hours. With the features of RPL
//! every second mesh routes by RPL, in storing or non-storing mode. With the feature `security`
//! every fifth mesh protects its frames.
//!
//! The test fails on a panic (including integer overflow), a frame that is counted twice or never,
//! a wrong byte in a stream, or a table that is not empty after a quiet time. The failure names the
//! seed that reproduces it. `REDPOLL_FUZZ_STEPS` is the number of steps (default 200,000; `make
//! radiofuzz`: fifty million), and `REDPOLL_FUZZ_SEED` the first seed.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "this program uses only a part of the module")]
mod common;
mod mesh;
mod mutate;
mod sealed;
mod ways;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mesh::Mesh;

/// Steps of one mesh, after which it must come to rest.
const ROUND: u64 = 20_000;

/// The least average per round of each count of [`Mesh::reach`].
const LEAST: [u64; 5] = [1_000, 100, 50, 50, 100];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

#[test]
fn arbitrary_radio_events_keep_the_invariants() {
    let steps = number("REDPOLL_FUZZ_STEPS", 200_000);
    let first = number("REDPOLL_FUZZ_SEED", 1);
    let rounds = steps.div_ceil(ROUND);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let reach = Mutex::new([0_u64; 5]);
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds {
                        return;
                    }
                    let reached = run(first + round);
                    let mut reach = reach.lock().unwrap();
                    for (sum, count) in reach.iter_mut().zip(reached) {
                        *sum += count;
                    }
                    drop(reach);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if rounds >= 100 && done % (rounds / 100) == 0 {
                        println!("{} of {} steps", done * ROUND, rounds * ROUND);
                    }
                }
            });
        }
    });
    // A campaign without accepted frames would always pass.
    let reach = reach.into_inner().unwrap();
    for (sum, least) in reach.into_iter().zip(LEAST) {
        assert!(
            sum >= rounds * least,
            "{reach:?} in {rounds} rounds, expected {LEAST:?}"
        );
    }
    println!("reached {reach:?}");
    println!(
        "{} steps, seeds {first} to {}",
        rounds * ROUND,
        first + rounds - 1
    );
}

/// Runs one round and returns its reach; a panic names the seed.
fn run(seed: u64) -> [u64; 5] {
    let outcome = std::panic::catch_unwind(|| {
        let mut mesh = Mesh::new(seed);
        for _ in 0..ROUND {
            mesh.step();
        }
        mesh.check_counters();
        let reach = mesh.reach();
        mesh.come_to_rest();
        mesh.check_counters();
        reach
    });
    outcome.unwrap_or_else(|panic| {
        eprintln!(
            "again: REDPOLL_FUZZ_SEED={seed} REDPOLL_FUZZ_STEPS={ROUND} \
             cargo test -p redpoll-stack --features rpl-root,rpl-storing,rpl-hosts,security \
             --test radio_fuzz"
        );
        std::panic::resume_unwind(panic);
    })
}
