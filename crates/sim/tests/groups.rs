//! Multicast groups: a host outside finds CoAP servers in a mesh (RFC 7731, RFC 7252 §8).

use std::collections::BTreeSet;

use redpoll_base::{Addr, Duration};
use redpoll_sim::{Scenario, World};
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::udp::UdpHeader;

/// All CoAP Nodes, site-local.
const GROUP: Addr = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
const SERVERS: &str = "[apps.server]\ntype = \"coap-server\"\non = \"every node\"\n";

fn scenario(text: &str) -> Scenario {
    Scenario::parse("groups", &format!("{text}\n{SERVERS}"), &[]).unwrap()
}

fn grid(routing: &str, forwarding: &str) -> Scenario {
    scenario(&format!(
        "routing = \"{routing}\"\n\
         multicast.forwarding = \"{forwarding}\"\n\
         [topology]\nkind = \"grid\"\ncolumns = 4\nrows = 4\nspacing = \"35 m\"\n\
         [radio]\nmodel = \"ideal\"\n[nodes.node-1]\nrole = \"border\"\n"
    ))
}

/// GET /.well-known/core to a group, non-confirmable, with the token `number`.
fn discovery(scenario: &Scenario, group: Addr, number: u8) -> Vec<u8> {
    let mut coap = vec![0x51, 1, 0x20, number, number, 0xbb];
    coap.extend(b".well-known");
    coap.push(4);
    coap.extend(b"core");
    let src = scenario.border.host;
    let udp = UdpHeader::for_payload(&src, 40_000, &group, 5_683, &coap).unwrap();
    let header = Ipv6Header {
        payload_len: udp.length,
        next_header: next_header::UDP,
        hop_limit: 16,
        src,
        dst: group,
        ..Ipv6Header::default()
    };
    [&header.to_bytes()[..], &udp.to_bytes(), &coap].concat()
}

/// Returns the answers that reached the host: the token, sender and time in milliseconds of each.
fn answers(world: &mut World, time: Duration) -> Vec<(u8, Addr, u64)> {
    let mut all = Vec::new();
    let end = world.now() + time;
    while world.now() < end {
        let next = world.now() + Duration::from_millis(10);
        world.run_until(next);
        while let Some(packet) = world.host_output() {
            let (header, payload) = Ipv6Header::parse(&packet).unwrap();
            assert_eq!(header.next_header, next_header::UDP);
            let coap = &payload[8..];
            // NON 2.05 with the links.
            assert_eq!((coap[0], coap[1]), (0x51, 0x45), "{coap:?}");
            assert!(coap.ends_with(b"</>,</file>,</store>"));
            all.push((coap[4], header.src, world.now().as_millis()));
        }
    }
    all
}

fn total(world: &mut World, drop: &str) -> u64 {
    let report = world.report();
    let drops = report.nodes.iter().map(|node| node.drops.get(drop));
    drops.flatten().sum()
}

/// Checks that a host finds all servers of a mesh, which answer once each, at different times.
#[test]
fn a_host_finds_every_server_of_a_mesh() {
    for routing in ["fixed", "rpl"] {
        let scenario = grid(routing, "mpl");
        let mut world = World::new(&scenario, 1).unwrap();
        // RPL has found the routes by then.
        world.run_until(world.now() + Duration::from_secs(60));
        let begun = world.now().as_millis();
        world.host_input(&discovery(&scenario, GROUP, 7));
        let found = answers(&mut world, Duration::from_secs(10));
        let servers: BTreeSet<Addr> = found.iter().map(|(_, from, _)| *from).collect();
        let nodes = (1..16).filter_map(|node| scenario.address(node));
        for node in nodes {
            assert!(servers.contains(&node), "{routing}: {node} {found:?}");
        }
        assert_eq!(servers.len(), found.len(), "{routing}: each answers once");
        let times: Vec<u64> = found.iter().map(|(_, _, at)| at - begun).collect();
        assert!(times.iter().all(|at| *at < 6_500), "{times:?}");
        let early = times.iter().filter(|at| **at < 2_500).count();
        assert!((2..14).contains(&early), "{times:?}");
        assert_eq!(total(&mut world, "multicast.limited"), 0);
    }
}

#[test]
fn without_forwarding_packets_to_groups_stay_outside() {
    let scenario = grid("fixed", "none");
    let mut world = World::new(&scenario, 1).unwrap();
    world.host_input(&discovery(&scenario, GROUP, 7));
    assert_eq!(answers(&mut world, Duration::from_secs(7)), []);
    assert_eq!(total(&mut world, "host.not_for_mesh"), 1);
}

/// Checks that packets to other groups, to link groups, or from spoofed nodes stay outside.
#[test]
fn only_discovery_enters_the_mesh() {
    let scenario = grid("fixed", "mpl");
    let mut world = World::new(&scenario, 1).unwrap();
    let mut others = [GROUP; 3];
    // SSDP, mDNS of the link, and MPL's own group.
    others[0].0[15] = 0x0c;
    (others[1].0[1], others[1].0[15]) = (2, 0xfb);
    (others[2].0[1], others[2].0[15]) = (3, 0xfc);
    for group in others {
        world.host_input(&discovery(&scenario, group, 7));
    }
    let mut spoofed = discovery(&scenario, GROUP, 7);
    spoofed[8..24].copy_from_slice(&scenario.address(3).unwrap().0);
    world.host_input(&spoofed);
    assert_eq!(answers(&mut world, Duration::from_secs(7)), []);
    assert_eq!(total(&mut world, "multicast.foreign_group"), 2);
    assert_eq!(total(&mut world, "host.not_for_mesh"), 1);
    assert_eq!(total(&mut world, "host.spoofed_source"), 1);
}

/// Checks 50 requests a second: the border router admits 4 at once, and one more every 2 s.
#[test]
fn a_flood_is_limited_at_the_border() {
    let scenario = grid("fixed", "mpl");
    let mut world = World::new(&scenario, 1).unwrap();
    let mut found = BTreeSet::new();
    for number in 0..500_u16 {
        let mut request = discovery(&scenario, GROUP, number as u8);
        // Each request gets its own message ID, so its UDP checksum is computed again.
        request[51] = request[51].wrapping_add((number >> 8) as u8);
        let coap = request[48..].to_vec();
        let src = scenario.border.host;
        let udp = UdpHeader::for_payload(&src, 40_000, &GROUP, 5_683, &coap).unwrap();
        request[40..48].copy_from_slice(&udp.to_bytes());
        world.host_input(&request);
        found.extend(answers(&mut world, Duration::from_millis(20)));
    }
    found.extend(answers(&mut world, Duration::from_secs(10)));
    let report = world.report();
    let border = &report.nodes[0];
    let seeded = border.multicast.unwrap().seeded;
    let refused = border.drops["multicast.limited"];
    assert!((7..=9).contains(&seeded), "{seeded}");
    assert_eq!(seeded + refused, 500);
    let sent: u64 = report
        .nodes
        .iter()
        .map(|it| it.multicast.unwrap().sent)
        .sum();
    assert!(sent <= seeded * 16 * 3, "{sent}");
    // Each node answers the requests that it gets.
    assert!(
        found.len() as u64 >= seeded * 12,
        "{} {seeded}",
        found.len()
    );
}

/// Checks the figures of ADR 58 on a line of 10 hops whose links lose a fifth of the frames. One
/// transmission by each router often ends early; MPL's repetitions reach most of the 200 nodes in
/// 20 runs.
#[test]
fn mpl_reaches_more_nodes_than_flooding_over_lossy_links() {
    let reached = |forwarding: &str| {
        let scenario = scenario(&format!(
            "multicast.forwarding = \"{forwarding}\"\n\
             [topology]\nkind = \"line\"\nnodes = 11\nspacing = \"40 m\"\n\
             [medium]\nsuccess_ratio_rx = \"70 %\"\n[nodes.node-1]\nrole = \"border\"\n"
        ));
        let mut nodes = 0;
        for seed in 1..=20 {
            let mut world = World::new(&scenario, seed).unwrap();
            world.host_input(&discovery(&scenario, GROUP, 7));
            world.run_until(world.now() + Duration::from_secs(5));
            let report = world.report();
            nodes += report
                .nodes
                .iter()
                .map(|it| it.multicast.unwrap().received)
                .sum::<u64>();
        }
        nodes
    };
    let (flooding, mpl) = (reached("flooding"), reached("mpl"));
    assert!(
        flooding < 100 && mpl > 160,
        "flooding {flooding}, MPL {mpl}"
    );
}
