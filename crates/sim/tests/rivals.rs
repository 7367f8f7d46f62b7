//! Nodes with other TCP implementations, in combination with one another and with Redpoll's.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

/// Runs a bulk transfer of `bytes` bytes over a line of two nodes with these TCPs.
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

/// Returns corrections of BLIP against uIP: BLIP mistakes sequence numbers near zero, where uIP's
/// begin, for old ones, and resets the answer to its own SYN.
fn corrections(sender: &str, receiver: &str) -> &'static [(&'static str, &'static str)] {
    let begins_at_nought = receiver.starts_with("uip") || receiver == "one-segment";
    match sender == "blip" && begins_at_nought {
        true => &[("rivals.blip_corrections", "counter, syn, old")],
        false => &[],
    }
}

#[test]
fn blip_as_it_was_corrected_opens_no_connection_to_uip() {
    let report = transfer("blip", "uip-2.5", 2_000, &[]);
    assert_eq!(report.flows[0].delivered_bytes, 0);
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
        "linux",
        #[cfg(feature = "smoltcp")]
        "smoltcp",
    ];
    for sender in all {
        for receiver in all {
            let report = transfer(sender, receiver, 2_000, corrections(sender, receiver));
            let flow = &report.flows[0];
            assert_eq!(flow.delivered_bytes, 2_000, "{sender} to {receiver}");
        }
    }
}

const BYTES: u64 = 1_500;

/// Checks each rival over three hops, once with lost and once with duplicated frames; the oracle
/// observes every byte. A sender that gives up restarts at the first byte.
#[test]
fn losses_and_doubles_cost_time_and_no_byte() {
    let all = [
        "uip-2.5",
        "uip-3.0",
        "uip-lim",
        "blip",
        "one-segment",
        "linux",
    ];
    for (transport, seed) in all.into_iter().zip(1..) {
        for (faults, duration) in [("lose", 900), ("double", 200)] {
            let kind = match faults {
                "lose" => "type = \"lose-frames\"\nshare = \"5 %\"",
                _ => "type = \"duplicate-frames\"\nshare = \"20 %\"",
            };
            let text = format!(
                r#"
                duration = "{duration} s"
                tcp.transport = "{transport}"
                mac.max_frame_retries = 0
                [topology]
                kind = "line"
                nodes = 4
                spacing = "40 m"
                [apps.sink]
                type = "bulk-sink"
                on = "node-1"
                port = 5001
                [apps.bulk]
                type = "bulk-sender"
                on = "node-4"
                to = "node-1:5001"
                total = "{BYTES} B"
                [faults.bad]
                {kind}
                "#
            );
            let scenario = Scenario::parse("bad", &text, &[]).unwrap();
            let mut world = World::new(&scenario, seed).unwrap();
            world.run_until(Instant::ZERO + scenario.duration);
            let report = world.report();
            let flow = &report.flows[0];
            assert!(
                report.oracle.ok,
                "{transport}: {:?}",
                report.oracle.violations
            );
            assert!(
                flow.delivered_bytes >= BYTES,
                "{transport}, {faults}: {}",
                flow.delivered_bytes
            );
        }
    }
}

/// Checks that BLIP's connection ends with the seventh transmission by its timer, regardless of
/// acknowledgments, unless this is corrected (Kim et al. 2015).
#[test]
fn stock_blip_does_not_keep_a_connection() {
    let stock = transfer(
        "blip",
        "redpoll",
        3_000,
        &[("rivals.blip_corrections", "none")],
    );
    let corrected = transfer("blip", "redpoll", 3_000, &[]);
    assert_eq!(corrected.flows[0].delivered_bytes, 3_000);
    // The stock BLIP sends at most seven buffers of 150 bytes. Its peer mistakes the next
    // connection, with the same port and sequence number, for the old one.
    let delivered = stock.flows[0].delivered_bytes;
    assert!(delivered <= 7 * 150, "{delivered} bytes");
}

/// Checks that a host with Linux cuts each write of 48 bytes if the node's window is 40 bytes: 40
/// bytes leave when the probe timer expires, and 8 bytes after the acknowledgment of the 40 bytes.
#[test]
fn a_window_of_one_short_segment_makes_linux_send_scraps() {
    let run = |window: &str| {
        let text = format!(
            r#"
            duration = "60 s"
            border.host_transport = "linux"
            rivals.linux_nagle = false
            rivals.blip_window = "{window} B"
            nodes.node-2.transport = "blip"
            [topology]
            kind = "line"
            nodes = 2
            spacing = "40 m"
            [nodes.node-1]
            role = "border"
            [apps.sensor]
            type = "sensor"
            on = "host"
            to = "node-2:5001"
            transport = "tcp"
            reading = "48 B"
            interval = "1 s"
            [apps.sink]
            type = "bulk-sink"
            on = "node-2"
            port = 5001
            "#
        );
        let scenario = Scenario::parse("down", &text, &[]).unwrap();
        let mut world = World::new(&scenario, 3).unwrap();
        world.run_until(Instant::ZERO + scenario.duration);
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
        let flow = &report.flows[0];
        (flow.delivered_bytes, flow.segments_sent)
    };
    let (whole, few) = run("200");
    let (scraps, many) = run("40");
    assert!(
        whole >= 55 * 48 && scraps >= 55 * 48,
        "{whole} and {scraps} bytes"
    );
    assert!(many as f64 > 1.9 * few as f64, "{many} segments, not {few}");
}

/// Checks smoltcp at both ends of one hop and of three, in both directions at the same time: each
/// flow arrives completely, without waiting for a timer.
#[cfg(feature = "smoltcp")]
#[test]
fn smoltcp_carries_a_flow_each_way() {
    for (nodes, last) in [(2, "node-2"), (4, "node-4")] {
        let text = format!(
            r#"
            duration = "300 s"
            tcp.transport = "smoltcp"
            [topology]
            kind = "line"
            nodes = {nodes}
            spacing = "40 m"
            [apps.up]
            type = "bulk-sender"
            on = "{last}"
            to = "node-1:5001"
            total = "20000 B"
            [apps.down]
            type = "bulk-sender"
            on = "node-1"
            to = "{last}:5002"
            total = "20000 B"
            [apps.up-sink]
            type = "bulk-sink"
            on = "node-1"
            port = 5001
            [apps.down-sink]
            type = "bulk-sink"
            on = "{last}"
            port = 5002
            "#
        );
        let scenario = Scenario::parse("both ways", &text, &[]).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::ZERO + scenario.duration);
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
        assert_eq!(report.flows.len(), 2);
        for flow in &report.flows {
            assert_eq!(flow.delivered_bytes, 20_000, "{nodes} nodes");
        }
    }
}

#[cfg(not(feature = "smoltcp"))]
#[test]
fn without_smoltcp_the_scenario_is_refused_with_the_reason() {
    let text = "topology.kind = \"line\"\ntopology.nodes = 2\ntopology.spacing = \"40 m\"\ntcp.transport = \"smoltcp\"\n";
    let error = Scenario::parse("line", text, &[]).unwrap_err().to_string();
    assert!(error.contains("tcp.transport"), "{error}");
    assert!(error.contains("built without smoltcp"), "{error}");
}

/// Checks that the MSS leaves room for RPL's headers, although a larger one is configured: for each
/// implementation, in both modes and directions, over one hop and over three.
#[test]
fn the_largest_segments_fit_beside_rpls_headers() {
    for (transport, mss) in [
        ("uip-2.5", "rivals.uip_mss = \"1220 B\""),
        ("uip-3.0", "rivals.uip_mss = \"1220 B\""),
        ("uip-lim", "rivals.uip_mss = \"1220 B\""),
        ("blip", "rivals.blip_mss = \"1220 B\""),
        ("one-segment", "rivals.segment_mss = \"1220 B\""),
        // The MSS of this one is always the largest.
        ("linux", ""),
        #[cfg(feature = "smoltcp")]
        ("smoltcp", "tcp.mss = \"1200 B\""),
    ] {
        for (mode, nodes) in [
            ("storing", 2),
            ("storing", 4),
            ("non-storing", 2),
            ("non-storing", 4),
        ] {
            for (from, to) in [(nodes, 1), (1, nodes)] {
                let text = format!(
                    r#"
                    duration = "240 s"
                    routing = "rpl"
                    rpl.mode = "{mode}"
                    tcp.transport = "{transport}"
                    {mss}
                    [topology]
                    kind = "line"
                    nodes = {nodes}
                    spacing = "40 m"
                    [apps.bulk]
                    type = "bulk-sender"
                    on = "node-{from}"
                    to = "node-{to}:5001"
                    total = "5000 B"
                    start = "60 s"
                    [apps.sink]
                    type = "bulk-sink"
                    on = "node-{to}"
                    port = 5001
                    "#
                );
                let scenario = Scenario::parse("largest", &text, &[]).unwrap();
                let mut world = World::new(&scenario, 1).unwrap();
                world.run_until(Instant::ZERO + scenario.duration);
                let report = world.report();
                let what = format!("{transport}, {mode}, {from} to {to}");
                assert!(report.oracle.ok, "{what}: {:?}", report.oracle.violations);
                assert_eq!(report.flows[0].delivered_bytes, 5_000, "{what}");
            }
        }
    }
}
