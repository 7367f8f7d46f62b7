//! A router limits its transmissions to addresses without a node: a host's packets, and answers to
//! forged sources. The host gets errors for dropped packets (RFC 4443 §3.1).

use crate::common;

use common::lone::Lone;
use common::packets::{echo_request, udp};
use common::{address, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_mac::MacConfig;
use redpoll_stack::{DropReason, Route, Via};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

const HOST: Addr = Addr([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
/// RFC 4443 §3.1: destination unreachable, address unreachable.
const ADDRESS_UNREACHABLE: (u8, u8) = (1, 3);

fn lone() -> Lone {
    Lone::border(|_| {})
}

/// Type and code of the ICMPv6 messages for the host.
fn told(lone: &mut Lone) -> Vec<(u8, u8)> {
    let packets = lone.host_packets();
    packets.iter().map(|p| (p[40], p[41])).collect()
}

/// Sends ten packets per second, each to a different address; returns the errors for the host.
fn scan(lone: &mut Lone, seconds: u16) -> Vec<(u8, u8)> {
    let mut all = Vec::new();
    for n in 0..seconds * 10 {
        let packet = udp(HOST, address(0x4000 + n), (1, 53), b"?");
        // The node refuses the packet if retransmissions of earlier packets occupy all slots.
        let _ = lone.host_sends(&packet);
        lone.run_for(Duration::from_millis(100));
        all.extend(told(lone));
    }
    all
}

/// Number of times that the MAC transmits a frame that is never acknowledged.
fn tries() -> usize {
    usize::from(MacConfig::default().max_frame_retries) + 1
}

#[test]
fn an_address_scan_of_an_on_link_prefix_costs_few_frames_and_causes_errors() {
    let mut lone = lone();
    lone.deaf = true;
    let told = scan(&mut lone, 10);
    // Four packets leave at once, and then one in two seconds.
    let packets = lone.attempts / tries();
    assert!((4..=9).contains(&packets), "{packets}");
    assert!(lone.dropped(DropReason::AddressUnreachable) >= 90);
    assert!(told.len() > 10, "{}", told.len());
    assert!(told.iter().all(|it| *it == ADDRESS_UNREACHABLE), "{told:?}");
}

#[test]
fn a_proven_neighbour_is_reached_during_a_scan() {
    let mut lone = lone();
    lone.host_sends(&echo_request(HOST, address(7))).unwrap();
    assert_eq!(lone.link_packets().len(), 1);
    lone.deaf = true;
    scan(&mut lone, 5);
    lone.deaf = false;
    for _ in 0..20 {
        lone.host_sends(&echo_request(HOST, address(7))).unwrap();
        assert_eq!(lone.link_packets().len(), 1);
    }
}

#[test]
fn the_next_hop_of_a_route_is_tried_even_if_silent() {
    let mut lone = lone();
    let via = Via::Neighbour(Address::Short(7));
    let (prefix, len) = (address(8), 128);
    lone.node.add_route(Route { prefix, len, via }).unwrap();
    lone.deaf = true;
    for n in 1..=20 {
        lone.host_sends(&echo_request(HOST, address(8))).unwrap();
        lone.run_for(Duration::from_secs(1));
        assert_eq!(lone.attempts, tries() * n);
    }
}

#[test]
fn a_silent_address_is_not_tried_again_for_half_a_minute() {
    let mut lone = lone();
    lone.deaf = true;
    lone.host_sends(&echo_request(HOST, address(7))).unwrap();
    lone.run_for(Duration::from_secs(20));
    let once = tries();
    assert_eq!((lone.attempts, told(&mut lone)), (once, vec![]));
    lone.host_sends(&echo_request(HOST, address(7))).unwrap();
    lone.run_for(Duration::from_secs(1));
    assert_eq!(
        (lone.attempts, told(&mut lone)),
        (once, vec![ADDRESS_UNREACHABLE])
    );
    lone.run_for(Duration::from_secs(10));
    lone.deaf = false;
    lone.host_sends(&echo_request(HOST, address(7))).unwrap();
    assert_eq!(lone.link_packets().len(), 1);
}

/// A neighbour forges a new source for each request, and the node limits its answers.
#[test]
fn answers_to_made_up_neighbours_are_bounded() {
    let mut lone = lone();
    let me = addr::link_local_from_short(1);
    for n in 0..100 {
        lone.deaf = true;
        let from = 0x4000 + n;
        lone.link_sends(from, &echo_request(addr::link_local_from_short(from), me));
        lone.run_for(Duration::from_millis(100));
    }
    let packets = lone.attempts / tries();
    assert!((4..=9).contains(&packets), "{packets}");
}

/// An unreachable route for a prefix drops packets to its addresses without transmitting a frame.
#[test]
fn an_unreachable_prefix_takes_no_frame() {
    let mut lone = lone();
    let unreachable = Route {
        prefix: prefix(),
        len: 64,
        via: Via::Unreachable,
    };
    lone.node.add_route(unreachable).unwrap();
    lone.host_sends(&echo_request(HOST, address(7))).unwrap();
    lone.run_for(Duration::from_secs(1));
    assert_eq!(
        (lone.attempts, told(&mut lone)),
        (0, vec![ADDRESS_UNREACHABLE])
    );
    assert_eq!(lone.dropped(DropReason::AddressUnreachable), 1);
}
