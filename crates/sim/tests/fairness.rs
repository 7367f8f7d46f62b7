//! Fairness between a saturated relay and a node whose packets it forwards.

use redpoll_base::Instant;
use redpoll_sim::{Scenario, World};

/// Returns the goodput in kb/s of a relay one hop from the sink, and of a node two hops away.
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

fn index(a: f64, b: f64) -> f64 {
    (a + b).powi(2) / (2.0 * (a * a + b * b))
}

/// Checks that both flows get about equal air time, although a forwarded packet needs twice as
/// much: datagrams take turns at the relay.
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
        // A ratio of 1 means equal shares of the air, 2 equal goodput.
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

/// Checks that the flows of leaves three to five hops away, through the same relays, get equal
/// goodput. With plain random early detection, a flow's share depends on its round-trip time.
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

/// Returns the goodput of the flows of `grid-30` to a host behind the corner, seed 1, in 400 s.
fn grid_to_host(on: &str, set: &[(&str, &str)]) -> Vec<f64> {
    let border = [
        ("nodes.node-1.role", "border"),
        ("routing", "fixed"),
        ("apps.sink.on", "host"),
        ("apps.bulk.to", "host:5001"),
        ("apps.bulk.on", on),
    ];
    let set = border.iter().chain(set);
    let set: Vec<_> = set
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load("grid-30", &set).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(400_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    report.flows.iter().map(|flow| flow.goodput_kbps).collect()
}

fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    sum * sum / (values.len() as f64 * squares)
}

const FIND: &[(&str, &str)] = &[
    ("border.fair_queue", "drr"),
    ("fair_queue.spacing", "10 ms"),
    ("fair_queue.longest_spacing", "200 ms"),
];

#[test]
fn a_shaper_that_finds_its_rate_makes_flows_of_a_mesh_equal() {
    let on: Vec<_> = (2..=30).map(|n| format!("'node-{n}'")).collect();
    let on = format!("[{}]", on.join(", "));
    let (constant, found) = (grid_to_host(&on, &FIND[..2]), grid_to_host(&on, FIND));
    let (before, after) = (jain(&constant), jain(&found));
    assert!(after >= 0.9, "{after}");
    assert!(before < 0.6, "{before}: there is nothing left to mend");
    // Equal shares at the upper bound are 63.5 kb/s together. A shaper that is too slow carries
    // less.
    let together = found.iter().sum::<f64>();
    assert!(together > 0.40 * 63.5, "{together} kb/s");
}

#[test]
fn a_shaper_that_finds_its_rate_leaves_a_lone_flow_alone() {
    for node in ["node-2", "node-9", "node-30"] {
        let on = format!("['{node}']");
        let (none, found) = (grid_to_host(&on, &[]), grid_to_host(&on, FIND));
        assert!(found[0] >= 0.98 * none[0], "{node}: {found:?} of {none:?}");
    }
}
