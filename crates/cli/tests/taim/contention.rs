//! Packets wait only while flows compete for a slow mesh.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::daemon::{Daemon, figure};
use crate::net::Network;
use crate::rules;
use crate::tell::{Must, tell};

const LEN: usize = 100_000;
const RUNS: usize = 9;

/// Returns the median time of a transfer of 100 kB of a single flow, in seconds.
fn transfer(network: &Network) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| network.transfer(LEN).as_secs_f64())
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

pub fn alone() {
    let network = Network::new(51, [10, 10]);
    rules("51");
    let without = transfer(&network);
    let args = ["--queue", "51", "--metrics", "127.0.0.1:0"];
    let daemon = Daemon::spawn(Daemon::plain(&args));
    let with = transfer(&network);
    let metrics = daemon.metrics();
    assert_eq!(figure(&metrics, "redpoll_taim_released_total "), 0.0);
    let passed = figure(&metrics, "redpoll_taim_uncontended_total ");
    assert!(passed > 100.0, "{passed}");
    daemon.end(Signal::SIGINT);
    let daemon = Daemon::start(&args);
    let always = network.transfer(LEN).as_secs_f64();
    daemon.end(Signal::SIGINT);
    let [without, with, always] = [without, with, always].map(|s| (s * 1e3).round());
    let most = (1.1 * without).round();
    tell(&[
        ("100 kB of one flow, without it", Must::Be, without, "ms"),
        (
            "100 kB of one flow, with it",
            Must::AtMost(most),
            with,
            "ms",
        ),
        (
            "100 kB of one flow, with --always",
            Must::AtLeast(1_000.0),
            always,
            "ms",
        ),
    ]);
}

/// Returns how many bytes each flow delivers in 25 s, the near one first.
fn both(network: &Network) -> [f64; 2] {
    let bytes = network.upload(Duration::from_secs(25), 1);
    println!("near {} far {}", bytes[0], bytes[1]);
    bytes.map(|bytes| bytes as f64)
}

pub fn competing() {
    // The nodes share a medium that carries a packet in 30 ms; the far node has a smaller window.
    let medium = Duration::from_millis(30);
    let network = Network::with_medium(52, [5, 40], medium);
    rules("52");
    let [near, far] = both(&network);
    let without = near / far;
    let args = ["--queue", "52", "--metrics", "127.0.0.1:0"];
    let daemon = Daemon::spawn(Daemon::plain(&args));
    let [near, far] = both(&network);
    let with = near / far;
    let released = figure(&daemon.metrics(), "redpoll_taim_released_total ");
    daemon.end(Signal::SIGINT);
    tell(&[
        (
            "bytes of the near flow per byte of the far one, without",
            Must::AtLeast(1.8),
            without,
            "",
        ),
        (
            "bytes of the near flow per byte of the far one, with it",
            Must::AtMost(0.75 * without),
            with,
            "",
        ),
        ("packets that waited", Must::AtLeast(100.0), released, ""),
    ]);
}

/// Checks that packets of two flows do not wait in a fast mesh.
pub fn fast() {
    let network = Network::new(53, [1, 2]);
    rules("53");
    let sum = |network: &Network| {
        network
            .upload(Duration::from_secs(6), 1)
            .iter()
            .sum::<u64>() as f64
    };
    let without = sum(&network);
    let args = ["--queue", "53", "--metrics", "127.0.0.1:0"];
    let daemon = Daemon::spawn(Daemon::plain(&args));
    let with = sum(&network);
    let released = figure(&daemon.metrics(), "redpoll_taim_released_total ");
    daemon.end(Signal::SIGINT);
    tell(&[
        (
            "bytes of two flows without the program",
            Must::Be,
            without,
            "B",
        ),
        (
            "bytes of two flows with the program",
            Must::AtLeast(0.85 * without),
            with,
            "B",
        ),
        ("packets that waited", Must::AtMost(0.0), released, ""),
    ]);
}
