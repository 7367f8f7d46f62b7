//! Packets that a node must not accept, answer or forward: addresses, link broadcasts, loops,
//! extension headers (RFC 8200, 4291, 4443).

use crate::common;

use common::lone::{Lone, SLOTS};
use common::packets::{echo_request, icmp, packet, udp};
use common::{address, node_with, prefix};
use redpoll_base::{Addr, Duration, Instant};
use redpoll_stack::{DropReason, Error, Route, Via};
use redpoll_tcp::Endpoint;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};

const HOST: Addr = Addr([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
const LOOPBACK: Addr = Addr([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

fn lone() -> Lone {
    Lone::border(|_| {})
}

fn icmp_of(packet: &[u8]) -> (u8, u8) {
    assert_eq!(packet[6], 58, "an ICMPv6 message");
    (packet[40], packet[41])
}

#[test]
fn sources_that_cannot_be_are_neither_answered_nor_forwarded() {
    let me = address(1);
    for src in [
        me,
        addr::link_local_from_short(1),
        LOOPBACK,
        Addr::UNSPECIFIED,
        addr::LINK_LOCAL_ALL_NODES,
    ] {
        for dst in [me, address(7), HOST] {
            let mut lone = lone();
            lone.link_sends(5, &echo_request(src, dst));
            lone.assert_silent(&format!("{src:?} to {dst:?}"));
            assert_eq!(lone.dropped(DropReason::BadSource), 1, "{src:?} {dst:?}");
            lone.link_sends(5, &udp(src, dst, (1, 2), b"x"));
            lone.assert_silent(&format!("{src:?} to {dst:?} by UDP"));
            assert_eq!(lone.dropped(DropReason::BadSource), 2, "{src:?} {dst:?}");
        }
    }
}

#[test]
fn destinations_that_cannot_be_are_dropped() {
    for dst in [Addr::UNSPECIFIED, LOOPBACK] {
        let mut lone = lone();
        lone.link_sends(5, &echo_request(address(5), dst));
        lone.host_sends(&echo_request(HOST, dst)).unwrap();
        lone.assert_silent("no node has this address");
        assert_eq!(lone.dropped(DropReason::BadDestination), 2);
    }
    // The unspecified address is not the node's own before the node has an address.
    let mut lone = Lone::border(|config| config.address = Addr::UNSPECIFIED);
    lone.link_sends(5, &echo_request(address(5), Addr::UNSPECIFIED));
    lone.assert_silent("an unknown address");
}

/// All neighbours receive a broadcast. If each forwarded the packet, it would multiply at each hop.
#[test]
fn a_unicast_packet_in_a_link_broadcast_is_not_forwarded() {
    let mut lone = lone();
    for dst in [address(7), HOST, address(1)] {
        let packet = udp(address(5), dst, (1, 2), b"x");
        lone.link_sends_to(5, Address::BROADCAST, &packet);
    }
    lone.assert_silent("link broadcast");
    assert_eq!(lone.dropped(DropReason::LinkBroadcast), 3);
}

/// The interface identifier of the short address 0xffff does not lead to a broadcast.
#[test]
fn no_address_resolves_to_a_link_broadcast() {
    for short in [0xffff, 0xfffe] {
        let mut lone = lone();
        lone.host_sends(&udp(HOST, address(short), (1, 2), b"x"))
            .unwrap();
        let packets = lone.link_packets();
        assert_eq!(packets, [], "{short:x}");
        assert_eq!(lone.dropped(DropReason::NoRoute), 1);
        let answers = lone.host_packets();
        assert_eq!(
            answers.iter().map(|p| icmp_of(p)).collect::<Vec<_>>(),
            [(1, 0)]
        );
        assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    }
}

#[test]
fn a_packet_does_not_go_back_to_where_it_came_from() {
    let mut lone = lone();
    let to_five = Route {
        prefix: address(7),
        len: 128,
        via: Via::Neighbour(Address::Short(5)),
    };
    lone.node.add_route(to_five).unwrap();
    lone.link_sends(5, &udp(address(9), address(7), (1, 2), b"x"));
    let sent = lone.link_packets();
    assert_eq!(sent.len(), 1, "the error, and not the packet");
    assert_eq!(icmp_of(&sent[0].1), (1, 0));
    lone.host_sends(&udp(HOST, LOOPBACK, (1, 2), b"x")).unwrap();
    let other = Addr([0x20; 16]);
    lone.host_sends(&udp(HOST, other, (1, 2), b"x")).unwrap();
    let answers = lone.host_packets();
    assert_eq!(
        answers.iter().map(|p| icmp_of(p)).collect::<Vec<_>>(),
        [(1, 0)]
    );
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    // The same packet from another neighbour is forwarded.
    lone.link_sends(6, &udp(address(9), address(7), (1, 2), b"x"));
    assert_eq!(lone.link_packets().len(), 1);
}

/// The host side is another link than the radio: the node has no link-local address there, and
/// would send an answer to a link-local address by radio.
#[test]
fn link_local_packets_from_the_host_side_are_not_answered_by_radio() {
    let mut lone = lone();
    let host = addr::link_local_from_eui64([2, 0, 0, 0, 0, 0, 0, 9]);
    let mine = addr::link_local_from_short(1);
    let rs = icmp(host, addr::LINK_LOCAL_ALL_ROUTERS, 255, 133, 0, &[0; 4]);
    for packet in [
        echo_request(host, mine),
        echo_request(host, address(1)),
        echo_request(HOST, addr::LINK_LOCAL_ALL_NODES),
        udp(host, address(1), (1, 2), b"x"),
        rs,
        packet(host, address(1), 17, 64, &[0; 1_400]),
    ] {
        let _ = lone.host_sends(&packet);
        lone.assert_silent("from the host's link");
    }
    assert_eq!(lone.dropped(DropReason::Scope), 5);
}

#[test]
fn link_local_packets_are_never_forwarded() {
    let mut lone = lone();
    let near = addr::link_local_from_short(5);
    lone.link_sends(5, &echo_request(near, HOST));
    let sent = lone.link_packets();
    assert_eq!(
        icmp_of(&sent[0].1),
        (1, 2),
        "beyond the scope of the source"
    );
    lone.link_sends(5, &echo_request(address(5), addr::link_local_from_short(6)));
    lone.assert_silent("a neighbour of the sender's");
    assert_eq!(lone.dropped(DropReason::Scope), 2);
}

/// RFC 4443 §2.2: the source of an answer is the destination of the request.
#[test]
fn answers_come_from_the_address_that_was_asked() {
    let source = |packet: &[u8]| Ipv6Header::parse(packet).unwrap().0.src;
    let near = addr::link_local_from_short(5);
    let mine = addr::link_local_from_short(1);
    let mut lone = lone();
    for (src, dst, expected) in [
        (address(5), address(1), address(1)),
        (near, address(1), address(1)),
        (near, mine, mine),
        (near, addr::LINK_LOCAL_ALL_NODES, mine),
        (address(5), addr::LINK_LOCAL_ALL_NODES, address(1)),
    ] {
        lone.link_sends(5, &echo_request(src, dst));
        let replies = lone.link_packets();
        assert_eq!(replies.len(), 1, "{src:?} {dst:?}");
        assert_eq!(source(&replies[0].1), expected, "{src:?} {dst:?}");
        if !dst.is_multicast() {
            lone.link_sends(5, &udp(src, dst, (1, 2), b"x"));
            let errors = lone.link_packets();
            assert_eq!(icmp_of(&errors[0].1), (1, 4));
            assert_eq!(source(&errors[0].1), expected, "{src:?} {dst:?}");
        }
    }
}

/// RFC 4443 §2.4 (e.1): an error causes no error, also when it is behind extension headers.
#[test]
fn errors_are_not_answered_by_errors() {
    let mut lone = lone();
    let error = [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0; 48]].concat();
    let hidden = [&[58, 0, 1, 4, 0, 0, 0, 0][..], &error].concat();
    for (next_header, upper) in [(58, error), (60, hidden)] {
        // The packet's hop limit of 1 does not allow forwarding.
        lone.link_sends(5, &packet(address(5), HOST, next_header, 1, &upper));
        lone.assert_silent("an error about an error");
    }
    assert_eq!(lone.dropped(DropReason::HopLimit), 2);
    lone.link_sends(5, &packet(address(5), HOST, 17, 1, &[0; 8]));
    assert_eq!(icmp_of(&lone.link_packets()[0].1), (3, 0));
}

/// An answer without a route causes no error to the node itself.
#[test]
fn an_answer_without_a_route_is_dropped_and_its_slot_freed() {
    let mut lone = lone();
    lone.node.clear_routes();
    for packet in [
        echo_request(HOST, address(1)),
        udp(HOST, address(1), (1, 2), b"x"),
    ] {
        lone.host_sends(&packet).unwrap();
        lone.assert_silent("no way back");
    }
    assert_eq!(lone.node.counters().icmp_errors_sent, 0);
    assert_eq!(lone.dropped(DropReason::NoRoute), 1);
    assert_eq!(lone.dropped(DropReason::NoUdpSocket), 1);
}

#[test]
fn errors_are_limited_in_rate_and_free_their_slots() {
    let mut lone = lone();
    for _ in 0..100 {
        lone.link_sends(5, &udp(address(5), address(1), (1, 2), b"x"));
        lone.run_for(Duration::from_millis(5));
    }
    let errors = lone.link_packets().len();
    assert!((10..=16).contains(&errors), "{errors}");
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    lone.run_for(Duration::from_secs(2));
    lone.link_sends(5, &udp(address(5), address(1), (1, 2), b"x"));
    assert_eq!(lone.link_packets().len(), 1, "there are tokens again");
}

/// RFC 8200 §4: a destination skips extension headers, or answers them with an error.
#[test]
fn extension_headers_are_skipped_or_answered_with_errors() {
    let mut lone = lone();
    let inner = udp(address(5), address(1), (1, 2), b"x");
    let with = |first: u8, header: [u8; 8]| {
        let upper = [&header[..], &inner[40..]].concat();
        packet(address(5), address(1), first, 64, &upper)
    };
    let problem = |lone: &mut Lone, packet: &[u8]| {
        lone.link_sends(5, packet);
        let sent = lone.link_packets();
        let error = &sent[0].1;
        let pointer = u32::from_be_bytes(error[44..48].try_into().unwrap());
        (icmp_of(error), pointer)
    };
    // The node skips padding, so its only error is that the port is unreachable.
    let padded = with(0, [17, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(problem(&mut lone, &padded).0, (1, 4));
    let routed = with(43, [17, 0, 3, 1, 0, 0, 0, 0]);
    assert_eq!(problem(&mut lone, &routed), ((4, 0), 42));
    let option = with(60, [17, 0, 0x80, 4, 0, 0, 0, 0]);
    assert_eq!(problem(&mut lone, &option), ((4, 2), 42));
    let fragment = with(44, [17, 0, 0, 1, 0, 0, 0, 9]);
    assert_eq!(problem(&mut lone, &fragment), ((4, 1), 6));
    let unknown = with(60, [99, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(problem(&mut lone, &unknown), ((4, 1), 40));
    let silent = with(60, [17, 0, 0x40, 4, 0, 0, 0, 0]);
    lone.link_sends(5, &silent);
    lone.assert_silent("drop without a word");
    assert_eq!(lone.dropped(DropReason::UnknownProtocol), 5);
}

/// RFC 4443 §4.2: every echo request is answered, behind any extension headers; RFC 6946: also in a
/// fragment that is the whole packet.
#[test]
fn echo_requests_behind_extension_headers_are_answered() {
    let mut lone = lone();
    let plain = echo_request(address(5), address(1));
    lone.link_sends(5, &plain);
    let expected = lone.link_packets().remove(0).1;
    let padding = [58, 0, 1, 4, 0, 0, 0, 0];
    let atomic = [58, 0, 0, 0, 0, 0, 0, 7];
    let both = [[44, 0, 1, 4, 0, 0, 0, 0], atomic].concat();
    for (first, headers) in [
        (0, &padding[..]),
        (60, &padding[..]),
        (44, &atomic[..]),
        (60, &both[..]),
    ] {
        let upper = [headers, &plain[40..]].concat();
        lone.link_sends(5, &packet(address(5), address(1), first, 64, &upper));
        let sent = lone.link_packets();
        assert_eq!(sent.len(), 1, "{first}");
        assert_eq!(sent[0].1, expected, "{first}");
    }
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
}

#[test]
fn bytes_behind_the_payload_are_cut_off() {
    let mut lone = lone();
    let mut padded = udp(HOST, address(5), (1, 2), b"data");
    padded.extend([0; 700]);
    lone.host_sends(&padded).unwrap();
    let sent = lone.link_packets();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.len(), 40 + 8 + 4);
    // The node also accepts a packet that exceeds the MTU only because of the padding behind it.
    padded.extend([0; 700]);
    assert_eq!(lone.host_sends(&padded), Ok(()));
    assert_eq!(lone.link_packets().len(), 1);
    let short = &padded[..45];
    assert_eq!(lone.host_sends(short), Err(DropReason::Malformed));
}

#[test]
fn packet_too_big_contains_the_mtu() {
    let mut lone = lone();
    let big = udp(HOST, address(5), (1, 2), &[0; 1_300]);
    assert_eq!(lone.host_sends(&big), Err(DropReason::TooBig));
    let answers = lone.host_packets();
    assert_eq!(icmp_of(&answers[0]), (2, 0));
    assert_eq!(answers[0].len(), 1280);
    assert_eq!(answers[0][44..48], 1280u32.to_be_bytes());
    // The node sends no error to itself, and none about a malformed packet.
    let own = udp(address(1), address(5), (1, 2), &[0; 1_300]);
    assert_eq!(lone.host_sends(&own), Err(DropReason::TooBig));
    assert_eq!(lone.host_sends(&[0x45; 1_400]), Err(DropReason::Malformed));
    lone.assert_silent("nobody to tell");
}

/// A MAC header with a long destination address leaves six bytes less for the payload.
#[test]
fn full_frames_go_to_long_addresses_too() {
    let mut lone = lone();
    let long = [0x02, 1, 2, 3, 4, 5, 6, 7];
    let far = addr::from_prefix_and_iid(&prefix(), addr::iid_from_eui64(long));
    for len in (300..400).step_by(4) {
        let packet = udp(HOST, far, (1, 2), &vec![7; len]);
        lone.host_sends(&packet).unwrap();
        let sent = lone.link_packets();
        assert_eq!(sent.len(), 1, "{len}");
        assert_eq!(sent[0].0, Address::Extended(long));
        let mut expected = packet;
        expected[7] -= 1;
        assert_eq!(sent[0].1, expected);
    }
}

#[test]
fn a_long_address_costs_its_own_frames_alone() {
    let mut lone = lone();
    let longest = |lone: &mut Lone| {
        lone.host_sends(&udp(HOST, address(7), (1, 2), &[7; 400]))
            .unwrap();
        lone.run_for(Duration::from_millis(500));
        let frames = std::mem::take(&mut lone.frames).into_iter();
        frames.map(|(_, payload)| payload.len()).max()
    };
    let before = longest(&mut lone);
    let far = addr::from_prefix_and_iid(&prefix(), addr::iid_from_eui64([2; 8]));
    lone.host_sends(&udp(HOST, far, (1, 2), &[7; 9])).unwrap();
    lone.link_packets();
    assert_eq!(longest(&mut lone), before);
}

#[test]
fn sockets_refuse_destinations_without_a_source_address_or_route() {
    let now = Instant::from_millis(5);
    let mut node = node_with(1, 600, |config| config.address = Addr::UNSPECIFIED);
    let default = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(2)),
    };
    node.add_route(default).unwrap();
    let socket = node.udp_bind(9).unwrap();
    let to = |addr| Endpoint { addr, port: 7 };
    // A node without a global address has no source address for a destination beyond the link.
    assert_eq!(node.tcp_connect(now, to(HOST)), Err(Error::NoRoute));
    assert_eq!(
        node.udp_send(now, socket, to(HOST), b"x"),
        Err(Error::NoRoute)
    );
    assert_eq!(node.ping(now, HOST, 1, 1, 8), Err(Error::NoRoute));
    // For a destination on the link, the node has a source address.
    let near = addr::link_local_from_short(2);
    assert_eq!(node.udp_send(now, socket, to(near), b"x"), Ok(()));

    let mut lone = lone();
    let socket = lone.node.udp_bind(9).unwrap();
    for addr in [address(1), Addr::UNSPECIFIED, LOOPBACK] {
        assert_eq!(lone.node.tcp_connect(now, to(addr)), Err(Error::NoRoute));
        let sent = lone.node.udp_send(now, socket, to(addr), b"x");
        assert_eq!(sent, Err(Error::NoRoute));
    }
    let group = to(addr::LINK_LOCAL_ALL_NODES);
    assert_eq!(lone.node.tcp_connect(now, group), Err(Error::NoRoute));
    // The source of a datagram to a group on the link is the link-local address (RFC 6724).
    assert_eq!(lone.node.udp_send(now, socket, group, b"x"), Ok(()));
    let sent = lone.link_packets();
    assert_eq!(sent[0].0, Address::BROADCAST);
    let (header, _) = Ipv6Header::parse(&sent[0].1).unwrap();
    assert_eq!(header.src, addr::link_local_from_short(1));
}

#[test]
fn a_closed_udp_socket_has_no_events_and_its_handle_is_invalid() {
    let mut lone = lone();
    let first = lone.node.udp_bind(9).unwrap();
    lone.link_sends(5, &udp(address(5), address(1), (1, 9), b"x"));
    lone.node.udp_close(first);
    assert_eq!(
        lone.node.poll_event(),
        None,
        "no socket waits for the datagram"
    );
    let second = lone.node.udp_bind(10).unwrap();
    assert_ne!(first, second);
    lone.link_sends(5, &udp(address(5), address(1), (1, 10), b"y"));
    assert_eq!(lone.node.udp_recv(first, &mut [0; 9]), None);
    lone.node.udp_close(first);
    assert!(lone.node.udp_recv(second, &mut [0; 9]).is_some());
}

fn solicitation(src: Addr, dst: Addr, target: Addr, options: &[u8]) -> Vec<u8> {
    let rest = [&[0; 4][..], &target.0, options].concat();
    icmp(src, dst, 255, 135, 0, &rest)
}

/// RFC 4861 §7.2.4: the node answers duplicate address detection for each of its addresses by an
/// advertisement to all nodes, with the S flag clear.
#[test]
fn duplicate_address_detection_is_answered() {
    for own in [address(1), addr::link_local_from_short(1)] {
        let mut lone = lone();
        let group = addr::solicited_node(&own);
        let question = solicitation(Addr::UNSPECIFIED, group, own, &[]);
        lone.link_sends_to(5, Address::Short(0xffff), &question);
        let (to, answer) = lone.link_packets().pop().expect("an answer");
        assert_eq!(to, Address::Short(0xffff));
        assert_eq!(answer[24..40], addr::LINK_LOCAL_ALL_NODES.0);
        assert_eq!(answer[40], 136, "a neighbour advertisement");
        assert_eq!(answer[44] & 0x40, 0, "S is not set");
        assert_eq!(answer[48..64], own.0, "the target");
        assert_eq!(
            answer[64..66],
            [2, 1],
            "RFC 4861: with the target's link-layer address"
        );
    }
    // RFC 4861 §7.1.1: no answer if the destination is another group or a unicast address, or the
    // sender names its link-layer address, or the target is not an address of the node.
    for (dst, target, options) in [
        (address(1), address(1), &[][..]),
        (addr::LINK_LOCAL_ALL_NODES, address(1), &[]),
        (
            addr::solicited_node(&address(1)),
            address(1),
            &[1, 1, 0, 5, 0, 0, 0, 0],
        ),
        (addr::solicited_node(&address(7)), address(7), &[]),
        (
            addr::solicited_node(&address(1)),
            addr::solicited_node(&address(1)),
            &[],
        ),
    ] {
        let mut lone = lone();
        let question = solicitation(Addr::UNSPECIFIED, dst, target, options);
        lone.link_sends_to(5, Address::Short(0xffff), &question);
        lone.assert_silent(&format!("{dst:?} {target:?} {options:?}"));
    }
}

/// RFC 4291 §2.6.1: a router answers at the Subnet-Router anycast address, with its own source
/// address, and opens no connection there.
#[test]
fn the_subnet_router_anycast_address_is_answered() {
    let anycast = prefix();
    for from_host in [false, true] {
        let mut lone = lone();
        let src = if from_host { HOST } else { address(5) };
        let ask = |lone: &mut Lone, packet: &[u8]| {
            if from_host {
                lone.host_sends(packet).unwrap();
                lone.host_packets()
            } else {
                lone.link_sends(5, packet);
                lone.link_packets().into_iter().map(|it| it.1).collect()
            }
        };
        let answers = ask(&mut lone, &echo_request(src, anycast));
        let [answer] = answers.as_slice() else {
            panic!("{answers:?}")
        };
        assert_eq!(icmp_of(answer), (129, 0));
        assert_eq!(answer[8..24], address(1).0, "from an address of its own");
        let syn = common::packets::Tcp {
            src_port: 4_000,
            dst_port: 80,
            flags: common::packets::SYN,
            window: 1_000,
            ..common::packets::Tcp::default()
        };
        assert_eq!(
            ask(&mut lone, &syn.packet(src, anycast)),
            Vec::<Vec<u8>>::new()
        );
        assert_eq!(lone.dropped(DropReason::BadDestination), 1);
    }
    // A host does not answer.
    let mut lone = Lone::border(|config| config.forwards = false);
    lone.link_sends(5, &echo_request(address(5), anycast));
    lone.assert_silent("it is no router");
}
