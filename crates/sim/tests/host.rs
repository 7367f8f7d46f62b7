//! The border router's host side: packets in and out of the mesh.

use redpoll_base::{Duration, Ecn, Instant};
use redpoll_sim::testing::fault::FaultSpec;
use redpoll_sim::{FaultRule, Scenario, World};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

fn echo_request(scenario: &Scenario, to: &str, seq: u16) -> Vec<u8> {
    let message = Message::EchoRequest {
        ident: 7,
        seq,
        data: &[0x5a; 200],
    };
    let header = Ipv6Header {
        dscp: 0,
        ecn: Ecn::NotEct,
        flow_label: 0,
        payload_len: message.len() as u16,
        next_header: next_header::ICMPV6,
        hop_limit: 64,
        src: scenario.border.host,
        dst: scenario.address(scenario.node(to).unwrap()).unwrap(),
    };
    let mut packet = vec![0; 40 + message.len()];
    let mut out = Cursor::new(&mut packet);
    header.emit(&mut out).unwrap();
    message.emit(&header.src, &header.dst, &mut out).unwrap();
    packet
}

/// Sends a ping each second to `to` and counts the answers.
fn pings(scenario: &Scenario, to: &str, count: u16) -> (World, u32) {
    let mut world = World::new(scenario, 1).unwrap();
    let mut answers = 0;
    for seq in 0..count {
        let request = echo_request(scenario, to, seq);
        world.host_input(&request);
        let until = world.now() + Duration::from_secs(1);
        world.run_until(until);
        while let Some(packet) = world.host_output() {
            let (header, payload) = Ipv6Header::parse(&packet).unwrap();
            assert_eq!(header.dst, scenario.border.host);
            if let Ok(Message::EchoReply { seq: got, data, .. }) = Message::parse(&header, payload)
            {
                assert_eq!((got, data), (seq, &[0x5a; 200][..]));
                answers += 1;
            }
        }
    }
    (world, answers)
}

fn office() -> Scenario {
    let mut scenario = Scenario::load("office", &[]).unwrap();
    for node in scenario.nodes.iter_mut().chain(&mut scenario.host) {
        node.apps.clear();
    }
    scenario
}

#[test]
fn a_leaf_answers_pings_from_the_host() {
    let (mut world, answers) = pings(&office(), "leaf-14", 10);
    assert_eq!(answers, 10);
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    assert_eq!(world.gate().counters().to_mesh, 10);
}

#[test]
fn packets_that_do_not_belong_into_the_mesh_are_counted() {
    let scenario = office();
    let mut world = World::new(&scenario, 1).unwrap();
    let mut foreign = echo_request(&scenario, "leaf-14", 0);
    foreign[24] ^= 0xff;
    world.host_input(&foreign);
    world.host_input(&[0x45; 60]);
    world.host_input(&[]);
    let mut rng = redpoll_base::Rng::new(1);
    for _ in 0..1_000 {
        let garbage: Vec<u8> = (0..rng.below(200)).map(|_| rng.next_u32() as u8).collect();
        world.host_input(&garbage);
    }
    world.run_until(Instant::from_millis(100));
    let counters = *world.gate().counters();
    assert_eq!(counters.foreign_destination, 1);
    assert_eq!(counters.malformed, 1_002);
    assert_eq!(counters.to_mesh, 0);
}

#[test]
fn a_packet_to_an_unused_address_does_not_loop() {
    let scenario = office();
    let mut world = World::new(&scenario, 1).unwrap();
    let mut packet = echo_request(&scenario, "leaf-14", 0);
    packet[38..40].copy_from_slice(&[0x77, 0x77]);
    world.host_input(&packet);
    world.run_until(Instant::from_millis(5_000));
    while let Some(packet) = world.host_output() {
        let (header, payload) = Ipv6Header::parse(&packet).unwrap();
        // The only answer is an ICMPv6 error about the packet.
        let message = Message::parse(&header, payload).unwrap();
        let is_error = matches!(message, Message::DestinationUnreachable { .. });
        assert!(is_error, "{message:?}");
    }
}

#[test]
fn faults_drop_and_double_packets_of_the_host() {
    for (rule, expected) in [
        (FaultRule::DropPackets { probability: 1.0 }, 0),
        (FaultRule::DuplicatePackets { probability: 1.0 }, 4 * 5),
    ] {
        let mut scenario = office();
        scenario.faults.push(FaultSpec {
            from: Instant::ZERO,
            until: Instant::FAR_FUTURE,
            rule,
        });
        let (_, answers) = pings(&scenario, "node-2", 5);
        assert_eq!(answers, expected);
    }
}

/// Checks that pings fail while the relays are off, and succeed afterwards.
#[test]
fn a_relay_that_is_off_cuts_its_leaf_off() {
    let mut scenario = office();
    for node in 1..11 {
        scenario.faults.push(FaultSpec {
            from: Instant::ZERO,
            until: Instant::from_millis(5_000),
            rule: FaultRule::NodeOff { node },
        });
    }
    let (mut world, answers) = pings(&scenario, "leaf-14", 10);
    assert_eq!(answers, 5);
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    let off = report.nodes[1].radio_duty_cycle;
    assert!((off - 0.5).abs() < 0.01, "{off}");
}

#[test]
fn pings_cross_a_sinr_medium() {
    let overrides = [
        ("medium.model", "sinr"),
        ("medium.tx_power", "-8 dBm"),
        ("medium.shadowing_sigma", "2 dB"),
    ];
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let mut scenario = match Scenario::load("office", &overrides) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    };
    for node in scenario.nodes.iter_mut().chain(&mut scenario.host) {
        node.apps.clear();
    }
    let (mut world, answers) = pings(&scenario, "leaf-14", 10);
    assert!(answers >= 8, "{answers}");
    assert_eq!(world.report().oracle.violations, [""; 0]);
}

/// Checks forty packets in one burst, more than a border router has slots for.
#[test]
fn packets_wait_at_the_host_until_the_border_router_has_room() {
    let burst = |queue: usize| {
        let mut scenario = office();
        scenario.border.queue = queue;
        let mut world = World::new(&scenario, 1).unwrap();
        for seq in 0..40 {
            let to = ["node-3", "leaf-12", "leaf-13", "leaf-14", "leaf-15"][seq % 5];
            world.host_input(&echo_request(&scenario, to, seq as u16));
        }
        world.run_until(Instant::from_millis(30_000));
        let answers = std::iter::from_fn(|| world.host_output()).count();
        let drops = world.report().nodes[0].drops.clone();
        let count = |name: &str| drops.get(name).copied().unwrap_or(0);
        (
            answers,
            count("ip.no_packet_slot"),
            count("host.to_mesh_full"),
        )
    };
    let (answers, no_slot, full) = burst(500);
    assert_eq!((no_slot, full), (0, 0));
    // The missing answers were lost on the air.
    assert!(answers >= 30, "{answers} of 40");
    let (answers, no_slot, full) = burst(0);
    assert!(no_slot >= 20 && full == 0, "{no_slot} {full}");
    assert!(answers <= 20, "{answers}");
    let (_, no_slot, full) = burst(4);
    assert!(no_slot == 0 && full >= 15, "{no_slot} {full}");
}

/// Checks that a leaf reassembles an echo request from two IPv6 fragments of the host.
#[test]
fn a_leaf_reassembles_ipv6_fragments() {
    let mut scenario = office();
    let cut = |scenario: &Scenario, offset: u16, more: bool, data: &[u8]| {
        let whole = echo_request(scenario, "leaf-14", 0);
        let header = Ipv6Header {
            next_header: 44,
            payload_len: 8 + data.len() as u16,
            ..Ipv6Header::parse(&whole).unwrap().0
        };
        let [high, low] = (offset | u16::from(more)).to_be_bytes();
        let fragment = [58, 0, high, low, 0, 0, 0, 1];
        [&header.to_bytes()[..], &fragment, data].concat()
    };
    let echo = |scenario: &Scenario| {
        let mut world = World::new(scenario, 1).unwrap();
        let whole = echo_request(scenario, "leaf-14", 0);
        // The fragments arrive in reverse order.
        world.host_input(&cut(scenario, 96, false, &whole[136..]));
        world.host_input(&cut(scenario, 0, true, &whole[40..136]));
        world.run_until(Instant::from_millis(5_000));
        let answers = std::iter::from_fn(|| world.host_output()).map(|packet| packet[40]);
        answers.collect::<Vec<_>>()
    };
    // A packet that may be an ICMPv6 error is not answered by an ICMPv6 error.
    assert_eq!(echo(&scenario), [0; 0]);
    scenario.lowpan.join_fragments = true;
    assert_eq!(echo(&scenario), [129]);
}
