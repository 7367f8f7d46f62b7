//! Whole worlds: nodes, radios, medium, applications, oracle, report.

use redpoll_base::{Instant, Rng};
use redpoll_sim::testing::fault::FaultSpec;
use redpoll_sim::testing::oracle::Retransmissions;
use redpoll_sim::{FaultRule, Report, Scenario, Secrets, When, World, WorldOptions};

fn scenario(name: &str) -> Scenario {
    Scenario::load(name, &[]).unwrap()
}

/// Returns nodes in a line; all except the first send readings to the first.
fn readings(nodes: usize, interval: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "20 s"
        [topology]
        kind = "line"
        nodes = {nodes}
        spacing = "40 m"
        [medium]
        model = "unit-disk"
        transmission_range = "50 m"
        interference_range = "50 m"
        carrier_sense_range = "50 m"
        [apps.readings]
        type = "sensor"
        on = "every other node"
        to = "node-1:5000"
        transport = "udp"
        reading = "50 B"
        interval = "{interval}"
        "#
    );
    Scenario::parse("readings", &text, &[]).unwrap()
}

fn run(scenario: &Scenario, seed: u64, ms: u64) -> (World, Report) {
    let mut world = World::new(scenario, seed).unwrap();
    world.run_until(Instant::from_millis(ms));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    assert!(report.oracle.ok);
    (world, report)
}

#[test]
fn readings_arrive_over_four_hops() {
    let (_, report) = run(&readings(5, "1 s"), 1, 20_000);
    assert_eq!(report.flows.len(), 4);
    for flow in &report.flows {
        assert!(flow.segment_loss < 0.06, "{flow:?}");
        assert!(flow.delivered_bytes >= 18 * 50, "{flow:?}");
    }
    for node in &report.nodes {
        assert!(node.memory_bytes < 64 * 1_024, "{node:?}");
        assert!((node.radio_duty_cycle - 1.0).abs() < 1e-9);
    }
}

#[test]
fn same_seed_same_digest() {
    let scenario = readings(5, "100 ms");
    let of = |seed| {
        let (world, report) = run(&scenario, seed, 5_000);
        (world.digest(), report.events)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).0, of(2).0);
}

#[test]
fn running_in_steps_is_running_at_once() {
    let scenario = readings(3, "100 ms");
    let (whole, _) = run(&scenario, 1, 3_000);
    let mut steps = World::new(&scenario, 1).unwrap();
    while let Some(at) = steps.next_event_at() {
        if at > Instant::from_millis(3_000) {
            break;
        }
        steps.run_until(at);
    }
    assert_eq!(whole.digest(), steps.digest());
}

#[test]
fn duplicated_frames_are_suppressed() {
    let mut scenario = readings(3, "200 ms");
    scenario.faults.push(FaultSpec {
        from: Instant::ZERO,
        until: Instant::FAR_FUTURE,
        rule: FaultRule::DuplicateFrames {
            from: None,
            to: None,
            probability: 0.5,
        },
    });
    let (_, report) = run(&scenario, 1, 20_000);
    let nodes = report.nodes.iter();
    let duplicates: u64 = nodes
        .filter_map(|node| node.drops.get("mac.duplicate"))
        .sum();
    assert!(duplicates > 50, "{duplicates}");
}

#[test]
fn the_grid_of_a_thousand_nodes_runs() {
    let (_, report) = run(&scenario("grid-1000"), 1, 20_000);
    let sent: u64 = report.flows.iter().map(|flow| flow.segments_sent).sum();
    let delivered: u64 = report
        .flows
        .iter()
        .map(|flow| flow.delivered_bytes / 50)
        .sum();
    // Twenty seconds include the start, when all nodes begin at the same time.
    assert!(delivered * 10 > sent * 7, "{delivered} of {sent}");
    let most = report.nodes.iter().map(|node| node.memory_bytes).max();
    assert!(most.unwrap() <= 64 * 1_024, "{most:?}");
}

fn keys(value: &serde_json::Value) -> Vec<&str> {
    let object = value.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

fn sorted(words: &str) -> Vec<&str> {
    let mut words: Vec<_> = words.split_whitespace().collect();
    words.sort_unstable();
    words
}

#[test]
fn the_report_is_the_object_that_scripts_rely_on() {
    let (_, report) = run(&readings(2, "1 s"), 7, 3_000);
    let object = serde_json::to_value(report).unwrap();
    assert_eq!(
        keys(&object),
        sorted(
            "version scenario seed medium simulated_s wall_s events peak_memory_bytes
            oracle flows air_time nodes interferers"
        )
    );
    let air_time = &object["air_time"];
    assert_eq!(keys(air_time), sorted("total_s control_share by_message"));
    assert_eq!(
        keys(&air_time["by_message"]),
        sorted("dio_multicast dio_unicast dis dao dao_ack nd mac ack fragment_ack icmp data other")
    );
    assert_eq!(
        keys(&air_time["by_message"]["data"]),
        sorted("frames air_s share")
    );
    assert_eq!(object["version"], 1);
    assert_eq!(object["scenario"], "readings");
    assert_eq!(object["seed"], 7);
    assert_eq!(object["simulated_s"], 3.0);
    assert_eq!(object["medium"]["model"], "unit-disk");
    assert_eq!(object["medium"]["transmission_range_m"], 50.0);
    assert_eq!(object["oracle"]["ok"], true);
    assert_eq!(
        keys(&object["flows"][0]),
        sorted(
            "name from to delivered_bytes goodput_kbps segments_sent sent_bytes segment_loss
            retransmissions rtt_ms readings last_arrival_s"
        )
    );
    assert_eq!(
        keys(&object["flows"][0]["readings"]),
        sorted(
            "made delivered lost under_way repeated reliability latency_ms
            goodput_per_40s_kbps"
        )
    );
    assert_eq!(
        keys(&object["flows"][0]["readings"]["latency_ms"]),
        sorted("min p25 p50 p75 p95 max")
    );
    assert_eq!(keys(&object["flows"][0]["rtt_ms"]), ["p50", "p95"]);
    assert_eq!(
        keys(&object["nodes"][0]),
        sorted(
            "name hops frames_sent frame_retries drops radio_duty_cycle energy data_requests
            parent_changes addresses_refused ecn_marks memory_bytes role position_m parent"
        )
    );
    assert!(object["peak_memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn bulk_over_each_line() {
    for hops in 1..=4 {
        let (_, report) = run(&scenario(&format!("line-{hops}")), 1, 60_000);
        let flow = &report.flows[0];
        assert!(flow.goodput_kbps > 10.0, "{flow:?}");
        assert!(flow.rtt_ms.p50.is_some());
        if flow.retransmissions == Retransmissions::default() {
            assert_eq!(flow.segment_loss, 0.0, "{flow:?}");
        }
    }
}

/// Returns ports and sequence numbers of the first connection requests from `office` to the host.
fn first_requests(secrets: Secrets) -> Vec<(u16, u32)> {
    let mut scenario = scenario("office");
    scenario.host = None;
    for node in scenario.nodes.iter_mut().chain(&mut scenario.host) {
        node.apps.retain(|app| app.when == When::Demo);
    }
    let options = WorldOptions {
        seed: Some(1),
        secrets,
        ..WorldOptions::default()
    };
    let mut world = World::with(scenario.clone(), options).unwrap();
    world.run_until(Instant::from_millis(2_500));
    let mut requests: Vec<_> = std::iter::from_fn(|| world.host_output())
        .filter(|packet| packet[6] == 6 && packet[53] & 0x12 == 0x02)
        .map(|packet| {
            let number = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            let sequence = u32::from(number(44)) << 16 | u32::from(number(46));
            (number(40), sequence)
        })
        .collect();
    requests.sort_unstable();
    requests.dedup();
    assert_eq!(requests.len(), 2, "an upload and a sensor");
    requests
}

/// Checks that a seed in a file, or the default seed, does not determine the ports and sequence
/// numbers of a mesh that is connected to a network.
#[test]
fn secrets_from_outside_do_not_follow_from_the_seed() {
    let of = |seed| {
        let mut rng = Rng::new(seed);
        Secrets::from_source(move |bytes| bytes.fill_with(|| rng.next_u32() as u8))
    };
    assert_eq!(
        first_requests(Secrets::default()),
        first_requests(Secrets::default())
    );
    assert_eq!(first_requests(of(7)), first_requests(of(7)));
    let all = [Secrets::default(), of(7), of(8)].map(first_requests);
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        for (a, b) in all[one].iter().zip(&all[other]) {
            assert!(a.0 != b.0 && a.1 != b.1, "{all:?}");
        }
    }
}

/// Checks that a duplicated datagram arrives twice, and that its bytes count once.
#[test]
fn datagrams_that_a_fault_duplicates_are_no_violations() {
    let text = r#"
        duration = "60 s"
        [topology]
        kind = "line"
        nodes = 2
        spacing = "10 m"
        [nodes.node-1]
        role = "border"
        [faults.again]
        type = "duplicate-packets"
        share = "50 %"
        [apps.readings]
        type = "sensor"
        on = "node-2"
        to = "host:PORT"
        transport = "TRANSPORT"
        reading = "50 B"
        interval = "1 s"
        [apps.server]
        type = "coap-server"
        on = "host"
        port = 5683
        [apps.sink]
        type = "bulk-sink"
        on = "host"
        port = 5001
    "#;
    for (transport, port) in [
        ("udp", "5000"),
        ("coap", "5683"),
        ("unreliable", "5683"),
        ("tcp", "5001"),
    ] {
        let text = text.replace("TRANSPORT", transport).replace("PORT", port);
        let scenario = Scenario::parse("again", &text, &[]).unwrap();
        let (_, report) = run(&scenario, 1, 60_000);
        let flow = &report.flows[0];
        assert!(
            (54..=60).contains(&(flow.delivered_bytes / 50)),
            "{transport}: {flow:?}"
        );
    }
}
