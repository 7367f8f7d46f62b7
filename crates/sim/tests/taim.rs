//! TAiM at the simulated border router.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

/// Runs three nodes in a line after the border router. The first and the last send as fast as they
/// can, a segment at a time: over one hop to the border router, and over three hops.
fn unequal(more: &[(&str, &str)]) -> Report {
    let text = r#"
        duration = "20 min"
        topology.kind = "line"
        topology.nodes = 4
        topology.spacing = "40 m"
        tcp.transport = "one-segment"
        tcp.ack_every = 1
        nodes.node-1.role = "border"
        apps.near.type = "bulk-sender"
        apps.near.on = "node-2"
        apps.near.to = "host:5001"
        apps.near.total = "10 MB"
        apps.far.type = "bulk-sender"
        apps.far.on = "node-4"
        apps.far.to = "host:5001"
        apps.far.total = "10 MB"
        apps.sink.type = "bulk-sink"
        apps.sink.on = "host"
        apps.sink.port = 5001
    "#;
    let more: Vec<_> = more
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::parse("unequal", text, &more).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::ZERO + scenario.duration);
    let report = world.report();
    assert!(report.oracle.ok, "{:?}", report.oracle.violations);
    report
}

/// Returns the byte count of the faster flow divided by that of the slower one, and the sum of the
/// two counts.
fn shares(report: &Report) -> (f64, f64) {
    let bytes = |name: &str| {
        let flow = report.flows.iter().find(|flow| flow.name == name);
        flow.unwrap().delivered_bytes as f64
    };
    let (near, far) = (bytes("near"), bytes("far"));
    (f64::max(near / far, far / near), near + far)
}

#[test]
fn two_unequal_flows_become_more_equal() {
    let (without, all_without) = shares(&unequal(&[]));
    let with = unequal(&[("border.taim", "true")]);
    let taim = with.taim.expect("the border router reports the figures");
    let (with, all_with) = shares(&with);
    println!("{without:.2} -> {with:.2}, {all_without} -> {all_with} B, {taim:?}");
    assert!(without > 2.0, "there is nothing to mend: {without}");
    assert!(with < 0.75 * without, "{without} -> {with}");
    assert!(all_with > 0.85 * all_without, "{all_without} -> {all_with}");
    assert!(taim.waited > 1_000 && taim.hurried == 0);
}
