//! A border router, a router, a leaf, a leaf that sleeps and a host, among whom
//! everything that a radio can do goes wrong: frames cut, changed, joined, doubled,
//! held back and sent in anybody's name, data requests that nobody made, results of
//! works that the radio never had, time that jumps by milliseconds or by days.
//!
//! A panic (overflow of numbers counts), a frame that is counted twice or not at all, a
//! stream with a byte that nobody sent, or a table that is not empty when all has been
//! quiet for a while: each ends the test and names the seed that shows it again.
//! `REDPOLL_FUZZ_STEPS` (200,000 unless set; `make radiofuzz` has fifty million) and
//! `REDPOLL_FUZZ_SEED` say how many and from which seed on.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with tests that use more of it")]
mod common;
mod mesh;
mod mutate;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mesh::Mesh;

/// Steps of one mesh, behind which all must be quiet.
const ROUND: u64 = 20_000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

#[test]
fn whatever_the_radio_does() {
    let steps = number("REDPOLL_FUZZ_STEPS", 200_000);
    let first = number("REDPOLL_FUZZ_SEED", 1);
    let rounds = steps.div_ceil(ROUND);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
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
                    run(first + round);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if rounds >= 100 && done % (rounds / 100) == 0 {
                        println!("{} of {} steps", done * ROUND, rounds * ROUND);
                    }
                }
            });
        }
    });
    println!(
        "{} steps, seeds {first} to {}",
        rounds * ROUND,
        first + rounds - 1
    );
}

/// One round; a panic in it names the seed.
fn run(seed: u64) {
    let outcome = std::panic::catch_unwind(|| {
        let mut mesh = Mesh::new(seed);
        for _ in 0..ROUND {
            mesh.step();
        }
        mesh.check_counters();
        mesh.check_reach();
        mesh.come_to_rest();
        mesh.check_counters();
    });
    if let Err(panic) = outcome {
        eprintln!(
            "again: REDPOLL_FUZZ_SEED={seed} REDPOLL_FUZZ_STEPS={ROUND} \
             cargo test -p redpoll-stack --test radio_fuzz"
        );
        std::panic::resume_unwind(panic);
    }
}
