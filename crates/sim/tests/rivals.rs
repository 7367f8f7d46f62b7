//! Nodes with other TCPs: beside each other, and beside Redpoll's.

use redpoll_base::Instant;
use redpoll_sim::report::Report;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::world::World;

/// A bulk transfer of so many bytes over a line of two nodes, by these TCPs.
fn transfer(sender: &str, receiver: &str, bytes: u32, more: &[(&str, &str)]) -> Report {
    let text = format!(
        r#"
        topology.kind = "line"
        topology.nodes = 2
        topology.spacing = "10 m"
        nodes.node-1.transport = "{receiver}"
        nodes.node-2.transport = "{sender}"
        apps.bulk.type = "bulk-sender"
        apps.bulk.on = "node-2"
        apps.bulk.to = "node-1:5001"
        apps.bulk.total = "{bytes} B"
        apps.sink.type = "bulk-sink"
        apps.sink.on = "node-1"
        apps.sink.port = 5001
        "#
    );
    let more: Vec<_> = more
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::parse("two", &text, &more).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::ZERO + scenario.duration);
    let report = world.report();
    assert!(report.oracle.ok, "{:?}", report.oracle.violations);
    report
}

#[test]
fn every_tcp_sends_to_every_other() {
    let all = [
        "redpoll",
        "uip-2.5",
        "uip-3.0",
        "uip-lim",
        "blip",
        "one-segment",
    ];
    for sender in all {
        for receiver in all {
            let report = transfer(sender, receiver, 2_000, &[]);
            let flow = &report.flows[0];
            println!(
                "{sender} -> {receiver}: {:.2} kb/s {:?}",
                flow.goodput_kbps, flow.retransmissions
            );
            assert_eq!(flow.delivered_bytes, 2_000, "{sender} to {receiver}");
        }
    }
}
