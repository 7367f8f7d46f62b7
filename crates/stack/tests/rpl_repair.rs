//! Repair of broken routes by a node that routes by RPL, and the RPL headers of data packets (RFC
//! 6550 §3.2.2, RFC 6554 §4.2, RFC 9008).
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::Lone;
use common::{address, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{DropReason, RplRole, RplRoot};
use redpoll_tcp::Endpoint;
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::rpl::{
    Configuration, INFINITE_RANK, PacketInformation, PrefixInformation, RplOption, SourceRoute,
    mode,
};

const OUTSIDE: Addr = Addr([0x20; 16]);

/// RFC 6550 §8.2.2.4 (3): in one version a node's rank rises at most by the limit of the root above
/// its lowest rank. A node that could only have a higher rank has no parent.
#[test]
fn a_rank_rises_no_further_than_the_root_allows() {
    let most = CONFIGURATION.max_rank_increase;
    let (theirs, ours) = (256, 256 + 192);
    for (more, is_kept) in [(most, true), (most + 1, false)] {
        let mut lone = lone(RplRole::Router);
        dio(&mut lone, ROUTER, VERSION, theirs);
        lone.run_for(Duration::from_secs(3));
        let parent = Some(Address::Short(ROUTER));
        assert_eq!(lone.node.rpl_place(), Some((ours, parent)));
        dio(&mut lone, ROUTER, VERSION, theirs + more);
        let place = match is_kept {
            true => (ours + more, parent),
            false => (INFINITE_RANK, None),
        };
        assert_eq!(lone.node.rpl_place(), Some(place), "{more}");
        // The limit starts again in the next version.
        dio(&mut lone, ROUTER, VERSION.next(), theirs + more);
        lone.run_for(Duration::from_secs(10));
        dio(&mut lone, ROUTER, VERSION.next(), theirs + more);
        assert_eq!(lone.node.rpl_place().unwrap().1, parent, "{more}");
    }
}

fn option_of(lone: &mut Lone) -> PacketInformation {
    let packets = lone.link_packets();
    let found = packets
        .iter()
        .find_map(|(_, it)| PacketInformation::find(it));
    found.expect("packet information")
}

/// RFC 9008 §4.1.3, §4.2: the DODAG's configuration determines the option type of new packets; a
/// packet with an option keeps its type.
#[test]
fn the_configuration_says_which_option_packets_carry() {
    for (flags, ignorable) in [(0, false), (CONFIGURATION.flags, true)] {
        let mut lone = lone(RplRole::Router);
        let options = bytes(&[
            RplOption::Configuration(Configuration {
                flags,
                ..CONFIGURATION
            }),
            RplOption::Prefix(PrefixInformation {
                len: 64,
                autonomous: true,
                router_address: true,
                prefix: address(ROOT),
                lifetime_s: u32::MAX,
            }),
        ]);
        dio_with(&mut lone, ROOT, VERSION, 128, &options, |_| ());
        lone.run_for(Duration::from_secs(3));
        lone.frames.clear();
        lone.link_sends(CHILD, &packets::echo_request(OUTSIDE, address(1)));
        assert_eq!(option_of(&mut lone).ignorable, ignorable, "its own");
        for theirs in [false, true] {
            let information = PacketInformation {
                sender_rank: 9,
                ignorable: theirs,
                ..PacketInformation::default()
            };
            let upper = information.header(next_header::NONE);
            lone.link_sends(CHILD, &packets::packet(address(9), OUTSIDE, 0, 64, &upper));
            assert_eq!(option_of(&mut lone).ignorable, theirs, "of others");
        }
    }
}

/// RFC 9008 §6: a border router keeps a hop-by-hop header with other options, but clears the rank
/// in its packet information.
#[test]
fn packet_information_beside_other_options_leaves_without_a_rank() {
    let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    let header = [17, 1, 1, 2, 0, 0, 0x23, 4, 0, 0, 0, 3, 1, 2, 0, 0];
    let upper = [&header[..], &[1, 2, 3, 4, 0, 8, 0, 0]].concat();
    lone.link_sends(ROUTER, &packets::packet(address(9), OUTSIDE, 0, 64, &upper));
    let out = lone.host_packets();
    let left = PacketInformation::find(&out[0]).expect("the packet keeps its packet information");
    assert_eq!(left.sender_rank, 0);
}

/// RFC 9008 §1, RFC 6040 §4.2: congestion marked in an outer header is copied to the inner one.
#[test]
fn a_mark_on_an_outer_header_counts_inside() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    for (outer, inner, within) in [(3, 2, 3), (0, 2, 2), (3, 1, 3)] {
        let marked = |mut packet: Vec<u8>, ecn: u8| {
            packet[1] = ecn << 4;
            packet
        };
        let inside = packets::packet(OUTSIDE, address(CHILD), next_header::NONE, 64, &[]);
        let inside = marked(inside, inner);
        let outside = packets::packet(address(ROOT), address(1), next_header::IPV6, 64, &inside);
        lone.link_sends(ROOT, &marked(outside, outer));
        let packets = lone.link_packets();
        let onward = packets.iter().find(|(to, _)| *to == Address::Short(CHILD));
        let (_, onward) = onward.expect("the packet is forwarded");
        let at = match onward[6] {
            next_header::HOP_BY_HOP => onward.len() - 40,
            _ => 0,
        };
        assert_eq!(onward[at + 1] >> 4 & 3, within, "{outer} about {inner}");
    }
}

/// Returns a packet of the root with a source route, at the stop `first`.
fn routed(first: u16, stops: &[u16]) -> Vec<u8> {
    let mut buffer = [0; 64];
    let mut out = Cursor::new(&mut buffer);
    let stops = stops.iter().map(|stop| address(*stop));
    SourceRoute::emit(next_header::NONE, 14, stops, &mut out).unwrap();
    packets::packet(address(ROOT), address(first), 43, 64, out.written())
}

/// Returns the code, destination and quotation of each ICMPv6 error that the node sends.
fn errors(lone: &mut Lone) -> Vec<(u8, Addr, Vec<u8>)> {
    let packets = lone.link_packets();
    let errors = packets.iter().filter_map(|(_, packet)| {
        let at = 40 + redpoll_wire::ipv6::hop_by_hop_len(packet);
        let (header, _) = Ipv6Header::parse(packet).ok()?;
        (packet.get(at) == Some(&1))
            .then(|| (packet[at + 1], header.dst, packet[at + 8..].to_vec()))
    });
    errors.collect()
}

fn joined_non_storing() -> Lone {
    let mut lone = lone(RplRole::Router);
    dio_non_storing(&mut lone, ROOT, VERSION, 128);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    lone
}

/// RFC 6554 §4.2: a stop that does not answer is not on the link. After lost frames to the stop,
/// the node reports one packet to the root by code 7; the destination in the quotation is the stop.
/// The node tries to forward the next packet again.
#[test]
fn an_unreachable_stop_of_a_source_route_is_reported_to_the_root() {
    for stops in [&[CHILD][..], &[CHILD, 9]] {
        let mut lone = joined_non_storing();
        lone.deaf = true;
        lone.link_sends(ROOT, &routed(1, stops));
        lone.run_for(Duration::from_secs(2));
        lone.deaf = false;
        assert_eq!(errors(&mut lone), [], "one that is lost says nothing");
        lone.link_sends(ROOT, &routed(1, stops));
        let told = errors(&mut lone);
        let [(7, to, quoted)] = &told[..] else {
            panic!("one error: {told:?}");
        };
        assert_eq!(*to, address(ROOT));
        let (header, _) = Ipv6Header::parse_partial(quoted).unwrap();
        assert_eq!((header.src, header.dst), (address(ROOT), address(CHILD)));
        lone.link_sends(ROOT, &routed(1, stops));
        let packets = lone.link_packets();
        assert!(
            packets.iter().any(|(to, _)| *to == Address::Short(CHILD)),
            "the next one is tried: {packets:?}"
        );
        assert_eq!(errors(&mut lone), []);
    }
}

/// The node reports impossible stops immediately. All its errors are limited to a burst of ten and
/// two a second (RFC 4443 §2.4 (f)).
#[test]
fn errors_about_stops_are_bounded() {
    let mut lone = joined_non_storing();
    for n in 0..60 {
        // No stop is a verified neighbour: each packet causes an error unless the limit forbids it.
        lone.link_sends(ROOT, &routed(1, &[1_000 + n]));
        lone.run_for(Duration::from_millis(50));
    }
    let told = errors(&mut lone);
    assert!((8..=18).contains(&told.len()), "{}", told.len());
    assert!(told.iter().all(|(code, ..)| *code == 7));
    assert!(lone.dropped(DropReason::AddressUnreachable) >= 40);
}

/// Returns a root that knows the router 3, behind it 7, and behind that 9.
fn non_storing_root() -> Lone {
    let root = RplRoot::new(prefix(), mode::NON_STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    lone.run_for(Duration::from_secs(10));
    tell_all(&mut lone);
    lone.frames.clear();
    lone
}

/// Sends the root of [`non_storing_root`] a DAO of each of its three targets.
fn tell_all(lone: &mut Lone) {
    for (target, parent) in [(ROUTER, 1), (CHILD, ROUTER), (9, CHILD)] {
        tell_root(lone, ROUTER, target, address(parent));
    }
    assert_eq!(lone.node.rpl_targets(lone.now), 3);
}

/// Returns an error of `from` about a packet of `src` whose source route had the next stop `stop`.
fn error_about(from: Addr, (src, kind): (Addr, u8), stop: Addr) -> Vec<u8> {
    let quoted = packets::packet(src, stop, kind, 60, &[59, 1, 3, 1, 0xee, 0, 0, 0, 0, 9]);
    let rest = [&[0; 4][..], &quoted].concat();
    packets::icmp(from, address(1), 64, 1, 7, &rest)
}

/// The root removes the stop that its parent does not reach. The nodes behind it are unreachable
/// until the stop sends a DAO, which the root requests when a packet needs it.
#[test]
fn a_root_forgets_a_stop_that_is_not_there() {
    let mut lone = non_storing_root();
    let dtsn = |lone: &mut Lone| {
        lone.run_for(Duration::from_secs(20));
        let dios = said(lone, 1);
        dios.last().map(|(_, body)| body[5])
    };
    let before = dtsn(&mut lone).expect("a DIO");
    let error = error_about(address(ROUTER), (address(1), 43), address(CHILD));
    lone.link_sends(ROUTER, &error);
    assert_eq!(lone.node.rpl_targets(lone.now), 2);
    assert_eq!(lone.node.rpl_counters().lost_stops, 1);
    let request = packets::echo_request(OUTSIDE, address(9));
    assert!(lone.host_sends(&request).is_ok());
    assert_eq!(lone.host_packets()[0][40..42], [1, 0], "no route");
    assert_ne!(dtsn(&mut lone), Some(before), "everybody is asked");
    // The stop sends a DAO with another parent, and all are reachable again.
    tell_root(&mut lone, ROUTER, CHILD, address(1));
    lone.frames.clear();
    assert!(lone.host_sends(&request).is_ok());
    let packets = lone.link_packets();
    assert!(packets.iter().any(|(to, _)| *to == Address::Short(CHILD)));
}

/// RFC 6550 §9.6: if a UDP or TCP packet of the root itself has no route to its target, the root
/// asks for all DAOs by another DTSN. An ICMPv6 message causes no such request: otherwise the root
/// would answer each DAO whose path is not complete yet by a request for all DAOs.
#[test]
fn a_root_asks_for_the_targets_of_its_own_packets() {
    let nine = Endpoint {
        addr: address(9),
        port: 7,
    };
    type Send = fn(&mut Lone, Endpoint) -> bool;
    let pings: Send = |lone, to| lone.node.ping(lone.now, to.addr, 1, 1, 8).is_ok();
    let datagram: Send = |lone, to| {
        let id = lone.node.udp_bind(7).unwrap();
        lone.node.udp_send(lone.now, id, to, &[0; 8]).is_ok()
    };
    let connects: Send = |lone, to| lone.node.tcp_connect(lone.now, to).is_ok();
    // The route is lost before or after the first packet. A connection repeats its SYN.
    for (name, send, is_lost_first, asks) in [
        ("ICMPv6", pings, true, false),
        ("UDP", datagram, true, true),
        ("TCP, a new connection", connects, true, true),
        ("TCP, the second SYN", connects, false, true),
    ] {
        let mut lone = non_storing_root();
        let dtsn = |lone: &mut Lone| {
            lone.run_for(Duration::from_secs(20));
            said(lone, 1).last().map(|(_, body)| body[5])
        };
        // The targets answer, because an inquiry of the root that remains could also cause a
        // request for DAOs.
        run_answering(&mut lone, Duration::from_secs(5), &[CHILD, 9]);
        let before = dtsn(&mut lone).expect("a DIO");
        tell_all(&mut lone);
        let lose = |lone: &mut Lone| {
            let error = error_about(address(ROUTER), (address(1), 43), address(CHILD));
            for _ in 0..4 {
                lone.link_sends(ROUTER, &error);
            }
        };
        if is_lost_first {
            lose(&mut lone);
            assert!(!send(&mut lone, nine), "{name}: there is no route");
        } else {
            assert!(send(&mut lone, nine), "{name}");
            lose(&mut lone);
        }
        assert_eq!(lone.node.rpl_targets(lone.now), 2, "{name}");
        let has_asked = dtsn(&mut lone).is_some_and(|it| it != before);
        assert_eq!(has_asked, asks, "{name}");
    }
}

/// An error has no effect if its sender is not the stop's parent or is outside the mesh, if the
/// root has not sent the quoted packet, or if that packet has no source route. Valid errors about
/// targets that have answered an inquiry have effect at most twenty times an hour, and only the
/// fourth of four errors without an answer between them.
#[test]
fn forged_errors_about_stops_are_harmless() {
    let mut lone = non_storing_root();
    let good = (address(1), 43);
    let (three, seven) = (address(ROUTER), address(CHILD));
    for forged in [
        error_about(address(9), good, seven),
        error_about(OUTSIDE, good, seven),
        error_about(three, (address(9), 43), seven),
        error_about(three, (address(1), 17), seven),
        error_about(three, good, address(8)),
        error_about(three, good, three),
    ] {
        lone.link_sends(ROUTER, &forged);
    }
    let truth = error_about(three, good, seven);
    let _ = lone.host_sends(&truth);
    assert_eq!(lone.node.rpl_targets(lone.now), 3);
    let mut short = truth.clone();
    short.truncate(60);
    short[5] = 20;
    lone.link_sends(ROUTER, &short);
    assert_eq!(lone.node.rpl_targets(lone.now), 3);
    let all = [CHILD, 9];
    for n in 0..25 {
        run_answering(&mut lone, Duration::from_secs(5), &all);
        for _ in 0..3 {
            lone.link_sends(ROUTER, &truth);
            assert_eq!(
                lone.node.rpl_targets(lone.now),
                3,
                "{n}: one packet can be lost"
            );
        }
        lone.link_sends(ROUTER, &truth);
        let kept = usize::from(n >= 20);
        assert_eq!(lone.node.rpl_targets(lone.now), 2 + kept, "{n}");
        tell_root(&mut lone, ROUTER, CHILD, address(ROUTER));
    }
    // An answer between the errors shows that the link only loses some packets.
    let mut lone = non_storing_root();
    for n in 0..12 {
        run_answering(&mut lone, Duration::from_secs(5), &all);
        lone.link_sends(ROUTER, &truth);
        assert_eq!(lone.node.rpl_targets(lone.now), 3, "{n}");
    }
    // The error has no effect on a router, or on a root in storing mode.
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.link_sends(CHILD, &error_about(seven, good, seven));
    assert_eq!(lone.node.rpl_targets(lone.now), 1);
}

fn versions(lone: &mut Lone, time: Duration) -> Vec<u8> {
    lone.frames.clear();
    lone.run_for(time);
    let mut versions: Vec<u8> = said(lone, 1).iter().map(|(_, body)| body[1]).collect();
    versions.dedup();
    versions
}

/// RFC 6550 §3.2.2, §8.2.2.1: a root begins a new version on request and advertises it within
/// Trickle's shortest interval, but not while it listens for the present version after its start.
/// Other nodes cannot begin a version.
#[test]
fn a_root_begins_a_new_version_on_request() {
    let first = VERSION.0;
    let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    assert!(!lone.node.begin_rpl_version(lone.now), "it listens");
    assert_eq!(versions(&mut lone, Duration::from_secs(60)), [first]);
    for n in 1..=3 {
        assert!(lone.node.begin_rpl_version(lone.now));
        let soon = Duration::from_millis(1_100);
        assert_eq!(versions(&mut lone, soon), [first + n]);
        assert_eq!(lone.node.rpl_counters().versions, u32::from(n));
    }
    let mut lone = joined();
    assert!(!lone.node.begin_rpl_version(lone.now));
    let mut plain = Lone::border(|_| {});
    assert!(!plain.node.begin_rpl_version(plain.now));
}

/// With an interval, a root begins versions by itself; a requested version restarts the interval.
#[test]
fn a_root_begins_new_versions_by_a_timer() {
    let mut root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    root.version_interval = Some(Duration::from_secs(600));
    let mut lone = lone(RplRole::Root(root));
    lone.run_for(Duration::from_secs(3_500));
    assert_eq!(lone.node.rpl_counters().versions, 5);
    assert!(lone.node.begin_rpl_version(lone.now));
    lone.run_for(Duration::from_secs(590));
    assert_eq!(lone.node.rpl_counters().versions, 6);
    lone.run_for(Duration::from_secs(20));
    assert_eq!(lone.node.rpl_counters().versions, 7);
}
