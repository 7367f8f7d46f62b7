//! Scenario keys that imitate the TCP and the link of other stacks.

use redpoll_base::Instant;
use redpoll_sim::FlowFigures as Flow;
use redpoll_sim::{Scenario, World};

fn flow(name: &str, set: &[(&str, &str)]) -> Flow {
    let set: Vec<_> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &set).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(60_000));
    let mut report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    report.flows.swap_remove(0)
}

const LOSSY: (&str, &str) = ("mac.link_retry_delay", "0 ms");

/// Checks segments that the link drops after collisions. With link feedback TCP retransmits these
/// segments at once, and otherwise after acknowledgments or the timer.
#[test]
fn tcp_without_link_feedback_finds_losses_by_acknowledgments() {
    for mute in [("tcp.link_feedback", "false"), ("tcp.queue_window", "true")] {
        let (told, alone) = (flow("line-3", &[LOSSY]), flow("line-3", &[LOSSY, mute]));
        assert!(told.retransmissions.link_lost > 10, "{told:?}");
        assert_eq!(alone.retransmissions.link_lost, 0, "{alone:?}");
        let found = alone.retransmissions.fast + alone.retransmissions.rto;
        let before = told.retransmissions.fast + told.retransmissions.rto;
        assert!(found > before + 5, "{told:?}, {alone:?}");
    }
}

/// Checks that without RACK-TLP more losses are left to the timer.
#[test]
fn three_duplicates_leave_more_to_the_timer() {
    let mute = ("tcp.link_feedback", "false");
    let rack = flow("line-3", &[LOSSY, mute]).retransmissions;
    let duplicates = flow("line-3", &[LOSSY, mute, ("tcp.recovery", "duplicates")]);
    let duplicates = duplicates.retransmissions;
    assert!(duplicates.rto > rack.rto, "{rack:?}, {duplicates:?}");
    assert!(duplicates.fast < rack.fast, "{rack:?}, {duplicates:?}");
    assert_eq!(duplicates.tail, 0);
}

/// Checks that a window in the link's queue counts as in the network for TCP: the round trip covers
/// four segments, and the goodput is unchanged.
#[test]
fn a_queued_window_is_within_the_round_trip() {
    let four = [
        ("tcp.mss", "462 B"),
        ("tcp.send_buffer", "1848 B"),
        ("tcp.receive_buffer", "1848 B"),
    ];
    let pulled = flow("line-1", &four);
    let queued = flow(
        "line-1",
        &[&four[..], &[("tcp.queue_window", "true")]].concat(),
    );
    let under_way = |flow: &Flow| {
        let rtt_s = flow
            .rtt_ms
            .p50
            .expect("the flow has samples of the round-trip time")
            / 1_000.0;
        flow.goodput_kbps * 1_000.0 / 8.0 * rtt_s / 462.0
    };
    assert!((3.5..4.2).contains(&under_way(&queued)), "{queued:?}");
    assert!(under_way(&pulled) < 2.5, "{pulled:?}");
    let ratio = queued.goodput_kbps / pulled.goodput_kbps;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// Checks the cost of ten additional bytes in every frame: less payload, and longer frames.
#[test]
fn link_security_costs_the_air_time_of_its_bytes() {
    let plain = flow("line-1", &[("tcp.mss", "5 frames")]);
    let secured = flow(
        "line-1",
        &[("tcp.mss", "5 frames"), ("mac.security_bytes", "10")],
    );
    let ratio = secured.goodput_kbps / plain.goodput_kbps;
    // Four equally long frames carry 429 bytes instead of 466 (0.92). The partial fifth frame and
    // ACKs are 10 bytes longer than without security.
    assert!((0.85..0.92).contains(&ratio), "{ratio}");
}

/// Checks that each mechanism of TCP has a key that disables or replaces it, with an effect on the
/// air: sixteen segments over three hops that lose packets, without link feedback and timestamps.
/// Rate reduction and spurious timeout detection need larger windows and delays than a mesh has:
/// `algorithms.rs` of `redpoll-tcp` tests them.
#[test]
fn every_mechanism_has_a_key_that_counts() {
    let digest = |set: &[(&str, &str)]| {
        let base = [
            ("faults.loss.type", "drop-packets"),
            ("faults.loss.share", "1 %"),
            ("tcp.link_feedback", "false"),
            ("tcp.timestamps", "false"),
            ("tcp.send_buffer", "7392 B"),
            ("tcp.receive_buffer", "7392 B"),
        ];
        let set: Vec<_> = (base.iter().chain(set))
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let scenario = Scenario::load("line-3", &set).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(120_000));
        let report = world.report();
        assert_eq!(report.oracle.violations, [""; 0], "{set:?}");
        assert!(report.flows[0].goodput_kbps > 1.0, "{set:?}");
        world.digest()
    };
    let as_it_is = digest(&[]);
    let keys = [
        ("tcp.delayed_ack", "0 ms"),
        ("tcp.sack", "false"),
        ("tcp.rack", "false"),
        ("tcp.tail_probes", "false"),
        ("tcp.ecn", "off"),
        ("tcp.congestion", "cubic"),
        ("tcp.congestion", "off"),
    ];
    let without_effect: Vec<_> = (keys.iter())
        .filter(|key| digest(&[**key]) == as_it_is)
        .collect();
    assert!(without_effect.is_empty(), "{without_effect:?}");
    let each = [
        ("tcp.rack", "false"),
        ("tcp.prr", "false"),
        ("tcp.f_rto", "false"),
        ("tcp.new_start", "false"),
    ];
    let together = digest(&[("tcp.recovery", "duplicates")]);
    assert_eq!(digest(&each), together, "the same by its parts");
}

#[test]
fn loss_repair_mechanisms_are_selected_individually() {
    let repair = |key: &str| {
        let set = [(key.to_owned(), "false".to_owned())];
        let repair = Scenario::load("line-3", &set).unwrap().tcp.repair;
        let found = [repair.rack, repair.tail_probes];
        let after = [repair.prr, repair.f_rto, repair.new_start];
        (found, after)
    };
    assert_eq!(repair("tcp.nagle"), ([true; 2], [true; 3]));
    assert_eq!(repair("tcp.rack"), ([false; 2], [true; 3]));
    assert_eq!(repair("tcp.tail_probes"), ([true, false], [true; 3]));
    assert_eq!(repair("tcp.prr"), ([true; 2], [false, true, true]));
    assert_eq!(repair("tcp.f_rto"), ([true; 2], [true, false, true]));
    assert_eq!(repair("tcp.new_start"), ([true; 2], [true, true, false]));
}

#[test]
fn a_tail_is_not_probed_where_losses_are_not_found_by_time() {
    let set = [("tcp.rack", "false"), ("tcp.tail_probes", "true")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let error = Scenario::load("line-3", &set).unwrap_err().to_string();
    assert!(error.contains("tcp.tail_probes"), "{error}");
    assert!(error.contains("tcp.rack"), "{error}");
}
