//! `redpoll taim` on packets that this kernel forwards, between real TCP sockets of
//! namespaces of their own: unequal flows, a sudden end under load, and who may not.

#[path = "../../../linux/tests/common/mod.rs"]
mod common;
mod daemon;
mod net;
mod sudden;

use std::os::unix::process::CommandExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::Case;
use daemon::{Daemon, figure, processor_seconds};
use net::{IP6TABLES, MESH, Network, Pour, ip6tables};
use nix::sys::signal::Signal;
use sudden::{
    ctrl_c_sets_free, ctrl_z_sets_free, killed_under_load, killed_with_thousands, stopped,
    supervised,
};

fn main() -> ExitCode {
    common::main_with(
        vec![
            Case::with(IP6TABLES, "unequal_flows_become_more_equal", more_equal),
            Case::with(
                IP6TABLES,
                "killed_under_load_no_flow_breaks",
                killed_under_load,
            ),
            Case::with(IP6TABLES, "a_flow_in_the_lead_waits", lead_is_limited),
            Case::with(IP6TABLES, "ctrl_c_sets_free_what_is_held", ctrl_c_sets_free),
            Case::with(
                IP6TABLES,
                "five_thousand_flows_take_less_than_a_core",
                many_flows,
            ),
            Case::with(
                IP6TABLES,
                "ctrl_z_sets_free_and_continues",
                ctrl_z_sets_free,
            ),
            Case::with(
                IP6TABLES,
                "stopped_without_notice_it_soon_lets_all_pass",
                stopped,
            ),
            Case::with(IP6TABLES, "a_supervisor_hears_of_it", supervised),
            Case::with(
                IP6TABLES,
                "forged_flows_take_nothing_from_honest_ones",
                forged_flows,
            ),
            Case::with(
                IP6TABLES,
                "killed_with_thousands_of_flows_none_breaks",
                killed_with_thousands,
            ),
            Case::with(IP6TABLES, "who_may_not_is_told_what_to_do", refusals),
        ],
        1,
    )
}

/// Refuses to let the forwarded TCP packets by without the queue, but for a bypass.
fn rules(queue: &str) {
    for way in ["-i", "-o"] {
        ip6tables(&[
            "-A",
            "FORWARD",
            way,
            MESH,
            "-p",
            "tcp",
            "-j",
            "NFQUEUE",
            "--queue-num",
            queue,
            "--queue-bypass",
        ]);
    }
}

/// What the faster flow had, divided by what the slower one had, in so many seconds.
fn ratio(network: &Network, seconds: u64) -> f64 {
    let bytes = network.upload(Duration::from_secs(seconds), 1);
    println!("near {} far {}", bytes[0], bytes[1]);
    bytes[0] as f64 / bytes[1] as f64
}

fn more_equal() {
    // A window of some packets over 10 and 80 ms there and back, and one packet in a
    // hundred lost.
    let network = Network::new(1, [5, 40]);
    ip6tables(&[
        "-I",
        "FORWARD",
        "-m",
        "statistic",
        "--mode",
        "random",
        "--probability",
        "0.01",
        "-j",
        "DROP",
    ]);
    rules("11");
    let without = ratio(&network, 6);
    let args = [
        "--queue",
        "11",
        "--delay",
        "8",
        "--period",
        "1",
        "--metrics",
        "127.0.0.1:0",
        "--json",
        "-",
        "--every",
        "2",
    ];
    let daemon = Daemon::start(&args);
    let with = ratio(&network, 10);
    let metrics = daemon.metrics();
    for name in [
        "redpoll_taim_delay_seconds 0.",
        "redpoll_taim_flow_throughput_bytes_per_second{a=\"[fd72:",
        "redpoll_taim_flow_rtt_seconds{",
        "redpoll_taim_flow_queue_packets{",
        "redpoll_taim_flow_wait_seconds_total{",
    ] {
        assert!(metrics.contains(name), "no {name} in {metrics}");
    }
    let (code, json) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    println!("{without:.2} -> {with:.2}; {}", last["totals"]);
    assert_eq!(last["flows"].as_array().map(Vec::len), Some(2));
    assert!(
        last["flows"][0]["rtt_s"]
            .as_f64()
            .is_some_and(|rtt| rtt > 0.005),
        "{last}"
    );
    assert!(without > 2.5, "there is nothing to mend: {without}");
    assert!(with < 0.7 * without, "{without} -> {with}");
}

fn lead_is_limited() {
    let network = Network::new(6, [5, 40]);
    rules("16");
    let without = ratio(&network, 4);
    let daemon = Daemon::start(&["--queue", "16", "--policy", "lead", "--json", "-"]);
    let with = ratio(&network, 8);
    let (code, json) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    println!("{without:.2} -> {with:.2}; {}", last["totals"]);
    assert!(without > 2.5, "there is nothing to mend: {without}");
    assert!(with < 0.5 * without, "{without} -> {with}");
}

/// How many forged flows there are: a million take a minute.
fn forged_count() -> u32 {
    let long = std::env::var("TAIM_FORGED").ok();
    long.and_then(|text| text.parse().ok()).unwrap_or(200_000)
}

fn forged_flows() {
    let network = Network::new(9, [5, 20]);
    let pour = Pour::new(10);
    rules("20");
    // Room for packets that come while others have the processor.
    let args = [
        "--queue",
        "20",
        "--delay",
        "4",
        "--margin",
        "8192",
        "--metrics",
        "127.0.0.1:0",
    ];
    let (daemon, in_time) = Daemon::start_in_time(&args);
    let count = forged_count();
    let time = Duration::from_millis(u64::from(count) / 20 + 2_000);
    let alone: u64 = network.upload(time, 2).iter().sum();
    let before = daemon.memory();
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let flood = std::thread::spawn(move || pour.forged(count, &is_over));
    let beside: u64 = network.upload(time, 2).iter().sum();
    over.store(true, Ordering::Relaxed);
    let [sent, arrived] = flood.join().expect("the flood ends");
    let after = daemon.memory();
    let share = 100.0 * beside as f64 / alone as f64;
    println!(
        "{sent} forged flows, {arrived} arrived; honest flows had {alone} B, {beside} B beside them: {share:.1} %; \
         {before} KiB before, {after} after; real-time: {in_time}"
    );
    assert!(sent > count / 4, "{sent}");
    assert!(
        arrived > sent / 10 * 9,
        "forged ones pass as well: {arrived} of {sent}"
    );
    assert!(share > 90.0, "{share:.1} %");
    assert!(after < 32 << 10, "{after} KiB");
    drop(daemon);
}

fn many_flows() {
    // All wait from their third packet on; 20,000 of 5,000 flows leave every second.
    let args = [
        "--queue",
        "16",
        "--delay",
        "0.05",
        "--min-delay",
        "0.05",
        "--margin",
        "8192",
        "--metrics",
        "127.0.0.1:0",
        "--json",
        "-",
    ];
    net::flush();
    let pour = Pour::new(4);
    rules("16");
    let (daemon, in_time) = Daemon::start_in_time(&args);
    let before = processor_seconds(daemon.child.id());
    let (flows, packets) = (5_000, 60_000);
    let begun = Instant::now();
    let arrived = pour.flows(flows, packets);
    let spent = processor_seconds(daemon.child.id()) - before;
    let each = spent * 1e6 / f64::from(packets);
    let metrics = daemon.metrics();
    let held = figure(&metrics, "redpoll_taim_flows ");
    let released = figure(&metrics, "redpoll_taim_released_total ");
    let memory = daemon.memory();
    let (_, json) = daemon.end(Signal::SIGINT);
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let late = last["late_p99_us"].as_f64().expect("it is told");
    println!(
        "{packets} packets in {:.1} s, {arrived} arrived, {released} had waited; {held} flows; \
         {each:.1} us of processor time each; late {late} us at the 99th percentile, \
         real-time: {in_time}; {memory} KiB",
        begun.elapsed().as_secs_f64(),
    );
    assert_eq!(arrived, packets);
    assert_eq!(held as u32, flows);
    assert!(
        released > 0.9 * f64::from(packets - 2 * flows),
        "{released}"
    );
    assert!(each < 50.0, "one core does not carry 20,000 a second");
    assert!(memory < 32 << 10, "{memory} KiB");
    // Else it is as late as others let it be.
    assert!(!in_time || late <= 1_024.0, "{late} us");
}

fn refusals() {
    let daemon = Daemon::start(&["--queue", "14"]);
    let second = Daemon::command(&["--queue", "14"]).output().unwrap();
    let line = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{line}");
    assert!(
        line.contains("queue 14 is taken by another program: end that"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
    drop(daemon);

    // Nobody, who has no capability. That needs more than one user in this namespace.
    let nobody = Daemon::command(&["--queue", "15"]).uid(65_534).output();
    if let Ok(nobody) = nobody {
        let line = String::from_utf8_lossy(&nobody.stderr).into_owned();
        assert_eq!(nobody.status.code(), Some(1), "{line}");
        assert!(
            line.contains("no permission to use NFQUEUE (needs root, or CAP_NET_ADMIN"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
    }

    let wrong = Daemon::command(&["--queue", "15", "--delay", "1", "--min-delay", "2"]).output();
    let wrong = wrong.unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
