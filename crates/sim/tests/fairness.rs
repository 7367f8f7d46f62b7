//! Fairness between a saturated relay and a node whose packets it forwards.

use redpoll_base::Instant;
use redpoll_sim::{Scenario, World};

/// Returns the goodput in kb/s of a relay one hop from the sink, and of a node two hops from the
/// sink.
fn own_and_forwarded(more: &[(&str, &str)]) -> (f64, f64) {
    let both = [
        ("apps.own.type", "bulk-sender"),
        ("apps.own.on", "node-2"),
        ("apps.own.to", "node-1:5001"),
        ("tcp.delayed_ack", "100 ms"),
        // With windows of three segments, marks have little effect.
        ("tcp.send_buffer", "1948 B"),
        ("tcp.receive_buffer", "1948 B"),
    ];
    let set = both.iter().chain(more);
    let set: Vec<_> = set
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load("line-2", &set).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(120_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    let of = |node: &str| {
        let mut flows = report.flows.iter();
        let flow = flows.find(|flow| flow.from == node).expect("a flow");
        flow.goodput_kbps
    };
    (of("node-2"), of("node-3"))
}

/// Returns Jain's index of two values.
fn index(a: f64, b: f64) -> f64 {
    (a + b).powi(2) / (2.0 * (a * a + b * b))
}

/// Checks that both flows get about the same air time, although a forwarded frame needs twice as
/// much: datagrams take turns at the relay, and the farther node gets the share that its own hop
/// allows.
#[test]
fn a_relay_serves_others_as_well_as_itself() {
    for (how, least) in [
        (&[][..], 0.90),
        (&[("lowpan.fragment_forwarding", "true")], 0.94),
        (&[("lowpan.fragment_recovery", "true")], 0.92),
    ] {
        let (own, forwarded) = own_and_forwarded(how);
        let found = index(own, forwarded);
        assert!(found > least, "{how:?}: {own} and {forwarded}, {found}");
        let of_air = 2.0 * forwarded / own;
        // 1: equal shares of the air; 2: equal goodput.
        assert!((0.9..2.0).contains(&of_air), "{how:?}: {of_air}");
    }
}

/// Returns Jain's index of the goodput of `four-flows`, seed 1, in 300 s.
fn four_flows(set: &[(&str, &str)]) -> f64 {
    let set: Vec<_> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load("four-flows", &set).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(300_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    let (mut sum, mut squares) = (0.0, 0.0);
    for flow in &report.flows {
        sum += flow.goodput_kbps;
        squares += flow.goodput_kbps * flow.goodput_kbps;
    }
    sum * sum / (report.flows.len() as f64 * squares)
}

/// Checks leaves of three to five hops through the same relays. With plain random early detection,
/// a flow's share depends on its round trip.
#[test]
fn marks_by_shares_make_flows_of_different_length_equal() {
    let plain = [("lowpan.red_fair", "false"), ("lowpan.red_pause", "0 ms")];
    let (plain, fair) = (four_flows(&plain), four_flows(&[]));
    assert!(fair >= 0.98, "{fair}");
    assert!(plain < 0.96, "{plain}: there is nothing left to mend");
}

#[test]
fn marks_by_shares_hold_for_a_relay_s_own_traffic() {
    let red = ("lowpan.red", "true");
    let (own, forwarded) = own_and_forwarded(&[red]);
    let (found, without) = (index(own, forwarded), own_and_forwarded(&[]));
    let without = index(without.0, without.1);
    assert!(found > 0.95, "{own} and {forwarded}, {found}");
    assert!(found > without + 0.01, "{found}, {without} without");
}
