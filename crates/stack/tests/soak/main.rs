//! Many connections between two nodes in virtual time, over links that lose, duplicate and reorder
//! packets. A connection carries a few hundred bytes and is closed in any order, aborted, or
//! abandoned. Floods of SYNs come in between.
//!
//! The test fails on a wrong byte, a connection that fails without reason or never ends, a leaked
//! slot or datagram, or a growing process. The failure names the seed that reproduces it.
//! `REDPOLL_SOAK_CYCLES` is the number of connections (default 20,000; `make soak`: a million), and
//! `REDPOLL_SOAK_SEED` the seed.

#[path = "../common/mod.rs"]
#[allow(dead_code)]
mod common;
mod session;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use redpoll_testkit::Badness;
use world::World;

/// The link of each [`World`], from a good one to a very bad one.
const LINKS: [Badness; 5] = [
    link(0, 0, 0),
    link(1, 0, 2),
    link(3, 2, 5),
    link(8, 2, 10),
    link(15, 5, 20),
];
/// The allowed growth of the process after the first tenth of the work.
const GROWTH_KB: u64 = 1_024;

const fn link(loss: u32, duplication: u32, reordering: u32) -> Badness {
    Badness {
        loss,
        duplication,
        reordering,
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

#[test]
fn connections_over_years_leave_no_state() {
    let cycles = number("REDPOLL_SOAK_CYCLES", 20_000);
    let seed = number("REDPOLL_SOAK_SEED", 1);
    let again = format!(
        "REDPOLL_SOAK_SEED={seed} REDPOLL_SOAK_CYCLES={cycles} \
         cargo test --release -p redpoll-stack --test soak"
    );
    println!("again: {again}");
    let each = cycles.div_ceil(LINKS.len() as u64);
    let done = AtomicU64::new(0);
    let sizes = thread::scope(|scope| {
        let workers: Vec<_> = LINKS
            .iter()
            .map(|&badness| {
                let (done, again) = (&done, &again);
                scope.spawn(move || {
                    let tally = World::new(seed, badness).run(each, done, again);
                    println!("{badness:?}: {tally:?}");
                    assert_eq!(tally.cycles, each);
                })
            })
            .collect();
        let sizes = sample(each * LINKS.len() as u64, &done, || {
            workers.iter().all(|worker| worker.is_finished())
        });
        for worker in workers {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        sizes
    });
    println!("resident kB {sizes:?}");
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
        return;
    };
    assert!(
        *last <= first + GROWTH_KB,
        "memory grows: {sizes:?} kB, {again}"
    );
}

/// Returns the size of the process after each tenth of the work, and at its end.
fn sample(cycles: u64, done: &AtomicU64, is_over: impl Fn() -> bool) -> Vec<u64> {
    let mut sizes = Vec::new();
    let mut tenths = 0;
    while !is_over() {
        let now = done.load(Ordering::Relaxed);
        if now * 10 / cycles > tenths {
            tenths = now * 10 / cycles;
            eprintln!("{now} of {cycles}");
            sizes.extend(resident_kb());
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    sizes.extend(resident_kb());
    sizes
}

/// Returns the resident size, where the system reports it.
fn resident_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
