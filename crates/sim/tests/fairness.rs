//! A relay that sends as fast as it can, and through it another node: how they
//! share.

use redpoll_base::Instant;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::world::World;

/// Goodput in kb/s of a relay one hop from the sink, and of a node behind it.
fn own_and_forwarded(more: &[(&str, &str)]) -> (f64, f64) {
    let both = [
        ("apps.own.type", "bulk-sender"),
        ("apps.own.on", "node-2"),
        ("apps.own.to", "node-1:5001"),
        ("tcp.delayed_ack", "100 ms"),
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

/// Jain's index of two.
fn index(a: f64, b: f64) -> f64 {
    (a + b).powi(2) / (2.0 * (a * a + b * b))
}

/// What is forwarded takes twice the air, and each takes about as much of it:
/// datagrams take turns at the relay, and the node behind it gets what it can
/// bring there.
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
        assert!((0.9..1.5).contains(&of_air), "{how:?}: {of_air}");
    }
}
