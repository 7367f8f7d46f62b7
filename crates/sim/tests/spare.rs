//! The border router's help for small windows, observed by the oracle.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

fn run(text: &str, seed: u64) -> Report {
    let scenario = Scenario::parse("spare", text, &[]).unwrap();
    let mut world = World::new(&scenario, seed).unwrap();
    world.run_until(Instant::ZERO + scenario.duration);
    let report = world.report();
    assert!(report.oracle.ok, "{text}: {:?}", report.oracle.violations);
    report
}

/// Runs transfers in both directions between the host and two nodes, one and three hops away, with
/// three seeds. Returns the report of the last seed.
fn both_ways(node: &str, host: &str, more: &str) -> Report {
    let text = format!(
        r#"
        duration = "5 min"
        border.host_transport = "{host}"
        border.spare_one_segment = true
        tcp.transport = "{node}"
        topology = {{ kind = "line", nodes = 4, spacing = "40 m" }}
        nodes.node-1.role = "border"
        {more}
        [apps.sink]
        type = "bulk-sink"
        on = ["host", "node-2", "node-4"]
        port = 5001
        [apps.up]
        type = "bulk-sender"
        on = ["node-2", "node-4"]
        to = "host:5001"
        total = "6000 B"
        resume = true
        [apps.near]
        type = "bulk-sender"
        on = "host"
        to = "node-2:5001"
        total = "6000 B"
        resume = true
        [apps.far]
        type = "bulk-sender"
        on = "host"
        to = "node-4:5001"
        total = "6000 B"
        resume = true
        "#
    );
    (1..=3).fold(run(&text, 1), |report, seed| match seed {
        1 => report,
        seed => run(&text, seed),
    })
}

/// Checks that every TCP that sends one segment at a time is assisted with every host, and that
/// data arrive although frames and packets are lost or duplicated.
#[test]
fn the_oracle_finds_no_violation_with_any_assisted_tcp() {
    let faults = r#"
        faults.frames = { type = "drop-frames", share = "5 %" }
        faults.packets = { type = "drop-packets", share = "3 %" }
        faults.again = { type = "duplicate-packets", share = "3 %" }
    "#;
    for node in ["blip", "uip-3.0", "uip-lim", "one-segment"] {
        for host in ["redpoll", "linux"] {
            let corrections = match node {
                "blip" => {
                    "rivals.blip_corrections = \"counter, syn, numbers\"\nrivals.blip_window = \"40 B\"\n"
                }
                _ => "rivals.segment_mss = \"462 B\"\n",
            };
            for faults in ["", faults] {
                let report = both_ways(node, host, &format!("{corrections}{faults}"));
                let spare = report.spare.expect("the border router reports the figures");
                assert!(spare.pieces > 20 && spare.halved > 20, "{node}: {spare:?}");
                for flow in &report.flows {
                    let arrived = flow.delivered_bytes;
                    assert!(arrived >= 6_000, "{node}, {host}: {} {arrived}", flow.name);
                }
            }
        }
    }
}

/// Checks that a TCP with a window of several segments is not affected.
#[test]
fn a_tcp_with_a_large_window_is_not_assisted() {
    let report = both_ways("redpoll", "redpoll", "");
    let spare = report.spare.expect("the border router reports the figures");
    assert_eq!((spare.flows, spare.pieces, spare.halved), (0, 0, 0));
}

/// Checks that with assistance, writes of 48 bytes to a node with a window of 40 bytes deliver more
/// bytes, in longer segments. Without assistance, Linux sends 40 bytes and, 200 ms later, 8 bytes.
#[test]
fn assisted_linux_sends_no_small_segments_for_a_small_window() {
    let down = |spares: bool| {
        let text = format!(
            r#"
            duration = "60 s"
            border.host_transport = "linux"
            border.spare_one_segment = {spares}
            rivals.linux_nagle = false
            rivals.linux_gso = false
            rivals.blip_window = "40 B"
            nodes.node-4.transport = "blip"
            topology = {{ kind = "line", nodes = 4, spacing = "40 m" }}
            nodes.node-1.role = "border"
            [apps.sensor]
            type = "sensor"
            on = "host"
            to = "node-4:5001"
            transport = "tcp"
            reading = "48 B"
            interval = "20 ms"
            [apps.sink]
            type = "bulk-sink"
            on = "node-4"
            port = 5001
            "#
        );
        let report = run(&text, 3);
        let into_mesh = report.spare.map(|spare| spare.pieces);
        (
            report.flows[0].delivered_bytes,
            into_mesh.unwrap_or(report.flows[0].segments_sent),
        )
    };
    let (without, scraps) = down(false);
    let (with, pieces) = down(true);
    println!("{without} B in {scraps}, {with} B in {pieces}");
    assert!(
        with as f64 > 1.5 * without as f64,
        "{without} -> {with} bytes"
    );
    let each = |(bytes, segments): (u64, u64)| bytes as f64 / segments as f64;
    assert!(
        each((with, pieces)) > 1.4 * each((without, scraps)),
        "{scraps}, {pieces}"
    );
}

/// Checks that assistance triples the goodput of a one-segment sender if ACKs are delayed.
#[test]
fn an_assisted_sender_does_not_wait_for_delayed_acknowledgments() {
    let up = |host: &str, spares: bool| {
        let text = format!(
            r#"
            duration = "60 s"
            border.host_transport = "{host}"
            border.spare_one_segment = {spares}
            tcp.transport = "one-segment"
            rivals.segment_mss = "462 B"
            topology = {{ kind = "line", nodes = 2, spacing = "40 m" }}
            nodes.node-1.role = "border"
            [apps.up]
            type = "bulk-sender"
            on = "node-2"
            to = "host:5001"
            [apps.sink]
            type = "bulk-sink"
            on = "host"
            port = 5001
            "#
        );
        run(&text, 3).flows[0].delivered_bytes as f64
    };
    let (without, with) = (up("redpoll", false), up("redpoll", true));
    println!("redpoll: {without} -> {with}");
    assert!(with > 3.0 * without, "{without} -> {with} bytes");
    // Linux's application reads, so acknowledgments are not delayed, and the help costs nothing.
    let (without, with) = (up("linux", false), up("linux", true));
    println!("linux: {without} -> {with}");
    assert!(with > 0.97 * without, "{without} -> {with} bytes");
}
