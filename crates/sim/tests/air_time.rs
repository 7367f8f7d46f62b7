//! Air time by type of message.

use redpoll_base::{Duration, Instant};
use redpoll_sim::{RadioState, Report, Scenario, World};

/// A scenario, its overrides, and its simulated seconds.
type Case = (&'static str, &'static [(&'static str, &'static str)], u64);

const RPL: (&str, &str) = ("routing", "rpl");
const NON_STORING: (&str, &str) = ("rpl.mode", "non-storing");
const KEY: (&str, &str) = ("security.key", "000102030405060708090a0b0c0d0e0f");
const ENCRYPTED: (&str, &str) = ("security.level", "enc-mic-32");
const AUTHENTICATED: (&str, &str) = ("security.level", "mic-32");

fn run_until((name, set, _): Case, end: Instant) -> (World, Report) {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let set: Vec<_> = set.iter().map(own).collect();
    let scenario = Scenario::load(name, &set).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(end);
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0], "{name}");
    (world, report)
}

fn run(case: Case) -> (World, Report) {
    run_until(case, Instant::from_millis(case.2 * 1_000))
}

fn frames(report: &Report, message: &str) -> u64 {
    report.air_time.by_message[message].frames
}

/// Checks that each type of message is counted in a scenario in which nodes send it, with its air
/// time, and that no frame of Redpoll's nodes is counted as `other`.
#[test]
fn each_type_of_message_is_counted() {
    let storing: &[&str] = &[
        "dio_multicast",
        "dio_unicast",
        "dis",
        "dao",
        "dao_ack",
        "ack",
        "data",
    ];
    let non_storing: &[&str] = &["dio_multicast", "dis", "dao", "dao_ack", "icmp", "data"];
    let sleepy: &[&str] = &["mac", "nd", "ack", "data"];
    let cases: &[(Case, &[&str])] = &[
        (("office", &[RPL], 60), storing),
        (("office", &[RPL, ENCRYPTED, KEY], 60), storing),
        (("office", &[RPL, NON_STORING], 60), non_storing),
        (
            ("office", &[RPL, NON_STORING, ENCRYPTED, KEY], 60),
            non_storing,
        ),
        (("sleepy-3", &[], 60), sleepy),
        (("sleepy-3", &[ENCRYPTED, KEY], 60), sleepy),
        (
            ("sleepy-rpl", &[], 60),
            &["dio_multicast", "dao", "dao_ack", "mac", "nd", "data"],
        ),
        (
            ("line-3", &[("lowpan.fragment_recovery", "true")], 30),
            &["fragment_ack", "ack", "data"],
        ),
        (
            ("line-3", &[("lowpan.fragment_forwarding", "true")], 30),
            &["ack", "data"],
        ),
        (("grid-30", &[], 30), &["ack", "data"]),
        (
            ("line-2", &[("mac.access", "x-mac")], 30),
            &["mac", "ack", "data"],
        ),
        (("line-2", &[("mac.access", "lpp")], 30), &["mac", "data"]),
        (
            ("line-2", &[("mac.access", "contikimac")], 30),
            &["ack", "data"],
        ),
    ];
    let mut seen = Vec::new();
    for &(case, expected) in cases {
        let (_, report) = run(case);
        for message in expected {
            let entry = &report.air_time.by_message[message];
            assert!(entry.frames > 0, "{case:?}: no {message}");
            // The shortest frame, an acknowledgment, takes 352 µs; one may be in flight at the end.
            let least_s = (entry.frames - 1) as f64 * 352e-6;
            assert!(
                entry.air_s > 0.9999 * least_s,
                "{case:?}: {message} {entry:?}"
            );
            seen.push(*message);
        }
        assert_eq!(frames(&report, "other"), 0, "{case:?}");
    }
    // No node of these scenarios sends a frame of the type `other`.
    let (_, report) = run(("pair", &[], 1));
    for message in report.air_time.by_message.keys() {
        assert!(seen.contains(message) || *message == "other", "{message}");
    }
}

/// Checks that the air counts as many frames of each RPL message as the stack, with each kind of
/// protection. In this mesh, no RPL frame is retransmitted or fragmented.
#[test]
fn frames_of_rpl_are_those_that_the_stack_counts() {
    let quiet: [(&str, &str); 2] = [RPL, ("apps.bulk.start", "3600 s")];
    let all = [
        quiet.to_vec(),
        [quiet.to_vec(), vec![ENCRYPTED, KEY]].concat(),
        [quiet.to_vec(), vec![AUTHENTICATED, KEY]].concat(),
        [quiet.to_vec(), vec![NON_STORING]].concat(),
    ];
    for set in all {
        let set: &'static [_] = set.leak();
        let (_, report) = run(("line-1", set, 600));
        let retries: u64 = report.nodes.iter().map(|node| node.frame_retries).sum();
        assert_eq!(retries, 0);
        let sent = || {
            report
                .nodes
                .iter()
                .filter_map(|node| Some(&node.rpl.as_ref()?.sent))
        };
        let dios: u64 = sent().map(|it| u64::from(it.dio)).sum();
        let counted = frames(&report, "dio_multicast") + frames(&report, "dio_unicast");
        assert!(dios > 0 && counted == dios, "{set:?}: {counted} of {dios}");
        for (message, expected) in [
            ("dis", sent().map(|it| u64::from(it.dis)).sum::<u64>()),
            ("dao", sent().map(|it| u64::from(it.dao)).sum()),
            ("dao_ack", sent().map(|it| u64::from(it.dao_ack)).sum()),
        ] {
            assert!(expected > 0, "{set:?}: no {message}");
            assert_eq!(frames(&report, message), expected, "{set:?}: {message}");
        }
    }
}

/// Checks that the air time of all types is the time that radios spend transmitting, also while
/// frames are on the air, and that the shares add up to one.
#[test]
fn air_times_add_up_to_the_transmission_times_of_radios() {
    let cases: &[Case] = &[
        ("office", &[RPL], 0),
        ("office", &[RPL, ENCRYPTED, KEY], 0),
        ("grid-30", &[], 0),
        ("sleepy-3", &[], 0),
        ("line-2", &[("mac.access", "contikimac")], 0),
    ];
    let mut under_way = 0;
    for case in cases {
        for end_us in [20_000_000, 20_001_234, 20_003_456, 20_007_890] {
            let (world, report) = run_until(*case, Instant::from_micros(end_us));
            let sample = world.live_sample();
            let nodes = sample.nodes.iter();
            under_way += nodes
                .clone()
                .filter(|it| it.radio == RadioState::Transmit)
                .count();
            let spent = nodes.map(|node| node.spent(RadioState::Transmit));
            let spent_us: u64 = spent.map(Duration::as_micros).sum();
            let air = &report.air_time;
            let by_message = || air.by_message.values();
            let air_us: u64 = by_message().map(|it| (it.air_s * 1e6).round() as u64).sum();
            assert_eq!(air_us, spent_us, "{case:?} at {end_us} us");
            assert_eq!((air.total_s * 1e6).round() as u64, spent_us);
            let shares: f64 = by_message().map(|it| it.share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{case:?}: {shares}");
        }
    }
    assert!(under_way > 0, "no run ends during a frame");
}
