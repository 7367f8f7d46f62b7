//! Connections to and from the kernel by the tens of thousands: they are opened, transfer a few
//! hundred bytes in each direction, and are closed, on nodes that run all the time.
//!
//! Every byte must arrive, no step may take long, and in the end every slot is free and the process
//! is as large as in the beginning. `REDPOLL_SOAK_CYCLES` (2,000 unless set; `make soak` has
//! 100,000) and `REDPOLL_SOAK_SEED` are the number and the seed of the connections.

#[path = "../common/mod.rs"]
mod common;
mod cycle;
#[path = "../common/node.rs"]
mod node;
mod world;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::Case;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use world::World;

/// Nodes, each with its interface and addresses: together they have more pairs
/// of ports than TIME-WAIT can hold.
const WORKERS: u64 = 4;
const FIRST_PREFIX: u16 = 0x500;
/// Limit of the growth of the process's memory after the first tenth of the work, in kB.
const GROWTH_KB: u64 = 1_024;

fn main() -> ExitCode {
    common::main_with(vec![Case::new("the_kernel_and_nodes_all_day", soak)], 1)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

fn soak() {
    let cycles = number("REDPOLL_SOAK_CYCLES", 2_000);
    let seed = number("REDPOLL_SOAK_SEED", 1);
    println!(
        "again: REDPOLL_SOAK_SEED={seed} REDPOLL_SOAK_CYCLES={cycles} \
         cargo test --release -p redpoll-linux --test soak"
    );
    let done = AtomicU64::new(0);
    let begun = Instant::now();
    let mut sizes = Vec::new();
    let tally = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let done = &done;
                scope.spawn(move || work(worker, share(cycles, worker), seed, done))
            })
            .collect();
        let bar = bar(cycles);
        let mut sampled = 0;
        while workers.iter().any(|worker| !worker.is_finished()) {
            let now = done.load(Ordering::Relaxed);
            bar.set_position(now);
            if now * 10 / cycles.max(1) > sampled {
                sampled += 1;
                sizes.push(resident_kb());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bar.finish_and_clear();
        let tallies = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        tallies.fold(cycle::Tally::default(), cycle::Tally::add)
    });
    let seconds = begun.elapsed().as_secs_f64();
    sizes.push(resident_kb());
    println!(
        "{cycles} cycles in {seconds:.1} s, {:.0} a second; {tally:?}; resident kB {sizes:?}",
        cycles as f64 / seconds
    );
    assert_eq!(tally.cycles, cycles);
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    assert!(last <= first + GROWTH_KB, "memory grows: {sizes:?} kB");
}

fn share(cycles: u64, worker: u64) -> u64 {
    cycles / WORKERS + u64::from(worker < cycles % WORKERS)
}

fn work(worker: u64, cycles: u64, seed: u64, done: &AtomicU64) -> cycle::Tally {
    let prefix = FIRST_PREFIX + worker as u16;
    let mut world = World::new(prefix, seed);
    let mut tally = cycle::Tally::default();
    for number in 0..cycles {
        cycle::run(&mut world, seed, number, &mut tally);
        done.fetch_add(1, Ordering::Relaxed);
    }
    world.finish();
    tally
}

fn bar(cycles: u64) -> ProgressBar {
    // The bar is hidden without a terminal.
    let bar = ProgressBar::with_draw_target(Some(cycles), ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is /proc");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.expect("the kernel tells the size")
}
