//! A border router, a router, a leaf, a leaf that sleeps and a host, among whom
//! everything that a radio can do goes wrong: frames cut, changed, joined, doubled,
//! held back and sent in anybody's name, data requests that nobody made, results of
//! works that the radio never had, time that jumps by milliseconds or by days. With the
//! features of RPL every second mesh finds its ways itself, in either mode, and with the feature
//! `security` every fifth mesh protects its frames.
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
mod sealed;
mod ways;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mesh::Mesh;

/// Steps of one mesh, behind which all must be quiet.
const ROUND: u64 = 20_000;

/// What a round reaches at least, on average: see [`Mesh::reach`].
const LEAST: [u64; 5] = [1_000, 100, 50, 50, 100];

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
    // A campaign that comes nowhere would be passed by anybody.
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

/// One round, and how far it came; a panic in it names the seed.
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
