//! `redpoll taim` on packets that this kernel forwards, between real TCP sockets in namespaces:
//! unequal flows, a sudden end under load, and missing rights.

#[path = "../../../linux/tests/common/mod.rs"]
mod common;
mod contention;
mod daemon;
mod dist;
mod given_up;
mod net;
#[path = "../support/processor.rs"]
mod processor;
#[path = "../support/rights.rs"]
mod rights;
mod rules;
mod service;
mod sudden;
#[path = "../support/mod.rs"]
mod support;
mod tell;

use std::os::unix::process::CommandExt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use common::Case;
use daemon::{Daemon, figure};
use given_up::{no_users, shapes_as_another_user, shapes_as_root};
use net::{Flood, IP6TABLES, MESH, Network, Pour, ip6tables};
use nix::sys::signal::Signal;
use processor::processor_seconds;
use sudden::{
    ctrl_c_sets_free, ctrl_z_sets_free, killed_under_load, killed_with_thousands, stopped,
    supervised,
};
use tell::{Must, tell};

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
            Case::with(
                IP6TABLES,
                "every_query_of_the_dashboard_finds_its_metric",
                dist::dashboard,
            ),
            Case::unless(dist::no_systemd, "systemd_accepts_the_units", dist::units),
            Case::new(
                "the_example_has_every_setting_with_its_default",
                dist::example,
            ),
            Case::new(
                "a_fatal_error_has_its_severity_in_the_journal",
                service::a_fatal_error_has_its_severity,
            ),
            Case::with(IP6TABLES, "ctrl_c_sets_free_what_is_held", ctrl_c_sets_free),
            Case::with(IP6TABLES, "a_single_flow_is_not_delayed", contention::alone),
            Case::with(
                IP6TABLES,
                "competing_flows_of_a_slow_mesh_become_more_equal",
                contention::competing,
            ),
            Case::with(
                IP6TABLES,
                "flows_of_a_fast_mesh_are_not_delayed",
                contention::fast,
            ),
            Case::with(
                IP6TABLES,
                "sighup_reads_the_settings_again",
                service::reloads,
            ),
            Case::with(
                IP6TABLES,
                "a_full_disk_loses_reports_and_no_packets",
                service::full_disk,
            ),
            Case::with(
                IP6TABLES,
                "settings_come_from_the_command_line_and_the_file",
                service::settings,
            ),
            Case::with(
                IP6TABLES,
                "the_log_has_losses_and_interfaces",
                service::logs,
            ),
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
            Case::unless(
                no_users,
                "with_one_capability_as_another_user_it_shapes_packets",
                shapes_as_another_user,
            )
            .needing(IP6TABLES),
            Case::unless(
                no_users,
                "with_one_capability_as_root_it_shapes_packets",
                shapes_as_root,
            )
            .needing(IP6TABLES),
            Case::with(
                "ip6tables-legacy",
                "the_firewall_keeps_deciding_with_legacy_rules",
                || firewall_decides("ip6tables-legacy", 21),
            ),
            Case::with(
                "ip6tables-nft",
                "the_firewall_keeps_deciding_with_nftables_rules",
                || firewall_decides("ip6tables-nft", 22),
            ),
            Case::with(
                "ip6tables-legacy",
                "rules_are_installed_checked_and_removed_with_legacy_ip6tables",
                || rules::installed(rules::Firewall::Ip6tables("ip6tables-legacy"), 31),
            ),
            Case::with(
                "ip6tables-nft",
                "rules_are_installed_checked_and_removed_with_nftables_ip6tables",
                || rules::installed(rules::Firewall::Ip6tables("ip6tables-nft"), 32),
            ),
            Case::unless(
                rules::no_nft_queue,
                "rules_are_installed_checked_and_removed_with_nft",
                || rules::installed(rules::Firewall::Nft, 33),
            )
            .needing("nft"),
            Case::with(
                "ip6tables-legacy",
                "dangerous_rules_are_found_with_legacy_ip6tables",
                || rules::dangers(rules::Firewall::Ip6tables("ip6tables-legacy"), 34),
            ),
            Case::with(
                "ip6tables-nft",
                "dangerous_rules_are_found_with_nftables_ip6tables",
                || rules::dangers(rules::Firewall::Ip6tables("ip6tables-nft"), 35),
            ),
            Case::unless(
                rules::no_nft_queue,
                "dangerous_rules_are_found_with_nft",
                || rules::dangers(rules::Firewall::Nft, 36),
            )
            .needing("nft"),
            Case::with(
                "ip6tables-legacy",
                "a_failure_leaves_no_half_of_the_rules_with_legacy_ip6tables",
                || rules::failures("ip6tables-legacy", 37),
            ),
            Case::with(
                "ip6tables-nft",
                "a_failure_leaves_no_half_of_the_rules_with_nftables_ip6tables",
                || rules::failures("ip6tables-nft", 38),
            ),
        ],
        1,
    )
}

/// Sends the forwarded TCP packets through the queue, in the table mangle.
fn rules(queue: &str) {
    rules_of(IP6TABLES, queue);
}

fn rules_of(program: &str, queue: &str) {
    for way in ["-i", "-o"] {
        let rule = [
            "-t",
            "mangle",
            "-I",
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
        ];
        net::rule(program, &rule);
    }
}

/// Checks that the firewall of an operator still drops its packets and passes others: without the
/// program, with it, stopped and killed. Also shows that all packets pass if the queue is in the
/// table `filter`, before the rules of the firewall.
fn firewall_decides(program: &'static str, number: u16) {
    let queue = number.to_string();
    let network = Network::new(number, [1, 1]);
    net::flush_with(program);
    let drop = [
        "-A", "FORWARD", "-p", "tcp", "--dport", "6001", "-j", "DROP",
    ];
    net::rule(program, &drop);
    assert_eq!(reached(&network), [true, false], "before");
    rules_of(program, &queue);
    assert_eq!(reached(&network), [true, false], "without the program");
    let daemon = Daemon::start(&["--queue", &queue, "--delay", "1"]);
    assert_eq!(reached(&network), [true, false], "with the program");
    daemon.signal(Signal::SIGTSTP);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(reached(&network), [true, false], "stopped");
    daemon.signal(Signal::SIGCONT);
    std::thread::sleep(Duration::from_millis(300));
    let _ = daemon.end(Signal::SIGKILL);
    assert_eq!(reached(&network), [true, false], "killed");
    net::flush_with(program);
    net::rule(program, &drop);
    let dangerous = ["-I", "FORWARD", "-p", "tcp", "-j", "NFQUEUE", "--queue-num"];
    net::rule(
        program,
        &[&dangerous[..], &[&queue, "--queue-bypass"]].concat(),
    );
    assert_eq!(reached(&network), [true, true], "the table filter");
    net::flush_with(program);
}

/// Returns whether a node can connect to ports 6000 and 6001 of the host.
fn reached(network: &Network) -> [bool; 2] {
    [6_000, 6_001].map(|port| network.connects(port, Duration::from_millis(400)))
}

/// Returns the near flow's byte count divided by the far flow's, after `seconds` seconds.
fn ratio(network: &Network, seconds: u64) -> f64 {
    let bytes = network.upload(Duration::from_secs(seconds), 1);
    println!("near {} far {}", bytes[0], bytes[1]);
    bytes[0] as f64 / bytes[1] as f64
}

fn more_equal() {
    // Two flows with round-trip times of 10 and 80 ms. The loss of one packet in a hundred keeps
    // their windows at a few packets.
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

/// Time for which honest flows are counted, with or without forged flows.
const TURN: Duration = Duration::from_secs(12);
/// Maximum number of turns in which a million forged flows are made: half an hour.
const TURNS: u32 = 130;

/// Returns the number of forged flows, and the largest number of turns in which they are made.
/// `TAIM_FORGED` sets the number; then all are made, although a million flows take minutes.
fn forged_count() -> (u32, u32) {
    let long = std::env::var("TAIM_FORGED").ok();
    let count = long.map(|text| text.parse().expect("TAIM_FORGED is a number"));
    count.map_or((200_000, 1), |count| (count, TURNS))
}

fn forged_flows() {
    let network = Network::new(9, [5, 20]);
    let pour = Pour::new(10);
    rules("20");
    // `--margin`: room for packets that arrive while other processes use the processor.
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
    let (count, turns) = forged_count();
    let alone: u64 = network.upload(TURN, 2).iter().sum();
    let before = daemon.memory();
    let flood = Flood::start(pour, count);
    let mut beside = Vec::new();
    // By default a quarter of the flows suffices, for which a busy machine needs several turns.
    let least = match turns {
        1 => count / 4,
        _ => count,
    };
    let is_short = |turn| turn < turns || turn < TURNS && flood.sent() < least;
    while !flood.is_over() && is_short(beside.len() as u32) {
        let bytes: u64 = network.upload(TURN, 2).iter().sum();
        // A turn during which the flood ended does not measure the flood's effect.
        if beside.is_empty() || !flood.is_over() {
            beside.push(bytes);
        }
        println!("{} of {count} forged flows so far", flood.sent());
    }
    let [sent, arrived] = flood.end();
    let after = daemon.memory();
    let mean = beside.iter().sum::<u64>() as f64 / beside.len() as f64;
    println!(
        "honest flows transferred {alone} B in {TURN:?} alone, and {beside:?} B next to forged \
         flows; real-time priority: {in_time}"
    );
    let share = 100.0 * mean / alone as f64;
    let passed = 100.0 * f64::from(arrived) / f64::from(sent);
    let (before, after) = (before as f64, after as f64);
    tell(&[
        ("forged flows", Must::AtLeast(least.into()), sent.into(), ""),
        (
            "share of forged flows that pass",
            Must::AtLeast(90.0),
            passed,
            "%",
        ),
        (
            "throughput of honest flows next to forged flows",
            Must::AtLeast(90.0),
            share,
            "%",
        ),
        (
            "total memory before the forged flows",
            Must::Be,
            before,
            "KiB",
        ),
        (
            "total memory after the forged flows",
            Must::AtMost(32_768.0),
            after,
            "KiB",
        ),
    ]);
    drop(daemon);
}

const PLACES: f64 = 8_192.0;

fn many_flows() {
    // All 5,000 flows wait from their third packet on, and 20,000 packets leave in a second.
    let args = [
        "--queue",
        "16",
        "--flows",
        "8192",
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
    let rate = f64::from(packets) / begun.elapsed().as_secs_f64();
    let each = spent * 1e6 / f64::from(packets);
    let metrics = daemon.metrics();
    let held = figure(&metrics, "redpoll_taim_flows ");
    let released = figure(&metrics, "redpoll_taim_released_total ");
    let memory = daemon.memory();
    let (_, json) = daemon.end(Signal::SIGINT);
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let late = last["late_p99_us"]
        .as_f64()
        .expect("the file has the figure");
    println!("{arrived} packets arrived, {released} had waited; real-time: {in_time}");
    assert_eq!(arrived, packets);
    assert_eq!(held as u32, flows);
    assert!(
        released > 0.9 * f64::from(packets - 2 * flows),
        "{released}"
    );
    // Without real-time priority, the lateness depends on other processes.
    let late_must = if in_time {
        Must::AtMost(1_000.0)
    } else {
        Must::Be
    };
    let of_a_flow = memory as f64 * 1_024.0 / PLACES;
    // In a build without optimisation, the metrics server's code takes 1.5 MB of the memory.
    let each_must = if cfg!(debug_assertions) {
        Must::Be
    } else {
        Must::AtMost(2_048.0)
    };
    tell(&[
        ("concurrent flows", Must::AtLeast(5_000.0), held, ""),
        ("packets per second", Must::Be, rate, ""),
        // A core carries 20,000 packets per second if each packet takes less than 50 µs.
        (
            "processor time per packet, including the kernel",
            Must::AtMost(50.0),
            each,
            "us",
        ),
        (
            "delay after the due time, 99th percentile",
            late_must,
            late,
            "us",
        ),
        ("total memory", Must::AtMost(32_768.0), memory as f64, "KiB"),
        (
            "total memory per place in the table of flows",
            each_must,
            of_a_flow,
            "B",
        ),
    ]);
}

fn refusals() {
    let daemon = Daemon::start(&["--queue", "14"]);
    let second = Daemon::command(&["--queue", "14"]).output().unwrap();
    let line = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{line}");
    assert!(
        line.contains("queue 14 is used by another program: end that program"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
    drop(daemon);

    // The user `nobody` has no capability. This needs more than one user in this namespace.
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
